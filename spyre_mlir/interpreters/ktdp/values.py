# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Values of a running kernel, and how they are rounded.

An index is a Python int, or an int64 tensor inside a linalg body. Any other scalar
or tensor is a torch tensor of its type, a bool one for i1. Floats are computed in
f32 and rounded to the result type after every scalar function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import torch
from torch import Tensor
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    TensorType,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.hints import isa

from spyre_mlir.dialects.ktdp import RuntimeArgType

Value: TypeAlias = int | Tensor

_FLOATS: dict[type[Attribute], torch.dtype] = {
    Float16Type: torch.float16,
    BFloat16Type: torch.bfloat16,
    Float32Type: torch.float32,
    Float64Type: torch.float64,
}
_INTEGERS = {
    1: torch.bool,
    8: torch.int8,
    16: torch.int16,
    32: torch.int32,
    64: torch.int64,
}


def element_of(type_: Attribute) -> Attribute:
    """The element type of a tensor or memref, or the scalar type itself."""
    if isa(type_, TensorType | MemRefType):
        return type_.element_type
    return type_


def dtype_of(type_: Attribute) -> torch.dtype:
    """The torch type of values of an MLIR type."""
    element = element_of(type_)
    if isinstance(element, IndexType):
        return torch.int64
    if isa(element, IntegerType):
        dtype = _INTEGERS.get(element.width.data)
    else:
        dtype = _FLOATS.get(type(element))
    if dtype is None:
        raise InterpretationError(f"no values of element type {element}")
    return dtype


def stored_dtype(type_: Attribute) -> torch.dtype:
    """The torch type of elements in memory: a bool takes 16 bits."""
    dtype = dtype_of(type_)
    return torch.int16 if dtype == torch.bool else dtype


def undefined(shape: Sequence[int], type_: Attribute) -> Tensor:
    """What nobody wrote: NaN, or all bits set, so that reading it shows."""
    dtype = dtype_of(type_)
    if dtype.is_floating_point:
        return torch.full(tuple(shape), float("nan"), dtype=dtype)
    return torch.full(tuple(shape), -1, dtype=torch.int64).to(dtype)


def widened(value: Value) -> Tensor:
    """A value in the type that scalar functions compute in."""
    if not isinstance(value, Tensor):
        return torch.tensor(value, dtype=torch.int64)
    if value.dtype in (torch.float16, torch.bfloat16):
        return value.float()
    return value


def rounded(value: Tensor, type_: Attribute) -> Value:
    """A computed value in its result type."""
    if isinstance(type_, IndexType) and value.ndim == 0:
        return int(value.item())
    return value.to(dtype_of(type_))


def argument(number: int | float, type_: Attribute) -> Value:
    """What a kernel is launched with, in the type that it takes."""
    if isinstance(type_, RuntimeArgType):
        type_ = type_.underlying
    if isinstance(type_, IndexType):
        return int(number)
    return torch.tensor(number).to(dtype_of(type_))


def constant(attr: Attribute, type_: Attribute) -> Value:
    """The value of an arith.constant's attribute."""
    if isa(attr, IntegerAttr):
        if isinstance(type_, IndexType):
            return attr.value.data
        # A set top bit, as in `true : i1`, is -1 to xDSL.
        return torch.tensor(attr.value.data).to(dtype_of(type_))
    if isinstance(attr, FloatAttr):
        return torch.tensor(attr.value.data, dtype=torch.float64).to(dtype_of(type_))
    if isa(attr, DenseIntOrFPElementsAttr):
        return _dense(attr, type_)
    raise InterpretationError(f"no value for constant {attr}")


def _dense(attr: DenseIntOrFPElementsAttr, type_: Attribute) -> Tensor:
    assert isa(type_, TensorType)
    dtype = dtype_of(type_)
    wide = torch.float64 if dtype.is_floating_point else torch.int64
    values = torch.tensor(attr.get_values(), dtype=wide).to(dtype)
    shape = type_.get_shape()
    return values.expand(shape) if len(values) == 1 else values.reshape(shape)
