# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
A graph compiled for one set of concrete sizes: card and host segments in order.

The contract of a call: outputs have the sizes, strides and dtype of their FX meta;
inputs that the graph mutates change in place, after everything has been computed.
"""

from __future__ import annotations

import logging
import time
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import fx
from xdsl.utils.exceptions import PassFailedException

from spyre_mlir.config import Options
from spyre_mlir.diagnostics import Unsupported, location_names
from spyre_mlir.pipelines import announce, phase
from spyre_mlir.transforms._errors import PassError

from .aten_table import key
from .concrete import ConcreteGraph, tensors_of, user_line
from .dumps import dump
from .execute import Executable, Input, Output, SegmentCode, executor, restride
from .fx_importer import Imported, SegmentImporter
from .higher_order import Bodies, implementation, operation_of
from .keys import layout_of, visible_layout
from .partition import (
    Decision,
    Segment,
    card_device,
    decide,
    is_mutation,
    promised,
    refuse,
    segment,
)
from .report import HostOp, Report, called

log = logging.getLogger(__name__)

Environment = dict[fx.Node, Any]
Step = Callable[[Environment], None]


class Refused(Exception):
    """The card's compiler cannot take some nodes of a segment."""

    def __init__(self, nodes: Sequence[fx.Node], reason: str):
        self.nodes = nodes
        self.reason = reason
        super().__init__(reason)


class Program:
    """Runs a graph module at the sizes that it was compiled for."""

    def __init__(
        self,
        gm: fx.GraphModule,
        arguments: Sequence[Any],
        options: Options,
        bodies: Bodies,
        static: Collection[int] = (),
        index: int = 0,
    ):
        """
        `bodies` are the graphs that operations hold, `static` the positions of
        arguments that stay the same from call to call, `index` is the card that runs
        graphs without card tensors.
        """
        begin = time.perf_counter()
        self.graph = ConcreteGraph(gm, arguments)
        self.options = options
        device = card_device(self.graph)
        card = index if device.type == "cpu" else device.index
        self.executor = executor(options, card)
        nodes = list(gm.graph.nodes)
        self.placeholders = [n for n in nodes if n.op == "placeholder"]
        self.mutations = [n for n in nodes if is_mutation(n)]
        self.output: fx.Node = nodes[-1]
        self.constants = {
            n: bodies.bound(n, _attribute(gm, n.target))
            for n in nodes
            if n.op == "get_attr"
        }
        self.inputs = self._inputs(arguments, static)
        with phase("partition"):
            self.decisions = decide(self.graph)
            self.segments = segment(self.decisions)
        self.steps = self._compile()
        self.returned = self._returned()
        self.computed = self._computed()
        self.deaths = _deaths(self.segments, self._kept())
        self.report = self._report()
        self.report.compile_seconds = time.perf_counter() - begin
        # Reports outlive programs, whose memory goes with them.
        weakref.finalize(self, self.executor.loaded.clear).atexit = False

    def _inputs(
        self, arguments: Sequence[Any], static: Collection[int]
    ) -> dict[fx.Node, Input]:
        """What is known of placeholders and constants."""
        inputs = {node: Input(is_static=True) for node in self.constants}
        for position, node in enumerate(self.placeholders):
            if position in static:
                inputs[node] = Input(is_static=True)
            elif isinstance(arguments[position], torch.Tensor):
                inputs[node] = Input(layout=layout_of(arguments[position]))
        return inputs

    def _compile(self) -> list[Step]:
        """
        The steps of all segments. What the card's compiler refuses goes to the host,
        and the graph is cut again.
        """
        while True:
            self._refuse_fallback()
            try:
                self.executor.loaded.clear()
                return [self._announced(k) for k in range(len(self.segments))]
            except Refused as refused:
                refuse(self.decisions, refused.nodes, refused.reason)
                self.segments = segment(self.decisions)

    def _announced(self, number: int) -> Step:
        announce(f"segment {number + 1} of {len(self.segments)}")
        return self._step(self.segments[number])

    def _refuse_fallback(self) -> None:
        if self.options.fallback == "error":
            for first in self._report().host:
                raise Unsupported(
                    first.op, first.reason, first.dtype, first.shape, first.where
                )

    def _report(self) -> Report:
        report = _report(self.graph, self.decisions, self.segments)
        report.traffic = self.executor.traffic
        report.loaded = self.executor.loaded
        return report

    def _kept(self) -> set[fx.Node]:
        """Nodes that are read after the last segment."""
        kept = set(self.output.all_input_nodes)
        for node in self.mutations:
            kept |= set(node.all_input_nodes)
        return kept

    # ---------------------------------------------------------------- steps

    def _step(self, part: Segment) -> Step:
        inside = set(part.nodes)
        inputs = list(
            dict.fromkeys(
                source
                for node in part.nodes
                for source in node.all_input_nodes
                if source not in inside and not self.graph.is_known_number(source)
            )
        )
        if part.side == "host":
            return self._host_step(part.nodes)
        kept = self._kept()
        outputs = [
            node
            for node in part.nodes
            if self.graph.is_tensor(node)
            and (node in kept or any(user not in inside for user in node.users))
        ]
        with phase("import"):
            imported = SegmentImporter(self.graph, inputs).run(part.nodes, outputs)
            code = self._code(imported)
        self._dump(imported)
        if self.options.verify:
            imported.module.verify()
        if imported.is_trivial:
            return self._card_step(imported, outputs, None)
        try:
            return self._card_step(imported, outputs, self.executor.compile(code))
        except PassFailedException as error:
            raise _refused(part, error) from error

    def _code(self, imported: Imported) -> SegmentCode:
        """The segment with what FX promises of its ends."""
        results: dict[int, Output] = {}
        for node, (kind, position) in imported.routes.items():
            if kind == "result" and position not in results:
                results[position] = self._promise(node)
        inputs = tuple(self._input(node) for node in imported.inputs)
        outputs = tuple(results[k] for k in range(len(results)))
        code = SegmentCode(imported.module, inputs, outputs)
        code.annotate()
        return code

    def _input(self, node: fx.Node) -> Input:
        found = self.inputs.get(node)
        if found is None:
            found = Input(layout=self._promise(node).layout)
        return found

    def _promise(self, node: fx.Node) -> Output:
        meta = self.graph.metas(node)[0]
        (fake,) = tensors_of(node)
        layout = None
        if fake.device.type == "spyre":
            layout = visible_layout(meta.shape, meta.strides, fake.dtype)
        return Output(meta.shape, meta.strides, fake.dtype, fake.device, layout)

    def _dump(self, imported: Imported) -> None:
        if self.options.dump:
            # an f-string would wrap the text in the name of the class
            dump(Path(self.options.dump), str(imported.module) + "\n")

    def _card_step(
        self, imported: Imported, outputs: Sequence[fx.Node], run: Executable | None
    ) -> Step:
        promises = {node: self._promise(node) for node in outputs}

        def step(env: Environment) -> None:
            arguments = [env[node] for node in imported.inputs]
            results = [] if run is None else run(arguments)
            taken: set[int] = set()
            for node in outputs:
                if node not in imported.routes:
                    env[node] = _empty(promises[node])
                    continue
                kind, position = imported.routes[node]
                if kind == "argument":
                    value = arguments[position].clone()
                else:
                    value = results[position]
                    # two outputs of one value must not share memory
                    value = value.clone() if position in taken else value
                    taken.add(position)
                env[node] = restride(value, promises[node].strides)

        return step

    def _host_step(self, nodes: Sequence[fx.Node]) -> Step:
        graph = self.graph

        def resolve(env: Environment, arg: Any) -> Any:
            def find(node: fx.Node) -> Any:
                if graph.is_known_number(node):
                    return graph.number(node.meta["val"])
                return env[node]

            return fx.map_arg(arg, find)

        def step(env: Environment) -> None:
            for node in nodes:
                args, kwargs = resolve(env, (node.args, node.kwargs))
                env[node] = implementation(node.target)(*args, **kwargs)

        return step

    # ----------------------------------------------------------------- call

    def __call__(self, arguments: list[Any]) -> tuple[Any, ...]:
        with called(self.report):
            return self._run(arguments)

    def _run(self, arguments: list[Any]) -> tuple[Any, ...]:
        begin = time.perf_counter()
        self.executor.traffic.clear()
        env: Environment = dict(zip(self.placeholders, arguments, strict=True))
        arguments.clear()
        env |= self.constants
        for step, dead in zip(self.steps, self.deaths, strict=True):
            step(env)
            for node in dead:
                env.pop(node, None)
        outputs = self._outputs(env)
        self._mutate(env)
        self.report.calls += 1
        self.report.run_seconds = time.perf_counter() - begin
        return outputs

    def _mutate(self, env: Environment) -> None:
        values = [env[node.args[1]] for node in self.mutations]
        if len(values) > 1:
            # one mutation must not change what the next one reads
            changed = {_storage(env[node.args[0]]) for node in self.mutations}
            values = [v.clone() if _storage(v) in changed else v for v in values]
        for node, value in zip(self.mutations, values, strict=True):
            env[node.args[0]].copy_(value)

    def _outputs(self, env: Environment) -> tuple[Any, ...]:
        fixed: dict[fx.Node, Any] = {}
        for node, strides in self.computed.items():
            fixed[node] = restride(env[node], strides)
        return tuple(
            (fixed.get(value) if value in fixed else env[value])
            if isinstance(value, fx.Node)
            else value
            for value in self.returned
        )

    def _returned(self) -> list[Any]:
        """What a call returns: values by node, numbers as they are."""
        mutated = {node: node.args[0] for node in self.mutations}
        outputs = self.output.args[0]
        if not isinstance(outputs, (tuple, list)):
            outputs = (outputs,)  # a body, such as the predicate of a loop
        returned: list[Any] = []
        for value in outputs:
            value = mutated.get(value, value) if isinstance(value, fx.Node) else value
            if not isinstance(value, fx.Node):
                returned.append(self.graph.number(value))
            elif self.graph.is_known_number(value):
                returned.append(self.graph.number(value.meta["val"]))
            else:
                returned.append(value)
        return returned

    def _computed(self) -> dict[fx.Node, tuple[int, ...]]:
        """Strides that FX promises of what is returned and no input."""
        return {
            node: self.graph.metas(node)[0].strides
            for node in self.returned
            if isinstance(node, fx.Node)
            and node.op == "call_function"
            and self.graph.is_tensor(node)
            and self.graph.is_known(node)
        }


def _attribute(gm: fx.GraphModule, target: Any) -> Any:
    value: Any = gm
    for part in str(target).split("."):
        value = getattr(value, part)
    return value


def _storage(value: Any) -> int:
    return value.untyped_storage().data_ptr() if isinstance(value, torch.Tensor) else 0


def _reads(part: Segment) -> set[fx.Node]:
    return {source for node in part.nodes for source in node.all_input_nodes}


def _deaths(segments: Sequence[Segment], kept: set[fx.Node]) -> list[list[fx.Node]]:
    """Nodes that nobody reads after each segment."""
    last: dict[fx.Node, int] = {}
    for position, part in enumerate(segments):
        for node in (*part.nodes, *_reads(part)):
            last[node] = position
    deaths: list[list[fx.Node]] = [[] for _ in segments]
    for node, position in last.items():
        if node not in kept and node.op != "get_attr":
            deaths[position].append(node)
    return deaths


def _empty(promise: Output) -> torch.Tensor:
    return torch.empty_strided(
        promise.sizes, promise.strides, dtype=promise.dtype, device=promise.device
    )


def _refused(part: Segment, error: PassFailedException) -> Refused:
    """The nodes that an error of a pass names, or the whole segment."""
    names: set[str] = set()
    if isinstance(error, PassError):
        names = set(location_names(error.location))
    nodes = [node for node in part.nodes if node.name in names]
    reason = str(error).partition("\n")[0]
    return Refused(nodes or part.nodes, f"the card cannot run it: {reason}")


def _report(
    graph: ConcreteGraph, decisions: dict[fx.Node, Decision], segments: list[Segment]
) -> Report:
    card: Counter[str] = Counter()
    host: list[HostOp] = []
    for node, decision in decisions.items():
        name = key(operation_of(node))
        if decision.side == "card":
            card[name] += 1
        elif decision.reason:
            is_wrapped = operation_of(node) is not node.target
            meta = None if is_wrapped else promised(graph, node)
            dtype, shape = (meta.dtype, meta.shape) if meta else ("", ())
            where = user_line(node)
            host.append(HostOp(name, dtype, shape, decision.reason, where))
    sides = Counter(part.side for part in segments)
    return Report(card, host, sides["card"], sides["host"])
