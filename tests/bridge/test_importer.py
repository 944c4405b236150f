# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The IR that the importer builds: locations, transposes in maps, dead operations."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from spyre_mlir.config import Options
from spyre_mlir.diagnostics import location_names, source_lines
from spyre_mlir.dialects import spyre
from spyre_mlir.torch_bridge import execute
from spyre_mlir.torch_bridge.execute import Executable, OracleExecutor, SegmentCode

from .checking import compiled, values


def imported(
    monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any], *inputs: torch.Tensor
):
    """The modules that a compiled call hands to its executor."""
    modules: list[ModuleOp] = []

    class Spy(OracleExecutor):
        def compile(self, code: SegmentCode) -> Executable:
            modules.append(code.module)
            return super().compile(code)

    monkeypatch.setitem(execute.EXECUTORS, "oracle", Spy)
    with torch.no_grad():
        compiled(function, executor="oracle")(*inputs)
    return modules


def _ops(module: ModuleOp):
    function = next(op for op in module.walk() if isinstance(op, FuncOp))
    return [op for op in function.body.block.ops if isinstance(op, spyre.SpyreOp)]


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(65, 8)

    def forward(self, x: torch.Tensor):
        y = self.inner(x)
        return torch.relu(y)


def test_locations_lead_to_the_users_line(monkeypatch: pytest.MonkeyPatch):
    (module,) = imported(monkeypatch, Block(), values((3, 65), torch.float32))
    lines, first = inspect.getsourcelines(Block.forward)
    where = {op.name: source_lines(op.location)[0] for op in _ops(module)}
    assert all(line.file == __file__ for line in where.values())
    row = next(k for k, text in enumerate(lines) if "self.inner" in text)
    assert where["spyre.matmul"].line == first + row
    names = location_names(_ops(module)[0].location)
    assert names == ("linear", "inner")
    body = next(op for op in module.walk() if isinstance(op, spyre.FnOp))
    assert source_lines(body.location)


def test_transposes_go_into_the_maps_of_a_product(monkeypatch: pytest.MonkeyPatch):
    def run(x: torch.Tensor, w: torch.Tensor, q: torch.Tensor, k: torch.Tensor):
        q = q.view(2, 7, 3, 4).transpose(1, 2)
        k = k.view(2, 7, 3, 4).transpose(1, 2)
        return x @ w.t(), torch.nn.functional.linear(x, w), q @ k.transpose(-1, -2)

    shapes = [(3, 65), (8, 65), (2, 7, 12), (2, 7, 12)]
    inputs = [values(shape, torch.float16) for shape in shapes]
    (module,) = imported(monkeypatch, run, *inputs)
    moves = [op for op in _ops(module) if isinstance(op, spyre.ReindexOp)]
    # the two that split heads; no transpose is left
    assert len(moves) == 2


def test_16_bit_products_round_once(monkeypatch: pytest.MonkeyPatch):
    linear = torch.nn.Linear(65, 8).half()
    (module,) = imported(monkeypatch, linear, values((3, 65), torch.float16))
    matmul, bias = _ops(module)
    assert spyre.dtype_name(matmul.results[0].type) == "f32"
    assert spyre.dtype_name(bias.results[0].type) == "f16"


def test_numbers_become_constants_of_the_body(monkeypatch: pytest.MonkeyPatch):
    def run(x: torch.Tensor):
        return torch.where(x > 0, torch.ones_like(x), torch.full((), 2.0)) + 1

    (module,) = imported(monkeypatch, run, values((3, 65), torch.float32))
    assert {op.name for op in _ops(module)} == {"spyre.map"}


def test_ir_is_the_same_every_time(monkeypatch: pytest.MonkeyPatch):
    x = values((3, 65), torch.float32)
    first, second = (str(imported(monkeypatch, Block(), x)[0]) for _ in range(2))
    assert first == second


def test_dump_writes_each_segment(tmp_path: Path):
    options = {"dump": str(tmp_path)}
    compiled(lambda x: x + 1, **options)(torch.ones(3))
    (file,) = tmp_path.glob("*.mlir")
    assert "spyre.map" in file.read_text()
    assert Options(dump=str(tmp_path)).dump
