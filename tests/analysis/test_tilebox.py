# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A tile's box holds what the tile reads, at the addresses that its accesses say."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensor_ops import iterators, reindex_op, value

from spyre_mlir.algebra.access import ITEMSIZE, Access, Axis
from spyre_mlir.algebra.layout import DeviceLayout, elements_per_stick
from spyre_mlir.algebra.linear import Linear
from spyre_mlir.analysis.decisions import kernel_grid, op_axes
from spyre_mlir.analysis.space import Operand, iteration_space, operands_of
from spyre_mlir.analysis.tilebox import (
    dram_box,
    dram_walk,
    lx_box,
    lx_walk,
    tile_box,
)
from spyre_mlir.dialects import spyre

LX_ADDRESS = 1024


@st.composite
def coordinate(
    draw: st.DrawFn, own: list[int], sizes: list[int], offset: int
) -> Linear:
    """A coordinate over some iterators: in steps, backwards, digits or a window."""
    coefficients = [0] * len(sizes)
    if len(own) == 1:
        coefficients[own[0]] = draw(st.sampled_from((1, 1, 2, -1, 32)))
    elif own:
        outer, inner = own
        step = draw(st.sampled_from((1, sizes[inner], 64)))
        coefficients[outer] = step
        coefficients[inner] = 1
    low = sum(min(0, c * (n - 1)) for c, n in zip(coefficients, sizes, strict=True))
    return Linear(tuple(coefficients), offset - low)


@st.composite
def movements(draw: st.DrawFn) -> spyre.ReindexOp:
    """A reindex that reads one source of up to three dimensions."""
    sizes = [draw(st.sampled_from((1, 2, 3, 5, 65, 128))) for _ in range(3)]
    if sizes[0] * sizes[1] * sizes[2] > 1024:
        sizes[2] = 1
    rank = draw(st.integers(1, 3))
    places: list[list[int]] = [[] for _ in range(rank)]
    for iterator in draw(st.permutations(range(3))):
        free = [p for p in places if len(p) < 2]
        if free:
            draw(st.sampled_from(free)).append(iterator)
    coordinates: list[Linear] = []
    for own in places:
        offset = draw(st.sampled_from((0, 0, 1, 32, 63, 64, 70)))
        coordinates.append(draw(coordinate(own, sizes, offset)))
    slack = draw(st.integers(0, 3))
    shape = [c.bounds(sizes)[1] + 1 + slack for c in coordinates]
    order = list(draw(st.permutations(range(rank))))
    if draw(st.integers(0, 4)) == 0:
        order.append(-1)
    dtype = draw(st.sampled_from(("f16", "f32")))
    source = value(shape, dtype, DeviceLayout.ordered(order))
    return reindex_op(source, sizes, coordinates)


@st.composite
def planned(draw: st.DrawFn) -> spyre.ReindexOp:
    """The same, divided and looped over where its operands allow it."""
    op = draw(movements())
    space = iteration_space(op)
    parts, levels = [1] * len(space), list[tuple[int, int]]()
    for k, it in enumerate(space):
        counts = [p for p in range(1, min(it.units, 5) + 1) if it.allows(p)]
        parts[k] = draw(st.sampled_from(counts))
        chunk = it.chunk(parts[k]) if parts[k] > 1 else it.size
        trips = [t for t in range(1, 5) if it.allows(t, chunk)]
        levels.append((k, draw(st.sampled_from(trips))))
    op.division = spyre.DivisionAttr.of(parts, draw(st.permutations(range(len(space)))))
    op.tile = spyre.TileAttr.of([level for level in levels if level[1] > 1], 1)
    return op


def place(operand: Operand, coordinates: list[int]) -> int:
    """Byte of an element in DRAM, by the layout alone."""
    eps = elements_per_stick(ITEMSIZE[operand.dtype])
    strides = operand.layout.dim_strides(operand.shape, eps)
    element = 0
    for dim, (i, stride) in enumerate(zip(coordinates, strides, strict=True)):
        on_stick = dim == operand.stick_dim
        element += i // eps * stride + i % eps if on_stick else i * stride
    return element * ITEMSIZE[operand.dtype]


class Core:
    """One tile of one core: where an access reaches."""

    def __init__(
        self, digits: tuple[int, ...], trips: tuple[int, ...], counts: tuple[int, ...]
    ):
        self.digits, self.trips, self.counts = digits, trips, counts

    def extents(self, axes: tuple[Axis, ...]) -> list[int]:
        return [a.extent(self.digits, self.trips) for a in axes]

    def byte(self, access: Access, index: tuple[int, ...]) -> int:
        base = access.offset(self.digits, self.trips, self.counts)
        return base + access.element(index) * access.itemsize

    def starts(self, axes: tuple[Axis, ...]) -> list[int]:
        return [a.start(self.digits, self.trips) for a in axes]


def tiles(op: spyre.SpyreOp) -> list[Core]:
    levels = op.tile.levels_data if op.tile else ()
    counts = tuple(trips for _, trips in levels)
    grid = kernel_grid([op])
    return [
        Core(digits, trips, counts)
        for digits in product(*map(range, grid))
        for trips in product(*map(range, counts))
    ]


def check(op: spyre.ReindexOp) -> int:
    """Follows every element of every tile; returns how many there are."""
    operand = operands_of(op)[0]
    axes = op_axes(op, iteration_space(op))
    box = tile_box(operand, axes)
    inside, outside = lx_box(box, LX_ADDRESS), dram_box(operand, box, 0)
    walk, direct = lx_walk(operand, box, axes, LX_ADDRESS), dram_walk(operand, axes, 0)
    seen = 0
    for core in tiles(op):
        extents = core.extents(axes)
        loaded: dict[int, int] = {}
        box_extents = core.extents(box.axes) if all(extents) else [0]
        for index in product(*map(range, box_extents)):
            byte = core.byte(inside, index)
            assert LX_ADDRESS <= byte < LX_ADDRESS + box.lx_bytes
            assert byte not in loaded, "two elements of a tile in one place"
            loaded[byte] = core.byte(outside, index)
        starts = core.starts(axes)
        for index in product(*map(range, extents)):
            whole = [s + i for s, i in zip(starts, index, strict=True)]
            wanted = place(operand, [c.at(whole) for c in operand.coordinates])
            assert core.byte(direct, index) == wanted
            assert loaded[core.byte(walk, index)] == wanted
            seen += 1
    return seen


@settings(max_examples=100, deadline=None, derandomize=True)
@given(planned())
def test_tiles_hold_what_they_read(op: spyre.ReindexOp) -> None:
    assert check(op) == op.sizes()[0] * op.sizes()[1] * op.sizes()[2]


def test_a_flip_is_read_from_the_end() -> None:
    rows, columns = iterators(2)
    back = rows * -1 + Linear.constant(11, 2)
    op = reindex_op(value([12, 64]), [12, 64], [back, columns])
    op.division = spyre.DivisionAttr.of([4, 1])
    box = tile_box(operands_of(op)[0], op_axes(op, iteration_space(op)))
    assert (box.base, box.steps, box.shape) == ((9, 0), (-1, 1), (3, 64))
    assert check(op) == 12 * 64


@pytest.mark.parametrize(("offset", "base", "elements"), [(0, 0, 64), (70, 64, 70)])
def test_a_box_begins_on_a_stick(offset: int, base: int, elements: int) -> None:
    op = reindex_op(value([256]), [64], [Linear((1,), offset)])
    box = tile_box(operands_of(op)[0], op_axes(op, iteration_space(op)))
    assert (box.base, box.shape) == ((base,), (elements,))
    assert check(op) == 64


def test_a_cut_that_begins_inside_a_stick_has_a_halo() -> None:
    op = reindex_op(value([256]), [128], [Linear((1,), 32)])
    op.division = spyre.DivisionAttr.of([2])
    (axis,) = tile_box(operands_of(op)[0], op_axes(op, iteration_space(op))).axes
    assert (axis.chunk, axis.halo) == (64, 32)
    assert check(op) == 128


def test_windows_of_neighbours_overlap() -> None:
    place_, tap = iterators(2)
    rows = value([11, 64])
    op = reindex_op(rows, [8, 4], [place_ + tap, Linear.constant(3, 2)])
    op.division = spyre.DivisionAttr.of([4, 1])
    axis = tile_box(operands_of(op)[0], op_axes(op, iteration_space(op))).axes[0]
    assert (axis.size, axis.chunk, axis.halo) == (8, 2, 3)
    assert check(op) == 32


def test_what_all_trips_need_is_walked_by_their_loops() -> None:
    # The tile of a value that was made before the loop holds all of its trips.
    rows, columns = iterators(2)
    op = reindex_op(value([6, 64]), [6, 64], [rows, columns])
    whole = op_axes(op, iteration_space(op))
    op.tile = spyre.TileAttr.of([(0, 3)], 1)
    operand, axes = operands_of(op)[0], op_axes(op, iteration_space(op))
    box = tile_box(operand, whole)
    walk = lx_walk(operand, box, axes, 0, private_from=0)
    assert walk.loop_strides == (2 * 128,)
    assert lx_walk(operand, box, axes, 0).loop_strides == ()
