# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiles fit the scratchpad, and move few bytes."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensor_ops import map_op, matmul_op, reduce_op, value
from xdsl.dialects import test

from spyre_mlir.analysis.groups import Group, with_tiles
from spyre_mlir.analysis.kernel import build_kernel
from spyre_mlir.analysis.placement import place_buffers
from spyre_mlir.analysis.space import iteration_space
from spyre_mlir.analysis.tiles import DEPTH, DoesNotFit, TilePlanner, dram_bytes
from spyre_mlir.dialects import spyre
from spyre_mlir.target.chip import Chip
from spyre_mlir.target.chips import load_chip

CHIP = load_chip()
SIZES = (1, 3, 64, 65, 200, 512, 1000)


def small(usable: int) -> Chip:
    """The chip with this much scratchpad for tiles."""
    reserved = CHIP.scratchpad_reserved_bytes_per_core
    return CHIP.replace(scratchpad_bytes_per_core=usable + reserved)


def group(*ops: spyre.SpyreOp) -> Group:
    """A group whose last result is used outside."""
    test.TestOp([ops[-1].results[0]])
    return Group(ops)


@st.composite
def groups(draw: st.DrawFn) -> Group:
    m, n, k = (draw(st.sampled_from(SIZES)) for _ in range(3))
    kind = draw(st.sampled_from(("map", "matmul", "matmul+map", "reduce")))
    if kind == "map":
        return group(map_op(value([m, n]), value([m, n])))
    if kind == "reduce":
        source = value([m, n])
        total = reduce_op(source, [1])
        return group(total, map_op(total.result, total.result))
    first = matmul_op(value([m, k]), value([k, n]))
    if kind == "matmul":
        return group(first)
    return group(first, map_op(first.result, value([m, n])))


def price(group: Group, tiles: list[spyre.TileAttr | None]) -> tuple[int, int]:
    """Scratchpad and DRAM bytes of a group under some tiles."""
    with_tiles(group.ops, tiles)
    kernel = build_kernel(group.ops, group.inputs(), group.outputs())
    with_tiles(group.ops, [None] * len(group.ops))
    return place_buffers(kernel.buffers), dram_bytes(kernel)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(groups(), st.sampled_from((32, 128, 1024)))
def test_a_plan_fits(group: Group, kilobytes: int) -> None:
    chip = small(kilobytes * 1024)
    tiles = TilePlanner(group, chip).plan()
    assert price(group, tiles)[0] <= kilobytes * 1024
    spaces = [iteration_space(op) for op in group.ops]
    for tile, space in zip(tiles, spaces, strict=True):
        assert tile is not None
        for iterator, trips in tile.levels_data:
            assert space[iterator].allows(trips)
            assert 1 < trips <= chip.max_loop_trips


def test_what_fits_whole_is_not_cut_but_to_overlap() -> None:
    (tile,) = TilePlanner(group(map_op(value([64, 64]))), CHIP).plan()
    assert tile is not None
    assert tile.levels_data == ()


def fewest_bytes(group: Group, limit: int) -> int:
    """The DRAM bytes of the best tiles of one matmul, all powers of two tried."""
    best = None
    space = iteration_space(group.ops[0])
    counts = [[t for t in (1, 2, 4, 8, 16) if it.allows(t)] for it in space]
    for trips in product(*counts):
        levels = [(k, t) for k, t in enumerate(trips) if t > 1]
        tile: list[spyre.TileAttr | None] = [spyre.TileAttr.of(levels, DEPTH)]
        lx, dram = price(group, tile)
        if lx <= limit and (best is None or dram < best):
            best = dram
    assert best is not None
    return best


@pytest.mark.parametrize(
    ("m", "n", "k", "kilobytes"),
    [
        (64, 64, 512, 64),
        (64, 512, 512, 128),
        (128, 512, 256, 96),
        (512, 512, 512, 256),
        (512, 64, 512, 64),
    ],
)
def test_tiles_move_about_as_little_as_any(
    m: int, n: int, k: int, kilobytes: int
) -> None:
    limit = kilobytes * 1024
    product_ = group(matmul_op(value([m, k]), value([k, n])))
    _, moved = price(product_, TilePlanner(product_, small(limit)).plan())
    assert moved <= 1.25 * fewest_bytes(product_, limit)


def test_a_group_that_no_trips_make_fit_is_refused() -> None:
    wide = group(matmul_op(value([1, 64]), value([64, 64])))
    with pytest.raises(DoesNotFit, match=r"spyre.matmul: one tile needs \d+ bytes"):
        TilePlanner(wide, small(4096)).plan()
