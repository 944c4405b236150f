# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's type promotion, on SSA values and Python numbers."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from xdsl.ir import SSAValue

from ..dtypes import NAMES, TORCH
from ..emit import Number, dtype_of, shape_of

Operand = SSAValue | Number


def _number_dtype(value: Number) -> str:
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, int):
        return "i64"
    return NAMES.get(torch.get_default_dtype(), "f32")


def is_float(dtype: str) -> bool:
    return TORCH[dtype].is_floating_point


def pair(a: str, b: str) -> str:
    """The common type of two types of equal priority."""
    return NAMES[torch.promote_types(TORCH[a], TORCH[b])]


def _combine(higher: str | None, lower: str | None) -> str | None:
    if higher is None or lower is None:
        return higher or lower
    if is_float(higher):
        return higher
    if higher == "i1" or is_float(lower):
        return pair(higher, lower)
    return higher


def promote(operands: Sequence[Operand]) -> str:
    """Tensors with dimensions come first, then 0-d tensors, then numbers."""
    levels: list[str | None] = [None, None, None]
    for operand in operands:
        if isinstance(operand, SSAValue):
            level, dtype = int(not shape_of(operand)), dtype_of(operand)
        else:
            level, dtype = 2, _number_dtype(operand)
        known = levels[level]
        levels[level] = dtype if known is None else pair(known, dtype)
    found = _combine(_combine(levels[0], levels[1]), levels[2])
    assert found is not None, "an operation without operands has no type"
    return found


def to_float(dtype: str) -> str:
    """The type in which a float function of this type computes."""
    if is_float(dtype):
        return dtype
    return NAMES.get(torch.get_default_dtype(), "f32")
