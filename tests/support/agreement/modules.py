# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Random modules of the `spyre` level.

A builder holds a function that grows by operations; every kind of operation is a
function that adds one, or nothing where the values at hand do not allow it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from spyre_mlir.dialects import spyre
from spyre_mlir.dialects.spyre import SpyreOp, dtype_name, tensor_of, tensor_type

from .choices import Choices

EDGES = (1, 2, 3, 5, 7, 13, 31, 32, 33, 63, 64, 65, 97, 127, 128, 129)
"""Sizes around sticks of all dtypes, and primes."""

FLOATS = ("f16", "bf16", "f32")
INTEGERS = ("i32", "i64")
DTYPES = ("f16", "f32", "bf16", "i64", "i32", "i1")

MOST_RESULTS = 4

Kind = Callable[["Builder"], "SSAValue | None"]


def shape_of(value: SSAValue) -> list[int]:
    return list(tensor_of(value).get_shape())


class Builder:
    """A function `main` that grows."""

    def __init__(self, choices: Choices, special: bool = False, limit: int = 20_000):
        self.choices = choices
        self.special = special
        """Data holds NaN, infinities and numbers that are not whole."""
        self.limit = limit
        """Elements of a tensor, and steps of an operation."""
        self.function = FuncOp("main", ([], []))
        self.block = self.function.body.block
        self.values: list[SSAValue] = []
        self.index_limits: dict[int, int] = {}
        """For arguments that are indices: how many there are to choose from."""

    # ---- values

    def shape(self, low: int = 0, high: int = 4) -> list[int]:
        """A small shape, of rank up to 6 now and then."""
        rank = self.choices.integer(low, high)
        if rank == high and self.choices.chance(20):
            rank = max(rank, self.choices.integer(high, 6))
        shape: list[int] = []
        for _ in range(rank):
            sizes = [n for n in EDGES if n * prod(shape) <= self.limit]
            if len(shape) >= 2 and self.choices.chance(60):
                sizes = [n for n in sizes if n <= 5]
            shape.append(self.choices.pick(sizes))
        return self.choices.order(shape)

    def argument(self, shape: Sequence[int], dtype: str) -> SSAValue:
        """A new argument."""
        position = len(self.block.args)
        value = self.block.insert_arg(tensor_type(shape, dtype), position)
        self.values.append(value)
        return value

    def value(self, dtypes: Sequence[str] = DTYPES, rank: int = 0) -> SSAValue:
        """A value of one of these types and at least this rank, mostly a late one."""
        known = [
            v
            for v in reversed(self.values)
            if dtype_name(v.type) in dtypes and len(shape_of(v)) >= rank
        ]
        if not known or self.choices.chance(10):
            high = max(rank, 3)
            return self.argument(self.shape(rank, high), self.choices.pick(dtypes))
        return known[min(self.choices.pick((0, 0, 0, 1, 1, 2, 3)), len(known) - 1)]

    def like(self, shape: Sequence[int], dtype: str) -> SSAValue:
        """A value of exactly this type, one at hand or a new argument."""
        known = [v for v in self.values if v.type == tensor_type(shape, dtype)]
        if known and not self.choices.chance(40):
            return self.choices.pick(known)
        return self.argument(shape, dtype)

    def add(self, op: SpyreOp) -> SSAValue:
        self.block.add_op(op)
        self.values.append(op.results[0])
        return op.results[0]

    def fits(self, *sizes: int) -> bool:
        return prod(sizes) <= self.limit

    # ---- the program

    def grow(self, kinds: Sequence[Kind], most: int) -> Builder:
        """Adds up to `most` operations."""
        for _ in range(self.choices.integer(1, most)):
            self.choices.pick(kinds)(self)
        return self

    def module(self) -> ModuleOp:
        """The program, returning what nothing in it reads, and other values."""
        if not self.values:
            self.argument([3], "f16")
        unused = [v for v in self.values if not v.uses and v.owner is not self.block]
        results = unused[: -MOST_RESULTS - 1 : -1] or [self.values[-1]]
        while len(results) <= MOST_RESULTS and self.choices.chance(20):
            results.append(self.choices.pick(self.values[::-1]))
        self.block.add_op(ReturnOp(*results))
        self.function.function_type = FunctionType.from_lists(
            [a.type for a in self.block.args], [r.type for r in results]
        )
        module = ModuleOp([self.function])
        module.verify()
        return module


def number_for(choices: Choices, dtype: str) -> float | int:
    """A number that the type holds."""
    if dtype == "i1":
        return choices.pick((0, 1))
    if dtype in INTEGERS:
        return choices.pick((0, 1, -2, 7))
    return choices.pick((0.0, 1.0, -2.0, 0.5, -0.0, 7.0))


def full(b: Builder) -> SSAValue:
    dtype = b.choices.pick(DTYPES)
    shape = b.shape() if not b.values else shape_of(b.value())
    shape = [b.choices.pick((n, 1)) for n in shape]
    number = number_for(b.choices, dtype)
    return b.add(spyre.FullOp(number, tensor_type(shape, dtype)))


def iota(b: Builder) -> SSAValue:
    dtype = b.choices.pick(("i64", "f32", "i32", "f16"))
    shape = b.shape(1)
    dim = b.choices.integer(0, len(shape) - 1)
    start, step = b.choices.pick((0, 1, -3)), b.choices.pick((1, 2, -1))
    return b.add(spyre.IotaOp(dim, start, step, tensor_type(shape, dtype)))
