# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportPrivateUsage=false
"""
`as_strided` counts elements from the start of a storage, not of the view at hand.

The card has no view of a value, so what it reads here is the value that owns the
storage. What an input's storage holds beside the input is known to the host alone.
"""

from __future__ import annotations

import operator

import torch
from torch import fx

AS_STRIDED = torch.ops.aten.as_strided.default


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


def read_from_owners(gm: fx.GraphModule) -> None:
    """Lets each `as_strided` of a view read the value that owns the storage."""
    found = gm.graph.find_nodes(op="call_function", target=AS_STRIDED)
    for node in found:
        view, size, stride, *offset = node.args
        assert isinstance(view, fx.Node)
        source = owner(view)
        if source is view or not isinstance(source.meta.get("val"), torch.Tensor):
            continue
        if not offset or offset[0] is None:
            offset = [view.meta["val"].storage_offset()]
        if not isinstance(offset[0], torch.SymInt):
            node.args = (source, size, stride, offset[0])
    if found:
        gm.recompile()
