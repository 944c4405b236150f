# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Movements cut into regions along one dimension of their result.

Pieces that lie side by side along a dimension begin and end anywhere, also inside a
stick. Cut at the sticks that hold an end of a piece, what lies between is whole
sticks of the same pieces throughout: a region that cores and trips can share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import prod

from .layout import ceil_div
from .linear import Linear
from .pieces import Coordinates, Piece

MOST_PARTS = 128
"""Pieces that one movement may be cut into."""
SMALL_UNITS = 128
"""What is left of a region that runs backwards and is no more than this is an edge."""


@dataclass(frozen=True)
class Part:
    """A piece whose last iterator runs along the dimension, one by one."""

    origin: int
    """The piece of the movement that it is of."""
    piece: Piece

    @property
    def extent(self) -> int:
        return self.piece.sizes[-1]

    def runs_backwards(self) -> bool:
        return any(c.coefficients[-1] < 0 for c in self.piece.source)

    def clipped(self, dim: int, start: int, stop: int) -> Part | None:
        """Only what it writes in [start, stop) of the dimension."""
        begin = self.piece.target[dim].offset
        low, high = max(start, begin), min(stop, begin + self.extent)
        if low >= high:
            return None
        return replace(self, piece=_ranged(self.piece, low - begin, high - begin))


@dataclass(frozen=True)
class Region:
    """[start, stop) of the dimension, and the parts clipped to it."""

    start: int
    stop: int
    parts: tuple[Part, ...]
    is_edge: bool
    """Holds the end of a piece, or little: not worth sharing."""

    @property
    def extent(self) -> int:
        return self.stop - self.start


def _ranged(piece: Piece, low: int, high: int) -> Piece:
    """With the last iterator running over [low, high) of what it was."""
    rank = len(piece.sizes)

    def shifted(coordinates: Coordinates) -> Coordinates:
        return tuple(c + _constant(c.coefficients[-1] * low, rank) for c in coordinates)

    sizes = (*piece.sizes[:-1], high - low)
    return Piece(sizes, shifted(piece.source), shifted(piece.target))


def _constant(value: int, rank: int) -> Linear:
    return Linear.constant(value, rank)


def parts_along(pieces: Sequence[Piece], dim: int) -> list[Part] | None:
    """The pieces as parts, or None where they would be too many."""
    found: list[Part] = []
    for origin, piece in enumerate(pieces):
        along = _along(piece.canonical(), dim)
        if along is None or len(found) + along[1] > MOST_PARTS:
            return None
        found += [Part(origin, p) for p in _unrolled(along[0])]
    return found


def _along(piece: Piece, dim: int) -> tuple[Piece, int] | None:
    """The piece with the iterator along `dim` last, and how many parts it makes."""
    used = piece.target[dim].used
    rank = len(piece.sizes)
    unit = [k for k in used if piece.target[dim].coefficients[k] == 1]
    if used and not unit:
        return None
    if not used:
        sizes = (*piece.sizes, 1)
        source = tuple(c.widen(rank + 1) for c in piece.source)
        target = [c.widen(rank + 1) for c in piece.target]
        target[dim] = target[dim] + Linear.iterator(rank, rank + 1)
        return Piece(sizes, source, tuple(target)), 1
    last = unit[-1]
    order = [*(k for k in range(rank) if k != last), last]
    moved = Piece(
        tuple(piece.sizes[k] for k in order),
        tuple(_ordered(c, order) for c in piece.source),
        tuple(_ordered(c, order) for c in piece.target),
    )
    return moved, prod(moved.sizes[k] for k in _tangled(moved))


def _ordered(coordinate: Linear, order: Sequence[int]) -> Linear:
    return Linear(tuple(coordinate.coefficients[k] for k in order), coordinate.offset)


def _tangled(piece: Piece) -> list[int]:
    """Iterators that share a dimension with the last one."""
    last = len(piece.sizes) - 1
    shared = [c for c in (*piece.source, *piece.target) if c.coefficients[last]]
    return sorted({k for c in shared for k in c.used if k != last})


def _unrolled(piece: Piece) -> Iterator[Piece]:
    """A piece for each value of the iterators that share the last one's dimensions."""
    tangled = _tangled(piece)
    kept = [k for k in range(len(piece.sizes)) if k not in tangled]

    def at(coordinate: Linear, values: Sequence[int]) -> Linear:
        pairs = zip(tangled, values, strict=True)
        moved = sum(coordinate.coefficients[k] * v for k, v in pairs)
        found = _ordered(coordinate, kept)
        return replace(found, offset=found.offset + moved)

    for values in product(*(range(piece.sizes[k]) for k in tangled)):
        yield Piece(
            tuple(piece.sizes[k] for k in kept),
            tuple(at(c, values) for c in piece.source),
            tuple(at(c, values) for c in piece.target),
        )


def regions_along(
    parts: Sequence[Part], dim: int, size: int, stick: int, granule: int
) -> list[Region]:
    """
    The regions of a result, in order. They begin on multiples of `stick`; where parts
    run backwards they are powers of two of `granule`, so that every cut is even.
    """
    points = {0, size}
    for part in parts:
        begin = part.piece.target[dim].offset
        points |= {begin, begin + part.extent}
    bounds: set[int] = set()
    edges: set[int] = set()
    for point in points:
        if point % stick and point != size:
            edges.add(point // stick)
            bounds |= {point // stick * stick, ceil_div(point, stick) * stick}
        else:
            bounds.add(point)
    found: list[Region] = []
    for start, stop in pairwise(sorted({min(b, size) for b in bounds})):
        is_edge = start // stick in edges and stop - start <= stick
        for low, high, small in _even(parts, dim, start, stop, granule):
            clipped = (p.clipped(dim, low, high) for p in parts)
            own = tuple(p for p in clipped if p is not None)
            found.append(Region(low, high, own, is_edge or small))
    return found


def _even(
    parts: Sequence[Part], dim: int, start: int, stop: int, granule: int
) -> Iterator[tuple[int, int, bool]]:
    """The range whole, or in powers of two if a part in it runs backwards."""
    if not any(p.runs_backwards() and p.clipped(dim, start, stop) for p in parts):
        yield start, stop, False
        return
    units = (stop - start) // granule
    while units > SMALL_UNITS:
        most = 1 << (units.bit_length() - 1)
        yield start, start + most * granule, False
        start += most * granule
        units -= most
    if start < stop:
        yield start, stop, True
