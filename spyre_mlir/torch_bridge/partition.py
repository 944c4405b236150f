# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Cuts a graph into card and host segments.

The ATen table says what the card may take; dtype, rank and device of the tensors, and
the importer itself, say what it does take. Segments alternate; each runs all that is
ready on its side, so that there are few. The order of nodes on a side is kept.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import fx

from .aten_table import row_of
from .concrete import ConcreteGraph, DataDependent, tensors_of
from .dtypes import MAX_RANK, NAMES
from .emit import TensorMeta
from .fx_importer import importable

Side = Literal["card", "host"]


@dataclass(frozen=True)
class Decision:
    """Where a node runs, and why not on the card."""

    side: Side
    reason: str = ""
    """Empty on the host: it follows its operands, which are there anyway."""


CARD = Decision("card")


@dataclass
class Segment:
    """Nodes that run together, in order."""

    side: Side
    nodes: list[fx.Node] = field(default_factory=list)


def is_mutation(node: fx.Node) -> bool:
    """`copy_` into a graph input, which AOTAutograd leaves at the end."""
    return node.target is torch.ops.aten.copy_.default


def is_computed(graph: ConcreteGraph, node: fx.Node) -> bool:
    """A node of the graph that some segment runs."""
    return (
        node.op == "call_function"
        and not is_mutation(node)
        and not graph.is_known_number(node)
    )


def decide(graph: ConcreteGraph) -> dict[fx.Node, Decision]:
    """Where each computed node runs."""
    devices = card_devices(graph)
    decisions: dict[fx.Node, Decision] = {}
    for node in graph.gm.graph.nodes:
        if is_computed(graph, node):
            decisions[node] = _decide(graph, node, devices, decisions)
    _move_views(decisions)
    return decisions


def card_devices(graph: ConcreteGraph) -> frozenset[str]:
    """Devices whose nodes the card runs: its own, or the CPU if all is there."""
    found = {t.device.type for n in graph.gm.graph.nodes for t in tensors_of(n)}
    return frozenset({"spyre"} if "spyre" in found else {"cpu"})


def _decide(
    graph: ConcreteGraph,
    node: fx.Node,
    devices: frozenset[str],
    decisions: Mapping[fx.Node, Decision],
) -> Decision:
    if node.target is operator.getitem:
        source = node.args[0]
        assert isinstance(source, fx.Node)
        return Decision(decisions[source].side) if source in decisions else CARD
    try:
        reason = _refusal(graph, node, devices)
    except DataDependent as error:
        reason = error.reason
    if not reason:
        return CARD
    return Decision("host", "" if _is_scalar(node) else reason)


def _is_scalar(node: fx.Node) -> bool:
    """
    Arithmetic on 0-d float64 CPU tensors: how Dynamo passes Python floats that
    change. It belongs to the call, not to the card.
    """
    operands = [t for n in node.all_input_nodes for t in tensors_of(n)]
    return bool(operands) and all(
        t.ndim == 0 and t.dtype == torch.float64 and t.device.type == "cpu"
        for t in operands
    )


def _refusal(graph: ConcreteGraph, node: fx.Node, devices: frozenset[str]) -> str:
    """Why the card does not take a node, or ""."""
    row = row_of(node.target)
    if row is None:
        return "no row of the operator table names it"
    if row.how != "import":
        return row.note
    operands = [t for n in node.all_input_nodes for t in tensors_of(n)]
    results = tensors_of(node)
    if not results:
        return "it gives no tensor"
    refusals = [_refuses_tensor(tensor, devices, False) for tensor in operands]
    refusals += [_refuses_tensor(tensor, devices, True) for tensor in results]
    for refused in filter(None, refusals):
        return refused
    metas = [m for n in node.all_input_nodes for m in graph.metas(n)]
    dtype = (metas or list(graph.metas(node)))[0].dtype
    if dtype not in row.dtypes:
        return f"the card takes {', '.join(row.dtypes)} here, not {dtype}"
    return importable(graph, node, row)


def _refuses_tensor(
    tensor: torch.Tensor, devices: frozenset[str], is_result: bool
) -> str:
    if tensor.dtype not in NAMES:
        return f"the card has no {str(tensor.dtype).removeprefix('torch.')}"
    if tensor.layout != torch.strided:
        return f"the card has no {tensor.layout} tensors"
    if tensor.ndim > MAX_RANK:
        return f"rank {tensor.ndim} is above {MAX_RANK}"
    if tensor.device.type not in devices and (is_result or tensor.ndim):
        return f"the tensor is on {tensor.device}"
    return ""


def _move_views(decisions: dict[fx.Node, Decision]) -> None:
    """Movement between host nodes alone stays on the host."""
    moved: set[fx.Node] = set()

    def on_host(node: fx.Node) -> bool:
        return node in moved or (node in decisions and decisions[node].side == "host")

    for node in decisions:
        row = row_of(node.target)
        is_view = node.target is operator.getitem or (row is not None and row.view)
        if decisions[node].side == "card" and is_view:
            inputs = [n for n in node.all_input_nodes if tensors_of(n)]
            if inputs and all(on_host(n) for n in inputs):
                moved.add(node)
    for node in reversed(list(decisions)):
        if node in moved and not all(on_host(user) for user in node.users):
            moved.discard(node)
    for node in moved:
        decisions[node] = Decision("host")


# ------------------------------------------------------------------- segments


def segment(decisions: Mapping[fx.Node, Decision]) -> list[Segment]:
    """Alternating segments, each with all that is ready on its side."""
    waits = _waits(decisions)
    options = [_schedule(decisions, waits, side) for side in ("card", "host")]
    return min(options, key=len)


def _waits(decisions: Mapping[fx.Node, Decision]) -> dict[fx.Node, set[fx.Node]]:
    """What each node waits for; impure nodes also wait for one another."""
    waits: dict[fx.Node, set[fx.Node]] = {}
    last: fx.Node | None = None
    for node in decisions:
        waits[node] = {n for n in node.all_input_nodes if n in decisions}
        if decisions[node].side == "host" and _is_impure(node):
            if last is not None:
                waits[node].add(last)
            last = node
    return waits


def _is_impure(node: fx.Node) -> bool:
    if not isinstance(node.target, torch._ops.OpOverload):
        return node.target is not operator.getitem
    tags = node.target.tags
    return node.is_impure() or torch.Tag.nondeterministic_seeded in tags


def _schedule(
    decisions: Mapping[fx.Node, Decision],
    waits: Mapping[fx.Node, Collection[fx.Node]],
    side: Side,
) -> list[Segment]:
    left = list(decisions)
    done: set[fx.Node] = set()
    segments: list[Segment] = []
    while left:
        current = Segment(side)
        for node in left:
            if decisions[node].side == side and all(n in done for n in waits[node]):
                current.nodes.append(node)
                done.add(node)
        if current.nodes:
            segments.append(current)
        elif segments and segments[-1].side != side:
            raise AssertionError("the graph has a cycle")
        left = [node for node in left if node not in done]
        side = "host" if side == "card" else "card"
    return segments


def promised(graph: ConcreteGraph, node: fx.Node) -> TensorMeta | None:
    """Metadata for a message; None where it depends on data."""
    if not tensors_of(node):
        return None
    try:
        return graph.metas(node)[0]
    except DataDependent:
        return None
