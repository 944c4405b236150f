# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The `spyre` dialect: whole-tensor operations with device layouts.

Values are builtin tensors. Their encoding, `#spyre.layout`, says how a tensor lies in
device memory; absent means not decided yet. Each operation has an iteration space:
iterators with sizes, and one affine map per operand. Decisions index that space and
are attributes: division over cores, fusion group, tiles, places, exchanges. Absent
means undecided, present is a constraint that every pass keeps.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from .base import SpyreOp
from .bodies import ConstantOp, FnOp, YieldOp
from .movement import GatherOp, ReindexOp
from .operations import FullOp, IotaOp, MapOp, MatmulOp, ReduceOp, body_block
from .types import (
    ELEMENT_TYPES,
    DivisionAttr,
    LayoutAttr,
    PlaceAttr,
    SpyreTensor,
    TileAttr,
    bf16,
    dtype_name,
    eps_of,
    is_float,
    layout_of,
    number_attr,
    number_of,
    tensor_of,
    tensor_type,
    with_layout,
)

TENSOR_OPS: tuple[type[SpyreOp], ...] = (
    MatmulOp,
    MapOp,
    ReduceOp,
    ReindexOp,
    GatherOp,
    FullOp,
    IotaOp,
)

Spyre = Dialect(
    "spyre",
    [*TENSOR_OPS, FnOp, ConstantOp, YieldOp],
    [LayoutAttr, DivisionAttr, TileAttr, PlaceAttr],
)

__all__ = [
    "ELEMENT_TYPES",
    "TENSOR_OPS",
    "ConstantOp",
    "DivisionAttr",
    "FnOp",
    "FullOp",
    "GatherOp",
    "IotaOp",
    "LayoutAttr",
    "MapOp",
    "MatmulOp",
    "PlaceAttr",
    "ReduceOp",
    "ReindexOp",
    "Spyre",
    "SpyreOp",
    "SpyreTensor",
    "TileAttr",
    "YieldOp",
    "bf16",
    "body_block",
    "dtype_name",
    "eps_of",
    "is_float",
    "layout_of",
    "number_attr",
    "number_of",
    "tensor_of",
    "tensor_type",
    "with_layout",
]
