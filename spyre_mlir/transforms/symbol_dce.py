# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Removes private functions that nothing names, as MLIR's `symbol-dce`.

    func.func private @unused() { ... }  goes, and then what it alone names

What is not a private function stays, and all that leads from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard

from xdsl.context import Context
from xdsl.dialects import builtin, func
from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.utils.hints import isa


@dataclass(frozen=True)
class SymbolDcePass(ModulePass):
    name = "spyre-symbol-dce"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        private = {o.sym_name.data: o for o in op.ops if _is_private(o)}
        waiting = [o for o in op.ops if not _is_private(o)]
        while waiting:
            for name in _named(waiting.pop()) & private.keys():
                waiting.append(private.pop(name))
        for function in private.values():
            op.body.block.erase_op(function)


def _is_private(op: Operation) -> TypeGuard[func.FuncOp]:
    is_function = isinstance(op, func.FuncOp)
    return is_function and op.sym_visibility == StringAttr("private")


def _named(op: Operation) -> set[str]:
    """Symbols that the attributes inside an operation name."""
    return {
        name
        for inner in op.walk()
        for attr in (*inner.attributes.values(), *inner.properties.values())
        for name in _symbols(attr)
    }


def _symbols(attr: Attribute) -> set[str]:
    if isinstance(attr, SymbolRefAttr):
        return {attr.root_reference.data}
    parts = attr.data if isa(attr, builtin.ArrayAttr) else ()
    return {name for part in parts for name in _symbols(part)}
