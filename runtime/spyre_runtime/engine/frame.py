# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
How the values of a vector record lie in working arrays.

They lie as the record's main operand does, stick by stick, so that converting it is
one pass over consecutive elements. A value's dimensions are the core digits and the
axes; the axis along sticks has two, sticks and lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from spyre_mlir.algebra.access import Access

from .boxes import boxes
from .machine import Machine, Placed, Strided
from .pieces import Block
from .records import Record, Trips
from .scratch import Scratch

LANES = {64: "f16", 32: "f32", 16: "i64"}
"""An element type by elements per stick, to describe a working array's sticks."""


@dataclass(frozen=True)
class Frame:
    """The arrangement for one block; `axis` is -1 if no axis is cut into sticks."""

    block: Block
    axis: int
    eps: int
    order: tuple[int, ...]
    """Dimensions of a value in memory, outermost first."""

    @property
    def rank(self) -> int:
        return len(self.order)

    @property
    def digits(self) -> int:
        return len(self.block.digits)

    def dims(self, axis: int) -> tuple[int, ...]:
        """Value dimensions of an axis."""
        at = self.digits + axis
        if self.axis < 0 or axis < self.axis:
            return (at,)
        return (at, at + 1) if axis == self.axis else (at + 1,)

    @property
    def lanes(self) -> int:
        """The value dimension of the lanes, if rows lie between sticks; or -1."""
        if self.axis < 0 or self.order[-2] == self.dims(self.axis)[0]:
            return -1
        return self.order[-1]

    def shape(self, part: Block) -> tuple[int, ...]:
        """Sizes of a value that has `part` of the block."""
        sizes = list(part.cores)
        for axis, size in enumerate(part.extents):
            if axis == self.axis:
                whole = size == self.block.extents[axis]
                sizes += [size // self.eps, self.eps] if whole else [1, 1]
            else:
                sizes.append(size)
        return tuple(sizes)

    def take(
        self,
        scratch: Scratch,
        name: str,
        dtype: torch.dtype,
        shape: Sequence[int],
    ) -> torch.Tensor:
        """A working array of a value's shape in the frame's memory order."""
        array = scratch.take(name, dtype, tuple(shape[d] for d in self.order))
        return array.permute([self.order.index(d) for d in range(self.rank)])

    def placed(self, array: torch.Tensor) -> Placed:
        """A value's array as an operand; size 1 broadcasts."""
        steps = [
            0 if size == 1 else stride
            for size, stride in zip(array.shape, array.stride(), strict=True)
        ]
        strides: list[int] = []
        stick: list[int] = []
        stick_stride = 0
        for axis in range(len(self.block.ranges)):
            first, *lane = self.dims(axis)
            if lane:
                # A value with lanes has them next to each other.
                strides.append(0)
                stick.append(1 if array.shape[lane[0]] > 1 else 0)
                stick_stride = steps[first]
            else:
                strides.append(steps[first])
                stick.append(0)
        access = Access(
            "lx", LANES[self.eps], 0, tuple(strides), tuple(stick), stick_stride
        )
        return Placed(array, tuple(steps[: self.digits]), access)

    def direct(
        self,
        machine: Machine,
        record: Record,
        access: Access,
        trips: Trips,
        part: Block,
    ) -> Strided | None:
        """A view of the scratchpads in a value's dimensions, if there is one."""
        lanes = self._lanes(part)
        parts = boxes(part.ranges, (access, lanes) if lanes else (access,))
        if parts is None or len(parts) != 1:
            return None
        (box,) = parts
        strides = box.strides(access)
        merged: list[int] = []
        for axis, (count, run) in enumerate(zip(box.counts, box.runs, strict=True)):
            whole, lane = strides[2 * axis : 2 * axis + 2]
            if axis == self.axis:
                merged += [whole, lane]
            elif count > 1 and run > 1 and whole != lane * run:
                return None
            else:
                merged.append(lane if run > 1 else whole)
        return machine.place(
            record,
            access,
            trips,
            part,
            self.shape(part)[self.digits :],
            merged,
            access.element(box.starts),
        )

    def _lanes(self, part: Block) -> Access | None:
        """Cuts the stick axis where a value of this part does."""
        if self.axis < 0 or part.extents[self.axis] == 1:
            return None
        stick = tuple(int(a == self.axis) for a in range(len(part.ranges)))
        zero = (0,) * len(stick)
        return Access("lx", LANES[self.eps], 0, zero, stick, 2 * self.eps)


def frame(block: Block, candidates: Sequence[Access]) -> Frame:
    """The arrangement that suits the first candidate that varies along every axis."""
    digits = len(block.digits)
    natural = range(digits + len(block.ranges))
    main = next(
        (a for a in candidates if is_full(a, block)),
        None,
    )
    if main is None:
        return Frame(block, -1, 64, tuple(natural))
    axis = _stick_axis(main, block)
    result = Frame(block, axis, main.eps, ())
    steps: list[tuple[int, int]] = []
    for a in range(len(block.ranges)):
        first, *lane = result.dims(a)
        if lane:
            steps.append((main.stick_stride, first))
        else:
            steps.append((abs(main.strides[a]) + abs(main.stick[a]), first))
    inner = [d for _, d in sorted(steps, key=lambda s: (-s[0], s[1]))]
    lanes = [result.dims(axis)[1]] if axis >= 0 else []
    order = (*range(digits), *inner, *lanes)
    return Frame(block, axis, main.eps, order)


def is_full(access: Access, block: Block) -> bool:
    return all(
        size == 1 or step or stick
        for size, step, stick in zip(
            block.extents, access.strides, access.stick, strict=True
        )
    )


def _stick_axis(access: Access, block: Block) -> int:
    """The axis to cut into sticks: several whole ones that lie apart."""
    axes = [a for a, s in enumerate(access.stick) if s]
    if len(axes) != 1 or not access.is_sticked or access.strides[axes[0]]:
        return -1
    (axis,) = axes
    start, size = block.ranges[axis]
    if size <= access.eps or size % access.eps or start % access.eps:
        return -1
    return axis if access.stick_stride != access.eps else -1
