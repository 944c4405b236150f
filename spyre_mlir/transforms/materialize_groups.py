# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Turns each fusion group into a kernel, a private function with a `grid`, and its place
into a call. Groups that are alike share one kernel.

    %1 = spyre.map %0 {group = 0, division = ...}
becomes
    %1 = func.call @k0(%0)
    func.func private @k0(%0) {grid = array<i64: 8, 4>} { %1 = spyre.map ... }

Runs last on the `spyre` level. A call carries the location of each operation of its
group, since a shared kernel has only those of the first.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import builtin, func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    LocationAttr,
    NameLoc,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from spyre_mlir.analysis.decisions import kernel_grid
from spyre_mlir.analysis.groups import Group, groups_of
from spyre_mlir.transforms._functions import GRID, laid_out_functions

LOCATIONS = "locations"
"""Attribute of a call: the location of each operation of its group."""


@dataclass(frozen=True)
class MaterializeGroupsPass(ModulePass):
    name = "spyre-materialize-groups"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        kernels: dict[Hashable, func.FuncOp] = {}
        for function in list(laid_out_functions(op)):
            for group in groups_of(function):
                key = _key(group)
                kernel = kernels.get(key)
                if kernel is None:
                    name = f"k{len(kernels)}"
                    kernel = kernels[key] = _kernel(name, group)
                    op.body.block.add_op(kernel)
                _call(kernel, group)


def _key(group: Group) -> Hashable:
    """Equal for groups that differ only in their values and locations."""
    number: dict[SSAValue, int] = {v: i for i, v in enumerate(group.inputs())}
    parts: list[Hashable] = [v.type for v in group.inputs()]
    for op in group.ops:
        parts.append(_op_key(op, number))
    parts.append(tuple(number[v] for v in group.outputs()))
    return tuple(parts)


def _op_key(op: Operation, number: dict[SSAValue, int]) -> Hashable:
    operands = tuple(number[v] for v in op.operands)
    attributes = tuple((k, v) for k, v in sorted(op.attributes.items()) if k != "group")
    body: list[Hashable] = []
    for region in op.regions:
        for argument in region.block.args:
            number[argument] = len(number)
        body += [_op_key(inner, number) for inner in region.block.ops]
    for result in op.results:
        number[result] = len(number)
    types = tuple(r.type for r in op.results)
    return (op.name, operands, attributes, types, tuple(body))


def _kernel(name: str, group: Group) -> func.FuncOp:
    inputs, outputs = group.inputs(), group.outputs()
    block = Block(arg_types=[v.type for v in inputs])
    values: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    for position, op in enumerate(group.ops):
        clone = op.clone(values)
        clone.location = NameLoc(StringAttr(f"#{position}"), op.location)
        block.add_op(clone)
    block.add_op(func.ReturnOp(*(values[v] for v in outputs)))
    kernel = func.FuncOp(
        name,
        ([v.type for v in inputs], [v.type for v in outputs]),
        Region(block),
        visibility="private",
    )
    grid = kernel_grid(group.ops)
    kernel.attributes[GRID] = DenseArrayBase.from_list(i64, list(grid))
    return kernel


def _call(kernel: func.FuncOp, group: Group) -> None:
    outputs = group.outputs()
    call = func.CallOp(kernel.sym_name.data, group.inputs(), [v.type for v in outputs])
    locations: Sequence[LocationAttr] = [op.location for op in group.ops]
    call.attributes[LOCATIONS] = ArrayAttr[Attribute](locations)
    call.location = group.ops[0].location
    Rewriter.insert_op(call, InsertPoint.after(group.ops[-1]))
    for old, new in zip(outputs, call.results, strict=True):
        old.replace_all_uses_with(new)
    for op in reversed(group.ops):
        Rewriter.erase_op(op)
