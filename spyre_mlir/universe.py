# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
What plain `xdsl-opt` learns of us, through the `xdsl.universe` entry point.

Dialects and passes are found by listing their folders, and imported when used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pkgutil import iter_modules

from xdsl.ir import Dialect
from xdsl.universe import Universe

from spyre_mlir import dialects, transforms


def load_dialect(name: str) -> Dialect:
    """The dialect that `dialects/<name>.py`, or the folder of that name, defines."""
    module = import_module(f"{dialects.__name__}.{name}")
    for value in vars(module).values():
        if isinstance(value, Dialect) and value.name == name:
            return value
    raise ImportError(f"{module.__name__} defines no dialect named {name}")


def all_dialects() -> dict[str, Callable[[], Dialect]]:
    """Every dialect by name, none of them imported yet."""
    names = sorted(info.name for info in iter_modules(dialects.__path__))
    return {n: partial(load_dialect, n) for n in names if not n.startswith("_")}


SPYRE_UNIVERSE = Universe(
    all_dialects=all_dialects(), all_passes=transforms.all_passes()
)
