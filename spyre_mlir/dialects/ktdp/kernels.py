# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions that every core of a grid runs."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

GRID = "grid"
"""Attribute of a kernel: cores by dimension, as `array<i64: 4, 8>` or `[4, 8]`."""


def grid_of(function: FuncOp) -> tuple[int, ...]:
    """The grid of a kernel; VerifyException if it states none."""
    name = function.sym_name.data
    grid = function.attributes.get(GRID)
    if grid is None:
        raise VerifyException(f"@{name} has no grid attribute")
    if isinstance(grid, DenseArrayBase):
        sizes = tuple(int(size) for size in grid.get_values())
    elif isa(grid, ArrayAttr[IntegerAttr]):
        sizes = tuple(size.value.data for size in grid)
    else:
        raise VerifyException(f"the grid of @{name} is {grid}, no list of integers")
    if not sizes or min(sizes) < 1:
        raise VerifyException(f"the grid of @{name} is {list(sizes)}")
    return sizes


def is_on_tiles(function: FuncOp) -> bool:
    """Whether the function holds operations of this dialect."""
    return any(op.name.startswith("ktdp.") for op in function.walk())
