# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the environment says: misspelt, mistaken, or of folders that refuse files."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import torch

from spyre_mlir import config
from spyre_mlir.diagnostics import OptionError
from spyre_mlir.torch_bridge.dumps import DumpWarning
from spyre_runtime.engine import Engine

from .checking import backend


def said(monkeypatch: pytest.MonkeyPatch, **variables: str) -> list[str]:
    """The warnings of a first use with these variables."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    config.warn_of_unknown_variables.cache_clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        config.Options.parse()
        config.Options.parse()
    return [str(w.message) for w in caught]


def test_an_unknown_variable_is_named_once_with_the_nearest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (text,) = said(monkeypatch, SPYRE_FALBACK="error")
    assert "SPYRE_FALBACK" in text and "did you mean SPYRE_FALLBACK?" in text
    monkeypatch.delenv("SPYRE_FALBACK")
    (text,) = said(monkeypatch, SPYRE_SANITISE="1")
    assert "did you mean SPYRE_SANITIZE?" in text


def test_all_known_variables_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    for row in config.VARIABLES:
        monkeypatch.setenv(row.name, row.default)
    assert not said(monkeypatch, SPYRE_DUMP="", SPYRE_PROGRESS="0", SPYRE_PROGRAMS="3")
    assert config.Options.parse().programs == 3


@pytest.mark.parametrize("text", ["yes", "true", "2", " 1"])
def test_a_switch_is_0_or_1(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SPYRE_SANITIZE", text)
    with pytest.raises(OptionError, match="SPYRE_SANITIZE takes 0 or 1"):
        Engine(torch.zeros(1 << 12, dtype=torch.uint8))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("SPYRE_PROGRAMS", "many", "SPYRE_PROGRAMS takes a number"),
        ("SPYRE_PROGRAMS", "0", "'programs' takes a number from 1 on"),
        ("SPYRE_PROGRESS", "yes", "SPYRE_PROGRESS takes 0 or 1"),
    ],
)
def test_options_check_numbers_and_switches(
    monkeypatch: pytest.MonkeyPatch, name: str, text: str, message: str
) -> None:
    monkeypatch.setenv(name, text)
    with pytest.raises(OptionError, match=message):
        config.Options.parse()


def test_a_number_of_cards_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPYRE_DEVICES", "two")
    with pytest.raises(OptionError, match="SPYRE_DEVICES takes a number, not 'two'"):
        config.number("SPYRE_DEVICES")


def test_a_dump_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("here already")
    torch._dynamo.reset()
    x = torch.randn(4, 4)
    run = torch.compile(
        lambda x: (x + 1).relu(), backend=backend(dump=str(file / "ir"))
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert torch.equal(run(x), (x + 1).relu())
        assert torch.equal(run(x[:2]), (x[:2] + 1).relu())
    (text,) = [str(w.message) for w in caught if w.category is DumpWarning]
    assert "Not a directory" in text
    assert file.read_text() == "here already"
