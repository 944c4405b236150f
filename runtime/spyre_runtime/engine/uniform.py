# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Which sticks hold the same bytes in all cores along a digit.

Multicast is real copies in each scratchpad. While a plan is bound, a bit per digit
and stick says that the copies are proven equal, so that arithmetic may take one for
all. Undefined sticks count as equal: no program may read them. A write that does not
cover a stick in all cores can only take bits away.
"""

from __future__ import annotations

import numpy as np

from spyre_mlir.algebra.access import Access
from spyre_mlir.algebra.layout import STICK_BYTES
from spyre_mlir.dialects import dev

from .moves import elements_of
from .pieces import Block
from .records import Record, Trips


def stick_axis(access: Access) -> int:
    """The one axis that walks whole sticks, or -1."""
    axes = [a for a, s in enumerate(access.stick) if s]
    return axes[0] if access.is_sticked and axes else -1


class Touched:
    """Sticks that accesses reach in one core; remembered, as trips repeat."""

    def __init__(self) -> None:
        self._known: dict[tuple[Access, tuple[int, ...], int], np.ndarray] = {}

    def sticks(
        self, record: Record, access: Access, trips: Trips, block: Block
    ) -> np.ndarray:
        """Numbers of the sticks, from the memory's or symbol's start, ascending."""
        whole, rest = divmod(record.offset(access, trips), STICK_BYTES)
        return self._relative(access, block, rest) + whole

    def _relative(self, access: Access, block: Block, start: int) -> np.ndarray:
        key = access, block.extents, start
        found = self._known.get(key)
        if found is None:
            ranges = list(block.ranges)
            thin = access
            axis = stick_axis(access)
            if axis >= 0:
                # One element of each stick stands for it.
                start, count = ranges[axis]
                ranges[axis] = (start, -(-count // access.eps))
                strides = list(access.strides)
                strides[axis] = strides[axis] * access.eps + access.stick_stride
                thin = Access(
                    access.space,
                    access.dtype,
                    0,
                    tuple(strides),
                    (0,) * len(ranges),
                )
            ranges = [
                r if thin.strides[a] or thin.stick[a] else (r[0], 1)
                for a, r in enumerate(ranges)
            ]
            elements = elements_of(thin, Block(block.digits, tuple(ranges)))
            found = np.unique((start + elements * access.itemsize) // STICK_BYTES)
            self._known[key] = found
        return found


class Uniform:
    """The state of one scratchpad's sticks while a program is bound."""

    def __init__(
        self, grid: tuple[int, ...], sticks: int, touched: Touched, defined: bool
    ):
        self._grid = grid
        self._all = (1 << len(grid)) - 1
        start = 0 if defined else self._all
        self._bits = np.full(sticks, start, dtype=np.uint32)
        self._touched = touched

    def read(
        self, record: Record, access: Access, trips: Trips, pieces: list[Block]
    ) -> int:
        """Digits along which all that the access reads is equal."""
        if access.space == "dram":
            return self._still(access)
        bits = self._still(access)
        for block in pieces:
            sticks = self._touched.sticks(record, access, trips, block)
            bits &= int(np.bitwise_and.reduce(self._bits[sticks], initial=self._all))
        return bits

    def write(
        self, record: Record, trips: Trips, pieces: list[Block], reads: list[int]
    ) -> None:
        for access in record.writes:
            if access.space != "lx":
                continue
            bits = self._result(record, reads) & self._still(access)
            if record.adds(trips):
                bits &= self.read(record, access, trips, pieces)
            bits &= self._even(pieces)
            covers = self._covers(record, access, pieces)
            for block in pieces:
                sticks = self._touched.sticks(record, access, trips, block)
                if covers:
                    self._bits[sticks] = bits
                else:
                    self._bits[sticks] &= bits

    def _still(self, access: Access) -> int:
        """Digits that do not move the access."""
        bits = self._all
        for digit, step in enumerate(access.digit_strides):
            if step:
                bits &= ~(1 << digit)
        return bits

    def _even(self, pieces: list[Block]) -> int:
        """Digits whose values all do equally much."""
        bits = self._all
        for block in pieces:
            for digit, (_, count) in enumerate(block.digits):
                if count != self._grid[digit]:
                    bits &= ~(1 << digit)
        return bits

    def _covers(self, record: Record, access: Access, pieces: list[Block]) -> bool:
        """Every stick is written whole, in every core."""
        if len(pieces) != 1 or any(access.digit_strides):
            return False
        (block,) = pieces
        if block.cores != self._grid:
            return False
        if isinstance(record.op, dev.TransferOp):
            return True
        axis = stick_axis(access)
        return axis >= 0 and block.extents[axis] % access.eps == 0

    def _result(self, record: Record, reads: list[int]) -> int:
        bits = self._all
        for read in reads:
            bits &= read
        if isinstance(record.op, dev.RingReduceOp):
            for digit in record.op.digits_data:
                bits |= 1 << digit
        for axis in record.indexed_axes:
            if record.axes[axis].digit >= 0:
                bits &= ~(1 << record.axes[axis].digit)
        return bits
