# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each operation of the `spyre` dialect computes, out of IR text."""

import pytest
import torch
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.parser import Parser

from spyre_mlir.dialects.spyre import Spyre
from spyre_mlir.interpreters.spyre import interpret


def run(text: str, *arguments: torch.Tensor) -> list[torch.Tensor]:
    context = Context()
    for dialect in (Builtin, Func, Spyre):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return interpret(module, arguments)


def test_matmul_rounds_once():
    text = """
    func.func @main(%a: tensor<3x200xf16>, %b: tensor<5x200xf16>) -> tensor<3x5xf16> {
      %0 = spyre.matmul %a, %b {lhs_map = affine_map<(m, n, k) -> (m, k)>,
        rhs_map = affine_map<(m, n, k) -> (n, k)>,
        result_map = affine_map<(m, n, k) -> (m, n)>}
        : tensor<3x200xf16>, tensor<5x200xf16> -> tensor<3x5xf16>
      func.return %0 : tensor<3x5xf16>
    }"""
    a, b = torch.randn(3, 200).half(), torch.randn(5, 200).half()
    assert torch.equal(run(text, a, b)[0], (a.float() @ b.float().t()).half())


def test_matmul_reads_unit_dimensions_at_zero():
    text = """
    func.func @main(%a: tensor<1x3x4xf32>, %b: tensor<2x4x5xf32>)
        -> tensor<2x1x3x5xf32> {
      %0 = spyre.matmul %a, %b {lhs_map = affine_map<(b, m, n, k) -> (0, m, k)>,
        rhs_map = affine_map<(b, m, n, k) -> (b, k, n)>,
        result_map = affine_map<(b, m, n, k) -> (b, 0, m, n)>}
        : tensor<1x3x4xf32>, tensor<2x4x5xf32> -> tensor<2x1x3x5xf32>
      func.return %0 : tensor<2x1x3x5xf32>
    }"""
    a, b = torch.randn(1, 3, 4), torch.randn(2, 4, 5)
    torch.testing.assert_close(run(text, a, b)[0], (a @ b)[:, None])


def test_each_function_of_a_body_rounds():
    text = """
    func.func @main(%a: tensor<1xf16>) -> tensor<1xf16> {
      %0 = spyre.map %a {maps = [affine_map<(d0) -> (d0)>]}
          : (tensor<1xf16>) -> tensor<1xf16> {
      ^bb0(%x: f16):
        %big = spyre.constant 2.048000e+03 : f16 -> f16
        %sum = spyre.fn "add"(%x, %big) : (f16, f16) -> f16
        %back = spyre.fn "sub"(%sum, %big) : (f16, f16) -> f16
        spyre.yield %back : f16
      }
      func.return %0 : tensor<1xf16>
    }"""
    # 2048 + 1 is 2048 in f16
    assert run(text, torch.ones(1).half())[0].item() == 0


@pytest.mark.parametrize(
    ("source", "target", "given", "want"),
    [
        ("f32", "i32", [2.7, -2.7, 0.5], [2, -2, 0]),
        ("f32", "i1", [0.0, -0.0, float("nan")], [False, False, True]),
        ("i32", "i1", [0, 256, -1], [False, True, True]),
        ("i1", "f16", [True, False, True], [1.0, 0.0, 1.0]),
        ("f32", "f16", [1e6, 1e-9, 2049.0], [float("inf"), 0.0, 2048.0]),
    ],
)
def test_casts(source: str, target: str, given: list[float], want: list[float]):
    text = f"""
    func.func @main(%a: tensor<3x{source}>) -> tensor<3x{target}> {{
      %0 = spyre.map %a {{maps = [affine_map<(d0) -> (d0)>]}}
          : (tensor<3x{source}>) -> tensor<3x{target}> {{
      ^bb0(%x: {source}):
        %y = spyre.fn "cast"(%x) : ({source}) -> {target}
        spyre.yield %y : {target}
      }}
      func.return %0 : tensor<3x{target}>
    }}"""
    types = {"f32": torch.float32, "i32": torch.int32, "i1": torch.bool}
    value = torch.tensor(given, dtype=types[source])
    assert run(text, value)[0].tolist() == want


def test_sum_accumulates_in_f32():
    text = """
    func.func @main(%a: tensor<5000xf16>) -> tensor<1xf32> {
      %0 = spyre.reduce "sum" %a {dims = array<i64: 0>}
          : tensor<5000xf16> -> tensor<1xf32>
      func.return %0 : tensor<1xf32>
    }"""
    assert run(text, torch.ones(5000).half())[0].item() == 5000


def test_reindex_flips_pads_and_concatenates():
    text = """
    func.func @main(%a: tensor<3xf32>, %b: tensor<2xf32>) -> tensor<8xf32> {
      %0 = spyre.reindex %a, %b {sizes = array<i64>,
        extra = [array<i64: 3>, array<i64: 2>],
        source_maps = [affine_map<(d0) -> (d0 * -1 + 2)>, affine_map<(d0) -> (d0)>],
        target_maps = [affine_map<(d0) -> (d0 + 1)>, affine_map<(d0) -> (d0 * -2 + 7)>],
        fill = 9.0 : f32}
        : (tensor<3xf32>, tensor<2xf32>) -> tensor<8xf32>
      func.return %0 : tensor<8xf32>
    }"""
    result = run(text, torch.tensor([1.0, 2, 3]), torch.tensor([4.0, 5]))[0]
    assert result.tolist() == [9, 3, 2, 1, 9, 5, 9, 4]


GATHER = """
    func.func @main(%t: tensor<4x3xf32>, %i: tensor<2xi64>) -> tensor<2x3xf32> {
      %0 = spyre.gather %t, %i {axis = 0 : i64,
        source_map = affine_map<(d0, d1) -> (0, d1)>,
        index_map = affine_map<(d0, d1) -> (d0)>}
        : tensor<4x3xf32>, tensor<2xi64> -> tensor<2x3xf32>
      func.return %0 : tensor<2x3xf32>
    }"""


def test_gather():
    table = torch.arange(12.0).reshape(4, 3)
    index = torch.tensor([3, 0])
    assert torch.equal(run(GATHER, table, index)[0], table[index])


@pytest.mark.parametrize("bad", [4, -1])
def test_gather_refuses_a_bad_index(bad: int):
    with pytest.raises(IndexError, match=rf"index {bad} is outside \[0, 4\)"):
        run(GATHER, torch.zeros(4, 3), torch.tensor([0, bad]))


def test_full_iota_and_calls():
    text = """
    func.func @twice(%x: tensor<2x3xi64>) -> tensor<2x3xi64> {
      %0 = spyre.map %x {maps = [affine_map<(d0, d1) -> (d0, d1)>]}
          : (tensor<2x3xi64>) -> tensor<2x3xi64> {
      ^bb0(%e: i64):
        %y = spyre.fn "add"(%e, %e) : (i64, i64) -> i64
        spyre.yield %y : i64
      }
      func.return %0 : tensor<2x3xi64>
    }
    func.func @main() -> (tensor<2x3xi64>, tensor<2xi1>) {
      %0 = spyre.iota {dim = 1 : i64, start = 5 : i64, step = -2 : i64}
          : tensor<2x3xi64>
      %1 = func.call @twice(%0) : (tensor<2x3xi64>) -> tensor<2x3xi64>
      %2 = spyre.full true -> tensor<2xi1>
      func.return %1, %2 : tensor<2x3xi64>, tensor<2xi1>
    }"""
    counted, flags = run(text)
    assert counted.tolist() == [[10, 6, 2]] * 2
    assert flags.tolist() == [True, True]
