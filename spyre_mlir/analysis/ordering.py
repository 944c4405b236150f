# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Semaphores that keep the units of a core in the order of the staged program.

Two records of different units that touch the same scratchpad bytes, one of them
writing, are ordered twice: the later waits for the earlier in each trip of the loops
they share, and, where they share loops, the earlier waits for the later of as many
trips ago as the buffer has stages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spyre_mlir.algebra.access import Access, Axis, Sync


@dataclass(frozen=True)
class Placed:
    """A record in program order: its unit, its loops, what it touches."""

    unit: str
    loops: tuple[int, ...]
    """Identity of each enclosing loop, outermost first."""
    trips: tuple[int, ...]
    axes: tuple[Axis, ...]
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]


@dataclass(frozen=True)
class Edge:
    """`before` signals, `after` waits, once per trip of the `level` shared loops."""

    before: int
    after: int
    level: int
    ahead: int
    """Trips that `after` may run ahead: the semaphore's initial value."""


@dataclass(frozen=True)
class Ordering:
    """Waits and signals by record, and the initial value of each semaphore."""

    waits: tuple[tuple[Sync, ...], ...]
    signals: tuple[tuple[Sync, ...], ...]
    semaphores: tuple[int, ...]


def order_records(records: Sequence[Placed]) -> Ordering:
    """Semaphores for the records of one program, given in program order."""
    edges = _edges(records)
    waits: list[list[Sync]] = [[] for _ in records]
    signals: list[list[Sync]] = [[] for _ in records]
    for semaphore, edge in enumerate(edges):
        sync = Sync(semaphore, 1, edge.level)
        signals[edge.before].append(sync)
        waits[edge.after].append(sync)
    return Ordering(
        tuple(tuple(w) for w in waits),
        tuple(tuple(s) for s in signals),
        tuple(e.ahead for e in edges),
    )


def _edges(records: Sequence[Placed]) -> list[Edge]:
    ranges = [_ranges(r) for r in records]
    forward: list[Edge] = []
    backward: list[Edge] = []
    for after in range(len(records)):
        for before in range(after):
            if records[before].unit == records[after].unit:
                continue
            stages = _conflict(records, ranges, before, after)
            if stages is None:
                continue
            level = _shared_levels(records[before], records[after])
            forward.append(Edge(before, after, level, 0))
            if level:
                backward.append(Edge(after, before, level, stages))
    return [
        *_without_implied(records, forward),
        *_without_implied(records, backward),
    ]


def _without_implied(records: Sequence[Placed], edges: Sequence[Edge]) -> list[Edge]:
    """
    Drops an edge that another one of the same two units implies: units are in order,
    so a wait at or before `after` for a record at or past `before` is enough.
    """
    kept: list[Edge] = []
    for edge in edges:
        implied = any(
            other != edge
            and records[other.before].unit == records[edge.before].unit
            and records[other.after].unit == records[edge.after].unit
            and other.before >= edge.before
            and other.after <= edge.after
            and _same_trips(records, edge, other)
            and other.ahead <= edge.ahead
            for other in edges
        )
        if not implied:
            kept.append(edge)
    return kept


def _same_trips(records: Sequence[Placed], edge: Edge, other: Edge) -> bool:
    """Whether `other` repeats at least in every trip that `edge` repeats in."""
    if edge.ahead:
        mine = records[edge.before].loops[: edge.level]
        return mine == records[other.before].loops[: other.level]
    # Forward: whatever lies between the two shares the loops that they share.
    return other.before < other.after and other.level >= edge.level


def _shared_levels(a: Placed, b: Placed) -> int:
    level = 0
    for x, y in zip(a.loops, b.loops, strict=False):
        if x != y:
            break
        level += 1
    return level


_Range = tuple[int, int, Access]


def _ranges(record: Placed) -> tuple[list[_Range], list[_Range]]:
    def of(accesses: Sequence[Access]) -> list[_Range]:
        return [
            (*lx_range(a, record.axes, record.trips), a)
            for a in accesses
            if a.space == "lx"
        ]

    return of(record.reads), of(record.writes)


def lx_range(
    access: Access, axes: Sequence[Axis], trips: Sequence[int]
) -> tuple[int, int]:
    """Bytes [first, last) of the scratchpad that an access can touch."""
    low = high = 0
    stick_low = stick_high = access.stick_offset
    for axis, stride, stick in zip(axes, access.strides, access.stick, strict=True):
        span = max(axis.widest - 1, 0)
        low += min(0, stride * span)
        high += max(0, stride * span)
        stick_low += min(0, stick * span)
        stick_high += max(0, stick * span)
    eps = access.eps
    low += (stick_low // eps) * access.stick_stride
    high += (stick_high // eps) * access.stick_stride + eps
    first, last = (
        access.base + low * access.itemsize,
        access.base + high * access.itemsize,
    )
    for stride, count in zip(access.loop_strides, trips, strict=False):
        last += max(0, stride * (count - 1))
        first += min(0, stride * (count - 1))
    return first, last + access.stage_bytes * (access.depth - 1)


def _conflict(
    records: Sequence[Placed],
    ranges: Sequence[tuple[list[_Range], list[_Range]]],
    before: int,
    after: int,
) -> int | None:
    """Trips between a conflict and its repetition, or None without a conflict."""
    level = _shared_levels(records[before], records[after])
    (reads_a, writes_a), (reads_b, writes_b) = ranges[before], ranges[after]
    stages: int | None = None
    pairs = [(a, b) for a in writes_a for b in (*reads_b, *writes_b)]
    pairs += [(a, b) for a in reads_a for b in writes_b]
    for (first_a, last_a, a), (first_b, last_b, b) in pairs:
        if first_a < last_b and first_b < last_a:
            extent = max(last_a, last_b) - min(first_a, first_b)
            found = a.depth if _same_stages(a, b, level, extent) else 1
            stages = found if stages is None else min(stages, found)
    return stages


def _same_stages(a: Access, b: Access, level: int, extent: int) -> bool:
    """
    Whether two accesses, `extent` bytes apart at most, meet in one stage alone: both
    turn with each trip of the loops that they share, and neither leaves its stage.
    """
    turns = (a.depth, a.stage_bytes, a.stage_levels)
    return (
        turns == (b.depth, b.stage_bytes, b.stage_levels)
        and a.stage_levels == level
        and extent <= a.depth * a.stage_bytes
    )
