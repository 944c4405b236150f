# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of the IR of compiled segments."""

from __future__ import annotations

import warnings
from pathlib import Path

_refusing: set[Path] = set()
"""Folders that could not be written, which was said."""


class DumpWarning(UserWarning):
    """The IR of compiled segments cannot be written."""


def dump(folder: Path, text: str) -> None:
    """
    Writes a segment's IR to the folder's next file. A folder that cannot be written
    is no reason not to compile: one warning says why.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        count = len(list(folder.glob("segment_*.mlir")))
        (folder / f"segment_{count:03}.mlir").write_text(text, encoding="utf-8")
    except OSError as error:
        if folder not in _refusing:
            _refusing.add(folder)
            warnings.warn(
                f"the folder {folder} of the option 'dump' cannot be written "
                f"({error.strerror}): what is compiled now leaves no IR there",
                DumpWarning,
                stacklevel=2,
            )
