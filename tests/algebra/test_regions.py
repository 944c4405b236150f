# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions are all of a movement, and nothing else."""

from __future__ import annotations

from itertools import product
from math import prod

from hypothesis import given, settings
from hypothesis import strategies as st

from spyre_mlir.algebra import regions
from spyre_mlir.algebra.linear import Linear
from spyre_mlir.algebra.pieces import Piece
from spyre_mlir.algebra.regions import parts_along, regions_along

Copies = dict[tuple[int, ...], tuple[int, tuple[int, ...]]]
"""Per element of the result, the piece and the element that it comes from."""


def copies(origin: int, piece: Piece) -> Copies:
    found: Copies = {}
    for place in product(*map(range, piece.sizes)):
        target = tuple(c.at(place) for c in piece.target)
        found[target] = origin, tuple(c.at(place) for c in piece.source)
    return found


@st.composite
def movements(draw: st.DrawFn) -> tuple[list[Piece], int]:
    """Pieces side by side, some backwards, and where the last ends."""
    pieces: list[Piece] = []
    offset = 0
    for _ in range(draw(st.integers(1, 4))):
        offset += draw(st.sampled_from((0, 0, 1, 5, 8)))
        size = draw(st.sampled_from((1, 3, 8, 13, 16, 40)))
        rows = draw(st.sampled_from((1, 2)))
        along = Linear((0, draw(st.sampled_from((1, -1, 2)))), 100)
        source = (Linear((1, 0)), along)
        target = (Linear((1, 0)), Linear((0, 1), offset))
        pieces.append(Piece((rows, size), source, target))
        offset += size
    return pieces, offset


@settings(deadline=None, derandomize=True)
@given(movements(), st.sampled_from((1, 4, 8)))
def test_regions_are_the_whole_movement(
    movement: tuple[list[Piece], int], stick: int
) -> None:
    pieces, size = movement
    parts = parts_along(pieces, 1)
    assert parts is not None
    found: Copies = {}
    last = 0
    for region in regions_along(parts, 1, size, stick, stick):
        assert region.start == last and region.start % stick == 0
        last = region.stop
        for part in region.parts:
            own = copies(part.origin, part.piece)
            assert all(region.start <= t[1] < region.stop for t in own)
            assert not own.keys() & found.keys()
            found |= own
            if not region.is_edge:
                assert part.extent == region.extent
    assert last == size
    wanted: Copies = {}
    for origin, piece in enumerate(pieces):
        wanted |= copies(origin, piece)
    assert found == wanted


def test_backward_regions_are_powers_of_two() -> None:
    size = 8 * 1000 + 3
    piece = Piece((size,), (Linear((-1,), size - 1),), (Linear((1,)),))
    parts = parts_along([piece], 0)
    assert parts is not None
    found = regions_along(parts, 0, size, 8, 8)
    extents = [r.extent // 8 for r in found if not r.is_edge]
    assert extents == [512, 256, 128]
    assert all(r.extent <= 8 * regions.SMALL_UNITS + 8 for r in found if r.is_edge)


def test_iterators_that_share_a_dimension_are_unrolled() -> None:
    """A reshape of a row: what each line reads begins anywhere."""
    piece = Piece((3, 101), (Linear((101, 1)),), (Linear((1, 0)), Linear((0, 1))))
    parts = parts_along([piece], 1)
    assert parts is not None
    assert [p.piece.source[0].offset for p in parts] == [0, 101, 202]
    assert sum(prod(p.piece.sizes) for p in parts) == 303


def test_too_many_parts_are_refused() -> None:
    rows = regions.MOST_PARTS + 1
    piece = Piece((rows, 5), (Linear((5, 1)),), (Linear((1, 0)), Linear((0, 1))))
    assert parts_along([piece], 1) is None
