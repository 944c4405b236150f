# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Inserts restickifies: a `spyre.reindex` whose maps change nothing, to the layout that
an operation needs of an operand, once for all its users.

    %2 = spyre.matmul %x, %w ...      // %w's sticks run along k
becomes
    %1 = spyre.reindex %w {identity} : (tensor<..., k>) -> tensor<..., n>
    %2 = spyre.matmul %x, %1 ...

Runs after `plan-layouts`; `fold-reindex` then merges neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.passes import ModulePass

from spyre_mlir.transforms._functions import laid_out_functions
from spyre_mlir.transforms._restickify import Restickifier


@dataclass(frozen=True)
class MaterializeLayoutsPass(ModulePass):
    name = "spyre-materialize-layouts"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        for function in laid_out_functions(op):
            Restickifier(function, {}).operands()
