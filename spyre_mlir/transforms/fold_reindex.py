# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Makes one movement of movements that follow each other.

    reindex(x) that changes nothing       becomes  x
    reindex(reindex(x))                   becomes  reindex(x)
    reindex(full c)                       becomes  full c

where coordinates stay affine: a slice of a concatenation reads its part, a transpose
of a transpose vanishes, a reshape before or after a permutation joins it. Each reindex
that is left has iterators in a canonical order. Layouts of results stay; one that was
only passed through is dropped. Operations with decisions are left alone, and dead
ones to `dce`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from spyre_mlir.algebra.linear import affine_map
from spyre_mlir.algebra.pieces import Piece, compose, join, shared_first
from spyre_mlir.dialects.spyre import (
    FullOp,
    ReindexOp,
    dtype_name,
    layout_of,
    number_attr,
    tensor_of,
)
from spyre_mlir.transforms._rewriting import fused_location, is_undecided, replace_op


@dataclass(frozen=True)
class Movement:
    """A reindex as plain data; `fill` is what no piece writes."""

    sources: tuple[SSAValue, ...]
    pieces: tuple[Piece, ...]
    shape: tuple[int, ...]
    fill: Attribute

    @property
    def is_covered(self) -> bool:
        return sum(p.volume for p in self.pieces) == prod(self.shape)


def movement_of(op: ReindexOp) -> Movement:
    """The pieces of a reindex in canonical form, empty ones left out."""
    pieces: list[Piece] = []
    sources: list[SSAValue] = []
    for k, source in enumerate(op.sources):
        piece = Piece(op.piece_sizes(k), *op.piece_maps(k))
        if piece.volume:
            pieces.append(piece.canonical())
            sources.append(source)
    fill = op.fill
    if fill is None:
        fill = number_attr(0, dtype_name(op.result.type))
    shape = tuple(tensor_of(op.result).get_shape())
    return Movement(tuple(sources), tuple(pieces), shape, fill)


def fold_source(movement: Movement, index: int, inner: Movement) -> Movement | None:
    """Piece `index` read through the movement that made its source, if it can be."""
    composed = compose(movement.pieces[index], inner.pieces)
    if composed is None:
        return None
    pieces = [p.canonical() for p in composed.pieces]
    sources = [inner.sources[k] for k in composed.origins]
    folded = replace(
        movement,
        pieces=(*movement.pieces[:index], *pieces, *movement.pieces[index + 1 :]),
        sources=(*movement.sources[:index], *sources, *movement.sources[index + 1 :]),
    )
    if composed.leaks and inner.fill != movement.fill:
        if not movement.is_covered:
            return None
        folded = replace(folded, fill=inner.fill)
    return folded


def joined(movement: Movement) -> Movement:
    """With pieces made one that continue each other."""
    pieces, sources = list(movement.pieces), list(movement.sources)
    position = 0
    while position + 1 < len(pieces):
        one = None
        if sources[position] is sources[position + 1]:
            one = join(pieces[position], pieces[position + 1])
        if one is None:
            position += 1
            continue
        pieces[position : position + 2] = [one.canonical()]
        del sources[position + 1]
        position = max(position - 1, 0)
    return replace(movement, pieces=tuple(pieces), sources=tuple(sources))


def folded(op: ReindexOp) -> tuple[Movement, list[ReindexOp]]:
    """The movement of a reindex through all that it can be folded with, and those."""
    movement = movement_of(op)
    through: list[ReindexOp] = []
    position = 0
    while position < len(movement.sources):
        inner = movement.sources[position].owner
        if isinstance(inner, ReindexOp) and is_undecided(inner):
            further = fold_source(movement, position, movement_of(inner))
            if further is not None:
                through.append(inner)
                movement = further
                continue
        position += 1
    return joined(movement), through


def build(movement: Movement, op: ReindexOp) -> ReindexOp:
    """The reindex of a movement, with the result type of `op`."""
    shared, pieces = shared_first(movement.pieces, movement.shape)
    extra = [p.sizes[len(shared) :] for p in pieces]
    fill = None if movement.is_covered else movement.fill
    return ReindexOp(
        movement.sources,
        tensor_of(op.result),
        shared,
        [affine_map(p.source, len(p.sizes)) for p in pieces],
        [affine_map(p.target, len(p.sizes)) for p in pieces],
        extra,
        fill,
    )


def constant(movement: Movement) -> Attribute | None:
    """The one number that a movement's result holds, if it is known."""
    numbers: set[Attribute] = set()
    for source in movement.sources:
        if not isinstance(source.owner, FullOp):
            return None
        numbers.add(source.owner.value)
    if not movement.is_covered:
        numbers.add(movement.fill)
    return numbers.pop() if len(numbers) == 1 else None


def _same(new: ReindexOp, old: ReindexOp) -> bool:
    return tuple(new.operands) == tuple(old.operands) and (
        new.attributes == old.attributes
    )


def fold(op: ReindexOp) -> None:
    """Replaces a reindex by what is left of it."""
    movement, through = folded(op)
    number = constant(movement)
    location = fused_location([op.location, *(t.location for t in through)])
    if number is not None:
        full = FullOp(0, tensor_of(op.result))
        full.attributes["value"] = number
        full.location = location
        replace_op(op, full)
        return
    if _is_identity(movement, op) and not _fills_result(op):
        replace_op(op, movement.sources[0])
        return
    new = build(movement, op)
    if _same(new, op):
        new.erase()
        return
    new.location = location
    replace_op(op, new)


def _fills_result(op: ReindexOp) -> bool:
    """With layouts decided, a copy that is returned is there to fill its memory."""
    returned = any(isinstance(u.operation, ReturnOp) for u in op.result.uses)
    return returned and layout_of(op.result) is not None


def _is_identity(movement: Movement, op: ReindexOp) -> bool:
    if len(movement.pieces) != 1 or movement.sources[0].type != op.result.type:
        return False
    return movement.pieces[0].is_identity(movement.shape)


def fold_all(ops: Sequence[ReindexOp]) -> None:
    """Folds each reindex; sources come before their users."""
    for op in ops:
        if is_undecided(op) and 0 not in tensor_of(op.result).get_shape():
            fold(op)


class FoldReindexPass(ModulePass):
    """Folds movements into one another."""

    name = "spyre-fold-reindex"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        fold_all([o for o in op.walk() if isinstance(o, ReindexOp)])
