# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Single operations of the `spyre` level on values that nothing makes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Region, SSAValue

from spyre_mlir.algebra.layout import DeviceLayout
from spyre_mlir.algebra.linear import Linear, affine_map
from spyre_mlir.dialects import spyre
from spyre_mlir.dialects.spyre import ELEMENT_TYPES, dtype_name, tensor_of, tensor_type


def value(
    shape: Sequence[int], dtype: str = "f16", layout: DeviceLayout | None = None
) -> SSAValue:
    """A tensor value with a layout, the default one if none is given."""
    layout = layout or DeviceLayout.default(len(shape))
    return Block(arg_types=[tensor_type(shape, dtype, layout)]).args[0]


def iterators(rank: int) -> list[Linear]:
    return [Linear.iterator(k, rank) for k in range(rank)]


def map_op(*inputs: SSAValue, function: str = "add") -> spyre.MapOp:
    """A function of equal tensors, element by element, in the first one's layout."""
    shape = list(tensor_of(inputs[0]).get_shape())
    dtype = dtype_name(inputs[0].type)
    element = ELEMENT_TYPES[dtype]
    body = Block(arg_types=[element] * len(inputs))
    made = spyre.FnOp(function, body.args, element)
    body.add_ops([made, spyre.YieldOp(made.result)])
    identity = affine_map(iterators(len(shape)), len(shape))
    layout = spyre.layout_of(inputs[0])
    return spyre.MapOp(
        inputs,
        [identity] * len(inputs),
        tensor_type(shape, dtype, layout),
        Region(body),
    )


def reduce_op(
    source: SSAValue, dims: Sequence[int], kind: str = "sum"
) -> spyre.ReduceOp:
    """A reduction that keeps its dimensions, in the layout of its source."""
    shape = list(tensor_of(source).get_shape())
    for dim in dims:
        shape[dim] = 1
    result = tensor_type(shape, dtype_name(source.type), spyre.layout_of(source))
    return spyre.ReduceOp(kind, source, dims, result)


def matmul_op(lhs: SSAValue, rhs: SSAValue, dtype: str = "f16") -> spyre.MatmulOp:
    """Rows times columns, `[m, k]` by `[k, n]`."""
    m, n, k = iterators(3)
    (rows, _), (_, columns) = tensor_of(lhs).get_shape(), tensor_of(rhs).get_shape()
    result = tensor_type([rows, columns], dtype, DeviceLayout.default(2))
    maps = [affine_map(c, 3) for c in ([m, k], [k, n], [m, n])]
    return spyre.MatmulOp(lhs, rhs, result, maps)


def reindex_op(
    source: SSAValue, sizes: Sequence[int], coordinates: Sequence[Linear]
) -> spyre.ReindexOp:
    """The tensor of `sizes` whose elements are the source's at `coordinates`."""
    rank = len(sizes)
    result = tensor_type(sizes, dtype_name(source.type), DeviceLayout.default(rank))
    target = affine_map(iterators(rank), rank)
    return spyre.ReindexOp(
        [source], result, sizes, [affine_map(coordinates, rank)], [target]
    )
