# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
What a record of the card touches: iteration axes and affine accesses.

A record runs over named axes. Its operands say how an axis coordinate, the core's
digits and the trips of the enclosing loops become a byte address. Everything is
affine, and equal on all cores but for the digits, so that one description serves
the whole card.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .layout import elements_per_stick

ITEMSIZE = {"f16": 2, "bf16": 2, "f32": 4, "i32": 4, "i64": 8, "i1": 2}
"""Bytes of an element on the device; a bool takes 16 bits."""

Space = Literal["dram", "lx"]


@dataclass(frozen=True)
class Axis:
    """
    One iteration axis of a record: which part of `size` elements a core does when.

    Core digit `digit` owns `[i*chunk, min((i+1)*chunk, size))`; trip t of loop
    `loop` (a depth in the record's own loop nest, 0 outermost) does `tile` elements
    of that from `t*tile` on, clamped to what is left. -1: not divided, not looped.
    Where anything is left, `halo` more elements belong to the tile: neighbours that a
    window or a start inside a stick needs.
    """

    size: int
    digit: int = -1
    chunk: int = 0
    loop: int = -1
    tile: int = 0
    halo: int = 0

    @staticmethod
    def whole(size: int) -> Axis:
        return Axis(size, -1, size, -1, size)

    def start(self, digits: Sequence[int], trips: Sequence[int]) -> int:
        """First element, in the coordinates of the whole axis."""
        core = digits[self.digit] * self.chunk if self.digit >= 0 else 0
        return core + (trips[self.loop] * self.tile if self.loop >= 0 else 0)

    def extent(self, digits: Sequence[int], trips: Sequence[int]) -> int:
        """Elements done at this core and trip; 0 on an idle core."""
        core = digits[self.digit] * self.chunk if self.digit >= 0 else 0
        owned = min(self.chunk, self.size - core)
        done = trips[self.loop] * self.tile if self.loop >= 0 else 0
        left = min(self.tile, owned - done)
        return max(0, left + self.halo) if left > 0 else 0

    @property
    def widest(self) -> int:
        """The largest extent of any core and trip."""
        return max(0, min(self.tile, self.chunk, self.size) + self.halo)


@dataclass(frozen=True)
class Access:
    """
    Where an operand lies, as a function of digits, trips and axis coordinates.

        byte = symbol's address + base
             + sum(digit_strides[d] * digit d) + sum(loop_strides[l] * trip l)
             + stage_bytes * (k mod depth)
             + itemsize * (sum(strides[a] * i_a) + (c // eps) * stick_stride + c % eps)
        c = stick_offset + sum(stick[a] * i_a)

    `i_a` counts from the start of the tile. `k` numbers the trips of the outermost
    `stage_levels` loops of the record's nest, row-major over their trip counts, and
    picks the stage of a multiple buffer. With `stick` all zero and offset 0 the
    operand is sparse: one element per stick.
    """

    space: Space
    dtype: str
    base: int
    strides: tuple[int, ...]
    """Elements stepped by each axis, along dimensions that are not the stick."""
    stick: tuple[int, ...]
    """Steps of each axis along the stick dimension."""
    stick_stride: int = 0
    """Elements between consecutive sticks of the stick dimension."""
    stick_offset: int = 0
    symbol: int = -1
    """DRAM only: index in the row of addresses that a call gives."""
    digit_strides: tuple[int, ...] = ()
    """Bytes per core digit; empty means all zero."""
    loop_strides: tuple[int, ...] = ()
    """Bytes per trip, by depth in the record's loop nest; missing means zero."""
    depth: int = 1
    stage_bytes: int = 0
    stage_levels: int = 0

    @property
    def itemsize(self) -> int:
        return ITEMSIZE[self.dtype]

    @property
    def eps(self) -> int:
        return elements_per_stick(self.itemsize)

    @property
    def is_sticked(self) -> bool:
        """One axis walks the sticks in step from a stick's start: a plain tile."""
        used = [s for s in self.stick if s]
        return self.stick_offset == 0 and used in ([], [1])

    def element(self, coordinates: Sequence[int]) -> int:
        """Element offset from the tile's first byte."""
        c = self.stick_offset + sum(
            s * i for s, i in zip(self.stick, coordinates, strict=True)
        )
        linear = sum(s * i for s, i in zip(self.strides, coordinates, strict=True))
        return linear + (c // self.eps) * self.stick_stride + c % self.eps

    def offset(
        self, digits: Sequence[int], trips: Sequence[int], trip_counts: Sequence[int]
    ) -> int:
        """Bytes from the symbol's address (DRAM) or the scratchpad's start (LX)."""
        byte = self.base
        byte += sum(s * d for s, d in zip(self.digit_strides, digits, strict=False))
        byte += sum(s * t for s, t in zip(self.loop_strides, trips, strict=False))
        return byte + self.stage_bytes * self.stage(trips, trip_counts)

    def stage(self, trips: Sequence[int], trip_counts: Sequence[int]) -> int:
        """Which stage of a multiple buffer this trip uses."""
        k = 0
        for trip, count in zip(
            trips[: self.stage_levels], trip_counts[: self.stage_levels], strict=True
        ):
            k = k * count + trip
        return k % self.depth


@dataclass(frozen=True)
class Step:
    """
    One scalar function of a vector record's body.

    `operands` count the inputs first, then the results of earlier steps. `values` are
    immediates: the number of a `constant`, the axis of an `index`.
    """

    function: str
    operands: tuple[int, ...]
    dtype: str
    """Result type: the result is rounded to it."""
    values: tuple[float | int, ...] = ()


@dataclass(frozen=True)
class Sync:
    """
    One wait or signal of a record, on a counted semaphore.

    A wait is made only at the first trip of all the record's loops deeper than
    `level` loops, a signal only at their last trip; `level` is the depth that both
    partners share.
    """

    semaphore: int
    count: int
    level: int
