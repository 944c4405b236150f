# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors out of numbers: the node's FX meta says shape and type."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from ..emit import Emitter, Number
from .promotion import is_float

Tensor = SSAValue


def constant(value: Number):
    """zeros, ones and their kin, whatever their arguments."""

    def importer(e: Emitter, *_: object, **__: object) -> Tensor:
        return e.full(value, e.result.shape, e.result.dtype)

    return importer


def full(e: Emitter, size: object, fill_value: Number, **_: object) -> Tensor:
    return e.full(fill_value, e.result.shape, e.result.dtype)


def new_full(
    e: Emitter, like: object, size: object, fill_value: Number, **_: object
) -> Tensor:
    return e.full(fill_value, e.result.shape, e.result.dtype)


def scalar_tensor(e: Emitter, value: Number, **_: object) -> Tensor:
    return e.full(value, (), e.result.dtype)


def arange(e: Emitter, start: Number, end: Number, step: Number = 1, **_: object):
    shape, dtype = e.result.shape, e.result.dtype
    if is_float(dtype):
        return e.cast(e.iota(shape, 0, "f32", float(start), float(step)), dtype)
    return e.iota(shape, 0, dtype, int(start), int(step))


def arange_end(e: Emitter, end: Number, **kwargs: Any) -> Tensor:
    return arange(e, 0, end, **kwargs)


def arange_start(e: Emitter, start: Number, end: Number, **kwargs: Any) -> Tensor:
    return arange(e, start, end, **kwargs)


def eye(e: Emitter, *_: object, **__: object) -> Tensor:
    rows, columns = e.result.shape
    row = e.iota((rows, 1), 0, "i32", 0, 1)
    column = e.iota((1, columns), 1, "i32", 0, 1)
    return e.map([row, column], e.result.dtype, lambda b, i, j: b("eq", i, j))


def prims_iota(
    e: Emitter, length: int, *, start: int, step: int, **_: object
) -> Tensor:
    return e.iota(e.result.shape, 0, e.result.dtype, start, step)
