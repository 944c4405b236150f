# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`spyre-objdump` and the text of an image."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser

from spyre_mlir.binary import Image, disassemble, write
from spyre_mlir.binary.image import same_program
from spyre_mlir.dialects.dev import Dev, ProgramOp
from spyre_mlir.tools.spyre_objdump import main


@pytest.fixture
def file(image: Image, tmp_path: Path) -> str:
    path = tmp_path / "sample.spyre"
    path.write_bytes(write(image))
    return str(path)


def test_shows_everything_by_default(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([file]) == 0
    out = capsys.readouterr().out
    for expected in (
        "spyre (00112233)",
        "t+128, y+256  main.py:41",
        "argument 2  f32    []",
        "#0 transfer  ; linear (model.py:12)",
        "source s0+0 f16 [64, 0] stick [0, 1]*4096 digits [4096, 0]",
        "mul(v0, v1):f16",
        "#6 shuffle  ; norm.py:17 from model.py:18",
        "program nothing: grid 1",
    ):
        assert expected in out


def test_shows_only_what_is_asked_for(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([file, "--buffers"]) == 0
    out = capsys.readouterr().out
    assert "temporary" in out
    assert "main.py:41" not in out and "transfer" not in out


def test_json_has_the_records(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([file, "--json", "--program", "k0"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["programs"]
    loop = found["programs"][0]["streams"]["load"][0]
    assert loop["loop"] == 4
    assert loop["body"][0]["record"] == "transfer"
    assert loop["body"][0]["axes"][0]["chunk"] == 32
    assert loop["body"][1]["location"] == "model.py:13"


def test_json_of_everything_is_json(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([file, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["calls"][1]["symbols"] == [[2, 128], [1, 256]]
    assert found["buffers"][2]["kind"] == "temporary"


def test_ir_can_be_read_again(
    image: Image, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([file, "--ir", "--program", "k0"]) == 0
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(Dev)
    found = Parser(context, capsys.readouterr().out).parse_op()
    assert isinstance(found, ProgramOp)
    assert found.is_structurally_equivalent(image.programs[0])
    assert same_program(found, found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.spyre"], "No such file"),
        ([__file__], "this is no spyre image"),
    ],
)
def test_a_bad_file_is_an_error(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


def test_an_unknown_program_is_an_error(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([file, "--program", "k9"]) == 1
    assert 'no program "k9"; there are: k0, nothing' in capsys.readouterr().err


def test_the_tool_needs_no_torch(file: str) -> None:
    script = (
        "import sys; from spyre_mlir.tools.spyre_objdump import main; "
        f"main([{file!r}]); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_disassembly_names_every_part(image: Image) -> None:
    text = disassemble(image)
    assert "buffer 2: t: temporary at 128, 16512 bytes, 64x128 f16" in text
    assert "result 1: 64x128 f16 strides [128, 1] in buffer 6, into argument 0" in text
    assert "call 1: k0(t+128, y+256)  ; main.py:41" in text
