# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
What `dev.matmul` means: conversion to dense f32 arrays, then one library product.

Core digits take a role as axes do: along a digit where only one operand varies, the
cores' products are rows or columns of one larger product. That is sound because the
other operand's copies were proven equal when the plan was bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)

from spyre_mlir.algebra.access import Access
from spyre_mlir.dialects import dev

from .codec import COMPUTE, Run, is_native
from .errors import CardError, describe
from .machine import dense
from .moves import block_views
from .pieces import Block, split
from .site import Runs, Site, give, site_of

OPERAND_ELEMENTS = 1 << 20
"""Largest converted operand: it is used while the host's cache holds it."""

ROWS_ELEMENTS = 1 << 16
"""The same for products of few rows, which read each element only once."""

FEW_ROWS = 16


@register_impls
class MatmulFunctions(InterpreterFunctions):
    @impl(dev.MatmulOp)
    def bind_matmul(
        self, interpreter: Interpreter, op: dev.MatmulOp, args: PythonValues
    ) -> PythonValues:
        site = site_of(interpreter)
        return give(interpreter, _Binder(site, op.roles.data).bind())


def digit_roles(grid: Sequence[int], lhs: int, rhs: int) -> str:
    """Role of each digit: `m` or `n` where one operand varies, `1` where neither."""
    roles = ""
    for digit in range(len(grid)):
        left, right = not lhs >> digit & 1, not rhs >> digit & 1
        roles += "b" if left and right else "m" if left else "n" if right else "1"
    return roles


@dataclass(frozen=True)
class _Operand:
    """A dense array over (b, rows, columns), and how record dimensions step in it."""

    array: torch.Tensor
    strides: tuple[int, ...]
    matrix: torch.Tensor


class _Binder:
    def __init__(self, site: Site, roles: str):
        self.site = site
        self.lhs, self.rhs = site.record.reads
        (self.out,) = site.record.writes
        self.axis_roles = roles
        left, right = site.uniform
        self.roles = digit_roles(site.record.grid, left, right) + roles
        self.compute = COMPUTE[self.lhs.dtype]
        if not self.compute.is_floating_point:
            # Integer products are exact as far as the result type goes.
            self.compute = torch.int64
        self.runs: list[Run] = []
        self.piece = site.pieces[0]

    def bind(self) -> Runs:
        for piece in self.site.pieces:
            sizes = zip(self.axis_roles, piece.extents, strict=True)
            if any(role != "k" and not size for role, size in sizes):
                continue
            if not all(piece.extents):
                self._nothing_to_add(piece)
                continue
            self.piece = piece
            held: Block | None = None
            for block in self._chunks(piece):
                held = self._bind_block(block, held)
        return tuple(self.runs)

    def _sizes(self, block: Block) -> dict[str, int]:
        sizes = dict.fromkeys("bmnk1", 1)
        for role, size in zip(self.roles, block.shape, strict=True):
            sizes[role] *= size
        return sizes

    def _chunks(self, piece: Block) -> list[Block]:
        limit = OPERAND_ELEMENTS
        sizes = self._sizes(piece)
        if min(sizes["m"], sizes["n"]) <= FEW_ROWS:
            limit = ROWS_ELEMENTS

        def cost(block: Block) -> int:
            s = self._sizes(block)
            return s["b"] * s["k"] * max(s["m"], s["n"])

        digits = len(piece.digits)
        wide = "n" if sizes["n"] >= sizes["m"] else "m"
        cuttable = [r in ("b", wide) for r in self.roles]
        accesses = self.site.record.accesses
        grain = [1] * digits + [
            max((a.eps for a in accesses if a.stick[x]), default=1)
            for x in range(len(piece.ranges))
        ]
        return split(piece, limit, cost, cuttable, grain)

    def _bind_block(self, block: Block, held: Block | None) -> Block:
        sizes = self._sizes(block)
        lhs_block, rhs_block = self._part(block, "bmk"), self._part(block, "bkn")
        last = (
            (None, None)
            if held is None
            else (
                self._part(held, "bmk"),
                self._part(held, "bkn"),
            )
        )
        lhs = self._load(self.lhs, lhs_block, "bmk", "lhs", last[0])
        rhs = self._load(self.rhs, rhs_block, "bkn", "rhs", last[1])
        self._product(lhs, rhs, block, sizes)
        return block

    def _part(self, block: Block, roles: str) -> Block:
        """What an operand with these roles has of the block."""
        cut = len(block.digits)
        # Other dimensions stand at the piece's start, so that equal parts are equal.
        ranges = tuple(
            own if role in roles else (start, 1)
            for role, own, (start, _) in zip(
                self.roles,
                (*block.digits, *block.ranges),
                (*self.piece.digits, *self.piece.ranges),
                strict=True,
            )
        )
        return Block(ranges[:cut], ranges[cut:])

    def _operand(self, name: str, access: Access, block: Block, roles: str) -> _Operand:
        """A working array, its matrix dimensions in the order that suits the access."""
        outer, rows, columns = roles
        lanes = {
            r
            for r, s in zip(self.axis_roles, access.stick, strict=True)
            if s and r in (rows, columns)
        }
        flipped = lanes == {rows}
        order = (outer, columns, rows) if flipped else (outer, rows, columns)
        sizes = self._sizes(block)
        strides = [0] * len(self.roles)
        step = 1
        for role in reversed(order):
            for dim in reversed(range(len(self.roles))):
                if self.roles[dim] == role:
                    strides[dim] = step if block.shape[dim] > 1 else 0
                    step *= block.shape[dim]
        shape = tuple(sizes[r] for r in order)
        array = self.site.machine.scratch.take(name, self.compute, shape)
        matrix = array.transpose(1, 2) if flipped else array
        return _Operand(array, tuple(strides), matrix)

    def _load(
        self, access: Access, block: Block, roles: str, name: str, last: Block | None
    ) -> torch.Tensor:
        if access.space != "lx":
            raise CardError(f"operand in DRAM: {describe(self.site.record.op)}")
        operand = self._operand(name, access, block, roles)
        if block != last:
            view = operand.array.as_strided(block.shape, operand.strides)
            held = dense(view, len(block.digits))
            for stored, value in block_views(self.site, access, block, held):
                self.runs += self.site.machine.codec.load(value, stored, access.dtype)
        return operand.matrix

    def _product(
        self, lhs: torch.Tensor, rhs: torch.Tensor, block: Block, sizes: dict[str, int]
    ) -> None:
        part = self._part(block, "bmn")
        result = self._operand("product", self.out, part, "bmn")
        out = result.matrix
        if out is not result.array:
            # The transposed product fills the array in its own order.
            lhs, rhs, out = rhs.transpose(1, 2), lhs.transpose(1, 2), result.array
        self.runs.append(_multiply(lhs, rhs, out))
        value = result.array.as_strided(part.shape, result.strides)
        self._store(block, value)

    def _store(self, block: Block, value: torch.Tensor) -> None:
        machine = self.site.machine
        target = self._out_block(block)
        placed = dense(value, len(block.digits))
        for stored, part in block_views(self.site, self.out, target, placed):
            if not self.site.adds:
                self.runs += machine.codec.store(stored, part, self.out.dtype)
                continue
            if not is_native(self.out.dtype):
                raise CardError(
                    f"partial sums in {self.out.dtype}: {describe(self.site.record.op)}"
                )
            self.runs.append(partial(stored.add_, part))

    def _out_block(self, block: Block) -> Block:
        axes = [r != "k" for r in self.axis_roles]
        return block.kept([True] * len(block.digits), axes)

    def _nothing_to_add(self, piece: Block) -> None:
        """A core without elements along k: zeros, once."""
        if self.site.adds:
            return
        ranges = tuple((s, max(n, 1)) for s, n in piece.ranges)
        target = self._out_block(Block(piece.digits, ranges))
        zero = torch.zeros((1,) * len(target.shape), dtype=self.compute, device="cpu")
        placed = dense(zero, len(target.digits))
        for stored, part in block_views(self.site, self.out, target, placed):
            self.runs += self.site.machine.codec.store(stored, part, self.out.dtype)


def _multiply(lhs: torch.Tensor, rhs: torch.Tensor, out: torch.Tensor) -> Run:
    batch, rows, _ = lhs.shape
    columns = rhs.shape[2]
    if batch > 1:
        return partial(torch.bmm, lhs, rhs, out=out)
    if rows == 1 and lhs.dtype is torch.float32:
        return partial(torch.mv, rhs[0].t(), lhs[0, 0], out=out[0, 0])
    if columns == 1 and lhs.dtype is torch.float32:
        return partial(torch.mv, lhs[0], rhs[0, :, 0], out=out[0].view(-1))
    return partial(torch.mm, lhs[0], rhs[0], out=out[0])
