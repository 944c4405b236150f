# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is written in staged form is read back as it was."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import IndexType, UnknownLoc
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from spyre_mlir.algebra.access import Access, Axis
from spyre_mlir.algebra.layout import ceil_div
from spyre_mlir.analysis.statements import LoopLevel
from spyre_mlir.transforms._kernel_writer import KernelWriter
from spyre_mlir.transforms._staged import StagedReader

GRIDS = ((1,), (3,), (2, 4))
NESTS = ((), (3,), (2, 5))


class Kernel:
    """A kernel being written, and a reader of it."""

    def __init__(self, grid: tuple[int, ...], trips: tuple[int, ...]):
        self.grid, self.trips = grid, trips
        entry = Block(arg_types=[IndexType()] * 2)
        self.writer = KernelWriter(entry, grid, UnknownLoc())
        for identity, count in enumerate(trips):
            self.writer.enter(LoopLevel(identity, count))
        index = [IndexType()] * 2
        self.function = FuncOp("k", (index, []), Region(entry))
        self.reader = StagedReader(self.function, grid)
        self.reader.digits = {v: d for d, v in enumerate(self.writer.digits)}
        self.reader.nest = list(self.writer.nest)
        self.reader.depths = {v: d for d, v in enumerate(self.writer.trips)}

    def moments(self) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Digits and trips of every core and time."""
        cores = product(*(range(n) for n in self.grid))
        times = list(product(*(range(n) for n in self.trips)))
        return [(core, time) for core in cores for time in times]


@st.composite
def axes(draw: st.DrawFn, grid: tuple[int, ...], trips: tuple[int, ...]) -> Axis:
    """Ceil blocks of a box: elements in steps, with a halo or a shortened last step."""
    size, step = draw(st.integers(1, 40)), draw(st.integers(1, 3))
    digit = draw(st.integers(-1, len(grid) - 1))
    loop = draw(st.integers(-1, len(trips) - 1))
    chunk = ceil_div(size, grid[digit]) if digit >= 0 else size
    tile = ceil_div(chunk, trips[loop]) if loop >= 0 else chunk
    halo = draw(st.integers(1 - step, 4))
    if digit < 0 and loop < 0:
        return Axis.whole(step * size)
    return Axis(step * size, digit, step * chunk, loop, step * tile, halo)


@st.composite
def kernels_with_axes(draw: st.DrawFn, most: int) -> tuple[Kernel, list[Axis]]:
    grid, trips = draw(st.sampled_from(GRIDS)), draw(st.sampled_from(NESTS))
    count = draw(st.integers(1, most))
    return Kernel(grid, trips), [draw(axes(grid, trips)) for _ in range(count)]


@given(kernels_with_axes(1))
@settings(max_examples=400, deadline=None)
def test_extents(made: tuple[Kernel, list[Axis]]) -> None:
    kernel, (axis,) = made
    size = kernel.writer.extent(axis)
    found = kernel.reader.axis(size, kernel.function)
    for digits, trips in kernel.moments():
        assert found.extent(digits, trips) == axis.extent(digits, trips)


@given(kernels_with_axes(1))
@settings(max_examples=200, deadline=None)
def test_starts(made: tuple[Kernel, list[Axis]]) -> None:
    """Of axes without a halo, whose coordinates a body may use."""
    kernel, (axis,) = made
    axis = replace(axis, halo=0)
    size, start = kernel.writer.extent(axis), kernel.writer.start(axis)
    fixed = kernel.reader.axis(size, kernel.function)
    found = kernel.reader.started(fixed, start, kernel.function)
    for digits, trips in kernel.moments():
        assert found.extent(digits, trips) == axis.extent(digits, trips)
        if axis.extent(digits, trips):
            assert found.start(digits, trips) == axis.start(digits, trips)


@st.composite
def accesses(draw: st.DrawFn, kernel: Kernel, axes: list[Axis]) -> Access:
    """Any access: plain, sparse, or with a stick coordinate of several axes."""
    space = draw(st.sampled_from(("dram", "lx")))
    rank = len(axes)
    steps = st.sampled_from((0, 0, 1, 1, 2, -1, 32))
    levels = draw(st.integers(0, len(kernel.trips)))
    depth = draw(st.integers(1, 3)) if space == "lx" and levels else 1
    return Access(
        space,
        draw(st.sampled_from(("f16", "f32", "i64", "i1"))),
        128 * draw(st.integers(0, 50)),
        tuple(draw(st.sampled_from((0, 64, 192))) for _ in range(rank)),
        tuple(draw(steps) for _ in range(rank)),
        draw(st.sampled_from((64, 1024))),
        draw(st.integers(0, 15)),
        draw(st.integers(0, 1)) if space == "dram" else -1,
        tuple(128 * draw(st.integers(0, 3)) for _ in kernel.grid),
        tuple(128 * draw(st.integers(0, 3)) for _ in kernel.trips),
        depth,
        256 if depth > 1 else 0,
        levels if depth > 1 else 0,
    )


@given(st.data(), kernels_with_axes(3))
@settings(max_examples=300, deadline=None)
def test_tiles(data: st.DataObject, made: tuple[Kernel, list[Axis]]) -> None:
    kernel, axes = made
    access = data.draw(accesses(kernel, axes))
    tile = kernel.writer.tile(access, axes, range(len(axes)))
    operand = kernel.reader.tile(tile, kernel.function)
    found = operand.access
    assert (found.space, found.dtype, found.symbol) == (
        access.space,
        access.dtype,
        access.symbol,
    )
    while kernel.writer.nest:
        kernel.writer.leave()
    kernel.writer.add(ReturnOp())
    kernel.writer.finish()
    kernel.function.verify()
    for digits, trips in kernel.moments()[:40]:
        start = access.offset(digits, trips, kernel.trips)
        again = found.offset(digits, trips, kernel.trips)
        extents = [min(a.extent(digits, trips), 3) for a in axes]
        for point in product(*(range(n) for n in extents)):
            wanted = start + access.itemsize * access.element(point)
            assert again + found.itemsize * found.element(point) == wanted
