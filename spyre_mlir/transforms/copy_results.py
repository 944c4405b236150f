# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Gives each returned value an operation of its own: an argument, or a value that is
returned twice, is copied. (The result of a call has one inside the function.)

    func.return %arg, %1, %1
becomes
    %2 = spyre.reindex %arg {identity}
    %3 = spyre.reindex %1 {identity}
    func.return %2, %1, %3

Runs after the last rewrite: results lie in memory that the caller gives.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import builtin, func
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from spyre_mlir.dialects import spyre
from spyre_mlir.transforms._functions import tensor_functions


@dataclass(frozen=True)
class CopyResultsPass(ModulePass):
    name = "spyre-copy-results"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        for function in tensor_functions(op):
            last = function.body.block.last_op
            if not isinstance(last, func.ReturnOp):
                continue
            seen: set[SSAValue] = set()
            for index, value in enumerate(last.operands):
                owner = value.owner
                made = isinstance(owner, spyre.SpyreOp | func.CallOp)
                if value in seen or not made:
                    last.operands[index] = _copy(value, last)
                seen.add(value)


def _copy(value: SSAValue, before: Operation) -> SSAValue:
    shape = tuple(spyre.tensor_of(value).get_shape())
    identity = AffineMap.identity(len(shape))
    type_ = spyre.tensor_of(value)
    op = spyre.ReindexOp([value], type_, shape, [identity], [identity])
    op.location = before.location
    Rewriter.insert_op(op, InsertPoint.before(before))
    return op.result
