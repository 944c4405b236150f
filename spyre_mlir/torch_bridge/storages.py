# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportPrivateUsage=false
"""
`as_strided` and `as_strided_scatter` count elements from the start of a storage, not of
the view at hand.

The card has no view of a value, so what is read or written here is the value that owns
the storage. What an input's storage holds beside the input, and where in it the input
begins, each call has for itself: the host alone makes views of it.
"""

from __future__ import annotations

import operator

import torch
from torch import fx

AS_STRIDED = torch.ops.aten.as_strided.default
SCATTER = torch.ops.aten.as_strided_scatter.default


def is_alias(node: fx.Node) -> bool:
    """Whether the node gives a view of its first operand."""
    if node.target is operator.getitem:
        source = node.args[0]
        return isinstance(source, fx.Node) and is_alias(source)
    if not isinstance(node.target, torch._ops.OpOverload):
        return False
    returns = node.target._schema.returns
    return bool(returns) and returns[0].alias_info is not None


def owner(node: fx.Node) -> fx.Node:
    """The value whose storage a node shows."""
    while is_alias(node):
        node = node.all_input_nodes[0]
    return node


def shows_input(node: fx.Node) -> bool:
    """Whether the node is, or only serves, a view of an input's whole storage."""
    if owner(node).op != "placeholder" or node.op != "call_function":
        return False
    return node.target is AS_STRIDED or (
        bool(node.users)
        and all(user.target is SCATTER or shows_input(user) for user in node.users)
    )


def read_from_owners(gm: fx.GraphModule) -> None:
    """Lets operations on the storage of a view take the value that owns the storage."""
    found = [n for n in gm.graph.nodes if n.target in (AS_STRIDED, SCATTER)]
    for node in found:
        view = node.args[0]
        assert isinstance(view, fx.Node)
        source = owner(view)
        if source is not view and isinstance(source.meta.get("val"), torch.Tensor):
            _read_from_owner(gm.graph, node, view, source)
    if found:
        gm.graph.eliminate_dead_code()
        gm.recompile()


def _read_from_owner(
    graph: fx.Graph, node: fx.Node, view: fx.Node, source: fx.Node
) -> None:
    if source.op == "placeholder":
        with graph.inserting_before(node):
            node.args = (_same_views(graph, view, source, source), *node.args[1:])
        return
    scatters = node.target is SCATTER
    place = node.args[2 if scatters else 1 :]
    size, stride, *offset = place
    if not offset or offset[0] is None:
        offset = [view.meta["val"].storage_offset()]
    if isinstance(offset[0], torch.SymInt):
        return
    written = node.args[1:2] if scatters else ()
    node.args = (source, *written, size, stride, offset[0])
    if scatters:
        users = list(node.users)
        node.meta["val"] = source.meta["val"]
        with graph.inserting_after(node):
            result = _same_views(graph, view, source, node)
        for user in users:
            user.replace_input_with(node, result)


def _same_views(
    graph: fx.Graph, view: fx.Node, source: fx.Node, onto: fx.Node
) -> fx.Node:
    """The views that make `view` of `source`, made of `onto` instead."""
    chain: list[fx.Node] = []
    while view is not source:
        chain.append(view)
        view = view.all_input_nodes[0]
    made = onto
    for old in reversed(chain):
        taken, before = old.all_input_nodes[0], made
        made = graph.node_copy(old, lambda n, a=taken, b=before: b if n is a else n)
        if before is not source:
            before.append(made)
    return made
