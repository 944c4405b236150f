# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs decoded once: records as plain data, streams as trees of loops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod

from xdsl.ir import Block

from spyre_mlir.algebra.access import Access, Axis, Sync
from spyre_mlir.dialects import dev

Trips = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Record:
    """A record and what surrounds it; compared by identity."""

    op: dev.RecordOp
    unit: str
    grid: tuple[int, ...]
    nest: tuple[int, ...]
    axes: tuple[Axis, ...]
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]
    waits: tuple[Sync, ...]
    signals: tuple[Sync, ...]

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        return self.reads + self.writes

    @cached_property
    def in_scratchpad(self) -> bool:
        """It touches no DRAM, so its meaning is the same in every call."""
        return all(a.space == "lx" for a in self.accesses)

    @cached_property
    def acc_level(self) -> int:
        if isinstance(self.op, dev.MatmulOp | dev.VectorOp):
            return self.op.acc_level.value.data
        return -1

    @cached_property
    def indexed_axes(self) -> tuple[int, ...]:
        """Axes whose coordinates are values of the body."""
        if not isinstance(self.op, dev.VectorOp):
            return ()
        steps = self.op.steps_data
        return tuple(int(s.values[0]) for s in steps if s.function == "index")

    def adds(self, trips: Trips) -> bool:
        """It adds to what its output holds instead of overwriting that."""
        return self.acc_level >= 0 and any(trips[self.acc_level :])

    def offset(self, access: Access, trips: Trips) -> int:
        """Bytes from the symbol or scratchpad start, on the first core."""
        return access.offset((), trips, self.nest)

    def waits_at(self, trips: Trips) -> list[Sync]:
        return [w for w in self.waits if not any(trips[w.level :])]

    def signals_at(self, trips: Trips) -> list[Sync]:
        last = tuple(n - 1 for n in self.nest)
        return [s for s in self.signals if trips[s.level :] == last[s.level :]]


@dataclass(frozen=True)
class Loop:
    trips: int
    body: tuple[Record | Loop, ...]


@dataclass(frozen=True)
class Program:
    """A decoded `dev.program`."""

    op: dev.ProgramOp
    name: str
    grid: tuple[int, ...]
    semaphores: tuple[int, ...]
    streams: dict[str, tuple[Record | Loop, ...]]

    @property
    def cores(self) -> int:
        return prod(self.grid)

    def records(self) -> Iterator[Record]:
        pending = [item for body in self.streams.values() for item in body]
        while pending:
            item = pending.pop(0)
            if isinstance(item, Loop):
                pending[:0] = item.body
            else:
                yield item


def decode(op: dev.ProgramOp) -> Program:
    grid = op.grid_data
    streams = {
        s.unit.data: _body(s.body.block, s.unit.data, grid, ()) for s in op.streams
    }
    return Program(op, op.sym_name.data, grid, op.semaphores_data, streams)


def _body(
    block: Block, unit: str, grid: tuple[int, ...], nest: tuple[int, ...]
) -> tuple[Record | Loop, ...]:
    items: list[Record | Loop] = []
    for op in block.ops:
        if isinstance(op, dev.LoopOp):
            trips = op.trips_data
            items.append(Loop(trips, _body(op.body.block, unit, grid, (*nest, trips))))
            continue
        assert isinstance(op, dev.RecordOp)
        items.append(
            Record(
                op,
                unit,
                grid,
                nest,
                op.axes_data,
                op.reads(),
                op.writes(),
                op.waits_data,
                op.signals_data,
            )
        )
    return tuple(items)


def expand(
    body: tuple[Record | Loop, ...], trips: Trips = ()
) -> Iterator[tuple[Record, Trips]]:
    """The records of a stream in execution order, each with its trips."""
    for item in body:
        if isinstance(item, Record):
            yield item, trips
            continue
        for trip in range(item.trips):
            yield from expand(item.body, (*trips, trip))
