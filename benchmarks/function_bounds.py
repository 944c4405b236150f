# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
How far the card's scalar functions are from the correctly rounded value, and from this
host's PyTorch, under each setting that changes the libraries below PyTorch.

A cell is `distance (from PyTorch)` in steps of the type, the worst over every 16-bit
number, or over special, dense and random f32 numbers. `NaN/0` is a NaN, an infinity or
a sign of zero that is wrong. Fails if a stated bound is passed. Names of functions as
arguments choose some.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "runtime"), str(ROOT / "tests" / "support")]

from scalar_reference import (  # noqa: E402
    DTYPES,
    REFERENCES,
    WRONG,
    arguments_for,
    card,
    eager,
    exact,
    steps,
)

from spyre_mlir.target.opfuncs import OPFUNCS  # noqa: E402

SETTINGS: dict[str, dict[str, str]] = {
    "as is": {},
    "default": {"ATEN_CPU_CAPABILITY": "default"},
    "avx2": {"ATEN_CPU_CAPABILITY": "avx2"},
    "avx512": {"ATEN_CPU_CAPABILITY": "avx512"},
    "dnn sse41": {"ONEDNN_MAX_CPU_ISA": "SSE41"},
    "dnn avx2": {"ONEDNN_MAX_CPU_ISA": "AVX2"},
    "dnn avx512": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE"},
    "mkl comp": {"MKL_CBWR": "COMPATIBLE"},
    "mkl sse4.2": {"MKL_CBWR": "SSE4_2"},
    "mkl avx": {"MKL_CBWR": "AVX"},
    "mkl avx2": {"MKL_CBWR": "AVX2"},
    "2 threads": {"OMP_NUM_THREADS": "2"},
}
"""What is measured; oneDNN and MKL take their best for what a processor lacks."""

if not torch.cpu._is_avx512_supported():  # pyright: ignore[reportPrivateUsage]
    del SETTINGS["avx512"]  # PyTorch would run it all the same

SAMPLES = 1 << 17


def measured(names: list[str]) -> dict[str, tuple[int, int]]:
    """Distances to the exact value and to PyTorch in this process, by name and type."""
    found: dict[str, tuple[int, int]] = {}
    for name in names:
        for type_, dtype in DTYPES.items():
            arguments = arguments_for(name, dtype, SAMPLES)
            got = card(name, arguments)
            found[f"{name} {type_}"] = (
                int(steps(got, exact(name, arguments)).max()),
                int(steps(got, eager(name, arguments)).max()),
            )
    return found


def under(setting: dict[str, str], names: list[str]) -> dict[str, tuple[int, int]]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--here", *names]
    environment = {"OMP_NUM_THREADS": "1", **os.environ, **setting}
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout)


def _cell(distance: int) -> str:
    return "NaN/0" if distance >= WRONG else str(distance)


def main(names: list[str]) -> int:
    """The table; returns the exit code."""
    results = {key: under(setting, names) for key, setting in SETTINGS.items()}
    heads = "".join(f"{key:>15}" for key in SETTINGS)
    sys.stdout.write(f"{'function':20}{'bound':>6}{heads}\n")
    passed: list[str] = []
    for key in results["as is"]:
        name, type_ = key.split()
        bound = OPFUNCS[name].bound(type_)
        pairs = [r[key] for r in results.values()]
        cells = "".join(f"{f'{_cell(a)} ({_cell(b)})':>15}" for a, b in pairs)
        sys.stdout.write(f"{key:20}{bound:6}{cells}\n")
        passed += [key] if max(a for a, _ in pairs) > bound else []
    for key in passed:
        sys.stderr.write(f"missed: {key}\n")
    return 1 if passed else 0


if __name__ == "__main__":
    here = sys.argv[1:2] == ["--here"]
    chosen = sys.argv[1 + here :] or list(REFERENCES)
    if here:
        sys.stdout.write(json.dumps(measured(chosen)))
    else:
        sys.exit(main(chosen))
