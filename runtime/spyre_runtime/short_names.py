# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Names of a user's operations that are alike for the layers of a model.

    linear_5 (model.layer.3.output.dense (/home/me/lib/bert.py:350)) & add_4 (...)
becomes
    linear model.layer.*.output.dense bert.py:350 +1
"""

from __future__ import annotations

import re
from pathlib import PurePath

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    LocationAttr,
    NameLoc,
)

_COUNTER = re.compile(r"_\d+$")
_LAYER = re.compile(r"(?<=\.)\d+(?=\.|$)")


def short_name(location: LocationAttr) -> str:
    """The first operation of a location, and how many were fused with it."""
    match location:
        case FileLineColLoc(filename=file, line=line):
            return f"{PurePath(file.data).name}:{line.data}"
        case NameLoc(desc=name, location=LocationAttr() as child):
            inner = short_name(child)
            return f"{_general(name.data)} {inner}".strip()
        case FusedLoc(locations=ArrayAttr() as children):
            named = [short_name(c) for c in children if isinstance(c, LocationAttr)]
            named = list(dict.fromkeys(filter(None, named)))
            more = f" +{len(named) - 1}" if len(named) > 1 else ""
            return f"{named[0]}{more}" if named else ""
        case CallSiteLoc(callee=LocationAttr() as callee):
            return short_name(callee)
        case _:
            return ""


def _general(name: str) -> str:
    """A name without the numbers of the node or of the layer."""
    if "." in name:
        return _LAYER.sub("*", name)
    return _COUNTER.sub("", name)
