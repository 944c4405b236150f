# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Data movement as pieces: iterators, a coordinate read and a coordinate written.

A movement is a list of pieces that write disjoint elements. Two movements after each
other are one where coordinates can be substituted without leaving linear functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

from spyre_mlir.algebra.linear import Linear

Coordinates: TypeAlias = tuple[Linear, ...]


@dataclass(frozen=True)
class Piece:
    """Copies source(i) to target(i) for all iterators i within sizes."""

    sizes: tuple[int, ...]
    source: Coordinates
    target: Coordinates

    @property
    def volume(self) -> int:
        """Elements written."""
        return prod(self.sizes)

    def canonical(self) -> Piece:
        """
        The same movement over iterators in the order of the target, each running
        forwards, none of size 1, and none that another could run along with.
        """
        piece = _reordered(self, [k for k, n in enumerate(self.sizes) if n != 1])
        piece = _forwards(piece)
        order = sorted(range(len(piece.sizes)), key=lambda k: _place(piece, k))
        return _merged(_reordered(piece, order))

    def is_identity(self, shape: Sequence[int]) -> bool:
        """Copies a whole tensor of this shape, changing no coordinate."""
        return self.source == self.target and self.volume == prod(shape)


def _reordered(piece: Piece, kept: Sequence[int]) -> Piece:
    """Over these iterators in this order; the others are at 0."""

    def of(coordinates: Coordinates) -> Coordinates:
        return tuple(
            Linear(tuple(c.coefficients[k] for k in kept), c.offset)
            for c in coordinates
        )

    sizes = tuple(piece.sizes[k] for k in kept)
    return Piece(sizes, of(piece.source), of(piece.target))


def _place(piece: Piece, iterator: int) -> tuple[int, int]:
    """Where an iterator shows in the target: dimension, then steepest first."""
    for dim, coordinate in enumerate(piece.target):
        if coordinate.coefficients[iterator]:
            return dim, -coordinate.coefficients[iterator]
    return len(piece.target), 0


def _forwards(piece: Piece) -> Piece:
    """With iterators turned round that run backwards in the target."""
    rank = len(piece.sizes)
    values = [Linear.iterator(k, rank) for k in range(rank)]
    for k, size in enumerate(piece.sizes):
        steps = [c.coefficients[k] for c in piece.target if c.coefficients[k]]
        if steps and steps[0] < 0:
            values[k] = values[k] * -1 + Linear.constant(size - 1, rank)
    return _substituted(piece, values)


def _substituted(piece: Piece, values: Sequence[Linear]) -> Piece:
    rank = len(piece.sizes)
    return replace(
        piece,
        source=tuple(c.substitute(values, rank) for c in piece.source),
        target=tuple(c.substitute(values, rank) for c in piece.target),
    )


def _merged(piece: Piece) -> Piece:
    """With neighbours joined that act as the digits of one number everywhere."""
    for k in range(len(piece.sizes) - 1):
        size = piece.sizes[k + 1]
        every = (*piece.source, *piece.target)
        if all(c.coefficients[k] == size * c.coefficients[k + 1] for c in every):
            rest = [i for i in range(len(piece.sizes)) if i != k]
            joined = _reordered(piece, rest)
            sizes = list(joined.sizes)
            sizes[k] = piece.sizes[k] * size
            return _merged(replace(joined, sizes=tuple(sizes)))
    return piece


@dataclass(frozen=True)
class Box:
    """
    A range of coordinates reached one by one: per dimension the iterator that runs
    along it (None: it stays), where it starts, and how far it runs.
    """

    iterators: tuple[int | None, ...]
    offsets: tuple[int, ...]
    sizes: tuple[int, ...]

    def holds(self, coordinates: Coordinates, sizes: Sequence[int]) -> bool:
        """Whether all of `coordinates`, over iterators of `sizes`, lie inside."""
        bounds = [c.bounds(sizes) for c in coordinates]
        ranges = zip(bounds, self.offsets, self.sizes, strict=True)
        return all(o <= low and high < o + n for (low, high), o, n in ranges)

    def misses(self, coordinates: Coordinates, sizes: Sequence[int]) -> bool:
        """Whether some dimension keeps all of `coordinates` outside."""
        bounds = [c.bounds(sizes) for c in coordinates]
        ranges = zip(bounds, self.offsets, self.sizes, strict=True)
        return any(high < o or low >= o + n for (low, high), o, n in ranges)


def box_of(coordinates: Coordinates, sizes: Sequence[int]) -> Box | None:
    """The box that `coordinates` run through, if each iterator has one dimension."""
    iterators: list[int | None] = []
    for coordinate in coordinates:
        used = coordinate.used
        if len(used) > 1 or any(coordinate.coefficients[k] != 1 for k in used):
            return None
        iterators.append(used[0] if used else None)
    taken = [k for k in iterators if k is not None]
    if len(set(taken)) != len(taken):
        return None
    extents = tuple(1 if k is None else sizes[k] for k in iterators)
    return Box(tuple(iterators), tuple(c.offset for c in coordinates), extents)


def read_through(outer: Piece, inner: Piece) -> Piece | None:
    """
    The piece that reads the inner one's source directly, where all that the outer
    one reads was written by the inner one, one element per step.
    """
    box = box_of(inner.target, inner.sizes)
    if box is None or not box.holds(outer.source, outer.sizes):
        return None
    rank = len(outer.sizes)
    values = [Linear.constant(0, rank)] * len(inner.sizes)
    for dim, iterator in enumerate(box.iterators):
        if iterator is not None:
            shift = Linear.constant(-box.offsets[dim], rank)
            values[iterator] = outer.source[dim] + shift
    source = tuple(c.substitute(values, rank) for c in inner.source)
    return replace(outer, source=source)


def write_through(outer: Piece, box: Box, inner: Piece) -> Piece:
    """
    The piece that writes the outer one's target directly, where the outer one reads
    `box` one element per step and all that the inner one writes lies in it.
    """
    others = [k for k in range(len(outer.sizes)) if k not in box.iterators]
    sizes = (*inner.sizes, *(outer.sizes[k] for k in others))
    rank = len(sizes)
    values = [Linear.constant(0, rank)] * len(outer.sizes)
    for position, k in enumerate(others, start=len(inner.sizes)):
        values[k] = Linear.iterator(position, rank)
    for dim, iterator in enumerate(box.iterators):
        if iterator is not None:
            shift = Linear.constant(-box.offsets[dim], rank)
            values[iterator] = inner.target[dim].widen(rank) + shift
    source = tuple(c.widen(rank) for c in inner.source)
    return Piece(sizes, source, tuple(c.substitute(values, rank) for c in outer.target))


@dataclass(frozen=True)
class Composed:
    """One piece after a whole movement: pieces, the inner piece that each came from."""

    pieces: tuple[Piece, ...]
    origins: tuple[int, ...]
    leaks: bool
    """It reads elements that the inner movement leaves at its fill."""


def compose(outer: Piece, inner: Sequence[Piece]) -> Composed | None:
    """The outer piece read through the inner movement, or None if it is not linear."""
    for origin, piece in enumerate(inner):
        direct = read_through(outer, piece)
        if direct is not None:
            return Composed((direct,), (origin,), False)
    box = box_of(outer.source, outer.sizes)
    if box is None:
        return None
    pieces: list[Piece] = []
    origins: list[int] = []
    written = 0
    for origin, piece in enumerate(inner):
        if box.misses(piece.target, piece.sizes):
            continue
        if not box.holds(piece.target, piece.sizes):
            return None
        pieces.append(write_through(outer, box, piece))
        origins.append(origin)
        written += piece.volume
    return Composed(tuple(pieces), tuple(origins), written < prod(box.sizes))


def join(first: Piece, second: Piece) -> Piece | None:
    """One piece for two that continue each other along one iterator."""
    rank = len(first.sizes)
    if len(second.sizes) != rank:
        return None
    differing = [k for k in range(rank) if first.sizes[k] != second.sizes[k]]
    if len(differing) > 1:
        return None
    for k in differing or range(rank):
        step = first.sizes[k]
        pairs = zip(
            (*first.source, *first.target),
            (*second.source, *second.target),
            strict=True,
        )
        if all(
            a + Linear((0,) * rank, step * a.coefficients[k]) == b for a, b in pairs
        ):
            sizes = list(first.sizes)
            sizes[k] += second.sizes[k]
            return replace(first, sizes=tuple(sizes))
    return None


def shared_first(
    pieces: Sequence[Piece], shape: Sequence[int]
) -> tuple[tuple[int, ...], tuple[Piece, ...]]:
    """
    Sizes of the iterators that all pieces share, and the pieces with those in front:
    the ones that run, in every piece, along a whole dimension of the result.
    """
    if len(pieces) == 1:
        return pieces[0].sizes, tuple(pieces)
    dims = [
        d
        for d, size in enumerate(shape)
        if all(_runs_along(p, d, size) for p in pieces)
    ]
    ordered: list[Piece] = []
    for piece in pieces:
        front = [k for d in dims if (k := piece.target[d].single) is not None]
        rest = [k for k in range(len(piece.sizes)) if k not in front]
        ordered.append(_reordered(piece, [*front, *rest]))
    return tuple(shape[d] for d in dims), tuple(ordered)


def _runs_along(piece: Piece, dim: int, size: int) -> bool:
    iterator = piece.target[dim].single
    return iterator is not None and piece.sizes[iterator] == size
