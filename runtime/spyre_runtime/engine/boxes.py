# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Cuts an iteration range into boxes on which accesses are plain strided arrays.

An access is quasi-affine: coordinate c along the stick dimension lies at
(c // eps) * stick_stride + c % eps. On an axis that steps along sticks, every
`period` elements fill whole sticks; a box takes a number of periods and a run of
elements in each, and within the run no operand leaves its stick.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import gcd, lcm

from spyre_mlir.algebra.access import Access

Range = tuple[int, int]
"""First coordinate and count."""

MOST_BOXES = 32
"""More than that is slower than single elements by index."""


@dataclass(frozen=True)
class Box:
    """Per axis: first coordinate, period, number of periods, elements in each."""

    starts: tuple[int, ...]
    periods: tuple[int, ...]
    counts: tuple[int, ...]
    runs: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """(periods, run) of each axis, flat."""
        pairs = zip(self.counts, self.runs, strict=True)
        return tuple(size for pair in pairs for size in pair)

    def strides(self, access: Access) -> tuple[int, ...]:
        """Elements stepped by each entry of `shape`."""
        result: list[int] = []
        for step, stick, period, run in zip(
            access.strides, access.stick, self.periods, self.runs, strict=True
        ):
            linear = _is_linear(access)
            whole = stick * period if linear else _sticks(access, stick, period)
            # A run of one never steps; its lane stride would be meaningless.
            result += [step * period + whole, step + stick if run > 1 else 0]
        return tuple(result)

    def linear_strides(self, strides: Sequence[int]) -> tuple[int, ...]:
        """The same for an array with one stride per axis."""
        pairs = zip(strides, self.periods, strict=True)
        return tuple(s for stride, period in pairs for s in (stride * period, stride))


def _sticks(access: Access, stick: int, period: int) -> int:
    return stick * period // access.eps * access.stick_stride


def _is_linear(access: Access) -> bool:
    """Sticks follow one another: the stick dimension is one plain dimension."""
    return access.stick_stride == access.eps or not any(access.stick)


def _period(accesses: Sequence[Access], axis: int) -> int:
    periods = [a.eps // gcd(a.stick[axis], a.eps) for a in accesses if a.stick[axis]]
    return lcm(*periods) if periods else 0


def boxes(ranges: Sequence[Range], accesses: Sequence[Access]) -> list[Box] | None:
    """A partition of `ranges`; None if it takes more than `MOST_BOXES`."""
    bent = [a for a in accesses if not _is_linear(a)]
    choices: list[list[tuple[int, int, int, int]]] = []
    for axis, (start, count) in enumerate(ranges):
        period = _period(bent, axis)
        if period == 0 or count <= period:
            choices.append([(start, max(period, 1), 1, count)])
            continue
        whole, rest = divmod(count, period)
        parts = [(start, period, whole, period)]
        if rest:
            parts.append((start + whole * period, period, 1, rest))
        choices.append(parts)
    pending = [
        Box(*(tuple(column) for column in zip(*parts, strict=True)))
        if parts
        else Box((), (), (), ())
        for parts in product(*choices)
    ]
    done: list[Box] = []
    while pending:
        if len(pending) + len(done) > MOST_BOXES:
            return None
        box = pending.pop()
        cut = next((c for a in bent if (c := _cut(box, a))), None)
        if cut is None:
            done.append(box)
        else:
            pending += _split(box, *cut)
    return done


def _cut(box: Box, access: Access) -> tuple[int, int] | None:
    """(axis, elements before the cut) where the box crosses from stick to stick."""
    eps = access.eps
    low = high = access.stick_offset
    for stick, start, run in zip(access.stick, box.starts, box.runs, strict=True):
        low += stick * start + min(0, stick * (run - 1))
        high += stick * start + max(0, stick * (run - 1))
    if low // eps == high // eps:
        return None
    reach = [abs(s) * (r - 1) for s, r in zip(access.stick, box.runs, strict=True)]
    axis = reach.index(max(reach))
    stick = access.stick[axis]
    if stick > 0:
        before = -(-((low // eps + 1) * eps - low) // stick)
    else:
        before = (high - high // eps * eps) // -stick + 1
    return axis, min(max(before, 1), box.runs[axis] - 1)


def _split(box: Box, axis: int, before: int) -> list[Box]:
    def changed(values: tuple[int, ...], value: int) -> tuple[int, ...]:
        return (*values[:axis], value, *values[axis + 1 :])

    head = replace(box, runs=changed(box.runs, before))
    tail = replace(
        box,
        starts=changed(box.starts, box.starts[axis] + before),
        runs=changed(box.runs, box.runs[axis] - before),
    )
    return [head, tail]
