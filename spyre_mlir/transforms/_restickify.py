# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives values the layouts that their users need, by data movement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from spyre_mlir.algebra.layout import DeviceLayout
from spyre_mlir.analysis.layouts import required_layout, shape_of, wanted_layouts
from spyre_mlir.dialects import spyre


def decided_layout(value: SSAValue) -> DeviceLayout:
    """The layout of a value; PassFailedException if there is none yet."""
    layout = spyre.layout_of(value)
    if layout is None:
        raise PassFailedException(
            f"{value.type} has no layout; run spyre-plan-layouts first"
        )
    return layout


def restickify(value: SSAValue, layout: DeviceLayout) -> spyre.ReindexOp:
    """The data movement that gives a value another layout."""
    shape = shape_of(value)
    identity = AffineMap.identity(len(shape))
    type_ = spyre.with_layout(spyre.tensor_of(value), layout)
    return spyre.ReindexOp([value], type_, shape, [identity], [identity])


class Restickifier:
    """Inserts restickifies in one function, each once for all users of a value."""

    def __init__(
        self, function: func.FuncOp, functions: Mapping[str, func.FuncOp]
    ) -> None:
        self.function = function
        self.functions = functions
        self.known: dict[tuple[SSAValue, DeviceLayout], SSAValue] = {}

    def boundaries(self) -> None:
        """What calls hand over, and what the function returns."""
        for op in list(self.function.body.block.ops):
            self._give(op, self._wanted_outside(op))

    def operands(self) -> None:
        """What tensor operations read."""
        for op in list(self.function.body.block.ops):
            if isinstance(op, spyre.SpyreOp):
                self._give(op, wanted_layouts(op, decided_layout))

    def _wanted_outside(self, op: Operation) -> Iterable[DeviceLayout | None]:
        """Per operand, the layout that it must get; None where it has a right one."""
        if isinstance(op, func.CallOp):
            callee = self.functions[op.callee.root_reference.data]
            wanted = [decided_layout(a) for a in callee.body.block.args]
        elif isinstance(op, func.ReturnOp):
            wanted = [
                required_layout(self.function.res_attrs, k)
                or DeviceLayout.default(len(shape_of(v)))
                for k, v in enumerate(op.operands)
            ]
        else:
            return ()
        found = [decided_layout(v) for v in op.operands]
        return [w if w != f else None for w, f in zip(wanted, found, strict=True)]

    def _give(self, user: Operation, wanted: Iterable[DeviceLayout | None]) -> None:
        for index, layout in enumerate(wanted):
            if layout is not None:
                user.operands[index] = self._moved(user, user.operands[index], layout)

    def _moved(
        self, user: Operation, value: SSAValue, layout: DeviceLayout
    ) -> SSAValue:
        key = (value, layout)
        found = self.known.get(key)
        if found is None:
            op = restickify(value, layout)
            op.location = user.location
            Rewriter.insert_op(op, InsertPoint.before(user))
            found = self.known[key] = op.result
        return found
