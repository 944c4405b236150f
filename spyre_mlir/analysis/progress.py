# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Whether the streams of a `dev` program can all run to their ends.

Which order the units run in changes nothing: a semaphore has one waiting unit, so
that a record that may run stays able to. Semaphores repeat with the loops that their
partners share, so a few trips of each loop show what all of them do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from spyre_mlir.algebra.access import Sync
from spyre_mlir.dialects import dev

MOST_STEPS = 1_000_000
"""Records run at most where loops cannot be cut short."""


@dataclass(frozen=True)
class Waiting:
    """A record that never runs: its unit, and what it waits for."""

    unit: str
    record: dev.RecordOp
    wait: Sync
    signallers: tuple[dev.RecordOp, ...]


@dataclass(frozen=True)
class Imbalance:
    """A semaphore that does not end as it began."""

    semaphore: int
    signals: int
    waits: int
    records: tuple[dev.RecordOp, ...]


@dataclass(frozen=True)
class _Site:
    """A record and its place, read once."""

    unit: str
    op: dev.RecordOp
    trips: tuple[int, ...]
    waits: tuple[Sync, ...]
    signals: tuple[Sync, ...]

    def times(self, sync: Sync) -> int:
        return sync.count * prod(self.trips[: sync.level])


class Progress:
    """The semaphores of one program."""

    def __init__(self, program: dev.ProgramOp):
        self.program = program
        self.initial = program.semaphores_data
        self.sites = {
            op: _Site(stream.unit.data, op, op.nest(), op.waits_data, op.signals_data)
            for op, stream in dev.walk_records(program)
        }

    def imbalances(self) -> list[Imbalance]:
        """Semaphores that are signalled and waited for a different number of times."""
        signals, waits = [0] * len(self.initial), [0] * len(self.initial)
        for site in self.sites.values():
            for sync in site.signals:
                signals[sync.semaphore] += site.times(sync)
            for sync in site.waits:
                waits[sync.semaphore] += site.times(sync)
        return [
            Imbalance(k, s, w, self._users(k))
            for k, (s, w) in enumerate(zip(signals, waits, strict=True))
            if s != w
        ]

    def _users(self, semaphore: int) -> tuple[dev.RecordOp, ...]:
        return tuple(
            op
            for op, site in self.sites.items()
            if any(s.semaphore == semaphore for s in (*site.waits, *site.signals))
        )

    def is_periodic(self) -> bool:
        """Whether all users of each semaphore share the loops that they count."""
        seen: dict[int, tuple[int, ...]] = {}
        for site in self.sites.values():
            for sync in (*site.waits, *site.signals):
                trips = site.trips[: sync.level]
                if seen.setdefault(sync.semaphore, trips) != trips:
                    return False
        return True

    def steps(self) -> int:
        """Records that one core runs."""
        return sum(prod(site.trips) for site in self.sites.values())

    def deadlock(self) -> list[Waiting]:
        """The unfinished units and what each waits for; empty if all finish."""
        most = max(self.initial, default=0) + 2 if self.is_periodic() else 0
        if not most and self.steps() > MOST_STEPS:
            raise ValueError(
                f'program "{self.program.sym_name.data}" pairs records of different '
                f"loops and runs {self.steps()} of them, more than {MOST_STEPS}"
            )
        counts = list(self.initial)
        streams = [
            _Stream(self._events(stream.body.block.ops, [], most))
            for stream in self.program.streams
        ]
        moved = True
        while moved:
            moved = any([stream.run(counts) for stream in streams])
        return [self._waiting(stream.head, counts) for stream in streams if stream.head]

    def _waiting(self, head: _Event, counts: Sequence[int]) -> Waiting:
        wait = next(w for w in head.waits if counts[w.semaphore] < w.count)
        signallers = tuple(
            op
            for op, site in self.sites.items()
            if any(s.semaphore == wait.semaphore for s in site.signals)
        )
        return Waiting(head.site.unit, head.site.op, wait, signallers)

    def _events(
        self, ops: object, trips: list[tuple[int, int]], most: int
    ) -> Iterator[_Event]:
        """The records of a block in order, each loop for `most` trips if not 0."""
        for op in ops:  # pyright: ignore
            if isinstance(op, dev.LoopOp):
                count = min(op.trips_data, most) if most else op.trips_data
                for trip in range(count):
                    yield from self._events(
                        op.body.block.ops, [*trips, (trip, count)], most
                    )
                continue
            site = self.sites[op]
            first = _depth(trips, [0] * len(trips))
            last = _depth(trips, [count - 1 for _, count in trips])
            yield _Event(
                site,
                tuple(w for w in site.waits if w.level >= first),
                tuple(s for s in site.signals if s.level >= last),
            )


@dataclass(frozen=True)
class _Event:
    """One execution of a record with the waits and signals that it makes."""

    site: _Site
    waits: tuple[Sync, ...]
    signals: tuple[Sync, ...]


class _Stream:
    def __init__(self, events: Iterator[_Event]):
        self._events = events
        self.head = next(events, None)

    def run(self, counts: list[int]) -> bool:
        """Runs records while they may; whether any did."""
        moved = False
        while self.head is not None and all(
            counts[w.semaphore] >= w.count for w in self.head.waits
        ):
            for wait in self.head.waits:
                counts[wait.semaphore] -= wait.count
            for signal in self.head.signals:
                counts[signal.semaphore] += signal.count
            self.head = next(self._events, None)
            moved = True
        return moved


def _depth(trips: Sequence[tuple[int, int]], wanted: Sequence[int]) -> int:
    """Least level from which on all deeper loops are at the wanted trip."""
    depth = len(trips)
    while depth and trips[depth - 1][0] == wanted[depth - 1]:
        depth -= 1
    return depth
