# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The passes, one per file; the folder is their registry.

`fold_reindex.py` holds `FoldReindexPass`, named `spyre-fold-reindex`. Files whose name
begins with an underscore are shared by passes and hold none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

PREFIX = "spyre-"
"""Registered names carry it, since xDSL keeps the passes of all packages together."""


def pass_name(module: str) -> str:
    """`spyre-fold-reindex` of the file name `fold_reindex`."""
    return PREFIX + module.replace("_", "-")


def load_pass(module: str) -> type[ModulePass]:
    """The pass that a file of this folder holds."""
    class_name = "".join(word.title() for word in module.split("_")) + "Pass"
    return getattr(import_module(f"{__name__}.{module}"), class_name)


def pass_modules() -> tuple[str, ...]:
    """File names of all passes, sorted."""
    names = (info.name for info in iter_modules(__path__))
    return tuple(sorted(name for name in names if not name.startswith("_")))


def all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Every pass by name, none of them imported yet."""
    return {pass_name(m): partial(load_pass, m) for m in pass_modules()}
