# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Lets operations read through permutations, broadcasts and dimensions of size 1.

    matmul(reindex(x))   becomes  matmul(x)   with another indexing map

and so for `map` and `gather`, where the map stays iterators or 0. Runs after
`fold-reindex`. A reindex with a layout on its result is a restickify, asked for by
somebody, and stays; so do decided operations and other uses of a reindex.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, IntegerAttr, ModuleOp, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass

from spyre_mlir.dialects.spyre import (
    GatherOp,
    MapOp,
    MatmulOp,
    ReindexOp,
    layout_of,
    tensor_of,
)
from spyre_mlir.transforms._rewriting import fused_location, is_undecided
from spyre_mlir.transforms.fold_reindex import movement_of


@dataclass(frozen=True)
class View:
    """A source whose dimension s runs along dimension `along[s]`, or stays at 0."""

    op: ReindexOp
    source: SSAValue
    along: tuple[int | None, ...]

    def through(self, map_: AffineMap) -> AffineMap:
        """The map of a use, on the source instead of the reindex."""
        zero: AffineExpr = AffineConstantExpr(0)
        results = tuple(zero if d is None else map_.results[d] for d in self.along)
        return AffineMap(map_.num_dims, 0, results)


def view_of(value: SSAValue) -> View | None:
    """What a value is a view of, if it is a plain view of something."""
    op = value.owner
    if not isinstance(op, ReindexOp) or not is_undecided(op):
        return None
    if layout_of(value) is not None:
        return None
    movement = movement_of(op)
    if len(movement.pieces) != 1 or not movement.is_covered:
        return None
    piece = movement.pieces[0]
    dims: dict[int, int] = {}
    for dim, coordinate in enumerate(piece.target):
        if coordinate.single is not None:
            dims[coordinate.single] = dim
        elif coordinate.used or coordinate.offset:
            return None
    along: list[int | None] = []
    shape = tensor_of(movement.sources[0]).get_shape()
    for coordinate, size in zip(piece.source, shape, strict=True):
        iterator = coordinate.single
        whole = size == (1 if iterator is None else piece.sizes[iterator])
        if not whole or (iterator is None and coordinate.used):
            return None
        along.append(None if iterator is None else dims[iterator])
    used = [d for d in along if d is not None]
    return View(op, movement.sources[0], tuple(along)) if _distinct(used) else None


def _distinct(dims: Sequence[int]) -> bool:
    return len(set(dims)) == len(dims)


def fold_matmul(op: MatmulOp) -> None:
    """Reads through views where every iterator keeps a role in the product."""
    for index, name in ((0, "lhs_map"), (1, "rhs_map")):
        other = _used((op.rhs_map, op.lhs_map)[index].data)
        while view := view_of(op.operands[index]):
            old = op.attributes[name]
            assert isinstance(old, AffineMapAttr)
            new = view.through(old.data)
            lost = _used(old.data) - _used(new)
            if not lost <= _used(op.result_map.data) & other:
                break
            op.attributes[name] = AffineMapAttr(new)
            _rewire(op, index, view)


def _used(map_: AffineMap) -> set[int]:
    return {e.position for e in map_.results if isinstance(e, AffineDimExpr)}


def fold_map(op: MapOp) -> None:
    """Reads through views; a map takes any coordinates of its iterators."""
    maps = list(op.input_maps.data)
    for index in range(len(maps)):
        while view := view_of(op.operands[index]):
            maps[index] = AffineMapAttr(view.through(maps[index].data))
            _rewire(op, index, view)
    if maps != list(op.input_maps.data):
        op.input_maps = ArrayAttr(maps)


def fold_gather(op: GatherOp) -> None:
    """Reads source and index through views."""
    while (view := view_of(op.source)) and op.axis_data in view.along:
        op.source_map = AffineMapAttr(view.through(op.source_map.data))
        op.axis = IntegerAttr(view.along.index(op.axis_data), i64)
        _rewire(op, 0, view)
    while view := view_of(op.index):
        op.index_map = AffineMapAttr(view.through(op.index_map.data))
        _rewire(op, 1, view)


def _rewire(op: MatmulOp | MapOp | GatherOp, index: int, view: View) -> None:
    op.operands[index] = view.source
    op.location = fused_location([op.location, view.op.location])


class FoldReindexIntoUsesPass(ModulePass):
    """Absorbs views into the indexing maps of what reads them."""

    name = "spyre-fold-reindex-into-uses"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for use in list(op.walk()):
            if isinstance(use, MatmulOp) and is_undecided(use):
                fold_matmul(use)
            elif isinstance(use, MapOp) and is_undecided(use):
                fold_map(use)
            elif isinstance(use, GatherOp) and is_undecided(use):
                fold_gather(use)
