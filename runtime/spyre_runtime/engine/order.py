# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Which records of a program are certain to run before which.

A unit runs its stream in order; a wait runs after the signals whose counts it takes.
Vector clocks over the units hold that: record e of unit u is certain to have run
before record f exactly if f's clock has reached e's number in u.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from .records import Program, Record, Trips
from .walk import ORDER, walk

Clock = tuple[int, ...]
"""Per unit, in the order of `walk.ORDER`: how many of its records have run."""


@dataclass(frozen=True, eq=False)
class Event:
    """One run of a record; `number` counts all runs from 1, `time` its unit's."""

    number: int
    record: Record
    trips: Trips
    unit: int
    time: int
    clock: Clock


def events(program: Program) -> Iterator[Event]:
    """Every run of every record in the order of the functional walk."""
    clocks = [[0] * len(ORDER) for _ in ORDER]
    # Counts are taken in the order in which they were given: a semaphore has one
    # unit that signals and one that waits.
    tokens = [
        deque([(count, (0,) * len(ORDER))] if count else [])
        for count in program.semaphores
    ]
    for number, (record, trips) in enumerate(walk(program), 1):
        unit = ORDER.index(record.unit)
        clock = clocks[unit]
        for wait in record.waits_at(trips):
            _take(tokens[wait.semaphore], wait.count, clock)
        clock[unit] += 1
        seen = tuple(clock)
        yield Event(number, record, trips, unit, clock[unit], seen)
        for signal in record.signals_at(trips):
            tokens[signal.semaphore].append((signal.count, seen))


def _take(queue: deque[tuple[int, Clock]], count: int, clock: list[int]) -> None:
    while count:
        available, given = queue.popleft()
        taken = min(available, count)
        count -= taken
        if available > taken:
            queue.appendleft((available - taken, given))
        for unit, time in enumerate(given):
            clock[unit] = max(clock[unit], time)
