# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: F821
"""Runs the `.mlir` tests with the tools of the Python that runs lit: `lit test/lit`."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import lit.formats

config.name = "spyre_mlir"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "Output", "lit.cfg.py"]
config.test_source_root = os.path.dirname(__file__)

root = Path(__file__).resolve().parents[2]
sources = [str(root), str(root / "runtime")]
inherited = os.environ.get("PYTHONPATH")
paths = [*sources, inherited] if inherited else sources
config.environment["PYTHONPATH"] = os.pathsep.join(paths)
config.environment["PYTHONHASHSEED"] = "0"
config.environment["OMP_NUM_THREADS"] = "1"
config.environment["COLUMNS"] = "100"
for variable in ("HOME", "TMPDIR"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]

# A test names tools as a user does; they run from the sources, without a shell wrapper.
for command, module in (
    ("spyre-opt", "spyre_mlir.tools.spyre_opt"),
    ("spyre-run", "spyre_mlir.tools.spyre_run"),
    ("spyre-objdump", "spyre_mlir.tools.spyre_objdump"),
    ("filecheck", "filecheck"),
):
    config.substitutions.append(
        (rf"(?<![\w/.-]){command}(?![\w.-])", f"{sys.executable} -m {module}")
    )
config.substitutions.append(("%python", sys.executable))

if find_spec("torch_mlir") is not None:
    config.available_features.add("mlir")
