# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random choices that hypothesis makes, and so can shrink: first options are simple."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

T = TypeVar("T")


class Choices:
    """What a generator of programs may ask for."""

    def __init__(self, draw: DrawFn):
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        """From low to high, both included; shrinks to `low`."""
        return self._draw(st.integers(low, high))

    def pick(self, options: Sequence[T]) -> T:
        """One of the options; shrinks to the first."""
        return options[self.integer(0, len(options) - 1)]

    def chance(self, percent: int) -> bool:
        """True that often; shrinks to False."""
        return self.integer(0, 99) >= 100 - percent

    def order(self, items: Sequence[T]) -> list[T]:
        """The items in another order; shrinks to the same."""
        left, found = list(items), []
        while left:
            found.append(left.pop(self.integer(0, len(left) - 1)))
        return found


class Generator(Protocol):
    """A function that makes something by choices."""

    def __call__(self, choices: Choices, /) -> Any: ...


def strategy(generator: Callable[[Choices], T]) -> SearchStrategy[T]:
    """The hypothesis strategy of what a generator makes."""

    @st.composite
    def made(draw: DrawFn) -> T:
        return generator(Choices(draw))

    return made()
