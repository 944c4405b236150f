# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which function of a module calls which."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp

from spyre_mlir.diagnostics import SpyreError, format_location


def callees_first(module: ModuleOp) -> list[FuncOp]:
    """
    The functions of a module, each after those that it calls.

    Raises SpyreError where a function calls itself, through others or not: programs
    are lists of calls, and such a list would have no end.
    """
    functions = {f.sym_name.data: f for f in module.ops if isinstance(f, FuncOp)}
    graph = {
        name: {callee for op in function.walk() if (callee := _callee(op)) in functions}
        for name, function in functions.items()
    }
    try:
        return [functions[name] for name in TopologicalSorter(graph).static_order()]
    except CycleError as error:
        cycle: list[str] = error.args[1]
        where = format_location(functions[cycle[0]].location)
        raise SpyreError(
            "recursion: " + " calls ".join(f"@{name}" for name in reversed(cycle)),
            (f"from {where}",) if where else (),
        ) from error


def _callee(op: object) -> str:
    return op.callee.root_reference.data if isinstance(op, CallOp) else ""
