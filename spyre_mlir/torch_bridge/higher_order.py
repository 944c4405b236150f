# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportPrivateUsage=false
"""
Operations that hold others: graphs as branches and bodies, or one operation that runs
with a state of random numbers or in the order of effects.

PyTorch's own implementation of `cond`, `while_loop` and `invoke_subgraph` calls what it
is given; it is given compiled bodies, so that the host reads predicates and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx
from torch._higher_order_ops.effects import with_effects
from torch._ops import HigherOrderOperator
from torch._prims.rng_prims import run_and_save_rng_state, run_with_rng_state

from .recurrent import IMPLEMENTATIONS

Run = Callable[[list[Any]], tuple[Any, ...]]

BRANCHING = frozenset(
    ("cond", "invoke_subgraph", "while_loop", "while_loop_stack_output")
)
"""Take their operands and results as they are."""
ROW_BY_ROW = frozenset(("associative_scan", "map_impl", "scan"))
"""Cut operands into rows and stack the results, on the host."""


def name_of(node: fx.Node) -> str:
    """The name of a higher-order operation, or ""."""
    target = node.target
    return target.name() if isinstance(target, HigherOrderOperator) else ""


def operation_of(node: fx.Node) -> Any:
    """What a node runs: of a wrapper around one operation, that operation."""
    if node.target is run_and_save_rng_state:
        return node.args[0]
    if node.target in (run_with_rng_state, with_effects):
        return node.args[1]
    return node.target


class Bodies:
    """Compiled forms of the graphs that a graph's operations hold."""

    def __init__(self, compile_body: Callable[[fx.GraphModule], Run]):
        self._compile = compile_body
        self._found: dict[fx.GraphModule, Callable[..., Any]] = {}

    def bound(self, node: fx.Node, value: Any) -> Any:
        """What an attribute is at run time: a graph that is called is compiled."""
        names = {name_of(user) for user in node.users}
        if not isinstance(value, fx.GraphModule) or not names <= BRANCHING | ROW_BY_ROW:
            return value
        if value not in self._found:
            self._found[value] = _function(value, self._compile(value))
        return self._found[value]


def _function(gm: fx.GraphModule, run: Run) -> Callable[..., Any]:
    """A body as its operation calls it; `cond_fn` of a loop gives a bare tensor."""
    (output,) = gm.graph.find_nodes(op="output")
    is_bare = isinstance(output.args[0], fx.Node)

    def call(*arguments: Any) -> Any:
        results = run(list(arguments))
        return results[0] if is_bare else results

    return call


# ------------------------------------------------------------- random numbers


def _run_and_save(
    op: Callable[..., Any], *args: Any, **kwargs: Any
) -> tuple[torch.Tensor, Any]:
    state, _ = _random_state(args, kwargs)
    return state(), op(*args, **kwargs)


def _run_with(
    saved: torch.Tensor, op: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    state, restore = _random_state(args, kwargs)
    before = state()
    restore(saved)
    try:
        return op(*args, **kwargs)
    finally:
        restore(before)


def _random_state(
    args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Callable[[], torch.Tensor], Callable[[torch.Tensor], None]]:
    """Reads and writes the state of the generator that an operation draws from."""
    given = [kwargs["device"]] if kwargs.get("device") is not None else []
    given += [value.device for value in args if isinstance(value, torch.Tensor)]
    device = torch.device(given[0] if given else "cpu")
    if device.type == "cpu":
        return torch.get_rng_state, torch.set_rng_state
    module = torch.get_device_module(device)
    return (
        lambda: module.get_rng_state(device),
        lambda state: module.set_rng_state(state, device),
    )


_OWN: dict[Any, Callable[..., Any]] = {
    run_and_save_rng_state: _run_and_save,
    run_with_rng_state: _run_with,
    **IMPLEMENTATIONS,
}


def implementation(target: Any) -> Callable[..., Any]:
    """What the host calls for an operation: PyTorch's knows few devices' generators."""
    assert callable(target), f"{target} is no function"
    return _OWN.get(target, target)
