# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Proves of a program, before it runs, that its result does not depend on luck.

Everything that a program touches is known from its records, so the functional walk is
enough: no element of a scratchpad is read before it is written, nothing reaches
outside of its memory or buffer, and of two accesses to a stick, one of them a write,
semaphores order one before the other. Each error names both records and the user's
lines. Cores whose work is equal are checked once.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from spyre_mlir.algebra.access import Access
from spyre_mlir.algebra.layout import STICK_BYTES
from spyre_mlir.dialects import dev

from .errors import SanitizerError, describe
from .moves import elements_of
from .order import Event, events
from .pieces import Block
from .records import Program, Record
from .sanitize_dram import Bounds, DramChecker
from .shadow import Shadow
from .uniform import Touched

HALF = 2
"""Bytes of the smallest element: whether each holds a value is remembered."""

Digits = tuple[int, ...]


def check(
    program: Program,
    lx_bytes: int,
    symbols: Sequence[int],
    bounds: Sequence[Bounds] | None,
) -> None:
    """Raises SanitizerError (or a deadlock) for the first thing that is wrong."""
    runs = list(events(program))
    checker = _Checker(program, lx_bytes, runs)
    dram = DramChecker(program, runs, symbols, bounds)
    for event in runs:
        checker.check(event)
        dram.check(event)


def alike_cores(program: Program) -> list[Digits]:
    """The digits of one core of each class that does equal work at equal addresses."""
    records = list(program.records())
    axes = {a for r in records for a in r.axes if a.digit >= 0}
    steps = {a.digit_strides for r in records for a in r.accesses if a.space == "lx"}
    found: dict[tuple[object, ...], Digits] = {}
    for reverse in product(*(range(n) for n in reversed(program.grid))):
        digits = tuple(reversed(reverse))
        owned = tuple(
            max(0, min(a.chunk, a.size - digits[a.digit] * a.chunk)) for a in axes
        )
        moved = tuple(
            sum(s * d for s, d in zip(step, digits, strict=False)) for step in steps
        )
        found.setdefault((owned, moved), digits)
    return list(found.values())


def extents_of(event: Event, digits: Digits) -> tuple[int, ...]:
    return tuple(a.extent(digits, event.trips) for a in event.record.axes)


def folded_axes(record: Record) -> tuple[int, ...]:
    """Axes that the output does not have."""
    if isinstance(record.op, dev.MatmulOp):
        roles = record.op.roles.data
        return tuple(a for a, role in enumerate(roles) if role == "k")
    if isinstance(record.op, dev.VectorOp) and record.op.combine.data:
        return record.op.fold_data
    return ()


def written_extents(event: Event, extents: tuple[int, ...]) -> tuple[int, ...]:
    """What the output gets: a core without elements to fold writes the identity."""
    folded = folded_axes(event.record)
    return tuple(1 if a in folded else n for a, n in enumerate(extents))


class _Checker:
    """The scratchpads."""

    def __init__(self, program: Program, lx_bytes: int, runs: list[Event]):
        self._runs = runs
        self._lx_bytes = lx_bytes
        self._classes = alike_cores(program)
        rows = len(self._classes)
        self._shadow = Shadow(rows, lx_bytes // STICK_BYTES, len(runs))
        self._holds = np.zeros((rows, lx_bytes // HALF), dtype=bool)
        self._touched = Touched()
        self._elements: dict[tuple[Access, tuple[int, ...]], np.ndarray] = {}

    def check(self, event: Event) -> None:
        self._shadow.note(event)
        record = event.record
        for row, digits in enumerate(self._classes):
            extents = extents_of(event, digits)
            written = written_extents(event, extents)
            if all(extents):
                for access in record.reads:
                    self._read(event, row, digits, access, extents)
            if all(written):
                for access in record.writes:
                    if record.adds(event.trips) and all(extents):
                        self._read(event, row, digits, access, written)
                    self._write(event, row, digits, access, written)

    def _start(self, event: Event, digits: Digits, access: Access) -> int:
        return access.offset(digits, event.trips, event.record.nest)

    def _places(
        self, event: Event, digits: Digits, access: Access, extents: tuple[int, ...]
    ) -> np.ndarray:
        """Element numbers, in elements of the access's type from the start."""
        key = access, extents
        found = self._elements.get(key)
        if found is None:
            moves = zip(extents, access.strides, access.stick, strict=True)
            ranges = tuple((0, n if step or stick else 1) for n, step, stick in moves)
            found = elements_of(access, Block((), ranges)).astype(np.int32)
            self._elements[key] = found
        start = self._start(event, digits, access)
        low = start + int(found.min()) * access.itemsize
        high = start + (int(found.max()) + 1) * access.itemsize
        if low < 0 or high > self._lx_bytes:
            raise SanitizerError(
                f"bytes [{low}, {high}) are outside of a scratchpad of "
                f"{self._lx_bytes} bytes: {describe(event.record.op)}"
            )
        return found + start // access.itemsize

    def _read(
        self,
        event: Event,
        row: int,
        digits: Digits,
        access: Access,
        extents: tuple[int, ...],
    ) -> None:
        if access.space != "lx":
            return
        places = self._places(event, digits, access, extents)
        width = access.itemsize // HALF
        holds = self._holds[row].reshape(-1, width)[places]
        if not holds.all():
            bad = int(places[int(np.argmin(holds.all(axis=1)))]) * access.itemsize
            raise SanitizerError(
                f"byte {bad} of the scratchpad of core {list(digits)} is read before "
                f"it is written: {describe(event.record.op)}, "
                f"trips {list(event.trips)}"
            )
        sticks = self._sticks(places, access)
        found = self._shadow.on_read(event, row, sticks)
        self._ordered(event, found, digits, "reads")

    def _write(
        self,
        event: Event,
        row: int,
        digits: Digits,
        access: Access,
        extents: tuple[int, ...],
    ) -> None:
        if access.space != "lx":
            return
        places = self._places(event, digits, access, extents)
        sticks = self._sticks(places, access)
        if isinstance(event.record.op, dev.TransferOp):
            # Whole sticks move: what is no element of the tile is padding.
            self._holds[row].reshape(-1, STICK_BYTES // HALF)[sticks] = False
        self._holds[row].reshape(-1, access.itemsize // HALF)[places] = True
        found = self._shadow.on_write(event, row, sticks)
        self._ordered(event, found, digits, "writes")

    def _sticks(self, places: np.ndarray, access: Access) -> np.ndarray:
        return np.unique(places // (STICK_BYTES // access.itemsize))

    def _ordered(
        self, event: Event, found: tuple[int, int], digits: Digits, verb: str
    ) -> None:
        stick, run = found
        if run:
            raise SanitizerError(
                f"stick {stick} of the scratchpad of core {list(digits)}: "
                + unordered(event, self._runs[run - 1], verb)
            )


def unordered(event: Event, other: Event, verb: str) -> str:
    return (
        f"{describe(event.record.op)}, trips {list(event.trips)}, {verb} it, and "
        f"nothing orders that after {describe(other.record.op)}, trips "
        f"{list(other.trips)}"
    )
