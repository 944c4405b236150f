# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a Python script and watches what it launches on the card."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from spyre_mlir.diagnostics import SpyreError

if TYPE_CHECKING:
    from spyre_runtime.loader import Executable


@dataclass
class Launches:
    """Images in the order of their first launch, and how often each was launched."""

    counts: dict[Executable, int] = field(default_factory=dict["Executable", int])

    def __call__(self, executable: Executable) -> None:
        self.counts[executable] = self.counts.get(executable, 0) + 1


def run_script(path: str, arguments: Sequence[str]) -> Launches:
    """Runs a script as `python path arguments` would, with the backend known."""
    from spyre_mlir.torch_bridge import register
    from spyre_runtime import loader

    assert register  # imported for what it registers
    if not Path(path).is_file():
        raise SpyreError(f"{path}: no such file")
    launches = Launches()
    before = sys.argv
    loader.observers.append(launches)
    sys.argv = [path, *arguments]
    sys.path.insert(0, str(Path(path).resolve().parent))
    try:
        runpy.run_path(path, run_name="__main__")
    finally:
        loader.observers.remove(launches)
        sys.argv = before
        sys.path.pop(0)
    return launches
