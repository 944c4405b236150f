# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Decides the device layout of every tensor value that has none.

    %1 = spyre.reduce "sum" %0 {dims = array<i64: 1>}
        : tensor<4x100xf16> -> tensor<4x1xf32>
becomes
    %1 = ... : tensor<4x100xf16, #spyre.layout<...1, 0, 1>> -> tensor<4x1xf32, ...>

An argument gets the default layout, or the one that its attribute `spyre.layout`
gives. One that is marked `spyre.static`, a weight, gets the layout that its users
want, the functions among them that it is handed on to. What a function returns has
the default layout, or the one of the result's attribute; where a value has another, a
restickify in front of the return or the call keeps the functions' types in agreement.

Runs after the rewrites. Where an operand then lacks the layout that its operation
needs, `materialize-layouts` inserts the restickify.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from spyre_mlir.analysis.layouts import LayoutPlanner, static_layouts
from spyre_mlir.dialects import spyre
from spyre_mlir.transforms._functions import refresh_signature, tensor_functions
from spyre_mlir.transforms._restickify import Restickifier


@dataclass(frozen=True)
class PlanLayoutsPass(ModulePass):
    name = "spyre-plan-layouts"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        chosen = static_layouts(op)
        functions = {f.sym_name.data: f for f in tensor_functions(op)}
        for function in functions.values():
            for value, layout in LayoutPlanner(function, chosen).plan().items():
                if isinstance(value.type, TensorType):
                    _set_type(value, spyre.with_layout(spyre.tensor_of(value), layout))
        for function in functions.values():
            Restickifier(function, functions).boundaries()
            refresh_signature(function)


def _set_type(value: SSAValue, type_: spyre.SpyreTensor) -> None:
    if value.type != type_:
        Rewriter.replace_value_with_new_type(value, type_)
