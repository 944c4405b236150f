# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the operations of a function that is called several times come from."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import ArrayAttr, FusedLoc, LocationAttr, StringAttr
from xdsl.dialects.func import CallOp, FuncOp

OUTLINED = "outlined"
"""Metadata of a location that lists lines, in the order of function and calls."""


def outlined_lines(location: LocationAttr) -> tuple[LocationAttr, ...]:
    """The lines that a function made of repeats, or a call of it, lists."""
    if not isinstance(location, FusedLoc) or location.metadata != StringAttr(OUTLINED):
        return ()
    return cast(ArrayAttr[LocationAttr], location.locations).data


def call_lines(function: FuncOp, call: CallOp) -> dict[LocationAttr, LocationAttr]:
    """Takes the location of an operation in the function to the one in this call."""
    theirs, ours = outlined_lines(function.location), outlined_lines(call.location)
    lines: dict[LocationAttr, LocationAttr] = {}
    for inside, outside in zip(theirs, ours, strict=True):
        lines.setdefault(inside, outside)
    return lines
