# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The `ktdp` ops that one core does by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor
from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap, AffineSet
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.hints import isa

from spyre_mlir.dialects.ktdp import (
    ConstructAccessTileOp,
    ConstructDistributedMemoryViewOp,
    ConstructIndirectAccessTileOp,
    ConstructMemoryViewOp,
    GetComputeTileIdOp,
    LoadOp,
    RuntimeArgExtractOp,
    RuntimeArgType,
    SetError,
    StoreOp,
    set_values,
)

from .affine import evaluate
from .machine import Core, Values, handles
from .memory import (
    AccessTile,
    DistributedView,
    Memory,
    MemoryView,
    TensorView,
    View,
    stick_dimension,
)


@handles(GetComputeTileIdOp)
def tile_id(core: Core, op: GetComputeTileIdOp, _: Values) -> Values:
    count = len(op.coordinates)
    grid = core.machine.grid
    if count > len(grid) or any(size != 1 for size in grid[count:]):
        raise InterpretationError(f"{count} coordinates of a grid {list(grid)}")
    return core.coordinates[:count]


@handles(ConstructMemoryViewOp)
def memory_view(core: Core, op: ConstructMemoryViewOp, _: Values) -> Values:
    def known(values: Sequence[SSAValue | int]) -> tuple[int, ...]:
        return tuple(v if isinstance(v, int) else core.values[v] for v in values)

    view = MemoryView(
        memory=_memory(core, op),
        type=op.view.type,
        base=core.values[op.base],
        sizes=known(op.mixed_sizes()),
        strides=known(op.mixed_strides()),
        coordinate_set=op.coordinate_set.data,
        set_symbols=tuple(core.values[size] for size in op.sizes),
        stick=stick_dimension(op.view.type),
    )
    return (view,)


def _memory(core: Core, op: ConstructMemoryViewOp) -> Memory:
    space = op.space
    if space.space == "dram":
        return core.machine.dram
    if space.space != "lx":
        raise InterpretationError(f"no memory to read or write in {space}")
    owner = core.number if space.core is None else space.core
    if owner >= len(core.machine.cores):
        raise InterpretationError(
            f"{space} of a grid of {len(core.machine.cores)} cores"
        )
    return core.machine.cores[owner].scratchpad


@handles(ConstructDistributedMemoryViewOp)
def distributed_view(
    _: Core, op: ConstructDistributedMemoryViewOp, parts: Values
) -> Values:
    assert isa(op.view.type, MemRefType)
    return (DistributedView(op.view.type.get_shape(), parts),)


@handles(ConstructAccessTileOp)
def access_tile(core: Core, op: ConstructAccessTileOp, _: Values) -> Values:
    anchor = [core.values[index] for index in op.indices]
    symbols = [core.values[symbol] for symbol in op.symbol_operands]
    order = op.access_tile_order.data
    axes, shape = tile_axes(op.access_tile_set.data, symbols, order)
    coordinates = tuple(
        evaluate(expression, anchor) + axis
        for expression, axis in zip(op.base_map.data.results, axes, strict=True)
    )
    view = as_view(core.values[op.base])
    return (AccessTile(view, coordinates, shape),)


@handles(ConstructIndirectAccessTileOp)
def indirect_access_tile(
    core: Core, op: ConstructIndirectAccessTileOp, _: Values
) -> Values:
    symbols = [core.values[symbol] for symbol in op.symbol_operands]
    order = op.variables_space_order.data
    axes, shape = tile_axes(op.variables_space_set.data, symbols, order)
    places = [*(core.values[value] for value in op.captured), *axes]
    coordinates: list[Tensor] = []
    for subscript in op.subscripts():
        found = [
            torch.as_tensor(evaluate(expression, places))
            for expression in subscript.expressions
        ]
        if subscript.view is None:
            coordinates.append(found[0])
            continue
        index_view = as_view(core.values[subscript.view])
        shapes = (place.shape for place in found)
        extent = cast(torch.Size, torch.broadcast_shapes(*shapes))
        coordinates.append(index_view.gather(found, extent).to(torch.int64))
    view = as_view(core.values[op.base])
    return (AccessTile(view, tuple(coordinates), shape),)


@handles(LoadOp)
def load(_: Core, op: LoadOp, operands: Values) -> Values:
    (tile,) = cast(tuple[AccessTile], operands)
    return (tile.load(),)


@handles(StoreOp)
def store(_: Core, op: StoreOp, operands: Values) -> Values:
    value, tile = cast(tuple[Tensor, AccessTile], operands)
    tile.store(value)
    return ()


@handles(RuntimeArgExtractOp)
def runtime_arg(_: Core, op: RuntimeArgExtractOp, operands: Values) -> Values:
    kind = op.kind.data
    type_ = op.argument.type
    assert isinstance(type_, RuntimeArgType)
    stated = {"granularity": type_.granularity, "upperbound": type_.upperbound}
    if kind != "value":
        attr = stated[kind]
        assert isinstance(attr, IntegerAttr)
        return (attr.value.data,)
    value = cast(int, operands[0])
    step, bound = type_.granularity, type_.upperbound
    if isinstance(step, IntegerAttr) and value % step.value.data:
        raise InterpretationError(
            f"argument {value} is no multiple of its granularity {step.value.data}"
        )
    if isinstance(bound, IntegerAttr) and value > bound.value.data:
        raise InterpretationError(
            f"argument {value} exceeds its upperbound {bound.value.data}"
        )
    return (value,)


def as_view(value: View | Tensor) -> View:
    return TensorView(value) if isinstance(value, Tensor) else value


def tile_axes(
    space: AffineSet, symbols: Sequence[int], order: AffineMap
) -> tuple[list[Tensor], tuple[int, ...]]:
    """
    The values of each dimension of a set, laid along the tile's axes.

    A dimension's axis is its place among the order's results, of which the last runs
    fastest. The second result is the tile's shape.
    """
    try:
        values = set_values(space, symbols)
    except SetError as error:
        raise InterpretationError(str(error)) from error
    place = {
        expression.position: axis
        for axis, expression in enumerate(order.results)
        if isinstance(expression, AffineDimExpr)
    }
    rank = len(values)
    axes: list[Tensor] = []
    shape = [0] * rank
    for dim, listed in enumerate(values):
        along = [1] * rank
        along[place[dim]] = shape[place[dim]] = len(listed)
        axes.append(_along(listed).reshape(along))
    return axes, tuple(shape)


def _along(values: Sequence[int]) -> Tensor:
    if isinstance(values, range):
        return torch.arange(values.start, values.stop, dtype=torch.int64)
    return torch.tensor(values, dtype=torch.int64)
