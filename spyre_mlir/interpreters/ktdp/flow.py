# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops during which a core may wait: loops, branches, calls and exchanges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.hints import isa

from spyre_mlir.dialects.ktdp import (
    DeliveryOp,
    FoldOp,
    InterTileAllToAllOp,
    InterTileConsumeOp,
    InterTileGatherOp,
    InterTileProduceOp,
    InterTileReduceOp,
    InterTileReduceScatterOp,
    InterTileScatterOp,
    TileFutureType,
    placement_factors,
)

from .errors import located
from .machine import Core, Future, Post, Steps, Values, Wait, steps
from .values import undefined


@steps(scf.ForOp)
def run_for(core: Core, op: scf.ForOp, operands: Values) -> Steps:
    low, high, step, *carried = operands
    if int(step) <= 0:
        raise located(op, core.number, InterpretationError(f"step {int(step)}"))
    values = tuple(carried)
    for index in range(int(low), int(high), int(step)):
        counter = index if isinstance(low, int) else torch.tensor(index).to(low.dtype)
        values = yield from core.run(op.body.block, (counter, *values))
    return values


@steps(scf.IfOp)
def run_if(core: Core, op: scf.IfOp, operands: Values) -> Steps:
    region = op.true_region if bool(operands[0]) else op.false_region
    if not region.blocks:
        return ()
    return (yield from core.run(region.block, ()))


@steps(scf.WhileOp)
def run_while(core: Core, op: scf.WhileOp, operands: Values) -> Steps:
    values = operands
    while True:
        condition, *passed = yield from core.run(op.before_region.block, values)
        if not bool(condition):
            return tuple(passed)
        values = yield from core.run(op.after_region.block, tuple(passed))


@steps(scf.ExecuteRegionOp)
def run_region(core: Core, op: scf.ExecuteRegionOp, _: Values) -> Steps:
    return (yield from core.run(op.region.block, ()))


@steps(func.CallOp)
def run_call(core: Core, op: func.CallOp, operands: Values) -> Steps:
    callee = core.machine.function(op.callee)
    return (yield from core.run(callee.body.block, operands))


@steps(InterTileProduceOp)
def run_produce(core: Core, op: InterTileProduceOp, _: Values) -> Steps:
    """The n-th execution on every core is one production."""
    number = core.produced.get(op, 0)
    core.produced[op] = number + 1
    future = Future(op, number)
    for group in op.groups:
        if core.number in op.producers(group):
            partials = yield from core.run(op.body.block, (group,))
            post = core.machine.posts.setdefault(future, Post())
            post.contributions[core.number] = _shaped(
                partials, _future(op).partials.data
            )
            break
    return (future,)


def _future(op: InterTileProduceOp) -> TileFutureType:
    assert isinstance(op.future.type, TileFutureType)
    return op.future.type


@steps(
    InterTileConsumeOp,
    InterTileReduceOp,
    InterTileReduceScatterOp,
    InterTileGatherOp,
    InterTileAllToAllOp,
    InterTileScatterOp,
)
def run_delivery(core: Core, op: DeliveryOp, operands: Values) -> Steps:
    future = cast(Future, operands[0])
    group = next((g for g in op.groups if core.number in op.consumers(g)), None)
    if group is None:
        return tuple(_nothing(result.type) for result in op.received)
    sources = op.sources(core.number, group)
    post = core.machine.posts.setdefault(future, Post())
    wait = Wait(op, sources, post)
    if wait.missing():
        yield wait
    contributions = [post.contributions[tile] for tile in sources]
    post.taken += 1
    if post.taken == sum(len(op.consumers(g)) for g in op.groups):
        del core.machine.posts[future]
    position = op.consumers(group).index(core.number)
    if isinstance(op, FoldOp):
        contributions = [_fold(core, op, contributions)]
    return tuple(
        _placed(op, role, position, [c[role] for c in contributions])
        for role in range(len(op.received))
    )


def _nothing(type_: object) -> Tensor:
    """What a tile receives that is no consumer: undefined."""
    assert isa(type_, TensorType)
    shape = [0 if size == DYNAMIC_INDEX else size for size in type_.get_shape()]
    return undefined(shape, type_)


def _fold(core: Core, op: FoldOp, contributions: Sequence[Values]) -> Values:
    """Combines in ascending order of tiles; the identity is not needed."""
    given = [_shaped(partials, op.delivered) for partials in contributions]
    total: Values = given[0]
    for contribution in given[1:]:
        total = core.run_body(op.combiner.block, (*total, *contribution))
    return total


def _shaped(values: Values, types: Sequence[TensorType]) -> Values:
    """Tensors with the unit sizes of these types, where those are known."""
    shapes = [type_.get_shape() for type_ in types]
    return tuple(
        value if DYNAMIC_INDEX in shape else value.reshape(shape)
        for value, shape in zip(values, shapes, strict=True)
    )


def _placed(
    op: DeliveryOp, role: int, position: int, partials: Sequence[Tensor]
) -> Tensor:
    """This consumer's result: its slice of each partial, side by side."""
    split: tuple[int, ...] = ()
    concat: tuple[int, ...] = ()
    if isinstance(op, InterTileReduceScatterOp | InterTileScatterOp):
        split = op.dimensions("scatter_dimensions")
    elif isinstance(op, InterTileGatherOp):
        concat = op.dimensions("gather_dimensions")
    elif isinstance(op, InterTileAllToAllOp):
        split = op.dimensions("split_dimensions")
        concat = op.dimensions("concat_dimensions")
    if not split and not concat:
        return partials[0]
    received = op.received[role].type
    assert isa(received, TensorType)
    parts = op.consumer_count() if split else 1
    copies = op.source_count() if concat else 1
    partial = op.delivered[role]
    cuts, grown = placement_factors(partial, received, split, parts, concat, copies)
    slices = [_slice(partial, split, cuts, position) for partial in partials]
    return _assembled(slices, concat, grown) if concat else slices[0]


def _slice(
    value: Tensor, dims: Sequence[int], cuts: Sequence[int], position: int
) -> Tensor:
    for dim, cut in reversed(list(zip(dims, cuts, strict=True))):
        size = value.shape[dim] // cut
        value = value.narrow(dim, position % cut * size, size)
        position //= cut
    return value


def _assembled(
    slices: Sequence[Tensor], dims: Sequence[int], counts: Sequence[int]
) -> Tensor:
    """Joins along the fastest dimension first."""
    for dim, count in reversed(list(zip(dims, counts, strict=True))):
        slices = [
            torch.cat(list(slices[start : start + count]), dim)
            for start in range(0, len(slices), count)
        ]
    return slices[0]
