# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One card: its memory, the order of its work, and its simulated time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from spyre_mlir import config
from spyre_mlir.target.chip import Chip
from spyre_mlir.target.chips import load_chip

from .forks import taken_at_forks
from .memory import CardMemory

if TYPE_CHECKING:
    from .engine import Engine

Result = TypeVar("Result")


class Card:
    """A card of the machine. Work is given to `submit`, which decides when it runs."""

    def __init__(
        self, index: int, memory_bytes: int | None = None, chip: Chip | None = None
    ) -> None:
        self.index = index
        self.chip = load_chip() if chip is None else chip
        nbytes = (
            memory_bytes or config.number("SPYRE_MEMORY_BYTES") or self.chip.dram_bytes
        )
        self.memory = CardMemory(nbytes, f"spyre:{index}")
        self.elapsed_picoseconds = 0
        """Simulated time of the launches so far; host segments take none."""
        self._order = taken_at_forks(threading.RLock())
        self._engines: dict[str, Engine] = {}

    def engine(self, numerics: str = "ieee") -> Engine:
        """The functional machine of this card for these numbers."""
        found = self._engines.get(numerics)
        if found is None:
            from .engine import Engine

            found = Engine(self.memory.bytes_tensor, self.chip, numerics)
            self._engines[numerics] = found
        return found

    def submit(self, work: Callable[[], Result]) -> Result:
        """
        Runs `work` after all that was submitted before, at once.

        Everything that reads or writes the card's memory comes through here; work
        holds bytes and addresses, and never calls the dispatcher on card tensors.
        """
        with self._order:
            return work()

    def advance(self, picoseconds: int) -> None:
        """Adds a launch's simulated time."""
        self.elapsed_picoseconds += picoseconds

    def synchronize(self) -> None:
        """Returns when all submitted work is done."""
        with self._order:
            pass


_cards: dict[int, Card] = {}
_making = taken_at_forks(threading.Lock())


def device_count() -> int:
    """Cards of this process, `SPYRE_DEVICES` or one."""
    return config.number("SPYRE_DEVICES") or 0


def card(index: int = 0) -> Card:
    """The card of an index, made when first asked for."""
    found = _cards.get(index)
    if found is not None:
        return found
    config.warn_of_unknown_variables()
    if not 0 <= index < device_count():
        raise RuntimeError(
            f"there is no card spyre:{index}; {device_count()} present (SPYRE_DEVICES)"
        )
    with _making:
        if index not in _cards:
            _cards[index] = Card(index)
    return _cards[index]


def made_cards() -> list[Card]:
    """The cards that were used so far."""
    return list(_cards.values())
