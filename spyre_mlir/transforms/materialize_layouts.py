# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Inserts restickifies: a `spyre.reindex` whose maps change nothing, to the layout that
an operation needs of an operand, once for all its users. What leaves a function gets
the default layout or the one that its attribute asks for, what goes into a call the one
of the callee's argument.

    %2 = spyre.matmul %x, %w ...      // %w's sticks run along k
becomes
    %1 = spyre.reindex %w {identity} : (tensor<..., k>) -> tensor<..., n>
    %2 = spyre.matmul %x, %1 ...

Runs after `plan-layouts`; `fold-reindex` then merges neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import builtin, func
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from spyre_mlir.algebra.layout import DeviceLayout
from spyre_mlir.analysis.layouts import required_layout, shape_of, wanted_layouts
from spyre_mlir.dialects import spyre
from spyre_mlir.transforms._functions import refresh_signature, tensor_functions


def decided_layout(value: SSAValue) -> DeviceLayout:
    """The layout of a value; PassFailedException if there is none yet."""
    layout = spyre.layout_of(value)
    if layout is None:
        raise PassFailedException(f"{value.type} has no layout: run spyre-plan-layouts")
    return layout


def restickify(value: SSAValue, layout: DeviceLayout) -> spyre.ReindexOp:
    """The data movement that gives a value another layout."""
    shape = shape_of(value)
    identity = AffineMap.identity(len(shape))
    type_ = spyre.with_layout(spyre.tensor_of(value), layout)
    return spyre.ReindexOp([value], type_, shape, [identity], [identity])


@dataclass(frozen=True)
class MaterializeLayoutsPass(ModulePass):
    name = "spyre-materialize-layouts"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        functions = {f.sym_name.data: f for f in tensor_functions(op)}
        for function in functions.values():
            _Inserter(functions).run(function)
            refresh_signature(function)


class _Inserter:
    def __init__(self, functions: Mapping[str, func.FuncOp]) -> None:
        self.functions = functions
        self.known: dict[tuple[SSAValue, DeviceLayout], SSAValue] = {}

    def run(self, function: func.FuncOp) -> None:
        for op in list(function.body.block.ops):
            for index, layout in enumerate(self._wanted(function, op)):
                if layout is not None:
                    self._replace(op, index, layout)

    def _wanted(
        self, function: func.FuncOp, op: Operation
    ) -> Iterable[DeviceLayout | None]:
        """Per operand, the layout that it must get; None where it has a right one."""
        if isinstance(op, spyre.SpyreOp):
            return wanted_layouts(op, decided_layout)
        if isinstance(op, func.CallOp):
            callee = self.functions[op.callee.root_reference.data]
            wanted = [decided_layout(a) for a in callee.body.block.args]
        elif isinstance(op, func.ReturnOp):
            wanted = [
                required_layout(function.res_attrs, k)
                or DeviceLayout.default(len(shape_of(v)))
                for k, v in enumerate(op.operands)
            ]
        else:
            return ()
        found = [decided_layout(v) for v in op.operands]
        return [w if w != f else None for w, f in zip(wanted, found, strict=True)]

    def _replace(self, user: Operation, index: int, layout: DeviceLayout) -> None:
        value = user.operands[index]
        key = (value, layout)
        moved = self.known.get(key)
        if moved is None:
            op = restickify(value, layout)
            op.location = user.location
            Rewriter.insert_op(op, InsertPoint.before(user))
            moved = self.known[key] = op.result
        user.operands[index] = moved
