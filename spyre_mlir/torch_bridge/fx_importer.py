# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false
"""
FX to `spyre`, by builders: one function `@main` per card segment.

Tensors that come into the segment are its arguments, weights included. Tensors
without elements never reach the card: they stay `Empty`, and what reads them becomes
a `full`. Every operation has a location that leads to the user's line.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import fx
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    FileLineColLoc,
    IntAttr,
    LocationAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from spyre_mlir.dialects.spyre import tensor_type

from .aten_table import Row, row_of
from .concrete import ConcreteGraph, module_path, user_line
from .dtypes import NAMES, name_of
from .emit import Emitter, Empty, NotOnCard, TensorMeta, dtype_of, shape_of

Value = Any
"""SSAValue, Empty, a number, None, or a tuple or list of these."""


def location_of(node: fx.Node) -> LocationAttr:
    """`"mul_3"("encoder.layer.0"("model.py":41:0))`."""
    line = user_line(node)
    location: LocationAttr = UNKNOWN_LOC
    if line is not None:
        file = StringAttr(line.file)
        location = FileLineColLoc(file, IntAttr(line.line), IntAttr(0))
    path = module_path(node)
    if path:
        location = NameLoc(StringAttr(path), location)
    return NameLoc(StringAttr(node.name), location)


def _resolve(graph: ConcreteGraph, lookup: Callable[[fx.Node], Value], arg: Any) -> Any:
    """An FX argument as an importer takes it."""
    if isinstance(arg, fx.Node):
        return graph.number(arg.meta["val"]) if graph.is_number(arg) else lookup(arg)
    if isinstance(arg, (list, tuple)):
        items = cast(Sequence[Any], arg)
        return [_resolve(graph, lookup, item) for item in items]
    if isinstance(arg, torch.dtype):
        return name_of(arg)
    return graph.number(arg)


def _empties(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_empties(item) for item in cast(Sequence[Any], value))
    return isinstance(value, Empty)


def import_node(
    e: Emitter,
    graph: ConcreteGraph,
    node: fx.Node,
    row: Row,
    lookup: Callable[[fx.Node], Value],
) -> Value:
    """Appends what a node means; `lookup` gives the values of its operands."""
    metas = graph.metas(node)
    if all(0 in meta.shape for meta in metas):
        values = [Empty(meta.shape, meta.dtype) for meta in metas]
        return values[0] if graph.is_tensor(node) else tuple(values)
    args = _resolve(graph, lookup, node.args)
    kwargs = {k: _resolve(graph, lookup, v) for k, v in node.kwargs.items()}
    if not row.empties and (_empties(args) or _empties(list(kwargs.values()))):
        raise NotOnCard("an operand without elements")
    e.results = metas
    e.operands = _operand_metas(graph, node)
    assert row.importer is not None, f"{node.target} has no importer"
    found = row.importer(e, *args, **kwargs)
    if graph.is_tensor(node):
        return _checked(node, found, metas[0])
    return tuple(_checked(node, v, m) for v, m in zip(found, metas, strict=True))


def _operand_metas(graph: ConcreteGraph, node: fx.Node) -> tuple[TensorMeta, ...]:
    return tuple(
        graph.metas(arg)[0]
        for arg in node.args
        if isinstance(arg, fx.Node) and graph.is_tensor(arg)
    )


def _checked(node: fx.Node, value: Value, meta: TensorMeta) -> Value:
    """The value, which has the shape and the type that FX promises."""
    if 0 in meta.shape:
        return Empty(meta.shape, meta.dtype)
    assert isinstance(value, SSAValue), f"{node.target} gives {value}"
    result = cast(SSAValue, value)
    found = (shape_of(result), dtype_of(result))
    promised = (meta.shape, meta.dtype)
    assert found == promised, f"{node.target} gives {found}, FX promises {promised}"
    return result


def importable(graph: ConcreteGraph, node: fx.Node, row: Row) -> str:
    """
    Why a node that has an importer is not for the card, or "". Nodes of one form, as
    layers have them, are tried once.
    """
    arguments = (node.args, tuple(node.kwargs.items()))
    form = (node.target, graph.metas(node), _form(graph, arguments))
    if form not in graph.refusals:
        graph.refusals[form] = _try_import(graph, node, row)
    return graph.refusals[form]


def _form(graph: ConcreteGraph, arg: Any) -> Any:
    """What an importer can see of an FX argument, apart from values of tensors."""
    if isinstance(arg, fx.Node) and not graph.is_number(arg):
        return (graph.is_tensor(arg), graph.metas(arg))
    if isinstance(arg, (list, tuple)):
        return tuple(_form(graph, item) for item in cast(Sequence[Any], arg))
    value = graph.number(arg.meta["val"] if isinstance(arg, fx.Node) else arg)
    return (type(value), value)


def _try_import(graph: ConcreteGraph, node: fx.Node, row: Row) -> str:
    block = Block()

    def operand(source: fx.Node) -> Value:
        values = tuple(_stand_in(block, meta) for meta in graph.metas(source))
        return values[0] if graph.is_tensor(source) else values

    try:
        import_node(Emitter(block), graph, node, row, operand)
    except NotOnCard as reason:
        return str(reason)
    return ""


def _stand_in(block: Block, meta: TensorMeta) -> Value:
    if 0 in meta.shape:
        return Empty(meta.shape, meta.dtype)
    return block.insert_arg(tensor_type(meta.shape, meta.dtype), len(block.args))


# ------------------------------------------------------------------- segments


@dataclass(frozen=True)
class Imported:
    """A segment as a module, and how its ends meet FX nodes."""

    module: ModuleOp
    inputs: tuple[fx.Node, ...]
    """Nodes whose tensors are the function's arguments."""
    routes: Mapping[fx.Node, tuple[str, int]]
    """Where an output comes from: ("result", k) or ("argument", k)."""

    @property
    def is_trivial(self) -> bool:
        """Nothing to run: no output is computed."""
        return all(kind == "argument" for kind, _ in self.routes.values())


class SegmentImporter:
    """Imports the nodes of one segment into one function."""

    def __init__(self, graph: ConcreteGraph, inputs: Sequence[fx.Node]):
        self.graph = graph
        self.block = Block()
        self.emitter = Emitter(self.block)
        self.values: dict[fx.Node, Value] = {}
        self.inputs: list[fx.Node] = []
        self.result_types: list[Attribute] = []
        for node in inputs:
            self._argument(node)

    def _argument(self, node: fx.Node) -> None:
        meta = self.graph.metas(node)[0]
        self.values[node] = _stand_in(self.block, meta)
        if not isinstance(self.values[node], Empty):
            self.block.args[-1].location = location_of(node)
            self.inputs.append(node)

    def run(self, nodes: Sequence[fx.Node], outputs: Sequence[fx.Node]) -> Imported:
        for node in nodes:
            if not self.graph.is_number(node):
                self.values[node] = self._import(node)
        routes = self._finish(outputs)
        return Imported(self._module(), tuple(self.inputs), routes)

    def _import(self, node: fx.Node) -> Value:
        if node.target is operator.getitem:
            source, position = node.args
            assert isinstance(source, fx.Node)
            return self.values[source][position]
        self.emitter.location = location_of(node)
        row = row_of(node.target)
        assert row is not None, f"{node.target} has no row in the table"
        return import_node(self.emitter, self.graph, node, row, self.values.__getitem__)

    def _finish(self, outputs: Sequence[fx.Node]) -> dict[fx.Node, tuple[str, int]]:
        """Ends the block; a value that is returned twice is one result."""
        routes: dict[fx.Node, tuple[str, int]] = {}
        results: dict[SSAValue, int] = {}
        arguments = {value: k for k, value in enumerate(self.block.args)}
        for node in outputs:
            value = self.values[node]
            if isinstance(value, Empty):
                continue
            if value in arguments:
                routes[node] = ("argument", arguments[value])
            else:
                position = results.setdefault(value, len(results))
                routes[node] = ("result", position)
        self.block.add_op(ReturnOp(*results))
        self.result_types = [value.type for value in results]
        return routes

    def _module(self) -> ModuleOp:
        erase_dead(self.block)
        arguments = [a.type for a in self.block.args]
        types = (arguments, self.result_types)
        function = FuncOp("main", types, Region(self.block))
        return ModuleOp([function])


def erase_dead(block: Block) -> None:
    """Erases operations of a block whose results nobody reads."""
    for op in reversed(list(block.ops)):
        if op.results and all(result.first_use is None for result in op.results):
            op.detach()
            op.erase()


def supported_dtype(dtype: torch.dtype) -> bool:
    return dtype in NAMES
