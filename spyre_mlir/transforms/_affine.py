# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attributes of the staged form that many records share, made once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    AffineSetAttr,
    ArrayAttr,
    DenseArrayBase,
    MemRefType,
    NoneAttr,
    TensorType,
    i64,
)
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir.affine import AffineExpr, AffineMap

from spyre_mlir.algebra.layout import DeviceLayout
from spyre_mlir.dialects.ktdp import AccessTileType, box_set
from spyre_mlir.dialects.spyre import ELEMENT_TYPES, LayoutAttr

Coefficients = tuple[int, ...]

_shared = lru_cache(maxsize=4096)


def linear_expr(coefficients: Sequence[int], offset: int) -> AffineExpr:
    """offset + sum(coefficients[k] * d_k)."""
    total: AffineExpr | None = None
    for k, c in enumerate(coefficients):
        if c:
            term = AffineExpr.dimension(k) if c == 1 else AffineExpr.dimension(k) * c
            total = term if total is None else total + term
    if total is None:
        return AffineExpr.constant(offset)
    return total + offset if offset else total


@_shared
def linear_map(rows: tuple[tuple[Coefficients, int], ...], dims: int) -> AffineMapAttr:
    """One linear result per row of coefficients and offset."""
    return AffineMapAttr(AffineMap(dims, 0, tuple(linear_expr(*r) for r in rows)))


@_shared
def address_map(
    coefficients: Coefficients,
    offset: int,
    has_symbol: bool,
    turns: Coefficients,
    depth: int,
    stage: int,
) -> AffineMapAttr:
    """
    The base of a view: a symbol, a linear part, and the stage of a multiple buffer,
    which `turns` numbers.
    """
    total = linear_expr(coefficients, offset)
    if has_symbol:
        total = AffineExpr.symbol(0) + total
    if depth > 1:
        total = total + (linear_expr(turns, 0) % depth) * stage
    return AffineMapAttr(AffineMap(len(coefficients), int(has_symbol), (total,)))


@_shared
def projection(dims: tuple[int, ...], rank: int) -> AffineMapAttr:
    return AffineMapAttr(AffineMap(rank, 0, tuple(map(AffineExpr.dimension, dims))))


@_shared
def origin(rank: int) -> AffineMapAttr:
    """The subscripts of a tile that begins where its view does."""
    return AffineMapAttr(AffineMap(0, 0, (AffineExpr.constant(0),) * rank))


@_shared
def identity_map(rank: int) -> AffineMapAttr:
    return AffineMapAttr(AffineMap.identity(rank))


@_shared
def box(extents: tuple[int, ...]) -> AffineSetAttr:
    """A box, with a symbol where the extent is dynamic."""
    return AffineSetAttr(box_set([None if e == DYNAMIC_INDEX else e for e in extents]))


@_shared
def integers(values: tuple[int, ...]) -> DenseArrayBase:
    return DenseArrayBase.from_list(i64, list(values))


@_shared
def iterators(kinds: tuple[bool, ...]) -> ArrayAttr[IteratorTypeAttr]:
    """Iterator types; True reduces."""
    return ArrayAttr(
        [
            IteratorTypeAttr(IteratorType.REDUCTION if k else IteratorType.PARALLEL)
            for k in kinds
        ]
    )


@_shared
def view_type(shape: tuple[int, ...], dtype: str, stick: int) -> MemRefType:
    """A view's type; `stick` is the dimension of sticks, or -1."""
    layout = (
        NoneAttr()
        if stick < 0
        else LayoutAttr.of(DeviceLayout.with_stick(len(shape), stick))
    )
    return MemRefType(ELEMENT_TYPES[dtype], shape, layout)


@_shared
def tile_type(shape: tuple[int, ...]) -> AccessTileType:
    return AccessTileType(shape)


@_shared
def tensor_type(shape: tuple[int, ...], dtype: str) -> TensorType:
    return TensorType(ELEMENT_TYPES[dtype], shape)
