# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportPrivateUsage=false
"""
Cuts a graph into card and host segments.

The ATen table says what the card may take; dtype, rank and device of the tensors, and
the importer itself, say what it does take. Segments alternate; each runs all that is
ready on its side, so that there are few. The order of nodes on a side is kept.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import fx

from .aten_table import is_assertion, key, row_of
from .concrete import ConcreteGraph, DataDependent, tensors_of
from .dtypes import MAX_RANK, NAMES
from .emit import TensorMeta
from .fx_importer import importable
from .higher_order import BRANCHING, ROW_BY_ROW, name_of, operation_of
from .storages import is_alias, shows_input

Side = Literal["card", "host"]


@dataclass(frozen=True)
class Decision:
    """Where a node runs, and why not on the card."""

    side: Side
    reason: str = ""
    """Empty on the host: no work, or its operands are there anyway."""


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
    device = card_device(graph)
    decisions: dict[fx.Node, Decision] = {}
    for node in graph.gm.graph.nodes:
        if is_computed(graph, node):
            decisions[node] = _decide(graph, node, device, decisions)
    _move_views(decisions)
    _share_memory(decisions)
    return decisions


def card_device(graph: ConcreteGraph) -> torch.device:
    """The device whose nodes the card runs: the first card, or the CPU without one."""
    for node in graph.gm.graph.nodes:
        for tensor in tensors_of(node):
            if tensor.device.type == "spyre":
                return tensor.device
    return torch.device("cpu")


def _decide(
    graph: ConcreteGraph,
    node: fx.Node,
    device: torch.device,
    decisions: Mapping[fx.Node, Decision],
) -> Decision:
    if node.target is operator.getitem:
        source = node.args[0]
        assert isinstance(source, fx.Node)
        return Decision(decisions[source].side) if source in decisions else CARD
    if shows_input(node):
        return Decision("host")
    try:
        reason = _refusal(graph, node, device)
    except DataDependent:
        reason = "the size of its result depends on data"
    if not reason:
        return CARD
    rules = (_is_scalar(node), _is_elsewhere(node, device), _is_control(node))
    return Decision("host", "" if any(rules) else reason)


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


def _is_elsewhere(node: fx.Node, device: torch.device) -> bool:
    """
    What runs on the CPU or on `meta`, or brings tensors from one device to another,
    where the card's tensors are elsewhere: the program says so.
    """
    if operation_of(node) is not node.target:
        return False  # its state of random numbers or token is no operand
    places = {t.device for n in (node, *node.all_input_nodes) for t in tensors_of(n)}
    return any(place != device and place.type != "spyre" for place in places)


def _is_control(node: fx.Node) -> bool:
    """Chooses what runs, or checks: the host reads predicates but computes nothing."""
    return name_of(node) in BRANCHING or is_assertion(operation_of(node))


def _refusal(graph: ConcreteGraph, node: fx.Node, device: torch.device) -> str:
    """Why the card does not take a node, or ""."""
    if name_of(node) in ROW_BY_ROW:
        return "the host cuts its operands into rows; its body runs on the card"
    row = row_of(operation_of(node))
    if row is None and name_of(node):
        return "PyTorch runs it, and what it holds"
    if row is None:
        return "the card has no such operation"
    if row.how != "import":
        return row.note
    if name_of(node):
        return f"it runs in PyTorch below {key(node.target)}"
    operands = [t for n in node.all_input_nodes for t in tensors_of(n)]
    results = tensors_of(node)
    if not results:
        return "its result is no tensor"
    refusals = [_refuses_tensor(tensor, device, False) for tensor in operands]
    refusals += [_refuses_tensor(tensor, device, True) for tensor in results]
    for refused in filter(None, refusals):
        return refused
    metas = [m for n in node.all_input_nodes for m in graph.metas(n)]
    dtype = (metas or list(graph.metas(node)))[0].dtype
    if dtype not in row.dtypes:
        return f"the card takes {', '.join(row.dtypes)} here, not {dtype}"
    if row.same_types and len({m.dtype for m in metas} - {"i1"}) > 1:
        return "its operands have several types, which PyTorch takes or refuses"
    return importable(graph, node, row)


def _refuses_tensor(tensor: torch.Tensor, device: torch.device, is_result: bool) -> str:
    if tensor.dtype not in NAMES:
        return f"the card has no {str(tensor.dtype).removeprefix('torch.')}"
    if tensor.layout != torch.strided:
        return f"the card has no {tensor.layout} tensors"
    if tensor.ndim > MAX_RANK:
        return f"a tensor has {tensor.ndim} dimensions, the card takes {MAX_RANK}"
    if tensor.device != device and (is_result or tensor.ndim):
        return f"a tensor is on {tensor.device}, not on the card"
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


def _share_memory(decisions: dict[fx.Node, Decision]) -> None:
    """
    Outputs that are views of an output, of an input, or of one value share memory,
    as eager's do: the host makes the views out of that value.
    """
    views: dict[fx.Node, fx.Node] = {}
    for node in reversed(list(decisions)):
        if decisions[node].side == "card" and is_alias(node):
            users = [user for user in node.users if not is_mutation(user)]
            if users and all(u.op == "output" or u in views for u in users):
                views[node] = node.all_input_nodes[0]

    def root(node: fx.Node) -> fx.Node:
        while node in views:
            node = views[node]
        return node

    ends = [n for n in views if any(user.op == "output" for user in n.users)]
    count = Counter(root(node) for node in ends)
    for node in views:
        base = root(node)
        returned = any(user.op == "output" for user in base.users)
        if count[base] > 1 or returned or base not in decisions:
            decisions[node] = Decision("host")


def refuse(
    decisions: dict[fx.Node, Decision], nodes: Collection[fx.Node], reason: str
) -> None:
    """Moves nodes to the host, and the parts of tuples that they give."""
    for node in decisions:
        if node in nodes:
            decisions[node] = Decision("host", reason)
        elif node.target is operator.getitem and node.args[0] in nodes:
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
        if decisions[node].side == "host" and is_impure(node):
            if last is not None:
                waits[node].add(last)
            last = node
    return waits


def is_impure(node: fx.Node) -> bool:
    """Whether a node must keep its place among others of the kind."""
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
