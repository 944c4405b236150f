# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a kernel computes stays the same from whole tensors down to records."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from agreement.levels import context
from lowered import Lowered, lower
from random_spyre import MOVEMENTS, Program, bits, inputs_of
from torch import Tensor
from xdsl.dialects.builtin import (
    FileLineColLoc,
    IntAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
)
from xdsl.parser import Parser
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

from spyre_mlir.dialects import dev
from spyre_mlir.dialects.spyre import dtype_name
from spyre_mlir.interpreters.spyre import interpret, torch_dtype

MAPS = """lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>,
    result_map = affine_map<(m, n, k) -> (m, n)>"""


def module_of(signature: str, body: str) -> ModuleOp:
    text = f"func.func @main{signature} {{\n{body}\n}}"
    module = Parser(context(), text).parse_module()
    module.verify()
    return module


def arguments_of(module: ModuleOp, limit: int = 4) -> list[Tensor]:
    """Small whole numbers; none is negative where they are indices."""
    generator = torch.Generator().manual_seed(1)
    found = []
    for argument in next(iter(module.ops)).regions[0].block.args:
        dtype = dtype_name(argument.type)
        low = 0 if dtype in ("i32", "i64", "i1") else -3
        high = 2 if dtype == "i1" else limit
        shape = tuple(argument.type.get_shape())  # pyright: ignore
        value = torch.randint(low, high, shape, generator=generator)
        found.append(value.to(torch_dtype(dtype)))
    return found


def check(
    module: ModuleOp, close: bool = False, cores: int = 4, lx_bytes: int = 1 << 16
) -> Lowered:
    """All levels give the same, to the bit unless `close`."""
    DeadCodeElimination().apply(context(), module)
    arguments = arguments_of(module)
    wanted = interpret(module, arguments)
    lowered = lower(module, cores, lx_bytes)
    for level in (lowered.run_ktdp, lowered.run_dev):
        for found, value in zip(level(arguments), wanted, strict=True):
            assert found.dtype == value.dtype and found.shape == value.shape
            if close:
                torch.testing.assert_close(found, value)
            else:
                assert torch.equal(bits(found), bits(value)), level.__name__
    return lowered


def test_matmul_over_trips_of_k_with_an_epilogue() -> None:
    module = module_of(
        "(%x: tensor<67x1029xf16>, %w: tensor<70x1029xf16>, %b: tensor<70xf16>) "
        "-> tensor<67x70xf16>",
        f"""
  %0 = spyre.matmul %x, %w {{{MAPS}}}
      : tensor<67x1029xf16>, tensor<70x1029xf16> -> tensor<67x70xf32>
  %1 = spyre.map %0, %b
      {{maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>]}}
      : (tensor<67x70xf32>, tensor<70xf16>) -> tensor<67x70xf16> {{
  ^bb0(%p: f32, %q: f16):
    %c = spyre.fn "cast"(%q) : (f16) -> f32
    %s = spyre.fn "add"(%p, %c) : (f32, f32) -> f32
    %r = spyre.fn "relu"(%s) : (f32) -> f32
    %o = spyre.fn "cast"(%r) : (f32) -> f16
    spyre.yield %o : f16
  }}
  func.return %1 : tensor<67x70xf16>""",
    )
    lowered = check(module, lx_bytes=1 << 15)
    matmul = next(r for r in lowered.records() if isinstance(r, dev.MatmulOp))
    assert matmul.acc_level.value.data >= 0
    assert any(a.depth > 1 for a in matmul.reads())


def test_narrow_matmul_over_trips_of_k() -> None:
    """Partial sums in f32, rounded once at the end."""
    module = module_of(
        "(%x: tensor<5x2000xf16>, %w: tensor<66x2000xf16>) -> tensor<5x66xf16>",
        f"""
  %0 = spyre.matmul %x, %w {{{MAPS}}}
      : tensor<5x2000xf16>, tensor<66x2000xf16> -> tensor<5x66xf16>
  func.return %0 : tensor<5x66xf16>""",
    )
    lowered = check(module, cores=2, lx_bytes=1 << 15)
    casts = [r for r in lowered.records() if isinstance(r, dev.VectorOp)]
    assert [[s.function for s in r.steps_data] for r in casts] == [["cast"]]


def test_records_keep_the_line_of_their_operation() -> None:
    """Wrapped with the operation's position in its group, for shared kernels."""
    module = module_of(
        "(%x: tensor<5x70xf16>) -> tensor<5x1xf16>",
        """
  %0 = spyre.reduce "max" %x {dims = array<i64: 1>}
      : tensor<5x70xf16> -> tensor<5x1xf16>
  func.return %0 : tensor<5x1xf16>""",
    )
    line = FileLineColLoc(StringAttr("model.py"), IntAttr(41), IntAttr(2))
    reduce = next(op for op in module.walk() if op.name == "spyre.reduce")
    reduce.location = line
    lowered = lower(module)
    wanted = NameLoc(StringAttr("#0"), line)
    assert [r.location for r in lowered.records()] == [wanted] * 3
    staged = [op for op in lowered.ktdp.walk() if op.name.startswith("ktdp.")]
    assert {op.location for op in staged} == {wanted}


@pytest.mark.parametrize(("rows", "columns"), [(67, 129), (1, 64), (130, 65)])
def test_softmax(rows: int, columns: int) -> None:
    whole, row = f"tensor<{rows}x{columns}x", f"tensor<{rows}x1x"
    maps = "maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, 0)>]"
    module = module_of(
        f"(%x: {whole}f16>) -> {whole}f16>",
        f"""
  %m = spyre.reduce "max" %x {{dims = array<i64: 1>}} : {whole}f16> -> {row}f16>
  %e = spyre.map %x, %m {{{maps}}} : ({whole}f16>, {row}f16>) -> {whole}f32> {{
  ^bb0(%p: f16, %q: f16):
    %a = spyre.fn "cast"(%p) : (f16) -> f32
    %b = spyre.fn "cast"(%q) : (f16) -> f32
    %d = spyre.fn "sub"(%a, %b) : (f32, f32) -> f32
    %y = spyre.fn "exp"(%d) : (f32) -> f32
    spyre.yield %y : f32
  }}
  %s = spyre.reduce "sum" %e {{dims = array<i64: 1>}} : {whole}f32> -> {row}f32>
  %o = spyre.map %e, %s {{{maps}}} : ({whole}f32>, {row}f32>) -> {whole}f16> {{
  ^bb0(%p: f32, %q: f32):
    %d = spyre.fn "div"(%p, %q) : (f32, f32) -> f32
    %y = spyre.fn "cast"(%d) : (f32) -> f16
    spyre.yield %y : f16
  }}
  func.return %o : {whole}f16>""",
    )
    check(module, close=True)


def reindex(source: str, target: str, sizes: str, extra: str = "") -> str:
    """The attributes of a movement of one piece."""
    return (
        f"{{sizes = array<i64: {sizes}>, extra = [array<i64>], source_maps = "
        f"[affine_map<{source}>], target_maps = [affine_map<{target}>]{extra}}}"
    )


SAME = "(a, b) -> (a, b)"
MOVED = {
    "slice inside a stick": (
        "67x129",
        "67x65",
        reindex("(a, b) -> (a, b + 5)", SAME, "67, 65"),
    ),
    "every third column, backwards": (
        "67x129",
        "67x43",
        reindex("(a, b) -> (a, b * -3 + 128)", SAME, "67, 43"),
    ),
    "rows backwards": (
        "67x129",
        "67x129",
        reindex("(a, b) -> (66 - a, b)", SAME, "67, 129"),
    ),
    "pad": (
        "67x129",
        "70x133",
        reindex(SAME, "(a, b) -> (a + 2, b + 3)", "67, 129", ", fill = 7.0 : f16"),
    ),
    "transpose": ("67x129", "129x67", reindex("(a, b) -> (b, a)", SAME, "129, 67")),
    "merge": (
        "67x129",
        "8643",
        reindex(SAME, "(a, b) -> (a * 129 + b)", "67, 129"),
    ),
    "split": (
        "7x96",
        "7x3x32",
        reindex("(a, h, d) -> (a, h * 32 + d)", "(a, h, d) -> (a, h, d)", "7, 3, 32"),
    ),
    "repeat": (
        "67x129",
        "3x67x129",
        reindex("(r, a, b) -> (a, b)", "(r, a, b) -> (r, a, b)", "3, 67, 129"),
    ),
    "one column": ("67x129", "67x1", reindex("(a, b) -> (a, b + 70)", SAME, "67, 1")),
}


@pytest.mark.parametrize("name", MOVED)
def test_movements(name: str) -> None:
    source, target, attributes = MOVED[name]
    module = module_of(
        f"(%x: tensor<{source}xf16>) -> tensor<{target}xf16>",
        f"""
  %0 = spyre.reindex %x {attributes} : (tensor<{source}xf16>) -> tensor<{target}xf16>
  func.return %0 : tensor<{target}xf16>""",
    )
    check(module)


def test_concatenation_inside_sticks() -> None:
    """Three pieces of 40, 7 and 64 columns."""
    source_map = "affine_map<(a, b) -> (a, b)>"
    targets = [f"affine_map<(a, b) -> (a, b + {first})>" for first in (0, 40, 47)]
    module = module_of(
        "(%x: tensor<67x40xf16>, %y: tensor<67x7xf16>, %z: tensor<67x64xf16>) "
        "-> tensor<67x111xf16>",
        f"""
  %0 = spyre.reindex %x, %y, %z {{sizes = array<i64: 67>,
      extra = [array<i64: 40>, array<i64: 7>, array<i64: 64>],
      source_maps = [{", ".join([source_map] * 3)}],
      target_maps = [{", ".join(targets)}]}}
      : (tensor<67x40xf16>, tensor<67x7xf16>, tensor<67x64xf16>) -> tensor<67x111xf16>
  func.return %0 : tensor<67x111xf16>""",
    )
    lowered = check(module)
    assert any(isinstance(r, dev.ShuffleOp) for r in lowered.records())


GATHERS = {
    "rows": (0, "50x129", "(r, c) -> (0, c)", "9x129", "(r, c) -> (r)"),
    "lanes": (1, "67x100", "(r, c) -> (r, 0)", "67x9", "(r, c) -> (c)"),
}


@pytest.mark.parametrize("name", GATHERS)
@pytest.mark.parametrize("index_type", ["i32", "i64"])
def test_gather(name: str, index_type: str) -> None:
    axis, source, source_map, result, index_map = GATHERS[name]
    module = module_of(
        f"(%t: tensor<{source}xf16>, %i: tensor<9x{index_type}>) "
        f"-> tensor<{result}xf16>",
        f"""
  %0 = spyre.gather %t, %i {{axis = {axis} : i64, source_map = affine_map<{source_map}>,
      index_map = affine_map<{index_map}>}}
      : tensor<{source}xf16>, tensor<9x{index_type}> -> tensor<{result}xf16>
  func.return %0 : tensor<{result}xf16>""",
    )
    lowered = check(module)
    assert any(isinstance(r, dev.GatherOp) for r in lowered.records())


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "i32", "i64"])
def test_uneven_arithmetic(dtype: str) -> None:
    """Blocks of 17 rows and the rest, with a comparison and a coordinate."""
    maps = "maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (b)>]"
    t, v = f"tensor<67x129x{dtype}>", f"tensor<129x{dtype}>"
    module = module_of(
        f"(%x: {t}) -> ({t}, tensor<67x129xi1>)",
        f"""
  %n = spyre.iota {{dim = 0 : i64, start = {"0.0 : f32" if "f" in dtype else "0 : i64"},
      step = {"1.0 : f32" if "f" in dtype else "1 : i64"}}} : {v}
  %0 = spyre.map %x, %n {{{maps}}} : ({t}, {v}) -> {t} {{
  ^bb0(%p: {dtype}, %q: {dtype}):
    %l = spyre.fn "lt"(%p, %q) : ({dtype}, {dtype}) -> i1
    %m = spyre.fn "maximum"(%p, %q) : ({dtype}, {dtype}) -> {dtype}
    %a = spyre.fn "add"(%m, %p) : ({dtype}, {dtype}) -> {dtype}
    %w = spyre.fn "where"(%l, %a, %p) : (i1, {dtype}, {dtype}) -> {dtype}
    spyre.yield %w : {dtype}
  }}
  %1 = spyre.map %0, %n {{{maps}}} : ({t}, {v}) -> tensor<67x129xi1> {{
  ^bb0(%p: {dtype}, %q: {dtype}):
    %g = spyre.fn "ge"(%p, %q) : ({dtype}, {dtype}) -> i1
    %z = spyre.fn "cast"(%p) : ({dtype}) -> i1
    %o = spyre.fn "xor"(%g, %z) : (i1, i1) -> i1
    spyre.yield %o : i1
  }}
  func.return %0, %1 : {t}, tensor<67x129xi1>""",
    )
    check(module)


def test_fold_over_trips() -> None:
    module = module_of(
        "(%x: tensor<3x20000xf16>) -> (tensor<3x1xf16>, tensor<3x1xf16>)",
        """
  %0 = spyre.reduce "sum" %x {dims = array<i64: 1>}
      : tensor<3x20000xf16> -> tensor<3x1xf16>
  %1 = spyre.reduce "min" %x {dims = array<i64: 1>}
      : tensor<3x20000xf16> -> tensor<3x1xf16>
  func.return %0, %1 : tensor<3x1xf16>, tensor<3x1xf16>""",
    )
    lowered = check(module, cores=1, lx_bytes=1 << 15)
    levels = [
        r.acc_level.value.data for r in lowered.records() if isinstance(r, dev.VectorOp)
    ]
    assert max(levels) >= 0


def test_loads_that_stand_outside_a_loop_come_before_it() -> None:
    """The second of three maps in one loop over rows wants a tensor without rows."""
    t = "tensor<512x64xf16>"
    decisions = "tile = #spyre.tile<[array<i64: 0, 8>], 2 : i64>, group = 0 : i64"
    rows = "affine_map<(a, b) -> (a, b)>"

    def add(result: str, lhs: str, rhs: str, type_: str, map_: str) -> str:
        return f"""
  {result} = spyre.map {lhs}, {rhs} {{maps = [{rows}, {map_}], {decisions}}}
      : ({t}, {type_}) -> {t} {{
  ^bb0(%p: f16, %q: f16):
    %s = spyre.fn "add"(%p, %q) : (f16, f16) -> f16
    spyre.yield %s : f16
  }}"""

    module = module_of(
        f"(%x: {t}, %y: {t}, %c: tensor<64xf16>, %z: {t}) -> {t}",
        add("%0", "%x", "%y", t, rows)
        + add("%1", "%0", "%c", "tensor<64xf16>", "affine_map<(a, b) -> (b)>")
        + add("%2", "%1", "%z", t, rows)
        + f"\n  func.return %2 : {t}",
    )
    lowered = check(module, cores=1, lx_bytes=1 << 17)
    (program,) = lowered.programs()
    loads = next(s for s in program.streams if s.unit.data == "load")
    names = [op.name for op in loads.body.block.ops]
    assert names == ["dev.transfer", "dev.loop"]


@pytest.mark.parametrize("seed", range(16))
def test_random_programs(seed: int) -> None:
    kinds = (*MOVEMENTS, "map", "matmul", "matmul", "reduce", "full")
    sizes = (1, 2, 5, 67, 129)
    program = Program(seed, sizes, ("f16", "f32", "bf16")[seed % 3]).grow(kinds, 8)
    module = program.module()
    DeadCodeElimination().apply(context(), module)
    arguments = inputs_of(module)
    wanted = interpret(module, arguments)
    lowered = lower(module, cores=(4, 6, 8)[seed % 3], lx_bytes=1 << 17)
    levels: tuple[Callable[[list[Tensor]], list[Tensor]], ...]
    levels = (lowered.run_ktdp, lowered.run_dev)
    for level in levels:
        for found, value in zip(level(arguments), wanted, strict=True):
            assert torch.equal(bits(found), bits(value)), f"{module}"
