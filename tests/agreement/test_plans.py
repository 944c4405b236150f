# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Plans of random modules are refused with a reason, or compute what the module means.

`benchmarks/random_plans.py` draws thousands.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
import torch
from agreement import plans
from agreement.choices import Recorded
from agreement.levels import bench
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.parser import Parser

from spyre_mlir.binary.writer import write
from spyre_mlir.compiler import encode
from spyre_mlir.dialects import spyre
from spyre_mlir.pipelines import PIPELINES
from spyre_mlir.tools.spyre_opt import main
from spyre_mlir.transforms._errors import PassError

torch.set_num_threads(1)
TURNS = {
    "planner": 1,
    "legal": 3,
    "partial": 3,
    "turned": 5,
    "edited": 3,
    "edited_part": 3,
}


@pytest.mark.parametrize("number", range(10))
def test_what_is_accepted_is_right(number: int) -> None:
    case = plans.make_unplanned(Recorded(random=Random(f"modules/{number}")))
    for mode, turns in TURNS.items():
        before = plans.COUNTS[f"{mode}: plans"]
        for turn in range(turns):
            choices = Recorded(random=Random(f"{number}/{mode}/{turn}"))
            plans.check_plan(case, choices, mode)
        assert plans.COUNTS[f"{mode}: plans"] == before + turns


# ---- text edited by hand


def _number(random: Random, found: re.Match[str]) -> str:
    return str(random.choice((0, 1, -1, 2, 3, 64, 65, 127, 4096, 1 << 31, 1 << 40)))


def _nothing(random: Random, found: re.Match[str]) -> str:
    return ""


def _twice(random: Random, found: re.Match[str]) -> str:
    return f"{found.group()}, {found.group()}"


Mutation = Callable[[Random, re.Match[str]], str]
DECISIONS = re.compile(
    r"(division|tile|places|group|via) = ([^{}]*?)(?=, \w+ = |\})|#spyre.layout<[^>]*>>"
)
MUTATIONS: tuple[tuple[re.Pattern[str], Mutation], ...] = (
    (re.compile(r"(?<![\w.])-?\d+(?! *:|\w)"), _number),
    (re.compile(r"(?<=: )-?\d+"), _number),
    (re.compile(r"\d+(?= : i64)"), _number),
    (re.compile(r", -?\d+(?=[,>])"), _nothing),
    (re.compile(r"array<i64: [^>]*>"), _twice),
    (re.compile(r"#spyre\.place<[^>]*>"), _twice),
    (re.compile(r"array<i64: [^>]*>"), lambda r, f: "array<i64>"),
    (re.compile(r"i64"), lambda r, f: r.choice(("i32", "i1", "index", "f32"))),
    (re.compile(r'"lx"'), lambda r, f: r.choice(('"dram"', '"ring"', '""'))),
)

PLANNED = """
!t = tensor<130x200xf16>
func.func @main(%x: !t, %w: tensor<200x70xf16>) -> tensor<130x70xf16> {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "neg"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %1 = spyre.matmul %0, %w {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (k, n)>,
    result_map = affine_map<(m, n, k) -> (m, n)>}
    : !t, tensor<200x70xf16> -> tensor<130x70xf16>
  %2 = spyre.map %1 {maps = [affine_map<(i, j) -> (i, j)>]}
    : (tensor<130x70xf16>) -> tensor<130x70xf16> {
  ^bb0(%a: f16):
    %b = spyre.fn "abs"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %2 : tensor<130x70xf16>
}
"""


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A planned module as text."""
    folder: Path = tmp_path_factory.mktemp("plans")
    (folder / "in.mlir").write_text(PLANNED)
    out = folder / "out.mlir"
    assert main([str(folder / "in.mlir"), "--pipeline", "plan", "-o", str(out)]) == 0
    return out.read_text()


def mutated(text: str, random: Random) -> str:
    """The text with one or two of its decisions edited."""
    for _ in range(random.randint(1, 2)):
        decision = random.choice(list(DECISIONS.finditer(text)))
        pattern, change = random.choice(MUTATIONS)
        places = list(pattern.finditer(decision.group()))
        if places:
            found = random.choice(places)
            part = decision.group()
            part = part[: found.start()] + change(random, found) + part[found.end() :]
            text = text[: decision.start()] + part + text[decision.end() :]
    return text


@pytest.mark.parametrize("pipeline", ["plan", "lower"])
def test_edited_text_is_compiled_or_refused(
    planned: str, pipeline: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever is written in a decision: an error with its line, never a traceback."""
    random = Random(pipeline)
    path = tmp_path / "edited.mlir"
    refused = 0
    for _ in range(120):
        path.write_text(mutated(planned, random))
        code = main([str(path), "--pipeline", pipeline])
        said = capsys.readouterr().err
        assert code in (0, 1)
        if code:
            refused += 1
            assert re.match(rf"{path}:\d+:\d+: error: \S", said), (
                said + path.read_text()
            )
    assert refused > 30


# ---- two neighbours


PAIR = """
!t = tensor<130x200xf16, #spyre.layout<array<i64: 1, 0, 1>>>
func.func @main(%x: !t) -> !t {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "neg"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %1 = spyre.map %0 {maps = [affine_map<(i, j) -> (i, j)>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "abs"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %1 : !t
}
"""
CUTS: list[tuple[list[int], tuple[tuple[int, int], ...]]] = [
    ([1, 1], ()),
    ([2, 1], ()),
    ([1, 2], ()),
    ([2, 2], ()),
    ([1, 1], ((0, 2),)),
    ([1, 1], ((1, 2),)),
    ([2, 1], ((1, 2),)),
]
"""Parts, and loops: of one grid there are several, and of the same trips."""


def decide(
    op: spyre.SpyreOp,
    parts: list[int],
    order: list[int],
    levels: tuple[tuple[int, int], ...],
) -> None:
    op.division = spyre.DivisionAttr.of(parts, order)
    op.tile = spyre.TileAttr.of(levels, 1)
    op.group = IntegerAttr(0, i64)


@pytest.mark.parametrize("first", range(len(CUTS)))
def test_neighbours_in_a_group_cut_alike_or_are_refused(first: int) -> None:
    module = Parser(plans.context(), PAIR).parse_module()
    x = torch.randint(-3, 4, (130, 200)).half()
    for second, cut in enumerate(CUTS):
        for order in ([0, 1], [1, 0]):
            planned = module.clone()
            one, other = plans.operations(planned)
            decide(one, CUTS[first][0], [0, 1], CUTS[first][1])
            decide(other, cut[0], order, cut[1])
            alike = first == second and (order == [0, 1] or 1 in cut[0])
            try:
                plans.run(planned, ("spyre-plan-places", "spyre-check-plan"))
            except PassError:
                assert not alike
                continue
            assert alike
            plans.run(planned, PIPELINES["lower"])
            (found,) = bench().run(write(encode(planned)), [x])
            assert torch.equal(found, x.abs())
