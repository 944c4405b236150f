# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the division and the tiles of one operation say, as grids, digits and axes."""

from __future__ import annotations

from collections.abc import Sequence

from spyre_mlir.algebra.access import Axis
from spyre_mlir.analysis.space import IterRange
from spyre_mlir.dialects import spyre


class PlanFault(ValueError):
    """A decision that cannot be carried out: which operation's, and why."""

    def __init__(self, message: str, op: spyre.SpyreOp | None = None):
        super().__init__(message)
        self.message = message
        self.op = op


def kernel_grid(ops: Sequence[spyre.SpyreOp]) -> tuple[int, ...]:
    """Parts of each core digit, first fastest; the same for all of a group."""
    return division_digits(ops[0])[0]


def division_digits(op: spyre.SpyreOp) -> tuple[tuple[int, ...], dict[int, int]]:
    """The grid that an operation's division makes, and the digit of each iterator."""
    if op.division is None:
        return (1,), {}
    parts = op.division.parts_data
    used = [k for k in op.division.order_data if parts[k] > 1]
    grid = tuple(parts[k] for k in used)
    return grid or (1,), {k: digit for digit, k in enumerate(used)}


def op_axes(op: spyre.SpyreOp, space: Sequence[IterRange]) -> tuple[Axis, ...]:
    """The axes that an operation's division and tiles say."""
    _, digits = division_digits(op)
    parts = op.division.parts_data if op.division else (1,) * len(space)
    loops: dict[int, tuple[int, int]] = {}
    for depth, (iterator, trips) in enumerate(op.tile.levels_data if op.tile else ()):
        if iterator >= 0:
            loops[iterator] = (depth, trips)
    axes: list[Axis] = []
    for k, it in enumerate(space):
        chunk = it.chunk(parts[k]) if parts[k] > 1 else it.size
        depth, trips = loops.get(k, (-1, 1))
        tile = it.chunk(trips, chunk) if trips > 1 else chunk
        loop = depth if trips > 1 else -1
        axes.append(Axis(it.size, digits.get(k, -1), chunk, loop, tile))
    return tuple(axes)


def cut_iterators(op: spyre.SpyreOp) -> tuple[int, ...]:
    """Iterators that the decisions divide or loop over."""
    parts = op.division.parts_data if op.division else ()
    cut = {k for k, p in enumerate(parts) if p > 1}
    levels = op.tile.levels_data if op.tile else ()
    cut |= {k for k, trips in levels if k >= 0 and trips > 1}
    return tuple(sorted(cut))
