# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportPrivateUsage=false
# pyright: reportMissingTypeStubs=false
"""
The `torch.compile` backend: `torch.compile(model, backend="spyre_mlir")`.

AOTAutograd gives functional ATen graphs with mutations at the end. Composite operations
stay whole where nobody differentiates them. Each graph is compiled per concrete key:
sizes, strides, types, devices, shared storages.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import sympy
import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor

from spyre_mlir.config import Options
from spyre_mlir.diagnostics import OptionError
from spyre_mlir.pipelines import announce
from spyre_runtime.engine.kept import Kept

from .concrete import SymbolicNumber
from .higher_order import Bodies
from .host_rules import follow_the_host
from .keys import Key, current_card, difference, program_key, static_inputs
from .partition import is_mutation
from .program import Program
from .progress import progress
from .recurrent import layers_kept
from .stages import StagedGraph, split
from .storages import read_from_owners
from .summary import Function, function_at_hand

Compiled = Callable[[list[Any]], tuple[Any, ...]]

# without it, Dynamo leaves recurrent layers out of its graphs and says nothing
torch._dynamo.config.allow_rnn = True
follow_the_host()  # before Dynamo traces the first graph


def spyre_mlir(
    gm: fx.GraphModule,
    example_inputs: Sequence[Any],
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
    **unknown: Any,
) -> Callable[..., Any]:
    """The entry point of `torch_dynamo_backends`."""
    from torch._dynamo.backends.common import aot_autograd

    from .composites import composites_kept
    from .decompositions import decomposition_table

    if unknown:
        raise OptionError(
            f"the backend spyre_mlir takes options={{...}}, not {', '.join(unknown)}",
            ("options are in the documentation of spyre_mlir.config",),
        )
    if mode is not None:
        _accept_mode(mode)
    parsed, function = Options.parse(options), function_at_hand()

    def compile_graph(
        graph: fx.GraphModule, inputs: Sequence[Any], static: Collection[int]
    ) -> Compiled:
        compiled = compiled_graph(graph, inputs, parsed, function, static)

        # a plain function, whose attributes AOTAutograd's wrappers keep
        def run(arguments: list[Any]) -> tuple[Any, ...]:
            if any(isinstance(value, FakeTensor) for value in arguments):
                return graph(*arguments)  # asked for shapes alone
            with function.called():
                return compiled(arguments)

        run.__dict__["_boxed_call"] = True
        return run

    def compile_forward(graph: fx.GraphModule, inputs: Sequence[Any]) -> Compiled:
        return compile_graph(graph, inputs, static_inputs(training))

    def compile_backward(graph: fx.GraphModule, inputs: Sequence[Any]) -> Compiled:
        return compile_graph(graph, inputs, ())

    training = torch.is_grad_enabled() and any(
        isinstance(x, torch.Tensor) and x.requires_grad for x in example_inputs
    )
    backend = aot_autograd(
        fw_compiler=compile_forward,
        bw_compiler=compile_backward,
        decompositions=decomposition_table(),
        keep_inference_input_mutations=True,
    )
    with composites_kept(), layers_kept():
        return backend(gm, example_inputs)


MODES = (
    "default",
    "lite",
    "max-autotune",
    "max-autotune-no-cudagraphs",
    "reduce-overhead",
)
"""What `torch.compile` knows as `mode`."""


@cache
def _accept_mode(mode: str) -> None:
    """Modes choose among means that this backend has one of: said once of each."""
    if mode not in MODES:
        listed = ", ".join(map(repr, MODES))
        raise OptionError(f"mode takes {listed}, not {mode!r}")
    if mode != "default":
        warnings.warn(
            f"mode={mode!r} changes nothing: spyre_mlir compiles in one way",
            UserWarning,
            stacklevel=2,
        )


def compiled_graph(
    gm: fx.GraphModule,
    inputs: Sequence[Any],
    options: Options,
    function: Function,
    static: Collection[int] = (),
) -> Compiled:
    """
    A graph of `function` as a callable of its arguments. It is compiled for `inputs`,
    real or fake, at once if their sizes are known; a graph where sizes depend on data
    is cut first.
    """
    read_from_owners(gm)
    stages = split(gm)
    if not stages:
        return CompiledGraph(gm, inputs, options, function, static)

    def compile_stage(part: fx.GraphModule, fixed: Collection[int]) -> Compiled:
        return CompiledGraph(part, promised_inputs(part), options, function, fixed)

    return StagedGraph(gm, stages, static, compile_stage)


def promised_inputs(gm: fx.GraphModule) -> list[Any]:
    """What a graph says of its arguments: fake tensors and numbers."""
    return [node.meta.get("val") for node in gm.graph.find_nodes(op="placeholder")]


class CompiledGraph:
    """A graph and its programs by concrete key."""

    def __init__(
        self,
        gm: fx.GraphModule,
        inputs: Sequence[Any],
        options: Options,
        function: Function,
        static: Collection[int] = (),
    ):
        self.gm = gm
        self.options = options
        self.function = function
        self.static = frozenset(static) - _mutated(gm)
        self.programs: Kept[Key, Program] = Kept(options.programs)
        self._last: Key | None = None
        self.bodies = Bodies(
            lambda body: compiled_graph(body, promised_inputs(body), options, function)
        )
        if not any(map(_is_symbolic, inputs)):
            self._program(inputs)

    def _program(self, arguments: Sequence[Any]) -> Program:
        from torch._subclasses.fake_tensor import unset_fake_temporarily

        with (
            torch._C._DisableTorchDispatch(),
            unset_fake_temporarily(),
            self._progress(),
        ):
            card = current_card()
            key = (card, program_key(arguments, self.static))
            program = Program(
                self.gm, arguments, self.options, self.bodies, self.static, card
            )
        cause = "" if self._last is None else difference(self._last, key)
        warn = self.options.fallback == "warn"
        self.function.compiled(cause, program.report, warn)
        self.programs.add(key, program, 1)
        self._last = key
        return program

    def _progress(self) -> AbstractContextManager[None]:
        return progress(self.function.name, self.options.progress)

    def __call__(self, arguments: list[Any]) -> tuple[Any, ...]:
        key = (current_card(), program_key(arguments, self.static))
        program = self.programs.get(key)
        first = program is None or program.report.calls == 0
        with torch.no_grad(), self._progress() if first else nullcontext():
            if program is None:
                program = self._program(arguments)
            announce("running")
            results = program(arguments)
        self.function.ran(program.report)
        return results


def _mutated(gm: fx.GraphModule) -> set[int]:
    """Positions of the inputs that a graph writes."""
    written = {node.args[0] for node in gm.graph.nodes if is_mutation(node)}
    placeholders = gm.graph.find_nodes(op="placeholder")
    return {k for k, node in enumerate(placeholders) if node in written}


def _is_symbolic(value: Any) -> bool:
    """Whether a size is not a plain number, or nothing is known at all."""
    if isinstance(value, torch.Tensor):
        return any(isinstance(n, torch.SymInt) for n in (*value.shape, *value.stride()))
    return value is None or isinstance(value, SymbolicNumber | sympy.Symbol)
