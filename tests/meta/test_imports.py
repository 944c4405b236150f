# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports go one way, and the compiler's driver starts without torch."""

from __future__ import annotations

import subprocess
import sys

import pytest
from sources import PACKAGES, ROOT, imports_of, module_of, named, python_files

OPEN = {"config", "diagnostics"}
"""Modules that every part may import."""

ALGEBRA = {"algebra"}
TARGET = ALGEBRA | {"target"}
DIALECTS = TARGET | {"dialects"}
ABOVE_DIALECTS = DIALECTS | {"analysis", "interpreters"}
TRANSFORMS = ABOVE_DIALECTS | {"transforms", "universe", "pipelines"}
BINARY = DIALECTS | {"binary"}
RUNTIME = BINARY | {"spyre_runtime"}
BRIDGE = TRANSFORMS | RUNTIME | {"compiler", "torch_bridge"}

ALLOWED = {
    "algebra": ALGEBRA,
    "target": TARGET,
    "dialects": DIALECTS,
    "analysis": DIALECTS | {"analysis"},
    "interpreters": DIALECTS | {"interpreters"},
    "transforms": TRANSFORMS - {"universe", "pipelines"},
    "universe": DIALECTS | {"transforms"},
    "pipelines": TRANSFORMS,
    "binary": BINARY,
    "compiler": TRANSFORMS | BINARY | {"compiler"},
    "spyre_runtime": RUNTIME,
    "torch_bridge": BRIDGE,
    "tools": BRIDGE | {"tools"},
    "config": set[str](),
    "diagnostics": set[str](),
}
"""What the parts may import: design.md 2."""

ONE_DIALECT = {"binary", "spyre_runtime"}
"""Parts that know of the dialects only `dev`."""


def part_of(module: str) -> str | None:
    """The part of the project that a module belongs to; None outside of it."""
    names = module.split(".")
    if names[0] == "spyre_runtime":
        return "spyre_runtime"
    if names[0] != "spyre_mlir" or len(names) < 2:
        return None
    return names[1]


def violations() -> list[str]:
    found = []
    for path in python_files(*PACKAGES):
        part = part_of(module_of(path))
        if part is None:
            continue
        for module, line in imports_of(path):
            other = part_of(module)
            if other is None or other in OPEN:
                continue
            if other in ALLOWED and other not in ALLOWED[part]:
                found.append(f"{named(path)}:{line}: {part} imports {module}")
            names = module.split(".")
            other_dialect = other == "dialects" and names[2:3] not in ([], ["dev"])
            if part in ONE_DIALECT and other_dialect:
                found.append(f"{named(path)}:{line}: {part} imports {module}")
    return sorted(set(found))


def test_every_part_has_its_place() -> None:
    parts = {part_of(module_of(p)) for p in python_files(*PACKAGES)} - {None}
    assert parts <= set(ALLOWED)


def test_imports_go_one_way() -> None:
    assert not violations(), "\n".join(violations())


RUN_AND_LIST = """
import sys
from spyre_mlir.tools.spyre_opt import main
code = main(sys.argv[1:])
print(*sorted(m for m in ("torch", "numpy", "rich") if m in sys.modules))
sys.exit(code)
"""


@pytest.mark.parametrize("pipeline", ["canonicalize", "compile"])
def test_spyre_opt_imports_no_torch(pipeline: str) -> None:
    file = ROOT / "test" / "lit" / "tools" / "run.mlir"
    arguments = [str(file), "--pipeline", pipeline, "-o", "/dev/null"]
    run = subprocess.run(
        [sys.executable, "-c", RUN_AND_LIST, *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}"},
    )
    assert run.stdout.split() == []
