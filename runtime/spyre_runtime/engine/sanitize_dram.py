# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The sanitizer's view of DRAM: bounds of buffers, and sticks shared between cores.

Semaphores order the units of one core only. Two cores that touch the same stick in
one program, one of them writing, are never ordered.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spyre_mlir.algebra.access import Access
from spyre_mlir.algebra.layout import STICK_BYTES
from spyre_mlir.dialects import dev

from .errors import SanitizerError, describe
from .order import Event
from .pieces import Block, pieces
from .records import Program
from .uniform import Touched

Bounds = tuple[int, int]
"""Address and bytes of a buffer."""

SEVERAL = -2
"""More than one core has read the stick."""


class DramChecker:
    def __init__(
        self,
        program: Program,
        runs: list[Event],
        symbols: Sequence[int],
        bounds: Sequence[Bounds] | None,
    ):
        self._program = program
        self._runs = runs
        self._symbols = symbols
        self._bounds = bounds
        self._touched = Touched()
        self._written = _Sticks()
        self._read = _Sticks()

    def check(self, event: Event) -> None:
        for access in event.record.reads:
            if access.space == "dram":
                for cores, sticks in self._sticks(event, access):
                    self._on_read(event, cores, sticks)
        for access in event.record.writes:
            if access.space == "dram":
                for cores, sticks in self._sticks(event, access):
                    self._on_write(event, cores, sticks)

    def _sticks(
        self, event: Event, access: Access
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Cores and absolute sticks [cores, n] of each group of alike cores."""
        record = event.record
        address = self._symbols[access.symbol]
        groups: list[tuple[np.ndarray, np.ndarray]] = []
        for block in pieces(record.grid, record.axes, event.trips):
            if not all(block.extents):
                continue
            cores, offsets = self._cores(access, block)
            if isinstance(record.op, dev.GatherOp) and access is record.reads[0]:
                sticks = self._gathered(event, access, block)
            else:
                sticks = self._touched.sticks(record, access, event.trips, block)
            low = int(offsets.min()) + int(sticks.min()) * STICK_BYTES
            high = int(offsets.max()) + (int(sticks.max()) + 1) * STICK_BYTES
            self._inside(event, access, low, high)
            start = (offsets + address) // STICK_BYTES
            groups.append((cores, start[:, None] + sticks[None, :]))
        return groups

    def _cores(self, access: Access, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the block's cores, and the bytes that their digits add."""
        numbers = np.zeros(1, dtype=np.int64)
        offsets = np.zeros(1, dtype=np.int64)
        weight = 1
        steps = (*access.digit_strides, *(0,) * len(block.digits))
        for (first, count), parts, step in zip(
            block.digits, self._program.grid, steps, strict=False
        ):
            values = np.arange(first, first + count, dtype=np.int64)
            numbers = (numbers[:, None] + values[None, :] * weight).reshape(-1)
            offsets = (offsets[:, None] + values[None, :] * step).reshape(-1)
            weight *= parts
        return numbers, offsets

    def _gathered(self, event: Event, access: Access, block: Block) -> np.ndarray:
        """Sticks of all that an index may select."""
        op = event.record.op
        assert isinstance(op, dev.GatherOp)
        stick = op.index_stick.value.data
        # The index is one more axis of the source.
        axes = Access(
            access.space,
            access.dtype,
            access.base,
            (*access.strides, op.index_stride.value.data),
            (*access.stick, stick),
            access.stick_stride,
            access.stick_offset,
            access.symbol,
            access.digit_strides,
            access.loop_strides,
        )
        whole = Block(block.digits, (*block.ranges, (0, op.limit.value.data)))
        return self._touched.sticks(event.record, axes, event.trips, whole)

    def _inside(self, event: Event, access: Access, low: int, high: int) -> None:
        if self._bounds is None:
            return
        address = self._symbols[access.symbol]
        first, size = self._bounds[access.symbol]
        if low + address < first or high + address > first + size:
            raise SanitizerError(
                f"bytes [{low + address - first}, {high + address - first}) are "
                f"outside of a buffer of {size} bytes (symbol {access.symbol}): "
                f"{describe(event.record.op)}, trips {list(event.trips)}"
            )

    def _on_read(self, event: Event, cores: np.ndarray, sticks: np.ndarray) -> None:
        core = np.broadcast_to(cores[:, None], sticks.shape).reshape(-1)
        stick = sticks.reshape(-1)
        writer, run = self._written.at(stick)
        self._ordered(event, stick, core, writer, run, "reads")
        self._read.mark(stick, core, event.number)

    def _on_write(self, event: Event, cores: np.ndarray, sticks: np.ndarray) -> None:
        core = np.broadcast_to(cores[:, None], sticks.shape).reshape(-1)
        stick = sticks.reshape(-1)
        unique, counts = np.unique(stick, return_counts=True)
        if (counts > 1).any():
            number = int(unique[int(np.argmax(counts > 1))])
            raise SanitizerError(
                f"several cores write the stick at address {number * STICK_BYTES}: "
                f"{describe(event.record.op)}, trips {list(event.trips)}"
            )
        for known in (self._written, self._read):
            other, run = known.at(stick)
            self._ordered(event, stick, core, other, run, "writes")
        self._written.mark(stick, core, event.number)

    def _ordered(
        self,
        event: Event,
        stick: np.ndarray,
        core: np.ndarray,
        other: np.ndarray,
        run: np.ndarray,
        verb: str,
    ) -> None:
        known = run > 0
        bad = known & (other != core)
        for number in np.unique(run[known & ~bad]):
            before = self._runs[int(number) - 1]
            if before.time > event.clock[before.unit]:
                bad |= known & (run == number)
        if not bad.any():
            return
        first = int(np.argmax(bad))
        before = self._runs[int(run[first]) - 1]
        whose = (
            f"core {int(core[first])}"
            if other[first] == core[first]
            else f"core {int(core[first])} and another"
        )
        raise SanitizerError(
            f"DRAM stick at address {int(stick[first]) * STICK_BYTES}, {whose}: "
            f"{describe(event.record.op)}, trips {list(event.trips)}, {verb} it, and "
            f"nothing orders that after {describe(before.record.op)}, trips "
            f"{list(before.trips)}"
        )


PAGE_STICKS = 1 << 14


class _Sticks:
    """By stick: the core and the run that touched it last. Pages come when used."""

    def __init__(self) -> None:
        self._slots: dict[int, int] = {}
        self._core = np.zeros(0, dtype=np.int32)
        self._run = np.zeros(0, dtype=np.int32)

    def _places(self, stick: np.ndarray) -> np.ndarray:
        pages, inverse = np.unique(stick // PAGE_STICKS, return_inverse=True)
        slots = [self._slots.setdefault(int(p), len(self._slots)) for p in pages]
        missing = len(self._slots) * PAGE_STICKS - len(self._run)
        if missing:
            more = np.zeros(missing, dtype=np.int32)
            self._core = np.concatenate([self._core, more])
            self._run = np.concatenate([self._run, more])
        start = np.array(slots, dtype=np.int64) * PAGE_STICKS
        return start[inverse] + stick % PAGE_STICKS

    def at(self, stick: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        places = self._places(stick)
        return self._core[places], self._run[places]

    def mark(self, stick: np.ndarray, core: np.ndarray, run: int) -> None:
        """Later runs replace earlier ones; different cores become `SEVERAL`."""
        places = self._places(stick)
        before = np.where(self._run[places] > 0, self._core[places], core)
        self._core[places] = core
        mixed = (self._core[places] != core) | (before != core)
        self._core[places[mixed]] = SEVERAL
        self._run[places] = run
