# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pieces of movements, against the elements that they move."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from spyre_mlir.algebra.linear import Linear
from spyre_mlir.algebra.pieces import Piece, box_of, compose, join, shared_first

Moves = dict[tuple[int, ...], tuple[int, ...]]


def moves(piece: Piece) -> Moves:
    """Source by target, element for element."""
    steps = product(*(range(n) for n in piece.sizes))
    return {
        tuple(c.at(i) for c in piece.target): tuple(c.at(i) for c in piece.source)
        for i in steps
    }


@st.composite
def injective_pieces(draw: st.DrawFn) -> Piece:
    """Mixed-radix targets over up to four iterators, some turned round."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    rank = len(sizes)
    order = draw(st.permutations(range(rank)))
    cut = draw(st.integers(0, rank))
    target = []
    for group in (order[:cut], order[cut:]):
        total, step = Linear.constant(draw(st.integers(0, 2)), rank), 1
        for k in reversed(group):
            part = Linear.iterator(k, rank) * step
            if draw(st.booleans()):
                part = part * -1 + Linear.constant(step * (sizes[k] - 1), rank)
            total, step = total + part, step * sizes[k]
        target.append(total)
    coefficients = st.lists(st.integers(0, 3), min_size=rank, max_size=rank)
    source = tuple(Linear(tuple(draw(coefficients)), 1) for _ in range(2))
    return Piece(tuple(sizes), source, tuple(target))


@given(injective_pieces())
def test_canonical_form_moves_the_same(piece: Piece) -> None:
    canonical = piece.canonical()
    assert moves(canonical) == moves(piece)
    assert canonical.canonical() == canonical
    assert 1 not in canonical.sizes


@given(injective_pieces(), injective_pieces())
def test_composition_moves_through_the_middle(outer: Piece, inner: Piece) -> None:
    outer, inner = outer.canonical(), inner.canonical()
    middle = moves(inner)
    composed = compose(outer, [inner])
    if composed is None:
        return
    through = {t: middle[s] for t, s in moves(outer).items() if s in middle}
    found: Moves = {}
    for piece in composed.pieces:
        found |= moves(piece)
    assert found == through
    assert composed.leaks == (len(through) < len(moves(outer)))


def test_a_box_needs_an_iterator_of_its_own_per_dimension() -> None:
    i, j = Linear.iterator(0, 2), Linear.iterator(1, 2)
    assert box_of((i, j), (3, 4)) is not None
    assert box_of((i, i), (3, 4)) is None
    assert box_of((i + j,), (3, 4)) is None
    assert box_of((i * 2, j), (3, 4)) is None


def test_neighbours_join_along_one_iterator() -> None:
    i, j = Linear.iterator(0, 2), Linear.iterator(1, 2)
    first = Piece((4, 10), (i, j), (i, j))
    moved = j + Linear.constant(10, 2)
    assert join(first, Piece((4, 20), (i, moved), (i, moved))) == Piece(
        (4, 30), (i, j), (i, j)
    )
    apart = j + Linear.constant(11, 2)
    assert join(first, Piece((4, 20), (i, apart), (i, apart))) is None


def test_iterators_along_whole_dimensions_are_shared() -> None:
    i, j = Linear.iterator(0, 2), Linear.iterator(1, 2)
    first = Piece((10, 4), (j, i), (j, i))
    second = Piece((20, 4), (j, i), (j, i + Linear.constant(10, 2)))
    sizes, pieces = shared_first([first, second], (4, 30))
    assert sizes == (4,)
    assert [p.sizes for p in pieces] == [(4, 10), (4, 20)]
