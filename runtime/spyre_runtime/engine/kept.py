# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Values that are kept while they are light enough together.

What goes when there is no room is drawn by lot. Launches walk in circles (layers of a
step, steps of a loop); of a circle that is longer than the room, the value that was
used least recently is always the next to be asked for, so that nothing would ever be
found again. By lot, most of a circle that is a little too long stays.
"""

from __future__ import annotations

from collections.abc import Hashable
from random import Random
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Kept(Generic[K, V]):
    """Values by key; every operation takes the same time however many there are."""

    def __init__(self, limit: int):
        self.limit = limit
        """Most weight of all values together; one value alone may be heavier."""
        self.weight = 0
        self._values: dict[K, tuple[V, int, int]] = {}
        """By key: value, weight, and place in `_order`."""
        self._order: list[K] = []
        self._lots = Random(0)

    def __len__(self) -> int:
        return len(self._order)

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def get(self, key: K) -> V | None:
        found = self._values.get(key)
        return None if found is None else found[0]

    def add(self, key: K, value: V, weight: int) -> list[V]:
        """Keeps a value; returns those that had to go for it."""
        self.discard(key)
        gone: list[V] = []
        while self._order and self.weight + weight > self.limit:
            drawn = self._order[self._lots.randrange(len(self))]
            gone.append(self._values[drawn][0])
            self.discard(drawn)
        self._values[key] = value, weight, len(self._order)
        self._order.append(key)
        self.weight += weight
        return gone

    def discard(self, key: K) -> None:
        """Forgets a value, if it is kept."""
        found = self._values.pop(key, None)
        if found is None:
            return
        _, weight, place = found
        last = self._order.pop()
        if last != key:
            self._order[place] = last
            self._values[last] = (*self._values[last][:2], place)
        self.weight -= weight
