# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ktdp and spyreop dialects: documented examples, builders, integer sets."""

from __future__ import annotations

import re
from inspect import getdoc

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, test
from xdsl.dialects.builtin import (
    Builtin,
    IndexType,
    MemRefType,
    f16,
    i32,
)
from xdsl.ir import Operation
from xdsl.ir.affine import AffineDimExpr, AffineMap, AffineSet
from xdsl.parser import Parser

from spyre_mlir.algebra.layout import DeviceLayout
from spyre_mlir.dialects.ktdp import (
    DRAM,
    LX,
    AccessTileType,
    ConstructAccessTileOp,
    ConstructIndirectAccessTileOp,
    ConstructMemoryViewOp,
    Ktdp,
    LoadOp,
    MemorySpaceAttr,
    SetError,
    SpyreMemorySpaceAttr,
    StoreOp,
    Subscript,
    box_set,
    contains,
    set_extents,
    set_values,
    tiles_of_group,
    view_layout,
)
from spyre_mlir.dialects.spyre import LayoutAttr, Spyre
from spyre_mlir.dialects.spyreop import SpyreOp


def context() -> Context:
    found = Context()
    for dialect in (Builtin, arith.Arith, Ktdp, Spyre, SpyreOp):
        found.load_dialect(dialect)
    return found


def parse_set(text: str) -> AffineSet:
    return Parser(context(), text).parse_affine_set()


@pytest.mark.parametrize("op", [*Ktdp.operations, *SpyreOp.operations])
def test_the_documented_example_parses(op: type[Operation]) -> None:
    match = re.search(r"\n\n((?:    .*\n?|\n)+)", getdoc(op) or "")
    assert match, f"{op.name} documents no example"
    parsed = Parser(context(), match[1]).parse_op()
    assert isinstance(parsed, op)


def index(count: int) -> test.TestOp:
    return test.TestOp(result_types=[IndexType()] * count)


def test_builders_make_valid_tiles() -> None:
    base, at, size = index(3).results
    layout = DeviceLayout.default(2)
    type_ = MemRefType(f16, (32, 200), LayoutAttr.of(layout))
    strides = layout.dim_strides((32, 200), 64)
    view = ConstructMemoryViewOp(base, (32, 200), strides, type_, DRAM)
    tile = ConstructAccessTileOp(view.view, [at, at], [16, size])
    load = LoadOp(tile.tile, f16)
    store = StoreOp(load.value, tile.tile)
    for op in (view, tile, load, store):
        op.verify()
    assert view_layout(view.view.type) == layout
    assert isinstance(tile.tile.type, AccessTileType)
    assert tile.tile.type.get_shape() == (16, -(2**63))
    assert tile.symbol_operands[0] is size


def test_a_builder_makes_a_valid_indirect_tile() -> None:
    base, first = index(2).results
    table = ConstructMemoryViewOp(base, (9, 4), (4, 1), MemRefType(f16, (9, 4)), DRAM)
    rows = ConstructMemoryViewOp(base, (9,), (1,), MemRefType(i32, (9,)), LX)
    tile = ConstructIndirectAccessTileOp(
        table.view,
        [
            Subscript((AffineDimExpr(1) + AffineDimExpr(0),), rows.view),
            Subscript((AffineDimExpr(2),)),
        ],
        box_set((3, 4)),
        captured=[first],
        shape=(3, 4),
    )
    tile.verify()
    assert [s.view for s in tile.subscripts()] == [rows.view, None]


def test_a_tile_may_be_anchored_by_an_affine_map() -> None:
    base, at = index(2).results
    view = ConstructMemoryViewOp(base, (9,), (1,), MemRefType(f16, (9,)), DRAM)
    anchor = AffineMap(1, 0, (AffineDimExpr(0) * 2 + 1,))
    tile = ConstructAccessTileOp(view.view, [at], [3], anchor)
    tile.verify()
    assert tile.base_map.data.eval([3], []) == (7,)


@pytest.mark.parametrize(
    ("attr", "space", "core"),
    [
        (MemorySpaceAttr("global"), "dram", None),
        (MemorySpaceAttr("ct_local"), "lx", None),
        (MemorySpaceAttr("ct_local", 3), "lx", 3),
        (SpyreMemorySpaceAttr("HBM"), "dram", None),
        (SpyreMemorySpaceAttr("LX", 3), "lx", 3),
        (SpyreMemorySpaceAttr("L0"), "l0", None),
        (SpyreMemorySpaceAttr("unspecified"), "unspecified", None),
    ],
)
def test_both_spellings_of_a_space_say_the_same(
    attr: MemorySpaceAttr | SpyreMemorySpaceAttr, space: str, core: int | None
) -> None:
    assert (attr.space, attr.core) == (space, core)


def test_spaces_are_equal_only_if_they_say_the_same() -> None:
    spaces = [
        MemorySpaceAttr("global"),
        MemorySpaceAttr("ct_local"),
        MemorySpaceAttr("ct_local", 3),
        SpyreMemorySpaceAttr("LX"),
        SpyreMemorySpaceAttr("LX", 3),
    ]
    assert len(set(spaces)) == len(spaces)
    assert MemorySpaceAttr("ct_local", 3) == spaces[2]


@pytest.mark.parametrize(
    ("text", "symbols", "values"),
    [
        ("(d0) : (d0 >= 0, -d0 + 3 >= 0)", (), [[0, 1, 2, 3]]),
        ("(d0) : (d0 >= 0, d0 <= 3)", (), [[0, 1, 2, 3]]),
        ("(d0) : (3 * d0 - 4 >= 0, -2 * d0 + 9 >= 0)", (), [[2, 3, 4]]),
        ("(d0) : (2 * d0 == 6)", (), [[3]]),
        ("(d0) : (2 * d0 == 7)", (), [[]]),
        ("(d0) : (-d0 + 5 == 0)", (), [[5]]),
        ("(d0) : (d0 >= 0, d0 <= 9, d0 mod 4 == 1)", (), [[1, 5, 9]]),
        ("(d0)[s0] : (d0 - s0 >= 0, -d0 + 2 * s0 >= 0)", (2,), [[2, 3, 4]]),
        ("(d0, d1) : (d0 == 1, d1 >= -1, d1 <= 0)", (), [[1], [-1, 0]]),
        ("(d0) : (d0 >= 3, d0 <= 1)", (), [[]]),
    ],
)
def test_a_set_lists_its_values(
    text: str, symbols: tuple[int, ...], values: list[list[int]]
) -> None:
    assert [list(v) for v in set_values(parse_set(text), symbols)] == values


def test_a_listed_set_holds_exactly_the_points_it_contains() -> None:
    given = parse_set("(d0, d1) : (d0 - 2 >= 0, -d0 + 7 >= 0, d1 mod 3 == 2, d1 >= 0,"
                      " -d1 + 9 >= 0)")  # fmt: skip
    rows, columns = set_values(given)
    for i in range(-1, 12):
        for j in range(-1, 12):
            assert contains(given, (i, j)) == (i in rows and j in columns)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(d0) : (d0 >= 0)", "not bounded"),
        ("(d0, d1) : (d0 + d1 >= 0)", "ties several dimensions together"),
        ("(d0)[s0] : (d0 >= 0, -d0 + s0 >= 0)", "expected 1 symbols"),
    ],
)
def test_a_set_that_cannot_be_listed_is_an_error(text: str, message: str) -> None:
    with pytest.raises(SetError, match=message):
        set_values(parse_set(text))


def test_a_box_takes_a_symbol_for_each_unknown_extent() -> None:
    assert set_extents(box_set((3, None, 5, None)), (7, 9)) == (3, 7, 5, 9)
    assert set_extents(box_set(())) == ()


def test_groups_list_their_tiles() -> None:
    four = parse_set("(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)")
    assert tiles_of_group(four, 2) == (8, 9, 10, 11)
