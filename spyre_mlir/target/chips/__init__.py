# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The chips: each file of this folder holds one, as `CHIP`."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from spyre_mlir.target.chip import Chip


def chip_names() -> tuple[str, ...]:
    """Every chip, by the folder's listing."""
    return tuple(sorted(info.name for info in iter_modules(__path__)))


def load_chip(name: str = "spyre") -> Chip:
    """The chip of a file in this folder."""
    if name not in chip_names():
        raise ValueError(f'no chip "{name}"; there are: {", ".join(chip_names())}')
    chip = import_module(f"{__name__}.{name}").CHIP
    assert isinstance(chip, Chip)
    return chip
