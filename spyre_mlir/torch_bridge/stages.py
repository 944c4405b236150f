# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportMissingTypeStubs=false
"""
Cuts a graph where sizes depend on data.

A node whose result has a size that only the data tells (`nonzero`, `item`, `unique`)
ends a stage; what needs that size begins in the next one, compiled for the sizes that
were found. Nodes that draw random numbers or have effects keep their order.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import sympy
from torch import fx

from .concrete import SymbolicNumber, bind, free_symbols
from .partition import is_impure, is_mutation
from .report import called

Run = Callable[[list[Any]], tuple[Any, ...]]


@dataclass(frozen=True)
class Stage:
    """A part of a graph as a graph of its own."""

    gm: fx.GraphModule
    inputs: tuple[fx.Node, ...]
    """Nodes of the whole graph whose values it takes, in order."""
    symbols: tuple[sympy.Symbol, ...]
    """Numbers that it takes after them."""
    outputs: tuple[fx.Node, ...]
    """Nodes of the whole graph whose values it gives."""


def split(gm: fx.GraphModule) -> list[Stage]:
    """The stages of a graph; none of a graph whose sizes are all known."""
    times = _Times(gm.graph)
    count = max(times.nodes.values(), default=0) + 1
    if count == 1:
        return []
    parts: list[list[fx.Node]] = [[] for _ in range(count)]
    for node in gm.graph.nodes:
        if node.op == "call_function":
            parts[-1 if is_mutation(node) else times.nodes[node]].append(node)
    return [_stage(gm, part, times.known(k)) for k, part in enumerate(parts)]


class _Times:
    """In which stage each node runs, and from which stage on each symbol is known."""

    def __init__(self, graph: fx.Graph):
        self.nodes: dict[fx.Node, int] = {}
        self.symbols: dict[sympy.Symbol, int] = {}
        last = 0
        for node in graph.nodes:
            symbols = free_symbols(node.meta.get("val"))
            if node.op == "placeholder":
                self.symbols |= dict.fromkeys(symbols, 0)
            elif node.op == "call_function" and not is_mutation(node):
                stage = self._earliest(node, symbols)
                if _keeps_order(node):
                    stage = last = max(stage, last)
                self.nodes[node] = stage
                new = symbols - self.symbols.keys()
                self.symbols |= dict.fromkeys(new, stage + 1)

    def known(self, stage: int) -> set[sympy.Symbol]:
        return {symbol for symbol, since in self.symbols.items() if since <= stage}

    def _earliest(self, node: fx.Node, symbols: Collection[sympy.Symbol]) -> int:
        """The first stage that knows all that a node needs."""
        sources = node.all_input_nodes
        if node.target is operator.getitem:
            return self.nodes.get(sources[0], 0)
        needed = free_symbols([n.meta.get("val") for n in sources]).union(symbols)
        stages = [self.symbols[s] for s in needed if s in self.symbols]
        return max([0, *stages, *(self.nodes.get(source, 0) for source in sources)])


def _keeps_order(node: fx.Node) -> bool:
    """Arithmetic on sizes is done by Python's functions, but has no effect."""
    return is_impure(node) and not isinstance(node.meta.get("val"), SymbolicNumber)


def _stage(
    gm: fx.GraphModule, nodes: Sequence[fx.Node], known: Collection[sympy.Symbol]
) -> Stage:
    inside = set(nodes)
    sources = dict.fromkeys(n for node in nodes for n in node.all_input_nodes)
    attributes = [n for n in sources if n.op == "get_attr"]
    inputs = [n for n in sources if n not in inside and n.op != "get_attr"]
    computed = [n for n in nodes if not is_mutation(n)]
    outputs = [n for n in computed if not inside.issuperset(n.users)]
    values = [node.meta.get("val") for node in (*inputs, *nodes)]
    symbols = free_symbols(values).intersection(known)
    numbers = sorted(symbols, key=str)
    graph = fx.Graph()
    copies: dict[fx.Node, fx.Node] = {}
    for node in inputs:
        copies[node] = graph.placeholder(node.name)
        copies[node].meta = dict(node.meta)
    for symbol in numbers:
        graph.placeholder(str(symbol)).meta["val"] = symbol
    for node in (*attributes, *nodes):
        copies[node] = graph.node_copy(node, copies.__getitem__)
    graph.output(tuple(copies[node] for node in outputs))
    part = fx.GraphModule(gm, graph)
    return Stage(part, tuple(inputs), tuple(numbers), tuple(outputs))


class StagedGraph:
    """Runs the stages of a graph one after another."""

    def __init__(
        self,
        gm: fx.GraphModule,
        stages: Sequence[Stage],
        static: Collection[int],
        compile_stage: Callable[[fx.GraphModule, Collection[int]], Run],
    ):
        """`static` are positions of arguments that stay the same from call to call."""
        self.stages = stages
        self.placeholders = gm.graph.find_nodes(op="placeholder")
        (self.output,) = gm.graph.find_nodes(op="output")
        fixed = {self.placeholders[position] for position in static}
        self.runs = [
            compile_stage(s.gm, [k for k, n in enumerate(s.inputs) if n in fixed])
            for s in stages
        ]
        self.deaths = _deaths(stages, self.output)

    def __call__(self, arguments: list[Any]) -> tuple[Any, ...]:
        with called():
            return self._run(arguments)

    def _run(self, arguments: list[Any]) -> tuple[Any, ...]:
        values = dict(zip(self.placeholders, arguments, strict=True))
        arguments.clear()
        symbols: dict[sympy.Symbol, Any] = {}
        self._bind(symbols, self.placeholders, values)
        for stage, run, dead in zip(self.stages, self.runs, self.deaths, strict=True):
            given = [values[node] for node in stage.inputs]
            given += [_plain(symbols[symbol]) for symbol in stage.symbols]
            values |= zip(stage.outputs, run(given), strict=True)
            self._bind(symbols, stage.outputs, values)
            for node in dead:
                values.pop(node, None)
        return tuple(
            values[_written(value)] if isinstance(value, fx.Node) else value
            for value in _returned(self.output)
        )

    def _bind(
        self,
        symbols: dict[sympy.Symbol, Any],
        nodes: Sequence[fx.Node],
        values: Mapping[fx.Node, Any],
    ) -> None:
        for node in nodes:
            bind(symbols, node.meta.get("val"), values[node])


def _deaths(stages: Sequence[Stage], output: fx.Node) -> list[list[fx.Node]]:
    """Nodes that nobody reads after each stage."""
    kept = {_written(node) for node in output.all_input_nodes}
    last: dict[fx.Node, int] = {}
    for position, stage in enumerate(stages):
        last |= dict.fromkeys((*stage.inputs, *stage.outputs), position)
    deaths: list[list[fx.Node]] = [[] for _ in stages]
    for node, position in last.items():
        if node not in kept:
            deaths[position].append(node)
    return deaths


def _returned(output: fx.Node) -> Sequence[Any]:
    values = output.args[0]
    assert isinstance(values, (tuple, list)), "AOTAutograd returns a tuple"
    return cast(Sequence[Any], values)


def _written(node: fx.Node) -> fx.Node:
    """What a returned node names: of a mutation, the input that it wrote."""
    target = node.args[0] if is_mutation(node) else node
    assert isinstance(target, fx.Node)
    return target


def _plain(number: Any) -> int | float:
    return int(number) if number.is_Integer else float(number)
