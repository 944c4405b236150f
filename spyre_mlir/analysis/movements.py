# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
How a `reindex` is staged: regions of the result, the pieces that write each, and
which pieces are plain copies of sticks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spyre_mlir.algebra.access import Access, Axis
from spyre_mlir.algebra.layout import STICK_BYTES, SYNTHETIC
from spyre_mlir.algebra.linear import Linear
from spyre_mlir.analysis.decisions import PlanFault, cut_iterators
from spyre_mlir.analysis.space import Operand, operands_of, region_iterator
from spyre_mlir.analysis.tilebox import limited
from spyre_mlir.dialects import spyre


@dataclass(frozen=True)
class TargetRegion:
    """A part of the result that is stored by itself, and what writes it."""

    target: Operand
    """The region as one operand: what all its pieces together write."""
    pieces: tuple[tuple[Operand, Operand], ...]
    """Source and target of each piece."""


def regions_of(op: spyre.ReindexOp) -> list[TargetRegion]:
    """The regions of a movement; the whole result unless it has limits."""
    operands = operands_of(op)
    pairs = list(zip(operands[::2], operands[1::2], strict=True))
    dim, along = op.region_dim, region_iterator(op)
    if dim is None or along is None:
        return [TargetRegion(_box(op, op.sizes(), pairs, {}), tuple(pairs))]
    found: dict[tuple[int, int], list[tuple[Operand, Operand]]] = {}
    for pair in pairs:
        start = pair[1].coordinates[dim].offset
        found.setdefault((start, pair[1].sizes[along]), []).append(pair)
    regions: list[TargetRegion] = []
    for (start, length), own in found.items():
        sizes = (*op.sizes()[:-1], length)
        place = Linear.iterator(along, len(sizes)) + Linear.constant(start, len(sizes))
        regions.append(TargetRegion(_box(op, sizes, own, {dim: place}), tuple(own)))
    return regions


def _box(
    op: spyre.ReindexOp,
    sizes: Sequence[int],
    pairs: Sequence[tuple[Operand, Operand]],
    known: dict[int, Linear],
) -> Operand:
    """
    What pieces write as one operand: along each dimension a cut iterator steps over
    blocks, or everything is there, but for the coordinates that are known.
    """
    shape = tuple(spyre.tensor_of(op.result).get_shape())
    cut = cut_iterators(op)
    extents = list(sizes)
    found: list[Linear] = []
    for dim, extent in enumerate(shape):
        if dim in known:
            found.append(known[dim])
            continue
        exprs = [target.coordinates[dim] for _, target in pairs]
        leading = _leading(exprs, cut)
        step = extent if leading is None else exprs[0].coefficients[leading]
        own = Linear.iterator(len(extents), len(extents) + 1)
        extents.append(step)
        if leading is not None:
            own = own + Linear.iterator(leading, len(extents)) * step
        found.append(own)
    maps = tuple(c.widen(len(extents)) for c in found)
    return Operand(op.result, maps, tuple(extents), True)


def _leading(exprs: Sequence[Linear], cut: Sequence[int]) -> int | None:
    """The cut iterator that steps along a dimension, or None."""
    found = {k for e in exprs for k in e.used if k in cut}
    if len(found) > 1:
        raise PlanFault(f"iterators {sorted(found)} cut one dimension of the result")
    return found.pop() if found else None


def piece_axes(axes: Sequence[Axis], sizes: Sequence[int]) -> tuple[Axis, ...]:
    """The axes of a piece that runs over `sizes`: the shared ones, then its own."""
    shared = (limited(a, n) for a, n in zip(axes, sizes, strict=False))
    return (*shared, *(Axis.whole(n) for n in sizes[len(axes) :]))


def is_stick_copy(
    source: Access, walk: Access, axes: Sequence[Axis], target: Operand
) -> bool:
    """
    Both sides walk the same axis stick by stick, so that whole sticks can move: it
    ends where a stick ends, or nothing of the target follows it.
    """
    if not (source.is_sticked and walk.is_sticked) or source.stick != walk.stick:
        return False
    if not any(source.stick):
        return target.stick_dim == SYNTHETIC
    along = source.stick.index(1)
    if source.strides[along] or walk.strides[along]:
        return False
    axis = axes[along]
    last = target.coordinates[target.stick_dim].bounds(target.sizes)[1]
    ends = axis.size % source.eps == 0 or last + 1 == target.shape[target.stick_dim]
    aligned = source.base % STICK_BYTES == 0 and walk.base % STICK_BYTES == 0
    return ends and aligned and axis.halo == 0
