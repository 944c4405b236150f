# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Which part of a value a core has, and when.

Division and tiles say it for an operation's iterators; through the indexing maps they
say it for each value that the operation makes or reads. Nothing stores it. Inside a
group a value stays in the scratchpad of the core, and the trip, that made it: what a
member reads there must be what the same core made in the same trip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from spyre_mlir.algebra.access import Axis
from spyre_mlir.analysis.space import Operand
from spyre_mlir.analysis.tilebox import dim_box, is_cut


@dataclass(frozen=True)
class Share:
    """
    A range of one dimension: `axis` says which part of it a core has in a trip, from
    coordinate `low` on, in the direction of `step`.
    """

    axis: Axis
    low: int
    step: int

    @property
    def moves(self) -> tuple[int, int, int, int, int]:
        """How the range moves with the core's digits and the trips."""
        axis = self.axis
        chunk = axis.chunk if axis.digit >= 0 else 0
        tile = axis.tile if axis.loop >= 0 else 0
        return (axis.digit, chunk, axis.loop, tile, self.step)

    def covers(self, other: Share) -> bool:
        """Whether every core has, in every trip, all of the other range."""
        mine, theirs = self.axis, other.axis
        if not is_cut(mine) and not is_cut(theirs):
            inside = other.low + theirs.size <= self.low + mine.size
            return self.low <= other.low and inside
        return (
            self.moves == other.moves
            and theirs.size <= mine.size
            and self.low <= other.low
            and other.low + theirs.halo <= self.low + mine.halo
        )

    def __str__(self) -> str:
        axis = self.axis
        parts = [f"[{self.low}, {self.low + axis.size})"]
        if axis.digit >= 0:
            parts.append(f"{axis.chunk} to each value of digit {axis.digit}")
        if axis.loop >= 0:
            parts.append(f"{axis.tile} in each trip of loop {axis.loop}")
        return ", ".join(parts) + (" backwards" if self.step < 0 else "")


def shares_of(operand: Operand, axes: Sequence[Axis], shared: int) -> tuple[Share, ...]:
    """
    What one core touches of each dimension of an operand, in one trip of the outer
    `shared` loops and all trips of the others.
    """
    within = [_through(axis, shared) for axis in axes]
    return tuple(
        Share(*dim_box(operand, within, coordinate))
        for coordinate in operand.coordinates
    )


def _through(axis: Axis, shared: int) -> Axis:
    """An axis over all trips of a loop that is not shared."""
    return axis if axis.loop < shared else replace(axis, loop=-1, tile=axis.chunk)


def difference(made: Sequence[Share], read: Sequence[Share]) -> str | None:
    """In words, the first dimension of which a core reads what it has not made."""
    for dim, (mine, theirs) in enumerate(zip(made, read, strict=True)):
        if not mine.covers(theirs):
            return f"dimension {dim}: a core makes {mine}; reads {theirs}"
    return None
