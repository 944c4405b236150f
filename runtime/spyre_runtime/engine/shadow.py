# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
What the sanitizer remembers of each stick: the last runs that wrote and read it.

Runs are remembered by number (0: none), by row: a class of alike cores for
scratchpads, one row for DRAM.
"""

from __future__ import annotations

import numpy as np

from .order import Event
from .walk import ORDER

Numbers = np.ndarray


class Shadow:
    def __init__(self, rows: int, sticks: int, count: int):
        self.written = np.zeros((rows, sticks), dtype=np.int32)
        self.read = np.zeros((len(ORDER), rows, sticks), dtype=np.int32)
        self._time = np.zeros(count + 1, dtype=np.int32)
        self._unit = np.zeros(count + 1, dtype=np.int8)

    def note(self, event: Event) -> None:
        """Makes a run known before its accesses are."""
        self._time[event.number] = event.time
        self._unit[event.number] = event.unit

    def on_read(self, event: Event, row: int, sticks: Numbers) -> tuple[int, int]:
        """(stick, run) of a write that is not ordered before this read, or zeros."""
        found = self._unordered(event, self.written[row, sticks], sticks)
        self.read[event.unit, row, sticks] = event.number
        return found

    def on_write(self, event: Event, row: int, sticks: Numbers) -> tuple[int, int]:
        """(stick, run) of an access that is not ordered before this write."""
        found = self._unordered(event, self.written[row, sticks], sticks)
        for unit in range(len(ORDER)):
            if found[1] or unit == event.unit:
                continue
            found = self._unordered(event, self.read[unit, row, sticks], sticks)
        self.written[row, sticks] = event.number
        return found

    def _unordered(
        self, event: Event, runs: Numbers, sticks: Numbers
    ) -> tuple[int, int]:
        clock = np.asarray(event.clock, dtype=np.int32)
        late = self._time[runs] > clock[self._unit[runs]]
        if not late.any():
            return 0, 0
        first = int(np.argmax(late))
        return int(sticks[first]), int(runs[first])
