# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `dev.gather` means: reads of DRAM at indices that lie in the scratchpads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)

from spyre_mlir.dialects import dev

from .codec import COMPUTE, Run
from .errors import AddressError, CardError, GatherIndexError, describe
from .machine import dense
from .moves import block_views, load_block
from .pieces import Block
from .site import Bound, Located, Runs, Site, give, site_of


@register_impls
class GatherFunctions(InterpreterFunctions):
    @impl(dev.GatherOp)
    def bind_gather(
        self, interpreter: Interpreter, op: dev.GatherOp, args: PythonValues
    ) -> PythonValues:
        site = site_of(interpreter)
        gather = _Gather(
            site,
            op.index_stride.value.data,
            op.index_stick.value.data,
            op.limit.value.data,
        )
        return give(interpreter, gather.bind())


class _Gather:
    def __init__(self, site: Site, stride: int, stick: int, limit: int):
        self.site = site
        self.stride = stride
        self.stick = stick
        self.limit = limit
        self.source, self.index = site.record.reads
        (self.target,) = site.record.writes

    def bind(self) -> Bound:
        if self.source.space != "dram" or self.index.space != "lx":
            raise CardError(
                "a gather reads DRAM at indices in a scratchpad: "
                + describe(self.site.record.op)
            )
        parts = [self._prepare(block) for block in self.site.busy()]

        def at(symbols: Sequence[int]) -> Runs:
            address = symbols[self.source.symbol]
            return tuple(run for part in parts for run in part(address))

        return Located(at)

    def _prepare(self, block: Block) -> _Part:
        if self._takes_sticks(block):
            return _Part(self, block, self.source.eps)
        return _Part(self, block, 1)

    def _takes_sticks(self, block: Block) -> bool:
        """Whole sticks per index: the stick axis is not the one that is indexed."""
        source, target = self.source, self.target
        axes = [a for a, s in enumerate(source.stick) if s]
        if not source.is_sticked or self.stick or self.stride % source.eps:
            return False
        if len(axes) != 1 or self.index.strides[axes[0]] or self.index.stick[axes[0]]:
            return False
        steps = (s for a, s in enumerate(source.strides) if a != axes[0])
        return not any(s % source.eps for s in (*steps, source.stick_stride)) and (
            target.is_sticked and target.stick == source.stick
        )


class _Part:
    """One block of a gather; `grain` elements are read per position."""

    def __init__(self, gather: _Gather, block: Block, grain: int):
        self.gather = gather
        self.grain = grain
        self.block = block
        site = gather.site
        machine = site.machine
        axes = range(len(block.ranges))
        index = gather.index
        varies = [bool(index.strides[a] or index.stick[a]) for a in axes]
        uniform = site.uniform[1]
        cores = [not uniform >> d & 1 for d in range(len(block.digits))]
        self.index_block = block.kept(cores, varies)
        self.indices = machine.scratch.take(
            "gather index", COMPUTE[index.dtype], self.index_block.shape
        )
        held = dense(self.indices, len(block.digits))
        self.loads = load_block(site, index, self.index_block, held)
        self.linear, self.along = self._static()
        shape = tuple(
            max(a, b)
            for a, b in zip(self.linear.shape, self.indices.shape, strict=True)
        )
        self.positions = machine.scratch.take("gather position", torch.int64, shape)
        self.dtype = machine.codec.storage(gather.target.dtype)
        self.found = machine.scratch.take(
            "gather found", self.dtype, (self.positions.numel(), grain)
        )
        self.stores = self._stores(shape)

    def _static(self) -> tuple[torch.Tensor, torch.Tensor]:
        """
        The part of each position that no index changes, in units of `grain`
        elements, and its coordinate along the sticks, over digits and axes.
        """
        site, source, block = self.gather.site, self.gather.source, self.block
        rank = len(block.shape)
        steps, _ = site.machine.digit_strides(site.record, source)
        start = site.record.offset(source, site.trips)
        linear = torch.full((1,) * rank, start // source.itemsize, dtype=torch.int64)
        along = torch.full((1,) * rank, source.stick_offset, dtype=torch.int64)
        uneven = start % source.itemsize or any(s % source.itemsize for s in steps)
        if uneven:
            raise AddressError(f"gather between elements: {describe(site.record.op)}")
        linear = self._along_digits(linear, steps)
        for axis, (first, count) in enumerate(block.ranges):
            step, stick = source.strides[axis], source.stick[axis]
            if not step and not stick:
                continue
            if stick and self.grain > 1:
                count = -(-count // self.grain)
                step = step * self.grain + source.stick_stride
                stick = 0
            values = torch.arange(first, first + count, dtype=torch.int64)
            values = _on(values, len(block.digits) + axis, rank)
            linear = linear + values * step
            along = along + values * stick
        return linear, along

    def _along_digits(self, linear: torch.Tensor, steps: Sequence[int]) -> torch.Tensor:
        source, block = self.gather.source, self.block
        for digit, (first, count) in enumerate(block.digits):
            if steps[digit]:
                values = torch.arange(first, first + count, dtype=torch.int64)
                values = values * (steps[digit] // source.itemsize)
                linear = linear + _on(values, digit, len(block.shape))
        return linear

    def _stores(self, shape: tuple[int, ...]) -> list[Run]:
        """From what was found to the scratchpads, exact elements."""
        site, target, block = self.gather.site, self.gather.target, self.block
        found = self.found.view(-1)
        sizes = list(shape)
        if self.grain > 1:
            axis = next(a for a, s in enumerate(target.stick) if s)
            at = len(block.digits) + axis
            # Sticks of an axis are one row only if nothing lies between them.
            order = [d for d in range(len(shape)) if d != at] + [at]
            sizes[at] *= self.grain
            ordered = found.view([shape[d] for d in order] + [self.grain])
            self._order = order
            view = ordered.flatten(-2)
            inverse = [order.index(d) for d in range(len(shape))]
            value = view.permute(inverse)
        else:
            self._order = list(range(len(shape)))
            value = found.view(shape)
        placed = dense(value, len(block.digits))
        pairs = block_views(site, target, block, placed)
        return [partial(stored.copy_, part) for stored, part in pairs]

    def __call__(self, address: int) -> Runs:
        gather, machine = self.gather, self.gather.site.machine
        record = gather.site.record
        itemsize = gather.source.itemsize
        if address % (itemsize * self.grain):
            raise AddressError(
                f"address {address} is not aligned to {itemsize * self.grain} bytes: "
                + describe(record.op)
            )
        base = address // itemsize
        flat = machine.flat("dram", self.dtype)
        whole = flat.numel() // self.grain * self.grain
        rows = flat[:whole].view(-1, self.grain)
        linear = self.linear + base
        runs: list[Run] = [*self.loads, self._check]
        runs.append(partial(self._find, linear, rows))
        return (*runs, *self.stores)

    def _check(self) -> None:
        low, high = torch.aminmax(self.indices)
        limit = self.gather.limit
        for value in (int(low), int(high)):
            if not 0 <= value < limit:
                op = self.gather.site.record.op
                problem = f"index {value} is outside [0, {limit})"
                raise GatherIndexError(problem, op, op.location)

    def _find(self, linear: torch.Tensor, rows: torch.Tensor) -> None:
        gather = self.gather
        eps = gather.source.eps
        indices = self.indices.to(torch.int64)
        positions = linear + indices * gather.stride
        if self.grain > 1:
            positions = positions // self.grain
        else:
            along = self.along + indices * gather.stick
            bent = torch.div(along, eps, rounding_mode="floor")
            positions = positions + bent * gather.source.stick_stride
            positions = positions + along - bent * eps
        positions = positions.permute(self._order).reshape(-1)
        torch.index_select(rows, 0, positions, out=self.found)


def _on(values: torch.Tensor, dim: int, rank: int) -> torch.Tensor:
    return values.view([-1 if d == dim else 1 for d in range(rank)])
