# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The streams of a program as the clock walks them: records, loops, a cursor."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from spyre_mlir.algebra.access import Axis, Sync
from spyre_mlir.dialects import dev
from spyre_mlir.target.chip import Chip
from spyre_mlir.target.cost import Charge, Work, charge
from spyre_runtime.work import work_of


@dataclass(eq=False)
class RecordNode:
    """A record, with the price of each way that its extents can come out."""

    op: dev.RecordOp
    index: int
    unit: str
    grid: tuple[int, ...]
    waits: tuple[Sync, ...]
    signals: tuple[Sync, ...]
    looped: tuple[tuple[int, list[int]], ...]
    """Depth of each loop that moves an axis, and the trips that clamp that axis."""
    prices: dict[tuple[int, ...], Price] = field(
        default_factory=dict["tuple[int, ...]", "Price"]
    )

    def price(self, chip: Chip, cursor: Cursor) -> Price:
        """What an execution at the cursor's trips costs."""
        trips = cursor.trips
        key = tuple(bisect_right(clamps, trips[d]) for d, clamps in self.looped)
        found = self.prices.get(key)
        if found is None:
            work = work_of(self.op, cursor.trips, self.grid)
            found = self.prices[key] = Price(work, charge(chip, work), len(self.prices))
        return found


@dataclass(frozen=True)
class Price:
    work: Work
    charge: Charge
    number: int
    """Counts the prices of one record."""


@dataclass(eq=False)
class LoopNode:
    """A hardware loop; `breaks` are the trips at which a record inside changes."""

    trips: int
    body: list[RecordNode | LoopNode]
    breaks: list[int]

    def segment(self, trip: int) -> int:
        """Number of the range of trips that `trip` is in; all of one cost the same."""
        return bisect_right(self.breaks, trip)

    def segment_end(self, trip: int) -> int:
        """First trip after that range."""
        place = self.segment(trip)
        return self.breaks[place] if place < len(self.breaks) else self.trips


def stream_records(nodes: Iterable[RecordNode | LoopNode]) -> list[RecordNode]:
    """The records below some nodes, in order."""
    found: list[RecordNode] = []
    for node in nodes:
        if isinstance(node, RecordNode):
            found.append(node)
        else:
            found.extend(stream_records(node.body))
    return found


def build_stream(
    stream: dev.StreamOp, grid: tuple[int, ...], numbers: dict[dev.RecordOp, int]
) -> list[RecordNode | LoopNode]:
    """The nodes of one stream; `numbers` counts the records of the program."""
    return _build(list(stream.body.block.ops), stream.unit.data, grid, numbers, 0)


def _build(
    ops: Sequence[object],
    unit: str,
    grid: tuple[int, ...],
    numbers: dict[dev.RecordOp, int],
    depth: int,
) -> list[RecordNode | LoopNode]:
    nodes: list[RecordNode | LoopNode] = []
    for op in ops:
        if isinstance(op, dev.LoopOp):
            body = _build(list(op.body.block.ops), unit, grid, numbers, depth + 1)
            if body:
                breaks = _breaks(op.trips_data, depth, stream_records(body))
                nodes.append(LoopNode(op.trips_data, body, breaks))
        else:
            assert isinstance(op, dev.RecordOp)
            nodes.append(_record(op, numbers[op], unit, grid))
    return nodes


def _record(
    op: dev.RecordOp, index: int, unit: str, grid: tuple[int, ...]
) -> RecordNode:
    nest = op.nest()
    looped: list[tuple[int, list[int]]] = []
    for axis in op.axes_data:
        if axis.loop >= 0:
            clamps = sorted(t for t in _clamps(axis, grid) if t < nest[axis.loop])
            if clamps:
                looped.append((axis.loop, clamps))
    return RecordNode(
        op, index, unit, grid, op.waits_data, op.signals_data, tuple(looped)
    )


def _breaks(trips: int, depth: int, records: Sequence[RecordNode]) -> list[int]:
    """Trips at which syncs or extents change: the second, the last, clamped ones."""
    found = {1, trips - 1}
    for record in records:
        for loop, clamps in record.looped:
            if loop == depth:
                found.update(clamps)
    return sorted(b for b in found if 0 < b < trips)


def _clamps(axis: Axis, grid: tuple[int, ...]) -> set[int]:
    """Trips of an axis from which on some core does less than a tile, or nothing."""
    parts = grid[axis.digit] if axis.digit >= 0 else 1
    found: set[int] = set()
    for part in range(parts):
        owned = max(0, min(axis.chunk, axis.size - part * axis.chunk))
        full = owned // axis.tile if axis.tile else 0
        found |= {full, full + 1}
    return found


class Cursor:
    """Where a unit is in its stream: the next record, and the trips around it."""

    def __init__(self, nodes: list[RecordNode | LoopNode]):
        self.loops: list[LoopNode] = []
        self.trips: list[int] = []
        self.places: list[int] = [0]
        self._top = nodes
        self.record: RecordNode | None = None
        if nodes:
            self._descend()

    def _body(self) -> list[RecordNode | LoopNode]:
        return self.loops[-1].body if self.loops else self._top

    def _descend(self) -> None:
        node = self._body()[self.places[-1]]
        while isinstance(node, LoopNode):
            self.loops.append(node)
            self.trips.append(0)
            self.places.append(0)
            node = node.body[0]
        self.record = node

    def advance(self) -> int:
        """Goes to the next record; the depth of the loop that began a trip, or -1."""
        while True:
            self.places[-1] += 1
            if self.places[-1] < len(self._body()):
                self._descend()
                return -1
            if not self.loops:
                self.record = None
                return -1
            if self.trips[-1] + 1 < self.loops[-1].trips:
                self.trips[-1] += 1
                self.places[-1] = 0
                depth = len(self.loops) - 1
                self._descend()
                return depth
            self.loops.pop()
            self.trips.pop()
            self.places.pop()

    def waits_here(self, sync: Sync) -> bool:
        """Whether this is the first trip of all loops deeper than the sync's level."""
        return not any(self.trips[sync.level :])

    def signals_here(self, sync: Sync) -> bool:
        """Whether this is the last trip of all loops deeper than the sync's level."""
        return all(
            trip == loop.trips - 1
            for trip, loop in zip(
                self.trips[sync.level :], self.loops[sync.level :], strict=True
            )
        )
