# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the records that move data mean: transfer, shuffle, ring_reduce."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product

import numpy as np
import torch
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)

from spyre_mlir.algebra.access import Access
from spyre_mlir.algebra.layout import STICK_BYTES, ceil_div
from spyre_mlir.dialects import dev

from .boxes import boxes
from .codec import COMPUTE, Run
from .errors import CardError, describe
from .machine import Machine, Placed, Strided, dense
from .pieces import Block
from .records import Record
from .site import Bound, Located, Runs, Site, give, site_of

WORD = torch.int64
"""Whole sticks move as words of this type."""


@register_impls
class MoveFunctions(InterpreterFunctions):
    @impl(dev.TransferOp)
    def bind_transfer(
        self, interpreter: Interpreter, op: dev.TransferOp, args: PythonValues
    ) -> PythonValues:
        site = site_of(interpreter)
        return give(interpreter, _transfer(site))

    @impl(dev.ShuffleOp)
    def bind_shuffle(
        self, interpreter: Interpreter, op: dev.ShuffleOp, args: PythonValues
    ) -> PythonValues:
        site = site_of(interpreter)
        return give(interpreter, _shuffle(site))

    @impl(dev.RingReduceOp)
    def bind_ring_reduce(
        self, interpreter: Interpreter, op: dev.RingReduceOp, args: PythonValues
    ) -> PythonValues:
        site = site_of(interpreter)
        return give(interpreter, _ring_reduce(site, op.combine.data, op.digits_data))


def copy(
    target: torch.Tensor, source: torch.Tensor, turned: frozenset[int] = frozenset()
) -> Run:
    """Copies between views of one shape, some dimensions in opposite directions."""
    if not turned:
        return partial(target.copy_, source)
    dims = sorted(turned)
    # Torch has no negative strides; its flip is a copy.
    return lambda: target.copy_(source.flip(dims))


# --------------------------------------------------------------------------
# transfer


def _transfer(site: Site) -> Bound:
    record, machine = site.record, site.machine
    (source,), (target,) = record.reads, record.writes
    pairs = [
        (_stick_view(site, target, block), _stick_view(site, source, block))
        for block in site.busy()
    ]

    def at(symbols: Sequence[int]) -> Runs:
        runs: list[Run] = []
        for to, of in pairs:
            # Of several writes to the same bytes the last one stays.
            keep = [stride != 0 for stride in to.strides]
            to, turned = to.last_of(keep).upright()
            of, other = of.last_of(keep).upright()
            write = _memory(record, machine, target, to, symbols)
            read = _memory(record, machine, source, of, symbols)
            runs.append(copy(write, read, turned ^ other))
        return tuple(runs)

    return at(()) if record.in_scratchpad else Located(at)


def _memory(
    record: Record,
    machine: Machine,
    access: Access,
    view: Strided,
    symbols: Sequence[int],
) -> torch.Tensor:
    if access.space == "lx":
        return machine.tensor("lx", WORD, view)
    return machine.dram(record, WORD, view, symbols[access.symbol])


def _stick_view(site: Site, access: Access, block: Block) -> Strided:
    """Whole sticks: the stick axis counts them, a last dimension has their words."""
    words = WORD.itemsize // access.itemsize
    shape: list[int] = []
    strides: list[int] = []
    for count, step, stick in zip(
        block.extents, access.strides, access.stick, strict=True
    ):
        if stick:
            count = ceil_div(count, access.eps)
            step = step * access.eps + access.stick_stride
        if count == 1:
            step = 0
        if step * access.itemsize % WORD.itemsize:
            raise CardError(
                f"a transfer of parts of sticks: {describe(site.record.op)}"
            )
        shape.append(count)
        strides.append(step // words if words else step * (access.itemsize // 8))
    return site.machine.place(
        site.record,
        access,
        site.trips,
        block,
        (*shape, STICK_BYTES // WORD.itemsize),
        (*strides, 1),
        0,
        WORD.itemsize,
    )


# --------------------------------------------------------------------------
# shuffle


def _shuffle(site: Site) -> Runs:
    runs: list[Run] = []
    for block in site.busy():
        runs += move_elements(site, block, site.record.reads[0], site.record.writes[0])
    return tuple(runs)


def move_elements(
    site: Site, block: Block, source: Access, target: Access
) -> list[Run]:
    """Copies exactly the elements of the block inside the scratchpads."""
    machine = site.machine
    dtype = machine.codec.storage(target.dtype)
    parts = boxes(block.ranges, (source, target))
    if parts is None:
        return _move_by_index(site, block, source, target)
    pairs: list[tuple[Strided, Strided, frozenset[int]]] = []
    for box in parts:
        to, of = (
            machine.box_view(site.record, a, site.trips, block, box).upright()
            for a in (target, source)
        )
        pairs.append((to[0], of[0], to[1] ^ of[1]))
    # Where the two sides share bytes, all is read before anything is written.
    shared = any(_overlap(to, of) for to, _, _ in pairs for _, of, _ in pairs)
    reads: list[Run] = []
    writes: list[Run] = []
    for number, (to, of, turned) in enumerate(pairs):
        value = machine.tensor("lx", dtype, of)
        if shared:
            held = machine.scratch.take(f"move {number}", dtype, to.shape)
            reads.append(partial(held.copy_, value))
            value = held
        writes.append(copy(machine.tensor("lx", dtype, to), value, turned))
    return reads + writes


def _overlap(a: Strided, b: Strided) -> bool:
    (low_a, high_a), (low_b, high_b) = a.span, b.span
    return low_a < high_b and low_b < high_a


def _move_by_index(
    site: Site, block: Block, source: Access, target: Access
) -> list[Run]:
    machine = site.machine
    dtype = machine.codec.storage(target.dtype)
    flat = machine.flat("lx", dtype)
    cores = core_rows(site.record.grid, block) * machine.row_bytes

    def index(access: Access) -> torch.Tensor:
        start = site.record.offset(access, site.trips)
        inside = elements_of(access, block) * access.itemsize + start
        byte = (cores[:, None] + inside[None, :]).reshape(-1)
        return torch.from_numpy(byte // access.itemsize)

    read, write = index(source), index(target)
    held = machine.scratch.take("move", dtype, (read.numel(),))
    return [
        partial(torch.index_select, flat, 0, read, out=held),
        partial(flat.index_copy_, 0, write, held),
    ]


def core_rows(grid: tuple[int, ...], block: Block) -> np.ndarray:
    """Numbers of the block's cores, in the order of its digits."""
    rows = np.zeros((1,) * len(grid), dtype=np.int64)
    weight = 1
    for digit, (parts, (first, count)) in enumerate(
        zip(grid, block.digits, strict=True)
    ):
        values = np.arange(first, first + count, dtype=np.int64) * weight
        rows = rows + values.reshape(
            [-1 if d == digit else 1 for d in range(len(grid))]
        )
        weight *= parts
    return rows.reshape(-1)


def elements_of(access: Access, block: Block) -> np.ndarray:
    """Element offsets of one core's part, row-major over the block's axes."""
    rank = len(block.ranges)
    linear = np.zeros((1,) * rank, dtype=np.int64)
    along = np.full((1,) * rank, access.stick_offset, dtype=np.int64)
    for axis, (first, count) in enumerate(block.ranges):
        values = np.arange(first, first + count, dtype=np.int64)
        values = values.reshape([-1 if a == axis else 1 for a in range(rank)])
        linear = linear + access.strides[axis] * values
        along = along + access.stick[axis] * values
    eps = access.eps
    element = linear + along // eps * access.stick_stride + along % eps
    return np.broadcast_to(element, block.extents).reshape(-1)


# --------------------------------------------------------------------------
# ring_reduce


def _ring_reduce(site: Site, combine: str, digits: tuple[int, ...]) -> Runs:
    runs: list[Run] = []
    for block in site.busy():
        for digit in digits:
            if block.digits[digit] != (0, site.record.grid[digit]):
                raise CardError(
                    f"cores along digit {digit} fold tiles of different extents: "
                    + describe(site.record.op)
                )
        runs += _fold_ring(site, block, combine, digits)
    return tuple(runs)


COMBINE = {"sum": torch.add, "max": torch.maximum, "min": torch.minimum}


def _fold_ring(
    site: Site, block: Block, combine: str, digits: tuple[int, ...]
) -> list[Run]:
    record, machine = site.record, site.machine
    (source,), (target,) = record.reads, record.writes
    compute = COMPUTE[source.dtype]
    keep = [d not in digits for d in range(len(record.grid))]
    rest = block.kept(keep, [True] * len(block.ranges))
    total = machine.scratch.take("ring total", compute, rest.shape)
    part = machine.scratch.take("ring part", compute, rest.shape)
    runs: list[Run] = []
    # Ascending order of the last digit first, as core numbers ascend.
    for values in product(*(range(record.grid[d]) for d in reversed(digits))):
        one = list(rest.digits)
        for digit, value in zip(reversed(digits), values, strict=True):
            one[digit] = (value, 1)
        into = total if not any(values) else part
        where = dense(into, len(one))
        runs += load_block(site, source, Block(tuple(one), rest.ranges), where)
        if any(values):
            runs.append(partial(COMBINE[combine], total, part, out=total))
    return runs + store_block(site, target, block, dense(total, len(rest.digits)))


# --------------------------------------------------------------------------
# whole operands in compute form


def load_block(site: Site, access: Access, block: Block, into: Placed) -> list[Run]:
    """Converts the block's elements to compute form."""
    return [
        run
        for stored, value in block_views(site, access, block, into)
        for run in site.machine.codec.load(value, stored, access.dtype)
    ]


def store_block(site: Site, access: Access, block: Block, value: Placed) -> list[Run]:
    """Rounds a value, which may broadcast to the block, to the block's elements."""
    return [
        run
        for stored, part in block_views(site, access, block, value)
        for run in site.machine.codec.store(stored, part, access.dtype)
    ]


def block_views(
    site: Site, access: Access, block: Block, value: Placed
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Pairs of views of one shape: where elements are stored, and in `value`."""
    machine = site.machine
    dtype = machine.codec.storage(access.dtype)
    parts = boxes(block.ranges, (access, value.access))
    if parts is None:
        raise CardError(
            f"an operand bends at too many sticks: {describe(site.record.op)}"
        )
    pairs: list[tuple[torch.Tensor, torch.Tensor]] = []
    for box in parts:
        view = machine.box_view(site.record, access, site.trips, block, box)
        stored = machine.tensor("lx", dtype, view)
        pairs.append((stored, value.view(block, box)))
    return pairs
