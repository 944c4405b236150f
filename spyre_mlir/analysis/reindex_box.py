# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The result of a data movement as one operand: what its pieces write together."""

from __future__ import annotations

from collections.abc import Sequence

from spyre_mlir.algebra.linear import Linear
from spyre_mlir.analysis.decisions import cut_iterators
from spyre_mlir.analysis.space import Operand
from spyre_mlir.dialects import spyre


def result_box(op: spyre.ReindexOp, operands: Sequence[Operand]) -> Operand:
    """
    The result with an iterator of its own per dimension, after the shared ones.

    Where a cut iterator steps along a dimension, the own iterator runs over a step.
    """
    shape = tuple(spyre.tensor_of(op.result).get_shape())
    sizes = list(op.sizes())
    rank = len(sizes)
    targets = [o for o in operands if o.is_target]
    maps: list[Linear] = []
    for dim, extent in enumerate(shape):
        exprs = [t.coordinates[dim] for t in targets]
        coordinate = Linear.iterator(rank + dim, rank + len(shape))
        split = _leading(exprs, op, rank)
        if split is None:
            sizes.append(extent)
        else:
            step = exprs[0].coefficients[split]
            sizes.append(step)
            coordinate += Linear.iterator(split, rank + len(shape)) * step
        maps.append(coordinate)
    return Operand(op.result, tuple(maps), tuple(sizes), True)


def _leading(exprs: Sequence[Linear], op: spyre.ReindexOp, rank: int) -> int | None:
    """The shared iterator that is cut and steps along this dimension, or None."""
    cut = set(cut_iterators(op))
    found = {k for e in exprs for k in e.used if k < rank and k in cut}
    assert len(found) <= 1, "two cut iterators on one dimension"
    return found.pop() if found else None
