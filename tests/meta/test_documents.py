# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The generated pages of the documentation are current."""

from pathlib import Path

import pytest

from spyre_mlir.tools.generate_docs import COMMAND, DOCS, PAGES, main, stale, write
from spyre_mlir.tools.pages import as_markdown


@pytest.mark.parametrize("name", PAGES)
def test_page_is_current(name: str) -> None:
    written = (DOCS / name).read_text(encoding="utf-8")
    assert written == PAGES[name](), f"docs/{name} is not current: run {COMMAND}"


def test_every_generated_page_has_a_generator() -> None:
    found = {f"generated/{path.name}" for path in (DOCS / "generated").iterdir()}
    assert found == {name for name in PAGES if name.startswith("generated/")}


def test_missing_pages_are_stale_until_they_are_written(tmp_path: Path) -> None:
    assert stale(tmp_path) == list(PAGES)
    assert write(tmp_path) == list(PAGES)
    assert stale(tmp_path) == []
    (tmp_path / "image-format.md").write_text("by hand", encoding="utf-8")
    assert write(tmp_path) == ["image-format.md"]


def test_an_unknown_flag_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["--all"])
    assert refused.value.code == 2
    assert "--all" in capsys.readouterr().err


def test_indented_blocks_are_fenced() -> None:
    text = as_markdown("Folds.\n\n    a\n      b\n\nLast.", "mlir")
    assert text == "Folds.\n\n```mlir\na\n  b\n```\n\nLast."


def test_lists_are_left_alone() -> None:
    assert as_markdown("- a\n  b\n- c") == "- a\n  b\n- c"
