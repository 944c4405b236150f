# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a record's meaning is bound for, and what binding it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .codec import Run
from .machine import Machine
from .pieces import Block
from .records import Record, Trips

Runs = tuple[Run, ...]


@dataclass(frozen=True)
class Located:
    """Runs that depend on the DRAM addresses of a call."""

    at: Callable[[Sequence[int]], Runs]


Bound = Runs | Located


@dataclass(frozen=True)
class Site:
    """One record at given trips."""

    record: Record
    trips: Trips
    machine: Machine
    pieces: tuple[Block, ...]
    uniform: tuple[int, ...]
    """Per read: the digits (as bits) along which all cores hold the same."""

    @property
    def adds(self) -> bool:
        return self.record.adds(self.trips)

    def busy(self) -> list[Block]:
        """The pieces in which every axis has elements."""
        return [p for p in self.pieces if all(p.extents)]
