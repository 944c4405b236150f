# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Finds out that the machine repeats itself, and leaps over the repetitions.

When a unit begins a trip of a loop, the machine's state relative to that moment is
compared with an earlier one. If they agree but for the trips of the loops at that
depth, and nothing that depends on a trip changes until trip t, then everything until
t is the last period again: times and counts are added, not walked. Earlier states are
kept at trips that are powers of two (Brent's cycle search).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .machine import Machine, Unit

State = tuple[object, ...]
OUTSIDE = -1


@dataclass
class Pairing:
    """
    Bytes read that no byte written has been paired with yet; negative: written.

    `least` and `most` are its extremes since the state was kept. As long as it keeps
    its sign, all bytes of one direction find partners, whatever its size.
    """

    balance: int
    least: int
    most: int

    def see(self, balance: int) -> None:
        self.least = min(self.least, balance)
        self.most = max(self.most, balance)

    def repeats(self, balance: int) -> bool:
        """Whether a further period pairs as many bytes as the one since."""
        if balance == self.balance:
            return True
        if balance > self.balance:
            return self.least >= 0
        return self.most <= 0


@dataclass
class _Kept:
    state: State
    trips: tuple[int, ...]
    now: int
    counts: list[int]
    pairing: Pairing
    renew_at: int


class Repeats:
    """The states kept of one machine, by the unit and depth of the loop."""

    def __init__(self, machine: Machine):
        self._machine = machine
        self._kept: dict[tuple[int, int], _Kept] = {}

    def see_balance(self, balance: int) -> None:
        for kept in self._kept.values():
            kept.pairing.see(balance)

    def began_trip(self, unit: Unit, depth: int) -> None:
        """Called when `unit` has gone to the first record of a trip."""
        trip = unit.cursor.trips[depth]
        kept = self._kept.get((unit.number, depth))
        if trip == 1 or kept is None:
            self._keep(unit, depth, self._state(depth))
            return
        state = self._state(depth)
        if state == kept.state:
            self._leap(kept, depth)
            self._keep(unit, depth, self._state(depth))
        elif trip >= kept.renew_at:
            self._keep(unit, depth, state)

    def _keep(self, unit: Unit, depth: int, state: State) -> None:
        machine = self._machine
        self._kept[unit.number, depth] = _Kept(
            state,
            self._trips(depth),
            machine.now,
            list(machine.counts),
            Pairing(machine.balance, machine.balance, machine.balance),
            2 * unit.cursor.trips[depth],
        )

    def _trips(self, depth: int) -> tuple[int, ...]:
        return tuple(
            unit.cursor.trips[depth] if depth < len(unit.cursor.trips) else OUTSIDE
            for unit in self._machine.units
        )

    def _state(self, depth: int) -> State:
        """All that decides what happens next, but for the trips at `depth`."""
        machine = self._machine
        units = tuple(unit.state(machine.now, depth) for unit in machine.units)
        queues = tuple(tuple(u.number for u in q) for q in machine.queues)
        return (
            units,
            tuple(machine.values),
            queues,
            max(0, machine.channel_free - machine.now),
        )

    def _leap(self, kept: _Kept, depth: int) -> None:
        machine = self._machine
        if not kept.pairing.repeats(machine.balance):
            return
        trips = self._trips(depth)
        moves = [b - a for a, b in zip(kept.trips, trips, strict=True)]
        times = self._most_leaps(kept.trips, moves, depth)
        if times < 1:
            return
        for unit, move in zip(machine.units, moves, strict=True):
            if move:
                unit.cursor.trips[depth] += times * move
        for slot, count in enumerate(machine.counts):
            before = kept.counts[slot] if slot < len(kept.counts) else 0
            machine.counts[slot] += times * (count - before)
        gained = machine.balance - kept.pairing.balance
        machine.balance += times * gained
        for other in self._kept.values():
            other.pairing.see(kept.pairing.least + min(0, times * gained))
            other.pairing.see(kept.pairing.most + max(0, times * gained))
        machine.shift(times, times * (machine.now - kept.now))

    def _most_leaps(self, before: tuple[int, ...], moves: list[int], depth: int) -> int:
        """Whole periods until a trip comes at which something changes."""
        periods: list[int] = []
        for unit, start, move in zip(self._machine.units, before, moves, strict=True):
            if move:
                loop = unit.cursor.loops[depth]
                left = loop.segment_end(start) - 1 - unit.cursor.trips[depth]
                periods.append(left // move)
        return min(periods, default=0)
