# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What of a lowered module an image says: buffers, calls and the user's lines."""

from __future__ import annotations

from itertools import combinations

from agreement.levels import context
from xdsl.dialects.builtin import FileLineColLoc
from xdsl.parser import Parser

from spyre_mlir.binary.image import Image
from spyre_mlir.compiler import encode
from spyre_mlir.pipelines import run_pipeline
from spyre_mlir.target.chips import load_chip

MAP = """
  %v{number} = spyre.map %{source} {{maps = [affine_map<(i, j) -> (i, j)>],
      group = {number} : i64}} : (tensor<4x100xf16>) -> tensor<4x100xf16> {{
  ^bb0(%a: f16):
    %b = spyre.fn "{function}"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }} loc("model.py":{number}:1)
"""


def chain(functions: list[str]) -> str:
    """Functions of a tensor after each other, each a group of its own."""
    body, source = "", "x"
    for number, function in enumerate(functions, start=1):
        body += MAP.format(number=number, source=source, function=function)
        source = f"v{number}"
    return (
        "func.func @main(%x: tensor<4x100xf16>) -> tensor<4x100xf16> {"
        f"{body}  func.return %{source} : tensor<4x100xf16>\n}}"
    )


def image(functions: list[str], mutates: tuple[int, ...] = ()) -> Image:
    """Compiled as it is, without the rewrites."""
    module = Parser(context(), chain(functions)).parse_module()
    for pipeline in ("plan", "lower"):
        run_pipeline(module, context(), pipeline)
    return encode(module, mutates=mutates)


def test_arguments_and_results_are_buffers_of_the_caller() -> None:
    made = image(["exp", "neg"])
    (argument,), (result,) = made.arguments, made.results
    assert made.buffers[argument.buffer].kind == "argument"
    assert made.buffers[result.buffer].kind == "result"
    assert (result.shape, result.strides, result.mutates) == ((4, 100), (100, 1), -1)
    first, last = made.calls[0], made.calls[-1]
    assert first.symbols[0] == (argument.buffer, 0)
    assert last.symbols[-1] == (result.buffer, 0)


def test_a_result_may_take_an_arguments_memory() -> None:
    assert image(["exp"], mutates=(0,)).results[0].mutates == 0


def test_temporaries_that_live_together_lie_apart() -> None:
    made = image(["exp", "neg", "abs", "relu"])
    temporaries = [b for b in made.buffers if b.kind == "temporary"]
    assert len(temporaries) >= 3
    for a, b in combinations(temporaries, 2):
        if a.first_call <= b.last_call and b.first_call <= a.last_call:
            assert a.offset + a.bytes <= b.offset or b.offset + b.bytes <= a.offset
    assert made.pool_bytes == max(b.offset + b.bytes for b in temporaries)
    assert made.pool_bytes < sum(b.bytes for b in temporaries)


def lines(made: Image, call: int) -> set[int]:
    """The user's lines behind the records of a call."""
    records = len(made.calls[call].locations)
    found = [made.location(call, record) for record in range(records)]
    return {loc.line.data for loc in found if isinstance(loc, FileLineColLoc)}


def test_calls_of_a_shared_program_have_lines_of_their_own() -> None:
    made = image(["exp", "exp"])
    same = [k for k, c in enumerate(made.calls) if c.program == made.calls[0].program]
    assert len(same) == 2
    assert [lines(made, call) for call in same] == [{1}, {2}]


def test_the_chip_is_named() -> None:
    made = image(["exp"])
    chip = load_chip()
    assert (made.chip, made.fingerprint) == (chip.name, chip.fingerprint())
