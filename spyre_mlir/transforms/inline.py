# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Puts the bodies of called functions in the place of their calls, as MLIR's `inline`.

    %1 = func.call @f(%0)  becomes  what @f does with %0, at the call's location

Kernels, functions with several blocks and those without a body stay called. What
nobody calls any longer is left to `spyre-symbol-dce`. Recursion is an error.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import builtin, func
from xdsl.dialects.builtin import CallSiteLoc
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from spyre_mlir.analysis.calls import callees_first
from spyre_mlir.dialects.ktdp import GRID


@dataclass(frozen=True)
class InlinePass(ModulePass):
    name = "spyre-inline"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        inlined: dict[str, func.FuncOp] = {}
        for function in callees_first(op):
            for call in [o for o in function.walk() if isinstance(o, func.CallOp)]:
                callee = inlined.get(call.callee.string_value())
                if callee is not None:
                    _inline(call, callee)
            if len(function.body.blocks) == 1 and GRID not in function.attributes:
                inlined[function.sym_name.data] = function


def _inline(call: func.CallOp, callee: func.FuncOp) -> None:
    values: dict[SSAValue, SSAValue] = dict(
        zip(callee.body.block.args, call.operands, strict=True)
    )
    for op in callee.body.block.ops:
        if isinstance(op, func.ReturnOp):
            given = [values[value] for value in op.operands]
            Rewriter.replace_op(call, [], given)
            return
        copy = op.clone(values)
        _locate(copy, call)
        Rewriter.insert_op(copy, InsertPoint.before(call))


def _locate(copy: Operation, call: func.CallOp) -> None:
    for op in copy.walk():
        op.location = CallSiteLoc(op.location, call.location)
