# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Choices that a generator of programs makes, and how a failing row of them shrinks.

A choice is a number from 0 on; 0 is the simplest. Hypothesis draws them in tests, a
random generator in long runs, and a recorded row replays them.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

T = TypeVar("T")


class Choices(ABC):
    """What a generator of programs may ask for."""

    @abstractmethod
    def below(self, count: int) -> int:
        """A number from 0 to count - 1."""

    def integer(self, low: int, high: int) -> int:
        """From low to high, both included; shrinks to `low`."""
        return low + self.below(high - low + 1)

    def pick(self, options: Sequence[T]) -> T:
        """One of the options; shrinks to the first."""
        return options[self.below(len(options))]

    def chance(self, percent: int) -> bool:
        """True that often; shrinks to False."""
        return self.below(100) >= 100 - percent

    def order(self, items: Sequence[T]) -> list[T]:
        """The items in another order; shrinks to the same."""
        left, found = list(items), []
        while left:
            found.append(left.pop(self.below(len(left))))
        return found


class Drawn(Choices):
    """Drawn by hypothesis."""

    def __init__(self, draw: DrawFn):
        self._draw = draw

    def below(self, count: int) -> int:
        return self._draw(st.integers(0, count - 1))


class Recorded(Choices):
    """A row that is replayed, then numbers of a generator, or zeros; all recorded."""

    def __init__(self, row: Sequence[int] = (), random: Random | None = None):
        self._row = row
        self._random = random
        self.made: list[int] = []

    def below(self, count: int) -> int:
        position = len(self.made)
        if position < len(self._row):
            value = min(self._row[position], count - 1)
        else:
            value = self._random.randrange(count) if self._random else 0
        self.made.append(value)
        return value


def strategy(generator: Callable[[Choices], T]) -> SearchStrategy[T]:
    """The hypothesis strategy of what a generator makes."""

    @st.composite
    def made(draw: DrawFn) -> T:
        return generator(Drawn(draw))

    return made()


def shrunk(
    row: Sequence[int], fails: Callable[[Recorded], bool], seconds: float
) -> list[int]:
    """A simpler row that fails too, as far as the time allows."""
    best = list(row)
    end = time.monotonic() + seconds
    progress = True
    while progress:
        progress = False
        for candidate in _simpler(best):
            if time.monotonic() > end:
                return best
            replay = Recorded(candidate)
            if fails(replay) and _rank(replay.made) < _rank(best):
                best = replay.made
                progress = True
                break
    return best


def _rank(row: Sequence[int]) -> tuple[int, int, Sequence[int]]:
    return len(row), sum(row), row


def _simpler(row: Sequence[int]) -> Iterator[list[int]]:
    """Rows with a part left out, from large parts to small, then smaller numbers."""
    size = max(len(row) // 2, 1)
    while size:
        for start in range(0, len(row), size):
            yield [*row[:start], *row[start + size :]]
        size //= 2
    for position, value in enumerate(row):
        for smaller in dict.fromkeys((0, value // 2, value - 1)):
            if 0 <= smaller < value:
                yield [*row[:position], smaller, *row[position + 1 :]]
