# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long tensor values are alive, and the scratchpad that they take meanwhile."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from xdsl.dialects import tensor
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.hints import isa

from spyre_mlir.dialects.ktdp import (
    ConstructAccessTileOp,
    ConstructMemoryViewOp,
    LoadOp,
)

from .values import stored_dtype

_FREE = (tensor.EmptyOp, tensor.SplatOp, tensor.CastOp)
"""Name a shape or one number, and hold nothing of their own."""


class Lives:
    """For each op of a block, the values of the block that nothing later reads."""

    def __init__(self) -> None:
        self._ends: dict[Block, dict[Operation, tuple[SSAValue, ...]]] = {}

    def ends(self, block: Block) -> dict[Operation, tuple[SSAValue, ...]]:
        found = self._ends.get(block)
        if found is None:
            found = self._ends[block] = _ends(block)
        return found


def _ends(block: Block) -> dict[Operation, tuple[SSAValue, ...]]:
    """The block's terminator ends what is alive then; its reader holds it."""
    ends: dict[Operation, list[SSAValue]] = {op: [] for op in block.ops}
    order = {op: position for position, op in enumerate(ends)}
    for op in block.ops:
        for value in op.results:
            readers = [block.find_ancestor_op_in_block(u.operation) for u in value.uses]
            last = max((r for r in readers if r), key=order.__getitem__, default=op)
            ends[last].append(value)
    return {op: tuple(values) for op, values in ends.items()}


def held_bytes(value: SSAValue, held: Any) -> int:
    """Bytes that a value takes; tiles in a scratchpad are there already."""
    if not isa(value.type, TensorType) or not isinstance(held, Tensor):
        return 0
    maker = value.owner
    if isinstance(maker, _FREE) or (isinstance(maker, LoadOp) and _is_local(maker)):
        return 0
    return held.numel() * stored_dtype(value.type).itemsize


def _is_local(load: LoadOp) -> bool:
    tile = load.tile.owner
    view = tile.base.owner if isinstance(tile, ConstructAccessTileOp) else None
    return isinstance(view, ConstructMemoryViewOp) and view.space.space == "lx"
