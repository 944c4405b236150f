# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The real MLIR accepts our IR and refuses what is none."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import ParseError, VerifyException

from spyre_mlir.algebra.access import Access, Axis
from spyre_mlir.dialects import dev
from spyre_mlir.dialects.spyre import Spyre
from spyre_mlir.pipelines import PIPELINES, run_pipeline
from spyre_mlir.tools.irdl_export import export_dialects, exported_traits
from spyre_mlir.tools.mlir_check import (
    SEPARATOR,
    MlirError,
    generic_text,
    is_available,
    main,
    parse,
    reprint_with_mlir,
    verify_op_with_mlir,
    verify_with_mlir,
)

needs_mlir = pytest.mark.skipif(
    not is_available(), reason="torch-mlir is not installed"
)

LIT = Path(__file__).parents[2] / "test" / "lit"

ACCEPTED = """
!rows = tensor<64x128xf16, #spyre.layout<array<i64: 1, 0, 1>>>

func.func @f(%a: !rows, %b: tensor<32x128xf16>, %i: tensor<5xi64>)
    -> tensor<64x32xf32> {
  %0 = spyre.matmul %a, %b {
      lhs_map = affine_map<(m, n, k) -> (m, k)>,
      rhs_map = affine_map<(m, n, k) -> (n, k)>,
      result_map = affine_map<(m, n, k) -> (m, n)>,
      division = #spyre.division<array<i64: 8, 4, 1>, array<i64: 2, 0, 1>>,
      tile = #spyre.tile<[array<i64: 0, 8>, array<i64: -1, 4>], 2 : i64>,
      places = [#spyre.place<"lx", 65536 : i64>], group = 3 : i64}
      : !rows, tensor<32x128xf16> -> tensor<64x32xf32>
  %1 = spyre.map %0 {maps = [affine_map<(d0, d1) -> (d0, d1)>]}
      : (tensor<64x32xf32>) -> tensor<64x32xf32> {
  ^bb0(%x: f32):
    %c = spyre.constant 1.500000e+00 : f32 -> f32
    %y = spyre.fn "exp"(%x) : (f32) -> f32
    %p = spyre.fn "lt"(%y, %c) : (f32, f32) -> i1
    %q = spyre.constant true -> i1
    %r = spyre.fn "and"(%p, %q) : (i1, i1) -> i1
    %z = spyre.fn "where"(%r, %y, %c) : (i1, f32, f32) -> f32
    spyre.yield %z : f32
  }
  %2 = spyre.reduce "max" %1 {dims = array<i64: 1>}
      : tensor<64x32xf32> -> tensor<64x1xf32>
  %3 = spyre.reindex %1 {sizes = array<i64: 64, 32>, extra = [array<i64>],
      source_maps = [affine_map<(d0, d1) -> (d0, d1)>],
      target_maps = [affine_map<(d0, d1) -> (d1, 63 - d0)>], fill = 0.0 : f32}
      : (tensor<64x32xf32>) -> tensor<32x64xf32>
  %4 = spyre.gather %b, %i {axis = 0 : i64,
      source_map = affine_map<(d0, d1) -> (0, d1)>,
      index_map = affine_map<(d0, d1) -> (d0)>}
      : tensor<32x128xf16>, tensor<5xi64> -> tensor<5x128xf16>
  %5 = spyre.full 0xFC00 : f16 -> tensor<4x100xf16>
  %6 = spyre.iota {dim = 0 : i64, start = 0 : i64, step = 1 : i64} : tensor<100xi64>
  func.return %1 : tensor<64x32xf32>
}
"""

MAPS = (
    '"lhs_map" = affine_map<(m, n, k) -> (m, k)>, '
    '"rhs_map" = affine_map<(m, n, k) -> (n, k)>'
)
RESULT_MAP = ', "result_map" = affine_map<(m, n, k) -> (m, n)>'
TYPES = "(tensor<4x8xf16>, tensor<2x8xf16>) -> tensor<4x2xf32>"
TENSORS = """
  %a, %n = "builtin.unrealized_conversion_cast"() : () -> (tensor<4x8xf16>, f16)
  %b = "builtin.unrealized_conversion_cast"() : () -> tensor<2x8xf16>
"""
CAST = '"builtin.unrealized_conversion_cast"()'


def matmul(operands: str, attributes: str, types: str) -> str:
    return f'  %r = "spyre.matmul"({operands}) {{{attributes}}} : {types}'


REFUSED = {
    "operand of another type": (
        matmul(
            "%n, %b", MAPS + RESULT_MAP, "(f16, tensor<2x8xf16>) -> tensor<4x2xf32>"
        ),
        "tensor",
    ),
    "result of another type": (
        matmul(
            "%a, %b", MAPS + RESULT_MAP, "(tensor<4x8xf16>, tensor<2x8xf16>) -> f32"
        ),
        "tensor",
    ),
    "too few operands": (
        matmul("%a", MAPS + RESULT_MAP, "(tensor<4x8xf16>) -> tensor<4x2xf32>"),
        "operand",
    ),
    "missing attribute": (matmul("%a, %b", MAPS, TYPES), "result_map"),
    "attribute of another kind": (
        matmul("%a, %b", MAPS + ', "result_map" = 1 : i64', TYPES),
        "affine_map",
    ),
    "unknown operation": (
        '  %r = "spyre.nothing"(%a) : (tensor<4x8xf16>) -> tensor<4x8xf16>',
        "spyre.nothing",
    ),
    "unknown attribute of the dialect": (
        f"  %r = {CAST} {{a = #spyre.nothing<1 : i64>}} : () -> f16",
        "expected dynamic attribute",
    ),
    "layout of another form": (
        f'  %r = {CAST} : () -> tensor<4x8xf16, #spyre.layout<"rows">>',
        "dense_array",
    ),
    "layout with too much": (
        f"  %r = {CAST} {{a = #spyre.layout<array<i64: 0>, 1 : i64>}} : () -> f16",
        "expected 1 type arguments, but had 2",
    ),
    "map without a body": (
        '  %r = "spyre.map"(%a) {maps = []} : (tensor<4x8xf16>) -> tensor<4x8xf16>',
        "region",
    ),
    "body without an end": (
        '  %r = "spyre.map"(%a) ({\n  ^bb0(%x: f16):\n'
        '    %y = "spyre.fn"(%x) {function = "exp"} : (f16) -> f16\n'
        "  }) {maps = []} : (tensor<4x8xf16>) -> tensor<4x8xf16>",
        "terminator",
    ),
}


@needs_mlir
def test_every_operation_is_accepted() -> None:
    module = parse(ACCEPTED, "accepted.mlir")
    used = {op.name for op in module.walk()}
    assert {op.name for op in Spyre.operations} <= used
    verify_op_with_mlir(module)


@needs_mlir
def test_variadic_operands_may_differ_and_be_many() -> None:
    count = 40
    names = ", ".join(f"%{i}" for i in range(count))
    types = [f"tensor<{i + 1}x4xf16>" for i in range(count)]
    reindex = (
        f'  %r = "spyre.reindex"({names}) {{sizes = array<i64>, extra = [], '
        f"source_maps = [], target_maps = []}} : ({', '.join(types)}) "
        "-> tensor<820x4xf16>"
    )
    values = [f"  %{i} = {CAST} : () -> {t}\n" for i, t in enumerate(types)]
    text = f'"builtin.module"() ({{\n{"".join(values)}{reindex}\n}}) : () -> ()\n'
    verify_with_mlir(text)
    with pytest.raises(MlirError, match="tensor"):
        verify_with_mlir(text.replace("tensor<40x4xf16>", "i64"))


@needs_mlir
def test_ir_comes_back_from_mlir_unchanged() -> None:
    module = parse(ACCEPTED, "accepted.mlir")
    again = parse(reprint_with_mlir(generic_text(module)), "reprinted.mlir")
    assert again.is_structurally_equivalent(module)


@needs_mlir
@pytest.mark.parametrize(("body", "message"), REFUSED.values(), ids=list(REFUSED))
def test_what_is_refused(body: str, message: str) -> None:
    with pytest.raises(MlirError, match=message):
        verify_with_mlir(f'"builtin.module"() ({{{TENSORS}{body}\n}}) : () -> ()\n')


@needs_mlir
def test_well_formed_text_around_refused_bodies_is_accepted() -> None:
    right = matmul("%a, %b", MAPS + RESULT_MAP, TYPES)
    verify_with_mlir(f'"builtin.module"() ({{{TENSORS}{right}\n}}) : () -> ()\n')


@needs_mlir
@pytest.mark.parametrize(
    "dialect_file", sorted(LIT.rglob("*.mlir")), ids=lambda path: path.name
)
def test_what_our_verifier_accepts_mlir_accepts(dialect_file: Path) -> None:
    """Of every test file, the cases that are valid IR of ours."""
    for part in SEPARATOR.split(dialect_file.read_text()):
        try:
            module = parse(part, dialect_file.name)
        except (ParseError, VerifyException):
            continue
        verify_op_with_mlir(module)


@needs_mlir
def test_programs_of_records_are_accepted() -> None:
    record = dev.TransferOp(
        (Axis.whole(64),),
        Access("dram", "f16", 0, (0,), (1,), 64, symbol=0),
        Access("lx", "f16", 0, (0,), (1,), 64),
    )
    stream = dev.StreamOp("load", [dev.LoopOp(8, [record])])
    module = ModuleOp([dev.ProgramOp("k0", (2,), 1, 65536, (), [stream])])
    module.verify()
    verify_op_with_mlir(module)
    record.attributes["source"] = record.attributes["axes"]
    with pytest.raises(MlirError, match="access"):
        verify_op_with_mlir(module)


@needs_mlir
def test_command_names_the_file_that_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "good.mlir", tmp_path / "bad.mlir"
    good.write_text(ACCEPTED)
    bad.write_text('%0 = "spyre.nothing"() : () -> f16\n')
    assert main([str(good)]) == 0
    assert main([str(good), str(bad)]) == 1
    captured = capsys.readouterr()
    assert f"{good}: ok" in captured.out
    assert str(bad) in captured.err


def test_export_says_what_an_operation_takes() -> None:
    text = export_dialects((Spyre,))
    assert (
        textwrap.indent(
            textwrap.dedent(
                """\
            irdl.operation @reduce {
              %0 = irdl.base "!builtin.tensor"
              %1 = irdl.base "!builtin.tensor"
              %2 = irdl.base "#builtin.string"
              %3 = irdl.base "#builtin.dense_array"
              irdl.operands(source: %0)
              irdl.results(result: %1)
              irdl.attributes { "kind" = %2, "dims" = %3 }
            }
            """
            ),
            "  ",
        )
        in text
    )
    assert "irdl.operands(inputs_0: optional %0, inputs_1: optional %1" in text
    assert "division" in text.partition("irdl.operation")[0]
    assert '"division"' not in text


def test_traits_that_mlir_must_know() -> None:
    traits = exported_traits((Spyre, dev.Dev))
    assert traits["spyre.yield"] == ("IsTerminator",)
    assert traits["spyre.matmul"] == ("Pure",)
    assert traits["dev.loop"] == ("NoTerminator",)


def test_generic_text_has_no_properties() -> None:
    text = generic_text(ModuleOp([]))
    assert "<{" not in text and text.startswith('"builtin.module"()')


@needs_mlir
def test_ir_is_accepted_after_every_pass() -> None:
    module = parse(
        """
        func.func @main(%a: tensor<64x128xf16>, %b: tensor<96x128xf16>,
            %c: tensor<96xf16>) -> tensor<64x96xf16> {
          %0 = spyre.matmul %a, %b {
              lhs_map = affine_map<(m, n, k) -> (m, k)>,
              rhs_map = affine_map<(m, n, k) -> (n, k)>,
              result_map = affine_map<(m, n, k) -> (m, n)>}
              : tensor<64x128xf16>, tensor<96x128xf16> -> tensor<64x96xf32>
          %1 = spyre.map %0, %c {maps = [affine_map<(d0, d1) -> (d0, d1)>,
              affine_map<(d0, d1) -> (d1)>]}
              : (tensor<64x96xf32>, tensor<96xf16>) -> tensor<64x96xf16> {
          ^bb0(%x: f32, %y: f16):
            %z = spyre.fn "cast"(%x) : (f32) -> f16
            %s = spyre.fn "add"(%z, %y) : (f16, f16) -> f16
            spyre.yield %s : f16
          }
          func.return %1 : tensor<64x96xf16>
        }
        """,
        "linear.mlir",
    )
    context = Context()
    for name, factory in get_all_dialects().items():
        context.register_dialect(name, factory)
    context.load_dialect(Spyre)
    context.load_dialect(dev.Dev)
    accepted: list[str] = []

    def check(name: str, module: ModuleOp) -> None:
        verify_op_with_mlir(module)
        accepted.append(name)

    run_pipeline(module, context, after=check)
    assert accepted == list(PIPELINES["compile"])
