# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
linalg on whole tiles.

A body is evaluated once on tensors that broadcast over the iteration space. A
reduction whose body ends in a known combiner is one torch reduction, in f32 for
floats and rounded once; a product of two inputs summed up is a contraction, whose
products are not rounded on their own. Any other reduction runs its points in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import cast

import torch
from torch import Tensor
from xdsl.dialects import arith, linalg
from xdsl.dialects.builtin import i1
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap
from xdsl.utils.exceptions import InterpretationError

from .affine import evaluate
from .machine import Core, Values, handles
from .scalars import binary_function
from .values import widened

COMBINERS = {
    "add": "sum",
    "maximum": "amax",
    "minimum": "amin",
}
"""The torch reduction of each combiner that is one step."""

BOOL_COMBINERS = {"or": "amax", "and": "amin"}
"""The same for i1."""

WIDENING = (arith.ExtFOp, arith.ExtSIOp, arith.ExtUIOp)


class Space:
    """An iteration space: extents, and which iterators reduce."""

    def __init__(self, extents: Sequence[int], reductions: Sequence[int]):
        self.extents = tuple(extents)
        self.reductions = tuple(reductions)

    def axes(self) -> tuple[Tensor, ...]:
        """Each iterator's coordinates, along its own axis."""
        return tuple(
            torch.arange(size).reshape([size if a == i else 1 for a in self._all()])
            for i, size in enumerate(self.extents)
        )

    def _all(self) -> range:
        return range(len(self.extents))


def _structured(core: Core, op: Operation, operands: Values) -> Values:
    assert isinstance(op, LinalgStructuredOperation)
    maps = [attr.data for attr in op.get_indexing_maps()]
    reductions = [
        i
        for i, iterator in enumerate(op.get_iterator_types())
        if iterator.data == IteratorType.REDUCTION
    ]
    space = Space(_extents(maps, operands), reductions)
    return run_nest(core, op.body.block, maps, space, operands, len(op.inputs))


handles(
    *(
        op
        for op in linalg.Linalg.operations
        if issubclass(op, LinalgStructuredOperation)
    )
)(_structured)


@handles(linalg.ops.IndexOp)
def run_index(core: Core, op: linalg.ops.IndexOp, _: Values) -> Values:
    return (core.iteration[-1][op.dim.value.data],)


@handles(linalg.ops.BroadcastOp)
def run_broadcast(_: Core, op: linalg.ops.BroadcastOp, operands: Values) -> Values:
    value, init = cast(tuple[Tensor, Tensor], operands)
    for dim in sorted(op.dimensions.get_values()):
        value = value.unsqueeze(int(dim))
    return (value.expand(init.shape),)


@handles(linalg.ops.ReduceOp)
def run_reduce(core: Core, op: linalg.ops.ReduceOp, operands: Values) -> Values:
    value, init = cast(tuple[Tensor, Tensor], operands)
    dims = [int(d) for d in op.dimensions.get_values()]
    rank = value.ndim
    kept = tuple(AffineDimExpr(d) for d in range(rank) if d not in dims)
    maps = [AffineMap.identity(rank), AffineMap(rank, 0, kept)]
    space = Space(value.shape, dims)
    return run_nest(core, op.region.block, maps, space, (value, init), 1)


def run_nest(
    core: Core,
    body: Block,
    maps: Sequence[AffineMap],
    space: Space,
    operands: Values,
    inputs: int,
) -> Values:
    """One loop nest: the new values of its outputs."""
    laid = [
        _lay(operand, map_, space) for operand, map_ in zip(operands, maps, strict=True)
    ]
    yielded = body.last_op
    assert yielded is not None
    if not space.reductions:
        values = _evaluate(core, body, space.axes(), laid)
    else:
        values = _reduced(core, body, maps, space, laid, operands, inputs)
    return tuple(
        _unlay(value, map_, space, operand.dtype)
        for value, map_, operand in zip(
            values, maps[inputs:], operands[inputs:], strict=True
        )
    )


def _evaluate(
    core: Core, body: Block, axes: tuple[Tensor, ...], laid: Sequence[Tensor]
) -> Values:
    core.iteration.append(axes)
    values = core.run_body(body, tuple(laid))
    core.iteration.pop()
    return values


def _reduced(
    core: Core,
    body: Block,
    maps: Sequence[AffineMap],
    space: Space,
    laid: Sequence[Tensor],
    operands: Values,
    inputs: int,
) -> list[Tensor]:
    yielded = body.last_op
    assert yielded is not None
    steps = [
        _step(value, body.args[inputs + number])
        for number, value in enumerate(yielded.operands)
    ]
    if len(steps) == 1 and steps[0] is not None:
        kind, term = steps[0]
        factors = _factors(term) if kind == "sum" else None
        if factors is not None and _plain(maps):
            total = _contract(factors, maps, space, operands)
            return [_add(laid[inputs], total)]
    if all(step is not None for step in steps):
        _evaluate(core, body, space.axes(), laid)
        terms = cast(list[tuple[str, SSAValue]], steps)
        return [
            _reduce(kind, core.values[term], laid[inputs + number], space)
            for number, (kind, term) in enumerate(terms)
        ]
    return _in_order(core, body, space, laid, inputs)


def _step(value: SSAValue, carried: BlockArgument) -> tuple[str, SSAValue] | None:
    """The reduction and its term, if a yielded value is one combining step."""
    op = value.owner
    if not isinstance(op, Operation) or len(op.operands) != 2:
        return None
    known = COMBINERS | BOOL_COMBINERS if carried.type == i1 else COMBINERS
    kind = known.get(binary_function(op) or "")
    if kind is None or carried not in op.operands or carried.uses.get_length() != 1:
        return None
    lhs, rhs = op.operands
    return kind, rhs if lhs is carried else lhs


def _factors(term: SSAValue) -> tuple[int, int] | None:
    """The two inputs that a term multiplies, widened or not."""
    op = term.owner
    if not isinstance(op, Operation) or binary_function(op) != "mul":
        return None
    arguments = [_unwidened(operand) for operand in op.operands]
    if not all(isinstance(a, BlockArgument) for a in arguments):
        return None
    lhs, rhs = cast(list[BlockArgument], arguments)
    return lhs.index, rhs.index


def _unwidened(value: SSAValue) -> SSAValue:
    while isinstance(value.owner, WIDENING):
        value = value.owner.operands[0]
    return value


def _plain(maps: Sequence[AffineMap]) -> bool:
    """Every map lists iterators, none twice."""
    for map_ in maps:
        if not all(isinstance(e, AffineDimExpr) for e in map_.results):
            return False
        if len({e.used_dims().pop() for e in map_.results}) != len(map_.results):
            return False
    return True


def _contract(
    factors: tuple[int, int], maps: Sequence[AffineMap], space: Space, operands: Values
) -> Tensor:
    """Sum of products over the reduced iterators, laid out like the space."""
    listed: list[Tensor | list[int]] = []
    seen: set[int] = set()
    for index in factors:
        dims = [cast(AffineDimExpr, e).position for e in maps[index].results]
        seen.update(dims)
        listed += [widened(operands[index]), dims]
    kept = [i for i in sorted(seen) if i not in space.reductions]
    total = torch.einsum(*listed, kept)
    for i in space.reductions:
        if i not in seen:
            total = total * space.extents[i]
    for i in range(len(space.extents)):
        if i not in kept:
            total = total.unsqueeze(i)
    return total


def _add(carried: Tensor, total: Tensor) -> Tensor:
    return (widened(carried) + total).to(carried.dtype)


def _reduce(kind: str, term: Tensor | int, carried: Tensor, space: Space) -> Tensor:
    value = widened(term)
    extents = [
        size if i in space.reductions else value.shape[i] if value.ndim else 1
        for i, size in enumerate(space.extents)
    ]
    value = value.expand(extents)
    dims = space.reductions
    if 0 in (space.extents[d] for d in dims):
        return carried
    wide = widened(carried)
    if kind == "sum":
        total = wide + value.sum(dims, keepdim=True)
    elif kind == "amax":
        total = torch.maximum(wide, value.amax(dims, keepdim=True))
    else:
        total = torch.minimum(wide, value.amin(dims, keepdim=True))
    return total.to(carried.dtype)


def _in_order(
    core: Core, body: Block, space: Space, laid: Sequence[Tensor], inputs: int
) -> list[Tensor]:
    """Every reduced point in row-major order, all parallel ones at a time."""
    carried = list(laid[inputs:])
    axes = space.axes()
    for point in product(*(range(space.extents[d]) for d in space.reductions)):
        places = dict(zip(space.reductions, point, strict=True))
        at = [_at(value, places) for value in laid[:inputs]]
        here = tuple(_at(axis, places) for axis in axes)
        carried = list(_evaluate(core, body, here, [*at, *carried]))
    return carried


def _at(value: Tensor, places: dict[int, int]) -> Tensor:
    if value.ndim == 0:
        return value
    for dim, place in places.items():
        if value.shape[dim] > 1:
            value = value.narrow(dim, place, 1)
    return value


def _extents(maps: Sequence[AffineMap], operands: Values) -> list[int]:
    loops = maps[0].num_dims
    found: list[int | None] = [None] * loops
    for map_, operand in zip(maps, operands, strict=True):
        shape = operand.shape if isinstance(operand, Tensor) else ()
        for expression, size in zip(map_.results, shape, strict=True):
            if not isinstance(expression, AffineDimExpr):
                continue
            known = found[expression.position]
            if known is not None and known != size:
                raise InterpretationError(
                    f"iterator {expression.position} runs over {known} and {size}"
                )
            found[expression.position] = size
    if None in found:
        raise InterpretationError(f"iterator {found.index(None)} has no extent")
    return cast(list[int], found)


def _lay(operand: Tensor | int, map_: AffineMap, space: Space) -> Tensor:
    """An operand with one axis per iterator, of extent 1 where it does not depend."""
    value = torch.as_tensor(operand)
    if not map_.results:
        return value
    dims = [e.position for e in map_.results if isinstance(e, AffineDimExpr)]
    plain = all(
        isinstance(e, AffineDimExpr)
        or (isinstance(e, AffineConstantExpr) and e.value == 0 and size == 1)
        for e, size in zip(map_.results, value.shape, strict=True)
    )
    if not plain or len(set(dims)) != len(dims):
        axes = space.axes()
        places = [torch.as_tensor(evaluate(e, axes)) for e in map_.results]
        return value[tuple(places)]
    for axis, expression in reversed(list(enumerate(map_.results))):
        if not isinstance(expression, AffineDimExpr):
            value = value.squeeze(axis)
    order = sorted(range(len(dims)), key=dims.__getitem__)
    value = value.permute(order)
    for iterator in range(len(space.extents)):
        if iterator not in dims:
            value = value.unsqueeze(iterator)
    return value


def _unlay(
    value: Tensor | int, map_: AffineMap, space: Space, dtype: torch.dtype
) -> Tensor:
    """A result over the iteration space as its output's map lays it out."""
    dims = [e.position for e in map_.results if isinstance(e, AffineDimExpr)]
    if len(dims) != len(map_.results) or len(set(dims)) != len(dims):
        raise InterpretationError(f"an output is written once, not through {map_}")
    laid = torch.as_tensor(value)
    if laid.ndim == 0:
        laid = laid.reshape([1] * len(space.extents))
    others = [i for i in range(len(space.extents)) if i not in dims]
    if any(laid.shape[i] != 1 for i in others):
        raise InterpretationError(f"several values for one element of {map_}")
    laid = laid.permute([*dims, *others]).reshape([laid.shape[d] for d in dims])
    return laid.expand([space.extents[d] for d in dims]).to(dtype)
