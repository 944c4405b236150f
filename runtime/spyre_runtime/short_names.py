# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Names of a user's operations that are alike for the layers of a model.

    linear_5 (model.layer.3.output.dense (/home/me/lib/bert.py:350)) & add_4 (...)
becomes
    linear output.dense bert.py:350 +1
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    LocationAttr,
    NameLoc,
)
from xdsl.ir import Attribute

_COUNTER = re.compile(r"_\d+$")
MODULE_PARTS = 2
"""How much of a module's path a name keeps, from its end."""


def short_name(location: LocationAttr) -> str:
    """The first operation of a location, and how many were fused with it."""
    return _short(location)


def _short(location: Attribute) -> str:
    match location:
        case FileLineColLoc(filename=file, line=line):
            return f"{PurePath(file.data).name}:{line.data}"
        case NameLoc(desc=name, location=child):
            inner = _short(child)
            return f"{_general(name.data)} {inner}".strip()
        case FusedLoc():
            children = cast(ArrayAttr[Attribute], location.locations)
            parts = dict.fromkeys(_short(child) for child in children)
            named = [name for name in parts if name]
            more = f" +{len(named) - 1}" if len(named) > 1 else ""
            return f"{named[0]}{more}" if named else ""
        case CallSiteLoc(callee=callee):
            return _short(callee)
        case _:
            return ""


def _general(name: str) -> str:
    """The end of a module's path, or a node without its number."""
    if "." in name:
        parts = [part for part in name.split(".") if not part.isdigit()]
        return ".".join(parts[-MODULE_PARTS:])
    return _COUNTER.sub("", name)
