# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far accesses reach: the closed form against every core, trip and coordinate."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spyre_mlir.algebra.access import Access, Axis
from spyre_mlir.algebra.reach import Entangled, Runs, reach


def visited(access: Access, runs: Runs) -> list[int]:
    """The first byte of every element that is touched."""
    found: list[int] = []
    for digits in product(*map(range, runs.grid)):
        for trips in product(*map(range, runs.nest)):
            start = access.offset(digits, trips, runs.nest)
            extents = [a.extent(digits, trips) for a in runs.axes]
            found += [
                start + access.itemsize * access.element(at)
                for at in product(*map(range, extents))
            ]
    return found


@st.composite
def axes(draw: st.DrawFn, grid: int, nest: int) -> Axis:
    size = draw(st.integers(1, 9))
    return Axis(
        size,
        draw(st.integers(-1, grid - 1)),
        draw(st.integers(1, 5)),
        draw(st.integers(-1, nest - 1)),
        draw(st.integers(1, 4)),
        draw(st.sampled_from((0, 0, 0, 1, 2))),
    )


@st.composite
def cases(draw: st.DrawFn) -> tuple[Access, Runs]:
    grid = tuple(draw(st.lists(st.integers(1, 4), min_size=0, max_size=2)))
    nest = tuple(draw(st.lists(st.integers(1, 4), min_size=0, max_size=2)))
    chosen = tuple(draw(st.lists(axes(len(grid), len(nest)), max_size=3)))
    steps = st.integers(-3, 70)
    access = Access(
        "dram",
        draw(st.sampled_from(("f16", "f32"))),
        draw(st.integers(0, 500)),
        tuple(draw(steps) for _ in chosen),
        # A dimension is walked along the stick or across it.
        tuple(draw(st.sampled_from((0, 0, 1, 1, 2, 40))) for _ in chosen),
        draw(st.sampled_from((0, 64, 7, 200))),
        draw(st.sampled_from((0, 0, 5, 63))),
        0,
        tuple(draw(st.integers(-200, 300)) for _ in grid),
        tuple(draw(st.integers(-200, 300)) for _ in nest),
    )
    strides = tuple(
        0 if s else n for n, s in zip(access.strides, access.stick, strict=True)
    )

    return replace(access, strides=strides), Runs(grid, nest, chosen)


@given(cases())
def test_it_is_what_all_cores_trips_and_coordinates_touch(
    case: tuple[Access, Runs],
) -> None:
    access, runs = case
    found = visited(access, runs)
    limits = reach(access, runs)
    if not found:
        assert limits is None
        return
    assert limits is not None
    exact = min(found), max(found) + access.itemsize
    assert limits[0] <= exact[0] and exact[1] <= limits[1]
    # Steps along the stick may leave lanes out, which count.
    if set(access.stick) <= {0, 1}:
        assert limits == exact


def test_stages_and_whole_sticks_count() -> None:
    axis = Axis.whole(65)
    stages = {"depth": 2, "stage_bytes": 512, "stage_levels": 1}
    access = replace(Access("lx", "f16", 0, (0,), (1,), 64), **stages)
    assert reach(access, Runs((4,), (3,), (axis,))) == (0, 512 + 130)
    assert reach(access, Runs((4,), (3,), (axis,)), whole_sticks=True) == (0, 768)
    assert reach(access, Runs((4,), (1,), (axis,))) == (0, 130)


def test_what_couples_everything_is_refused() -> None:
    nest = (7,) * 10
    axis = [Axis(10, -1, 10, loop, 3) for loop in range(10)]
    access = Access("lx", "f16", 0, (0,) * 10, (1,) * 10, 64)
    with pytest.raises(Entangled, match="10 digits and loops"):
        reach(access, Runs((1,), nest, tuple(axis)))
