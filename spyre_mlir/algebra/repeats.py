# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds what repeats in a sequence, in about linear time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

CANDIDATES = 16
"""Periods that are looked at closely: the most frequent distances of equal tokens."""


@dataclass(frozen=True)
class Run:
    """tokens[start:stop] repeats itself with this period."""

    start: int
    stop: int
    period: int

    @property
    def copies(self) -> int:
        return (self.stop - self.start) // self.period

    @property
    def saved(self) -> int:
        """Tokens that need not be kept."""
        return (self.copies - 1) * self.period


def periods(tokens: Sequence[int]) -> list[int]:
    """Likely periods: distances from a token to the one before that is equal."""
    last: dict[int, int] = {}
    votes: Counter[int] = Counter()
    for position, token in enumerate(tokens):
        if token in last:
            votes[position - last[token]] += 1
        last[token] = position
    ranked = sorted(votes.items(), key=lambda item: (-item[1], item[0]))
    return [period for period, _ in ranked[:CANDIDATES]]


def runs(tokens: Sequence[int], period: int) -> list[Run]:
    """Maximal ranges of at least two periods that repeat with this period."""
    found: list[Run] = []
    start = 0
    for position in range(len(tokens) - period + 1):
        inside = position + period < len(tokens)
        if inside and tokens[position] == tokens[position + period]:
            continue
        if position - start >= period:
            found.append(Run(start, position + period, period))
        start = position + 1
    return found


def occurrences(tokens: Sequence[int], start: int, period: int) -> list[int]:
    """Where tokens[start:start + period] stands, without overlaps, in order."""
    wanted = tuple(tokens[start : start + period])
    found: list[int] = []
    position = 0
    while position + period <= len(tokens):
        same = tokens[position] == wanted[0] and (
            tuple(tokens[position : position + period]) == wanted
        )
        if same:
            found.append(position)
        position += period if same else 1
    return found
