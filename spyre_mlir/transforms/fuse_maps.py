# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Makes one map of maps that feed each other.

    map g (map f (x), y)    becomes  map (g o f) (x, y)
    map g (full c, y)       becomes  map g with the number c in its body

A producer is taken in by its one user; by several users, or by one that broadcasts
its result and so would compute it again, only if that costs nothing: a body without
operands, or of casts that do not narrow. Operands that read the same elements become
one, and equal functions in a body too. Each function keeps its result type, so bits
stay. Operations with decisions, and results with a layout, are left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.transforms.dead_code_elimination import dce

from spyre_mlir.algebra.access import ITEMSIZE
from spyre_mlir.dialects.spyre import (
    ConstantOp,
    FnOp,
    FullOp,
    MapOp,
    YieldOp,
    dtype_name,
    layout_of,
    tensor_of,
)
from spyre_mlir.transforms._rewriting import fused_location, is_undecided, replace_op

MAX_INPUTS = 8
"""Operands that one map may have: each needs its own stages in the scratchpad."""

MAX_FUNCTIONS = 64
"""Functions that one body may have: each value between them needs a tile."""


@dataclass
class Operand:
    """A tensor that a body reads, where, and the body's name for its element."""

    value: SSAValue
    map_: AffineMap
    argument: BlockArgument


def compose_maps(outer: AffineMap, inner: AffineMap) -> AffineMap:
    """Coordinates of a producer's operand over the iterators of the consumer."""
    results: list[AffineExpr] = []
    for expr in inner.results:
        if isinstance(expr, AffineDimExpr):
            results.append(outer.results[expr.position])
        else:
            assert isinstance(expr, AffineConstantExpr)
            results.append(expr)
    return AffineMap(outer.num_dims, 0, tuple(results))


def is_free(op: MapOp) -> bool:
    """Computing it again, where it is read, costs nothing."""
    functions = [f for f in op.body.block.ops if isinstance(f, FnOp)]
    if not op.inputs:
        return len(functions) <= 1
    return all(f.function.data == "cast" and not _narrows(f) for f in functions)


def _narrows(function: FnOp) -> bool:
    source, result = function.arguments[0].type, function.result.type
    return ITEMSIZE[dtype_name(source)] > ITEMSIZE[dtype_name(result)]


def can_fuse(consumer: MapOp, index: int) -> bool:
    """Whether the consumer should take in what makes its operand `index`."""
    value = consumer.inputs[index]
    producer = value.owner
    if layout_of(value) is not None:
        return False
    if isinstance(producer, FullOp):
        return is_undecided(producer)
    if not isinstance(producer, MapOp) or not is_undecided(producer):
        return False
    if not fits(consumer, [index]):
        return False
    if is_free(producer):
        return True
    alone = all(use.operation is consumer for use in value.uses)
    return alone and prod(producer.sizes()) == prod(consumer.sizes())


def fits(op: MapOp, taken: Sequence[int]) -> bool:
    """Whether a map with these producers inside keeps to the limits."""
    operands: set[tuple[int, AffineMap]] = set()
    producers: set[MapOp] = set()
    for index, (value, map_) in enumerate(zip(op.inputs, op.input_maps, strict=True)):
        producer = value.owner
        if index not in taken:
            operands.add((id(value), map_.data))
        elif isinstance(producer, MapOp):
            producers.add(producer)
            for source, inner in zip(producer.inputs, producer.input_maps, strict=True):
                operands.add((id(source), compose_maps(map_.data, inner.data)))
    functions = sum(len(_functions(m)) for m in (op, *producers))
    return len(operands) <= MAX_INPUTS and functions <= MAX_FUNCTIONS


def _functions(op: MapOp) -> list[FnOp]:
    return [f for f in op.body.block.ops if isinstance(f, FnOp)]


class Fusion:
    """A new body that grows out of a consumer's and its producers'."""

    def __init__(self, consumer: MapOp):
        self.consumer = consumer
        self.block = Block()
        self.operands: list[Operand] = []
        self.locations = [consumer.location]
        self._known: dict[tuple[object, ...], SSAValue] = {}

    def read(self, value: SSAValue, map_: AffineMap) -> SSAValue:
        """The element of a tensor; the same one for the same tensor and map."""
        for operand in self.operands:
            if operand.value is value and operand.map_ == map_:
                return operand.argument
        type_ = tensor_of(value).element_type
        argument = self.block.insert_arg(type_, len(self.block.args))
        self.operands.append(Operand(value, map_, argument))
        return argument

    def number(self, op: FullOp) -> SSAValue:
        """The number that a full tensor holds."""
        constant = ConstantOp(0, dtype_name(op.result.type))
        constant.attributes["value"] = op.value
        constant.location = op.location
        return self._once(constant)

    def copy(self, op: MapOp, values: dict[SSAValue, SSAValue]) -> SSAValue:
        """Copies a body behind what is there; returns what it yields."""
        for step in op.body.block.ops:
            if isinstance(step, YieldOp):
                return values[step.value]
            copied = step.clone(value_mapper=values)
            values[step.results[0]] = self._once(copied)
        raise AssertionError("the verifier asks for a yield")

    def _once(self, op: Operation) -> SSAValue:
        """The result of an operation that may be there already."""
        key = _key(op)
        if key in self._known:
            op.erase()
        else:
            self.block.add_op(op)
            self._known[key] = op.results[0]
        return self._known[key]

    def finish(self, result: SSAValue) -> MapOp:
        """The map with this body."""
        self.block.add_op(YieldOp(result))
        for step in reversed(list(self.block.ops)[:-1]):
            if not step.results[0].uses:
                self.block.erase_op(step)
        used = [o for o in self.operands if o.argument.uses]
        for operand in self.operands:
            if not operand.argument.uses:
                self.block.erase_arg(operand.argument)
        new = MapOp(
            [o.value for o in used],
            [o.map_ for o in used],
            tensor_of(self.consumer.result),
            Region(self.block),
        )
        new.location = fused_location(self.locations)
        return new


def _key(op: Operation) -> tuple[object, ...]:
    """Equal for operations of a body that give the same value."""
    attributes = sorted(op.attributes.items(), key=lambda item: item[0])
    return op.name, *map(id, op.operands), *attributes, *op.result_types


def fuse(consumer: MapOp, taken: Sequence[int]) -> MapOp:
    """The consumer with the makers of the operands `taken` inside."""
    fusion = Fusion(consumer)
    values: dict[SSAValue, SSAValue] = {}
    for index, (value, map_) in enumerate(
        zip(consumer.inputs, consumer.input_maps, strict=True)
    ):
        argument = consumer.body.block.args[index]
        producer = value.owner
        if index not in taken:
            values[argument] = fusion.read(value, map_.data)
            continue
        assert isinstance(producer, MapOp | FullOp)
        fusion.locations.append(producer.location)
        if isinstance(producer, FullOp):
            values[argument] = fusion.number(producer)
            continue
        inner: dict[SSAValue, SSAValue] = {}
        for source, source_map, name in zip(
            producer.inputs, producer.input_maps, producer.body.block.args, strict=True
        ):
            composed = compose_maps(map_.data, source_map.data)
            inner[name] = fusion.read(source, composed)
        values[argument] = fusion.copy(producer, inner)
    return fusion.finish(fusion.copy(consumer, values))


def has_duplicates(op: MapOp) -> bool:
    """Operands or functions of a body are there twice, or an operand is not read."""
    pairs = list(zip(op.inputs, op.input_maps, strict=True))
    if any(not a.uses for a in op.body.block.args):
        return True
    if len({(id(v), m) for v, m in pairs}) != len(pairs):
        return True
    keys = [_key(s) for s in op.body.block.ops]
    return len(set(keys)) != len(keys)


def fuse_producers(op: MapOp) -> MapOp:
    """Takes in producers until none is left that should be."""
    while True:
        taken = [i for i in range(len(op.inputs)) if can_fuse(op, i)]
        taken = taken[:1] if len(taken) > 1 and not fits(op, taken) else taken
        if not taken and not has_duplicates(op):
            return op
        producers = [op.inputs[i].owner for i in taken]
        new = fuse(op, taken)
        replace_op(op, new)
        for producer in dict.fromkeys(producers):
            assert isinstance(producer, MapOp | FullOp)
            if not producer.result.uses and producer.parent is not None:
                producer.parent.erase_op(producer)
        op = new


def fuse_all(module: ModuleOp) -> bool:
    """Visits each map once, in program order; tells whether one changed."""
    changed = False
    for op in [o for o in module.walk() if isinstance(o, MapOp)]:
        if op.parent is not None and is_undecided(op):
            changed |= fuse_producers(op) is not op
    return changed


class FuseMapsPass(ModulePass):
    """Fuses elementwise operations."""

    name = "spyre-fuse-maps"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        # A fusion may drop an operand, and so leave its maker with one user.
        dce(op)
        while fuse_all(op):
            dce(op)
