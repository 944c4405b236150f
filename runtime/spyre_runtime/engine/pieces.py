# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Groups cores that do equally much, and cuts their work into cache-sized blocks.

An unevenly divided axis gives its digit a few groups of values: full, partial, idle.
A block is a range of values of each core digit and a range of each axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from math import prod

from spyre_mlir.algebra.access import Axis

from .boxes import Range
from .records import Trips


@dataclass(frozen=True)
class Block:
    """Ranges of the core digits and of the axes, from the tile's start."""

    digits: tuple[Range, ...]
    ranges: tuple[Range, ...]

    @property
    def extents(self) -> tuple[int, ...]:
        return tuple(count for _, count in self.ranges)

    @property
    def cores(self) -> tuple[int, ...]:
        return tuple(count for _, count in self.digits)

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.cores, *self.extents)

    @property
    def elements(self) -> int:
        return prod(self.shape)

    def kept(self, digits: Sequence[bool], axes: Sequence[bool]) -> Block:
        """Only the first coordinate of the dimensions that are not kept."""

        def first(ranges: Sequence[Range], keep: Sequence[bool]) -> tuple[Range, ...]:
            pairs = zip(ranges, keep, strict=True)
            return tuple(r if k else (r[0], 1) for r, k in pairs)

        return Block(first(self.digits, digits), first(self.ranges, axes))


def pieces(
    grid: tuple[int, ...], axes: tuple[Axis, ...], trips: Trips
) -> tuple[Block, ...]:
    """All cores of the grid, grouped by their extents; idle ones are there too."""
    groups: list[list[tuple[Range, dict[int, int]]]] = []
    for digit, parts in enumerate(grid):
        members = [a for a, axis in enumerate(axes) if axis.digit == digit]
        values = [_extents(axes, members, digit, v, trips) for v in range(parts)]
        groups.append(_runs(values, members))
    still = {a: axis.extent((), trips) for a, axis in enumerate(axes) if axis.digit < 0}
    blocks: list[Block] = []
    for choice in product(*groups):
        extents = dict(still)
        for _, more in choice:
            extents |= more
        ranges = tuple((0, extents[a]) for a in range(len(axes)))
        blocks.append(Block(tuple(r for r, _ in choice), ranges))
    return tuple(blocks)


def _extents(
    axes: tuple[Axis, ...], members: list[int], digit: int, value: int, trips: Trips
) -> tuple[int, ...]:
    digits = (0,) * digit + (value,)
    return tuple(axes[a].extent(digits, trips) for a in members)


def _runs(
    values: list[tuple[int, ...]], members: list[int]
) -> list[tuple[Range, dict[int, int]]]:
    result: list[tuple[Range, dict[int, int]]] = []
    first = 0
    for extents, group in groupby(values):
        count = len(list(group))
        result.append(((first, count), dict(zip(members, extents, strict=True))))
        first += count
    return result


def split(
    block: Block,
    limit: int,
    cost: Callable[[Block], int],
    cuttable: Sequence[bool],
    grain: Sequence[int],
) -> list[Block]:
    """
    Cuts a block until `cost` is within `limit`, outermost dimensions first.

    `cuttable` says which dimensions (digits, then axes) may be cut, `grain` at which
    multiples.
    """
    done: list[Block] = []
    pending = [block]
    while pending:
        item = pending.pop()
        dims = [
            d for d, size in enumerate(item.shape) if cuttable[d] and size > grain[d]
        ]
        if cost(item) <= limit or not dims:
            done.append(item)
            continue
        pending += reversed(_halves(item, dims[0], grain[dims[0]]))
    return done


def _halves(block: Block, dim: int, grain: int) -> list[Block]:
    ranges = [*block.digits, *block.ranges]
    start, count = ranges[dim]
    head = max(count // 2 // grain, 1) * grain
    cut = len(block.digits)
    result: list[Block] = []
    for part in ((start, head), (start + head, count - head)):
        changed = (*ranges[:dim], part, *ranges[dim + 1 :])
        result.append(Block(changed[:cut], changed[cut:]))
    return result
