# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The functional walk: one order in which the units' records may run.

It is deliberately unkind: each unit runs as far ahead as its waits allow, loads
first and stores last, so that a missing wait shows as a wrong value. Cores are alike
(an idle core still waits and signals), so one of them is walked.
"""

from __future__ import annotations

from collections.abc import Iterator

from spyre_mlir.dialects.dev import UNITS

from .errors import BalanceError, DeadlockError, describe
from .records import Program, Record, Trips, expand

ORDER = ("load", "ring", "pt", "sfp", "store")
"""Units by eagerness."""
assert set(ORDER) == set(UNITS)


class _Unit:
    """A stream and the record that it stands at."""

    def __init__(self, name: str, events: Iterator[tuple[Record, Trips]]):
        self.name = name
        self._events = events
        self.head = next(events, None)

    def advance(self) -> None:
        self.head = next(self._events, None)


def walk(program: Program) -> Iterator[tuple[Record, Trips]]:
    """Every record and its trips in the order of the functional walk."""
    counts = list(program.semaphores)
    units = [_Unit(n, expand(program.streams.get(n, ()))) for n in ORDER]
    while any(u.head for u in units):
        for unit in units:
            ran = False
            while unit.head and _ready(counts, *unit.head):
                record, trips = unit.head
                for wait in record.waits_at(trips):
                    counts[wait.semaphore] -= wait.count
                yield record, trips
                for signal in record.signals_at(trips):
                    counts[signal.semaphore] += signal.count
                unit.advance()
                ran = True
            if ran:
                break
        else:
            raise DeadlockError(_deadlock(program, counts, units))
    _check_balance(program, counts)


def _ready(counts: list[int], record: Record, trips: Trips) -> bool:
    needed: dict[int, int] = {}
    for wait in record.waits_at(trips):
        needed[wait.semaphore] = needed.get(wait.semaphore, 0) + wait.count
    return all(counts[s] >= n for s, n in needed.items())


def _deadlock(program: Program, counts: list[int], units: list[_Unit]) -> str:
    lines = [f'deadlock in program "{program.name}"']
    for unit in units:
        if unit.head is None:
            continue
        record, trips = unit.head
        for wait in record.waits_at(trips):
            if counts[wait.semaphore] >= wait.count:
                continue
            lines.append(
                f'unit "{unit.name}" waits for {wait.count} of semaphore '
                f"{wait.semaphore}, which holds {counts[wait.semaphore]}, at "
                f"{describe(record.op)}, trips {list(trips)}; "
                + _signallers(program, wait.semaphore)
            )
    return "\n".join(lines)


def _signallers(program: Program, semaphore: int) -> str:
    found = [
        describe(r.op)
        for r in program.records()
        if any(s.semaphore == semaphore for s in r.signals)
    ]
    return "signalled by " + " and ".join(found) if found else "nobody signals it"


def _check_balance(program: Program, counts: list[int]) -> None:
    wrong = [
        f"semaphore {k} ends at {end}, began at {begin}; " + _signallers(program, k)
        for k, (begin, end) in enumerate(zip(program.semaphores, counts, strict=True))
        if begin != end
    ]
    if wrong:
        raise BalanceError(
            f'program "{program.name}" leaves its semaphores out of balance: '
            + "; ".join(wrong)
        )
