# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportMissingTypeStubs=false
# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false
"""
An FX graph at concrete sizes.

Dynamo may trace with symbolic sizes; programs are compiled for the sizes of a call.
This resolves what FX promises of each node (`meta["val"]`) at those sizes, without
running anything and without adding a guard.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import Any, cast

import sympy
import torch
from torch import fx

from spyre_mlir.diagnostics import SourceLine, Unsupported

from .dtypes import NAMES
from .emit import TensorMeta

SymbolicNumber = torch.SymInt | torch.SymFloat | torch.SymBool


class DataDependent(Unsupported):
    """A size that is known only when the data is."""


class ConcreteGraph:
    """A graph module, and what its symbols are at one call."""

    def __init__(self, gm: fx.GraphModule, arguments: Sequence[Any]):
        self.gm = gm
        self.symbols: dict[sympy.Symbol, Any] = {}
        self._numbers: dict[sympy.Expr, Any] = {}
        self._metas: dict[fx.Node, tuple[TensorMeta, ...]] = {}
        self.refusals: dict[Hashable, str] = {}
        """Why nodes of some form are not imported, or ""."""
        placeholders = gm.graph.find_nodes(op="placeholder")
        for node, argument in zip(placeholders, arguments, strict=True):
            bind(self.symbols, node.meta.get("val"), argument)

    def number(self, value: Any) -> Any:
        """A number that is not symbolic."""
        if not isinstance(value, SymbolicNumber):
            return value
        expr = value.node.expr
        if expr not in self._numbers:
            found = sympy.sympify(sympy.sympify(expr).xreplace(self.symbols))
            if found.free_symbols:
                raise DataDependent("a size", f"{expr} depends on data")
            self._numbers[expr] = _python_number(value, found)
        return self._numbers[expr]

    def meta(self, tensor: torch.Tensor) -> TensorMeta:
        shape = tuple(self.number(n) for n in tensor.shape)
        strides: tuple[int, ...] = ()
        if tensor.layout == torch.strided:
            strides = tuple(self.number(n) for n in tensor.stride())
        name = NAMES.get(tensor.dtype, str(tensor.dtype).removeprefix("torch."))
        return TensorMeta(shape, name, strides)

    def metas(self, node: fx.Node) -> tuple[TensorMeta, ...]:
        """What the node gives: its tensor, or the tensors of its tuple."""
        if node not in self._metas:
            self._metas[node] = tuple(self.meta(t) for t in tensors_of(node))
        return self._metas[node]

    def is_tensor(self, node: fx.Node) -> bool:
        return isinstance(node.meta.get("val"), torch.Tensor)

    def is_number(self, node: fx.Node) -> bool:
        return isinstance(node.meta.get("val"), SymbolicNumber | int | float)

    def is_known(self, node: fx.Node) -> bool:
        """Whether the sizes of what it gives follow from those of the inputs."""
        return free_symbols(node.meta.get("val")) <= self.symbols.keys()

    def is_known_number(self, node: fx.Node) -> bool:
        """A number that follows from the sizes."""
        return self.is_known(node) and self.is_number(node)


def bind(symbols: dict[sympy.Symbol, Any], promised: Any, given: Any) -> None:
    """
    Notes what symbols are, where a value was promised in their terms and is there now.
    Effect tokens are promised as tensors and given as None.
    """
    if isinstance(promised, sympy.Symbol):
        symbols.setdefault(promised, sympy.sympify(given))
    elif isinstance(promised, SymbolicNumber):
        if isinstance(given, SymbolicNumber):
            given = given.node.hint
        bind(symbols, *_simple(promised.node.expr, given))
    elif isinstance(promised, torch.Tensor) and isinstance(given, torch.Tensor):
        for pair in zip(_extents(promised), _extents(given), strict=True):
            bind(symbols, *pair)
    elif isinstance(promised, (tuple, list)) and isinstance(given, (tuple, list)):
        parts = cast(Sequence[Any], promised), cast(Sequence[Any], given)
        for pair in zip(*parts, strict=True):
            bind(symbols, *pair)


def _simple(expr: sympy.Basic, given: Any) -> tuple[Any, Any]:
    """A bool is promised as `Eq(u0, 1)`."""
    if isinstance(expr, sympy.Eq) and isinstance(given, bool):
        symbol, one = expr.args
        if one == 1:
            return symbol, int(given)
    return expr, given


def _extents(tensor: torch.Tensor) -> tuple[Any, ...]:
    if tensor.layout != torch.strided:
        return tuple(tensor.shape)
    return (*tensor.shape, *tensor.stride())


def free_symbols(value: Any) -> set[sympy.Symbol]:
    """Symbols in what is promised of a value: sizes, strides, numbers."""
    if isinstance(value, sympy.Symbol):
        return {value}
    if isinstance(value, SymbolicNumber):
        return set(sympy.sympify(value.node.expr).free_symbols)
    if isinstance(value, torch.Tensor):
        value = _extents(value)
    if isinstance(value, (tuple, list)):
        return set().union(*map(free_symbols, cast(Sequence[Any], value)))
    return set()


def _python_number(value: SymbolicNumber, found: Any) -> int | float | bool:
    if isinstance(value, torch.SymInt):
        return int(found)
    if isinstance(value, torch.SymFloat):
        return float(found)
    return bool(found)


def tensors_of(node: fx.Node) -> tuple[torch.Tensor, ...]:
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor):
        return (value,)
    if isinstance(value, (tuple, list)):
        return tuple(v for v in value if isinstance(v, torch.Tensor))
    return ()


# ------------------------------------------------------------------ locations


def user_line(node: fx.Node) -> SourceLine | None:
    """
    The innermost line of the node's stack that is not PyTorch's own. PyTorch's passes
    make nodes without a stack, whose parts have it.
    """
    for found in (node, *node.users):
        if found.stack_trace:
            return _innermost(found.stack_trace)
    return None


@lru_cache(maxsize=4096)
def _innermost(trace: str) -> SourceLine | None:
    lines = trace.splitlines()
    found: SourceLine | None = None
    for position, line in enumerate(lines):
        parsed = _frame(line)
        if parsed is None:
            continue
        file, number, function = parsed
        text = lines[position + 1].strip() if position + 1 < len(lines) else ""
        if found is None or not _is_torch(file):
            found = SourceLine(file, number, text, function)
    return found


def _frame(line: str) -> tuple[str, int, str] | None:
    """`File "model.py", line 41, in forward`."""
    line = line.strip()
    if not line.startswith('File "'):
        return None
    file, _, rest = line[len('File "') :].partition('", line ')
    number, _, function = rest.partition(", in ")
    if not number.isdigit():
        return None
    return file, int(number), function


def _is_torch(file: str) -> bool:
    return "/torch/" in file and "site-packages" in file


def module_path(node: fx.Node) -> str:
    """`encoder.layer.0.attention`: the module whose forward made the node."""
    stack = node.meta.get("nn_module_stack")
    if not stack:
        return ""
    path = list(stack.values())[-1][0]
    _, _, path = path.partition("']")  # L['self'], or what else holds the module
    return path.removeprefix(".").replace("_modules['", "").replace("']", "")
