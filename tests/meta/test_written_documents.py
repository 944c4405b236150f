# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What README and tutorial show runs, and what they point to is there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sources import ROOT

README = ROOT / "README.md"
TUTORIAL = ROOT / "docs" / "tutorial.md"
WRITTEN = [README, ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
PATHS = re.compile(
    r"`((?:spyre_mlir|runtime|tests|test|docs|benchmarks|examples)/[\w/.-]+)`"
)
NOT_THERE_YET = {
    "test/lit/transforms/fold-idempotent.mlir",
    "spyre_mlir/target/chips/NAME.py",
}
"""What the tutorial has a reader make."""


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def run_python(code: str, folder: Path, **environment: str) -> str:
    """What a program prints, where the backend's entry point may not be installed."""
    register = "import spyre_mlir.torch_bridge.register\n"
    done = subprocess.run(
        [sys.executable, "-c", register + code],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "runtime")]),
            "OMP_NUM_THREADS": "1",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_readme_s_model_runs_and_is_right(tmp_path: Path) -> None:
    code = blocks(README.read_text(encoding="utf-8"), "python")[0]
    printed = run_python(code, tmp_path, SPYRE_FALLBACK="error", SPYRE_DUMP="ir")
    found = re.fullmatch(r"tensor\((.*), dtype=torch.float16\)\n", printed)
    assert found is not None, printed
    assert float(found.group(1)) <= 0.002
    text = (tmp_path / "ir" / "segment_000.mlir").read_text(encoding="utf-8")
    assert text.startswith("builtin.module {\n")


def test_readme_and_tutorial_begin_with_one_model() -> None:
    of_readme, of_tutorial = (
        blocks(path.read_text(encoding="utf-8"), "python")[0]
        for path in (README, TUTORIAL)
    )
    assert of_readme == of_tutorial


def test_the_tutorial_s_pass_passes_its_own_test(tmp_path: Path) -> None:
    text = TUTORIAL.read_text(encoding="utf-8")
    _, _, after = text.partition("<!-- pass -->\n")
    code = blocks(after, "python")[0]
    _, _, after = text.partition("<!-- lit -->\n")
    (tmp_path / "fold-idempotent.mlir").write_text(blocks(after, "mlir")[0])
    (tmp_path / "fold_idempotent.py").write_text(code)
    # The folder of passes is the registry: this adds a folder to it.
    driver = """
import sys
from spyre_mlir import transforms
transforms.__path__.append(".")
from spyre_mlir.tools.spyre_opt import main
passes = "spyre-fold-idempotent,dce"
sys.exit(main(["fold-idempotent.mlir", "-p", passes, "--split-input-file"]))
"""
    printed = run_python(driver, tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "filecheck", "fold-idempotent.mlir"],
        cwd=tmp_path,
        input=printed,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", WRITTEN, ids=lambda p: p.name)
def test_links_and_paths_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    dead = [link for link in links if not (path.parent / link).exists()]
    named = set(PATHS.findall(text)) - NOT_THERE_YET
    dead += [name for name in sorted(named) if not (ROOT / name).exists()]
    assert not dead, f"{path.name} points to {dead}"
