# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
A graph compiled for one set of concrete sizes: card and host segments in order.

The contract of a call: outputs have the sizes, strides and dtype of their FX meta;
inputs that the graph mutates change in place, after everything has been computed.
"""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import fx

from spyre_mlir.config import Options
from spyre_mlir.diagnostics import Unsupported

from .aten_table import key
from .concrete import ConcreteGraph, tensors_of, user_line
from .emit import TensorMeta
from .execute import executor
from .fx_importer import Imported, SegmentImporter
from .partition import Decision, Segment, decide, is_mutation, promised, segment
from .report import FallbackWarning, HostOp, Report, record

log = logging.getLogger(__name__)

Environment = dict[fx.Node, Any]
Step = Callable[[Environment], None]


class Program:
    """Runs a graph module at the sizes that it was compiled for."""

    def __init__(self, gm: fx.GraphModule, arguments: Sequence[Any], options: Options):
        self.graph = ConcreteGraph(gm, arguments)
        self.options = options
        self.executor = executor(options)
        decisions = decide(self.graph)
        segments = segment(decisions)
        self.report = _report(self.graph, decisions, segments)
        self._complain()
        nodes = list(gm.graph.nodes)
        self.placeholders = [n for n in nodes if n.op == "placeholder"]
        self.mutations = [n for n in nodes if is_mutation(n)]
        self.output: fx.Node = nodes[-1]
        self.constants = {
            n: _attribute(gm, n.target) for n in nodes if n.op == "get_attr"
        }
        self.steps = [self._step(part, segments) for part in segments]
        self.deaths = _deaths(segments, self._kept())

    def _kept(self) -> set[fx.Node]:
        """Nodes that are read after the last segment."""
        kept = set(self.output.all_input_nodes)
        for node in self.mutations:
            kept |= set(node.all_input_nodes)
        return kept

    def _complain(self) -> None:
        if not self.report.host:
            return
        first = self.report.host[0]
        if self.options.fallback == "error":
            raise Unsupported(
                first.op, first.reason, first.dtype, first.shape, first.where
            )
        if self.options.fallback == "warn":
            lines = "\n  ".join(self.report.fallbacks())
            warnings.warn(
                f"these operations run on the host:\n  {lines}\n"
                'options={"fallback": "silent"} hides this, "error" refuses them',
                FallbackWarning,
                stacklevel=2,
            )

    # ---------------------------------------------------------------- steps

    def _step(self, part: Segment, segments: Sequence[Segment]) -> Step:
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
        imported = SegmentImporter(self.graph, inputs).run(part.nodes, outputs)
        self._dump(imported)
        if self.options.verify:
            imported.module.verify()
        strided = {n for s in segments if s.side == "host" for n in _reads(s)}
        restrided = strided & set(outputs)
        return self._card_step(imported, outputs, restrided)

    def _dump(self, imported: Imported) -> None:
        if self.options.dump:
            folder = Path(self.options.dump)
            folder.mkdir(parents=True, exist_ok=True)
            count = len(list(folder.glob("segment_*.mlir")))
            (folder / f"segment_{count:03}.mlir").write_text(f"{imported.module}\n")

    def _card_step(
        self, imported: Imported, outputs: Sequence[fx.Node], restrided: set[fx.Node]
    ) -> Step:
        run = None if imported.is_trivial else self.executor.compile(imported.module)
        metas = {node: self.graph.metas(node)[0] for node in outputs}

        def step(env: Environment) -> None:
            arguments = [env[node] for node in imported.inputs]
            results = [] if run is None else run(arguments)
            taken: set[int] = set()
            for node in outputs:
                if node not in imported.routes:
                    env[node] = _empty(node, metas[node])
                    continue
                kind, position = imported.routes[node]
                if kind == "argument":
                    value = arguments[position].clone()
                else:
                    value = results[position]
                    # two outputs of one value must not share memory
                    value = value.clone() if position in taken else value
                    taken.add(position)
                if node in restrided:
                    value = restride(value, metas[node])
                env[node] = value

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
                assert callable(node.target), f"{node.target} is no function"
                env[node] = node.target(*args, **kwargs)

        return step

    # ----------------------------------------------------------------- call

    def __call__(self, arguments: list[Any]) -> tuple[Any, ...]:
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
        record(self.report)
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
        mutated = {node: node.args[0] for node in self.mutations}
        fixed: dict[fx.Node, Any] = {}

        def output(value: Any) -> Any:
            if not isinstance(value, fx.Node):
                return self.graph.number(value)
            value = mutated.get(value, value)
            if self.graph.is_known_number(value):
                return self.graph.number(value.meta["val"])
            if value not in fixed:
                fixed[value] = env[value]
                computed = value.op == "call_function"
                if computed and isinstance(env[value], torch.Tensor):
                    fixed[value] = restride(env[value], self.graph.metas(value)[0])
            return fixed[value]

        returned = self.output.args[0]
        assert isinstance(returned, (tuple, list)), "AOTAutograd returns a tuple"
        return tuple(output(value) for value in returned)


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


def _empty(node: fx.Node, meta: TensorMeta) -> torch.Tensor:
    fake = tensors_of(node)[0]
    return torch.empty_strided(
        meta.shape, meta.strides, dtype=fake.dtype, device=fake.device
    )


def restride(value: torch.Tensor, meta: TensorMeta) -> torch.Tensor:
    """The tensor with the strides that FX promises, copied if it has others."""
    pairs = zip(value.shape, value.stride(), meta.strides, strict=True)
    if value.numel() == 0 or all(n == 1 or a == b for n, a, b in pairs):
        return value
    result = torch.empty_strided(
        meta.shape, meta.strides, dtype=value.dtype, device=value.device
    )
    target, source = result, value
    for dim, stride in enumerate(meta.strides):
        if stride == 0:  # repeated elements are equal: one is written
            target, source = target.narrow(dim, 0, 1), source.narrow(dim, 0, 1)
    target.copy_(source)
    return result


def _report(
    graph: ConcreteGraph, decisions: dict[fx.Node, Decision], segments: list[Segment]
) -> Report:
    card: Counter[str] = Counter()
    host: list[HostOp] = []
    for node, decision in decisions.items():
        name = key(node.target)
        if decision.side == "card":
            card[name] += 1
        elif decision.reason:
            meta = promised(graph, node)
            dtype, shape = (meta.dtype, meta.shape) if meta else ("", ())
            where = user_line(node)
            host.append(HostOp(name, dtype, shape, decision.reason, where))
    sides = Counter(part.side for part in segments)
    return Report(card, host, sides["card"], sides["host"])
