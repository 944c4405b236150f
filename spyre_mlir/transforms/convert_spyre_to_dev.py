# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Turns each kernel into a `dev.program`: what its plan says, as records by unit.

    func.func private @k0(...) {grid = ...} { spyre.matmul ... }
becomes
    dev.program attributes {sym_name = "k0", ...} { dev.stream "load" ... }

Runs after `materialize-groups`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import builtin, func
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from spyre_mlir.analysis.kernel import build_kernel
from spyre_mlir.dialects import dev, spyre
from spyre_mlir.transforms._functions import GRID
from spyre_mlir.transforms._programs import kernel_program


@dataclass(frozen=True)
class ConvertSpyreToDevPass(ModulePass):
    name = "spyre-convert-spyre-to-dev"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        programs: set[str] = set()
        for function in list(op.ops):
            if isinstance(function, func.FuncOp) and GRID in function.attributes:
                block = function.body.block
                ops = [o for o in block.ops if isinstance(o, spyre.SpyreOp)]
                last = block.last_op
                assert last is not None
                kernel = build_kernel(ops, block.args, last.operands)
                program = kernel_program(
                    function.sym_name.data, kernel, [o.location for o in ops]
                )
                Rewriter.replace_op(function, program, [])
                programs.add(function.sym_name.data)
        for call in list(op.walk()):
            if isinstance(call, func.CallOp):
                callee = call.callee.root_reference.data
                if callee in programs:
                    _launch(call, callee)


def _launch(call: func.CallOp, callee: str) -> None:
    launch = dev.CallOp(callee, call.operands, [r.type for r in call.results])
    launch.attributes.update(call.attributes)
    launch.location = call.location
    Rewriter.replace_op(call, launch)
