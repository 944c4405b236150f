# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long a launch may take."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from math import inf
from typing import TypeVar

from .errors import BudgetError

Item = TypeVar("Item")


class Deadline:
    """Processor time of the launching thread, looked at between steps."""

    def __init__(self) -> None:
        self._end = inf
        self._seconds = inf

    @contextmanager
    def within(self, seconds: float) -> Generator[None]:
        """What is watched inside may take so long; `inf`: as long as it likes."""
        before = self._end, self._seconds
        self._end, self._seconds = time.thread_time() + seconds, seconds
        try:
            yield
        finally:
            self._end, self._seconds = before

    def watched(self, items: Iterable[Item]) -> Iterable[Item]:
        """The items, until time is up: BudgetError."""
        return items if self._end == inf else self._each(items)

    def _each(self, items: Iterable[Item]) -> Iterator[Item]:
        for item in items:
            if time.thread_time() > self._end:
                raise BudgetError(
                    f"the launch takes more than its budget of {self._seconds:g} s of "
                    "the processor; give a larger one if you trust the file"
                )
            yield item
