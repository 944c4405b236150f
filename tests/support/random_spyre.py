# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Random programs of the `spyre` level, and the test that a pass changes no bit of them.

Functions are exact or correctly rounded and numbers small, so that the order of a sum
does not show.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import prod

import torch
from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

from spyre_mlir.algebra.linear import Linear, affine_map
from spyre_mlir.dialects import spyre
from spyre_mlir.dialects.spyre import dtype_name, tensor_of, tensor_type
from spyre_mlir.interpreters.spyre import interpret, torch_dtype

EDGES = (1, 2, 3, 7, 63, 64, 65, 128)
"""Sizes around sticks."""

MAX_ELEMENTS = 40_000
UNARY = ("neg", "abs", "relu", "floor", "sqrt", "identity")
BINARY = ("add", "sub", "mul", "maximum", "minimum", "div")


def shape_of(value: SSAValue) -> list[int]:
    return list(tensor_of(value).get_shape())


def iterators(rank: int) -> list[Linear]:
    return [Linear.iterator(k, rank) for k in range(rank)]


class Program:
    """A function `main` that grows by random operations."""

    def __init__(self, seed: int, sizes: Sequence[int] = EDGES, dtype: str = "f16"):
        self.rng = random.Random(seed)
        self.dtype = dtype
        shapes = [self._shape(sizes) for _ in range(2)]
        types = [tensor_type(s, dtype) for s in shapes]
        self.function = FuncOp("main", (types, []))
        self.block = self.function.body.block
        self.values: list[SSAValue] = list(self.block.args)

    def _shape(self, sizes: Sequence[int]) -> list[int]:
        while True:
            rank = self.rng.randint(1, 3)
            shape = [self.rng.choice(sizes) for _ in range(rank)]
            if prod(shape) <= MAX_ELEMENTS:
                return shape

    def pick(self) -> SSAValue:
        """A value, more likely a late one."""
        return self.rng.choice(
            self.values if self.rng.random() < 0.3 else self.values[-2:]
        )

    def add(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        self.values.append(op.results[0])
        return op.results[0]

    def grow(self, kinds: Sequence[str], count: int) -> Program:
        """Adds random operations of these kinds."""
        for _ in range(count):
            op = getattr(self, self.rng.choice(kinds))(self.pick())
            if op is not None and prod(shape_of(op.results[0])) <= MAX_ELEMENTS:
                self.add(op)
        return self

    def module(self, outputs: int = 2) -> ModuleOp:
        """The program, verified, returning its last values."""
        results = self.values[-outputs:]
        self.block.add_op(ReturnOp(*results))
        self.function.function_type = FunctionType.from_lists(
            [a.type for a in self.block.args], [r.type for r in results]
        )
        module = ModuleOp([self.function])
        module.verify()
        return module

    # Movements.

    def permute(self, value: SSAValue) -> Operation:
        shape = shape_of(value)
        order = self.rng.sample(range(len(shape)), len(shape))
        target = [iterators(len(shape))[d] for d in order]
        return self._move(value, [shape[d] for d in order], shape, None, target)

    def slice(self, value: SSAValue) -> Operation | None:
        shape = shape_of(value)
        if not shape:
            return None
        dim = self.rng.randrange(len(shape))
        step = self.rng.choice((1, 1, 2, -1))
        start = shape[dim] - 1 if step < 0 else self.rng.randrange(shape[dim])
        most = shape[dim] if step < 0 else -(-(shape[dim] - start) // step)
        result = [*shape]
        result[dim] = self.rng.randint(1, most)
        source = iterators(len(shape))
        source[dim] = source[dim] * step + Linear.constant(start, len(shape))
        return self._move(value, result, result, source, None)

    def merge(self, value: SSAValue) -> Operation | None:
        shape = shape_of(value)
        if len(shape) < 2:
            return None
        dim = self.rng.randrange(len(shape) - 1)
        target = iterators(len(shape))
        target[dim : dim + 2] = [target[dim] * shape[dim + 1] + target[dim + 1]]
        result = [*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :]]
        return self._move(value, result, shape, None, target)

    def split(self, value: SSAValue) -> Operation | None:
        shape = shape_of(value)
        cuts = [
            (d, f) for d, n in enumerate(shape) for f in range(1, n + 1) if n % f == 0
        ]
        if not cuts or len(shape) > 4:
            return None
        dim, factor = self.rng.choice(cuts)
        inner = shape[dim] // factor
        result = [*shape[:dim], factor, inner, *shape[dim + 1 :]]
        source = iterators(len(result))
        source[dim : dim + 2] = [source[dim] * inner + source[dim + 1]]
        return self._move(value, result, result, source, None)

    def expand(self, value: SSAValue) -> Operation | None:
        shape = shape_of(value)
        if len(shape) > 4:
            return None
        dim = self.rng.randrange(len(shape) + 1)
        result = [*shape[:dim], self.rng.choice((1, 2, 3)), *shape[dim:]]
        source = iterators(len(result))
        del source[dim]
        return self._move(value, result, result, source, None)

    def pad(self, value: SSAValue) -> Operation | None:
        shape = shape_of(value)
        if not shape:
            return None
        dim = self.rng.randrange(len(shape))
        low, high = self.rng.choice(((0, 0), (1, 0), (1, 2), (0, 3)))
        result = [*shape]
        result[dim] += low + high
        target = iterators(len(shape))
        target[dim] = target[dim] + Linear.constant(low, len(shape))
        op = self._move(value, result, shape, None, target)
        op.fill = spyre.number_attr(self.rng.choice((0, 7)), dtype_name(value.type))
        return op

    def cat(self, value: SSAValue) -> Operation | None:
        shape = shape_of(value)
        if not shape:
            return None
        dim = self.rng.randrange(len(shape))
        wanted = [n for d, n in enumerate(shape) if d != dim]
        fitting = [
            v
            for v in self.values
            if len(shape_of(v)) == len(shape)
            and [n for d, n in enumerate(shape_of(v)) if d != dim] == wanted
            and dtype_name(v.type) == dtype_name(value.type)
        ]
        sources = [self.rng.choice(fitting) for _ in range(self.rng.randint(1, 3))]
        rank = len(shape)
        front = iterators(rank)
        along = front.pop()
        coordinates = [*front[:dim], along, *front[dim:]]
        offset = 0
        targets = []
        for source in sources:
            moved = [*coordinates]
            moved[dim] = along + Linear.constant(offset, rank)
            targets.append(affine_map(moved, rank))
            offset += shape_of(source)[dim]
        result = [*shape]
        result[dim] = offset
        return spyre.ReindexOp(
            sources,
            tensor_type(result, dtype_name(value.type)),
            wanted,
            [affine_map(coordinates, rank)] * len(sources),
            targets,
            [(shape_of(s)[dim],) for s in sources],
        )

    def _move(
        self,
        value: SSAValue,
        result: Sequence[int],
        sizes: Sequence[int],
        source: Sequence[Linear] | None,
        target: Sequence[Linear] | None,
    ) -> spyre.ReindexOp:
        rank = len(sizes)
        return spyre.ReindexOp(
            [value],
            tensor_type(result, dtype_name(value.type)),
            sizes,
            [affine_map(source or iterators(rank), rank)],
            [affine_map(target or iterators(rank), rank)],
        )

    # Arithmetic.

    def full(self, value: SSAValue) -> Operation:
        shape = [self.rng.choice((1, n)) for n in shape_of(value)]
        number = self.rng.choice((0, 1, -2, 0.5))
        return spyre.FullOp(number, tensor_type(shape, self.dtype))

    def map(self, value: SSAValue) -> Operation | None:
        """A map of one to three operands, some broadcast, some transposed."""
        shape = shape_of(value)
        inputs, maps = [value], [AffineMap.identity(len(shape))]
        for other in self.rng.sample(self.values, min(2, len(self.values))):
            map_ = self._broadcast(shape_of(other), shape)
            if map_ is not None:
                inputs.append(other)
                maps.append(map_)
        elements = [tensor_of(v).element_type for v in inputs]
        block = Block(arg_types=elements)
        dtype = self.rng.choice((self.dtype, "f32"))
        known = [self._cast(block, a, dtype) for a in block.args]
        for _ in range(self.rng.randint(0, 3)):
            known.append(self._function(block, known, dtype))
        block.add_op(spyre.YieldOp(known[-1]))
        return spyre.MapOp(inputs, maps, tensor_type(shape, dtype), Region(block))

    def _cast(self, block: Block, value: SSAValue, dtype: str) -> SSAValue:
        if dtype_name(value.type) == dtype:
            return value
        op = spyre.FnOp("cast", [value], spyre.ELEMENT_TYPES[dtype])
        block.add_op(op)
        return op.result

    def _function(
        self, block: Block, known: Sequence[SSAValue], dtype: str
    ) -> SSAValue:
        type_ = spyre.ELEMENT_TYPES[dtype]
        choice = self.rng.random()
        ops: list[Operation] = []
        if choice < 0.4:
            ops.append(
                spyre.FnOp(self.rng.choice(UNARY), [self.rng.choice(known)], type_)
            )
        elif choice < 0.7:
            pair = [self.rng.choice(known) for _ in range(2)]
            ops.append(spyre.FnOp(self.rng.choice(BINARY), pair, type_))
        elif choice < 0.85:
            number = self.rng.choice((1, 0, -0.0, 8, 2, 3))
            ops.append(spyre.ConstantOp(number, dtype))
            function = self.rng.choice(("add", "sub", "mul", "div"))
            pair = [self.rng.choice(known), ops[0].results[0]]
            ops.append(spyre.FnOp(function, pair, type_))
        else:
            a, b = (self.rng.choice(known) for _ in range(2))
            ops.append(spyre.FnOp("lt", [a, b], spyre.ELEMENT_TYPES["i1"]))
            ops.append(spyre.FnOp("where", [ops[0].results[0], a, b], type_))
        block.add_ops(ops)
        return ops[-1].results[0]

    def _broadcast(
        self, shape: Sequence[int], wanted: Sequence[int]
    ) -> AffineMap | None:
        """A map that reads a tensor of `shape` over iterators of `wanted` sizes."""
        free = list(range(len(wanted)))
        results = []
        for size in shape:
            fits = [d for d in free if wanted[d] == size]
            if fits and (size != 1 or self.rng.random() < 0.5):
                dim = self.rng.choice(fits)
                free.remove(dim)
                results.append(AffineDimExpr(dim))
            elif size == 1:
                results.append(AffineConstantExpr(0))
            else:
                return None
        return AffineMap(len(wanted), 0, tuple(results))

    def matmul(self, value: SSAValue) -> Operation | None:
        """A product over the last dimension with some other value that fits."""
        shape = shape_of(value)
        if not shape or dtype_name(value.type) != self.dtype:
            return None
        others = [
            v
            for v in self.values
            if len(shape_of(v)) == 2
            and shape_of(v)[1] == shape[-1]
            and dtype_name(v.type) == self.dtype
        ]
        if not others:
            return None
        other = self.rng.choice(others)
        rank = len(shape) + 1
        rows = [AffineDimExpr(d) for d in range(len(shape) - 1)]
        n, k = AffineDimExpr(rank - 2), AffineDimExpr(rank - 1)
        return spyre.MatmulOp(
            value,
            other,
            tensor_type([*shape[:-1], shape_of(other)[0]], self.dtype),
            [
                AffineMap(rank, 0, (*rows, k)),
                AffineMap(rank, 0, (n, k)),
                AffineMap(rank, 0, (*rows, n)),
            ],
        )

    def reduce(self, value: SSAValue) -> Operation:
        shape = shape_of(value)
        dims = [d for d in range(len(shape)) if self.rng.random() < 0.5]
        result = [1 if d in dims else n for d, n in enumerate(shape)]
        kind = self.rng.choice(("sum", "max", "min"))
        return spyre.ReduceOp(
            kind, value, dims, tensor_type(result, dtype_name(value.type))
        )


MOVEMENTS = ("permute", "slice", "merge", "split", "expand", "pad", "cat")


def inputs_of(module: ModuleOp, seed: int = 0) -> list[torch.Tensor]:
    """Small whole numbers for the arguments of `main`."""
    generator = torch.Generator().manual_seed(seed)
    function = next(f for f in module.ops if isinstance(f, FuncOp))
    return [
        torch.randint(-3, 4, shape_of(a), generator=generator).to(
            torch_dtype(dtype_name(a.type))
        )
        for a in function.body.block.args
    ]


def run(module: ModuleOp) -> list[torch.Tensor]:
    return interpret(module, inputs_of(module))


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """The bits of a tensor, all NaN made one."""
    whole = {2: torch.int16, 4: torch.int32, 8: torch.int64, 1: torch.uint8}
    if tensor.is_floating_point():
        tensor = torch.where(tensor.isnan(), torch.nan, tensor)
    return tensor.contiguous().view(whole[tensor.element_size()])


def check_equal_bits(module: ModuleOp, pass_: ModulePass) -> None:
    """Runs a pass: the results keep every bit, and a second run changes nothing."""
    DeadCodeElimination().apply(Context(), module)
    before = run(module)
    text = str(module)
    apply(module, pass_)
    after = run(module)
    for old, new in zip(before, after, strict=True):
        assert old.dtype == new.dtype and old.shape == new.shape, text
        assert torch.equal(bits(old), bits(new)), f"{text}\n{module}"
    once = str(module)
    apply(module, pass_)
    assert str(module) == once, "a second run of the pass changes the program"


def apply(module: ModuleOp, pass_: ModulePass) -> None:
    """Runs a pass and dead code elimination; the result verifies."""
    context = Context()
    pass_.apply(context, module)
    DeadCodeElimination().apply(context, module)
    module.verify()
    check_uses(module)


def check_uses(module: ModuleOp) -> None:
    """No operation outside the module still uses a value of it."""
    for op in module.walk():
        values = [
            *op.results,
            *(a for r in op.regions for b in r.blocks for a in b.args),
        ]
        for use in (u for v in values for u in v.uses):
            assert use.operation.get_toplevel_object() is module, use.operation
