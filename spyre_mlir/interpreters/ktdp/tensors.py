# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The `tensor` dialect: slices and reshapes of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor
from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, TensorType
from xdsl.dialects.utils import get_dynamic_index_list
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.hints import isa

from .machine import Core, Values, handles
from .values import dtype_of, undefined


def _known(core: Core, static: Any, dynamic: Sequence[SSAValue]) -> list[int]:
    values = get_dynamic_index_list(static.get_values(), dynamic, DYNAMIC_INDEX)
    return [v if isinstance(v, int) else core.values[v] for v in values]


def _shape(type_: TensorType[Any], sizes: Values) -> list[int]:
    """A shape with its dynamic sizes filled in."""
    given = iter(sizes)
    return [next(given) if s == DYNAMIC_INDEX else s for s in type_.get_shape()]


@handles(tensor.EmptyOp)
def run_empty(_: Core, op: tensor.EmptyOp, sizes: Values) -> Values:
    type_ = op.tensor.type
    assert isa(type_, TensorType)
    return (undefined(_shape(type_, sizes), type_),)


@handles(tensor.SplatOp)
def run_splat(_: Core, op: tensor.SplatOp, operands: Values) -> Values:
    type_ = op.result.type
    assert isa(type_, TensorType)
    value = torch.as_tensor(operands[0]).to(dtype_of(type_))
    return (value.expand(_shape(type_, operands[1:])),)


@handles(tensor.FromElementsOp)
def run_from_elements(_: Core, op: tensor.FromElementsOp, operands: Values) -> Values:
    type_ = op.result.type
    assert isa(type_, TensorType)
    values = torch.stack([torch.as_tensor(v) for v in operands])
    return (values.reshape(type_.get_shape()).to(dtype_of(type_)),)


@handles(tensor.DimOp)
def run_dim(_: Core, op: tensor.DimOp, operands: Values) -> Values:
    value, index = operands
    return (value.shape[index],)


@handles(tensor.CastOp)
def run_cast(_: Core, op: tensor.CastOp, operands: Values) -> Values:
    return operands


@handles(tensor.ExtractOp)
def run_extract(_: Core, op: tensor.ExtractOp, operands: Values) -> Values:
    value, *indices = operands
    return (value[tuple(indices)],)


@handles(tensor.InsertOp)
def run_insert(_: Core, op: tensor.InsertOp, operands: Values) -> Values:
    scalar, value, *indices = operands
    changed = value.clone()
    changed[tuple(indices)] = scalar
    return (changed,)


@handles(tensor.ExtractSliceOp)
def run_extract_slice(core: Core, op: tensor.ExtractSliceOp, ops: Values) -> Values:
    sliced = _slice(core, op, cast(Tensor, ops[0]))
    type_ = op.result.type
    assert isa(type_, TensorType)
    return (_drop_units(sliced, type_.get_num_dims()),)


@handles(tensor.InsertSliceOp)
def run_insert_slice(core: Core, op: tensor.InsertSliceOp, ops: Values) -> Values:
    source, dest = cast(tuple[Tensor, Tensor], ops[:2])
    changed = dest.clone()
    target = _slice(core, op, changed)
    target.copy_(source.reshape(target.shape))
    return (changed,)


def _slice(
    core: Core, op: tensor.ExtractSliceOp | tensor.InsertSliceOp, value: Tensor
) -> Tensor:
    offsets = _known(core, op.static_offsets, op.offsets)
    sizes = _known(core, op.static_sizes, op.sizes)
    strides = _known(core, op.static_strides, op.strides)
    for dim, (low, size, step) in enumerate(zip(offsets, sizes, strides, strict=True)):
        last = low + (size - 1) * step
        if size and not (low >= 0 and last < value.shape[dim]):
            raise InterpretationError(
                f"slice {low} to {last} of dimension {dim} is out of bounds of "
                f"{list(value.shape)}"
            )
        value = value.narrow(dim, low, last - low + 1 if size else 0)
        value = value[(slice(None),) * dim + (slice(None, None, step),)]
    return value


def _drop_units(value: Tensor, rank: int) -> Tensor:
    """Drops the first unit dimensions until the rank is right."""
    dim = 0
    while value.ndim > rank:
        if value.shape[dim] == 1:
            value = value.squeeze(dim)
        else:
            dim += 1
    return value


@handles(tensor.CollapseShapeOp)
def run_collapse(_: Core, op: tensor.CollapseShapeOp, operands: Values) -> Values:
    (value,) = cast(tuple[Tensor], operands)
    shape: list[int] = []
    for group in op.reassociation:
        size = 1
        for dim in cast(Any, group):
            assert isinstance(dim, IntegerAttr)
            size *= value.shape[dim.value.data]
        shape.append(size)
    return (value.reshape(shape),)


@handles(tensor.ExpandShapeOp)
def run_expand(core: Core, op: tensor.ExpandShapeOp, operands: Values) -> Values:
    shape = _known(core, op.static_output_shape, op.dynamic_output_shape)
    return (operands[0].reshape(shape),)


@handles(tensor.ReshapeOp)
def run_reshape(_: Core, op: tensor.ReshapeOp, operands: Values) -> Values:
    value, shape = cast(tuple[Tensor, Tensor], operands)
    return (value.reshape([int(size) for size in shape]),)


@handles(tensor.ConcatOp)
def run_concat(_: Core, op: tensor.ConcatOp, operands: Values) -> Values:
    return (torch.cat(list(operands), op.dim.value.data),)
