# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Cuts movements that no core could do alone into regions that all cores share.

    %2 = spyre.reindex %0, %1 ...    // 1000003 elements, then 999999
becomes
    %e = spyre.reindex %0, %1 ...    // the sticks that hold an end of a piece
    %2 = spyre.reindex %0, %e, %1 ... {limits = array<i64: 1000000, 32, 999936>}

A region is stored by itself, so that it begins on a stick of the result; `limits` are
the regions' lengths. A region that nothing is moved to reads its number from a `full`.
Runs on decided layouts, before `plan-division`; what can be cut already, and what is
small, stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from spyre_mlir.algebra.layout import SYNTHETIC, ceil_div
from spyre_mlir.algebra.linear import Linear, affine_map
from spyre_mlir.algebra.pieces import Piece, shared_first
from spyre_mlir.algebra.regions import (
    MOST_PARTS,
    Part,
    Region,
    parts_along,
    regions_along,
)
from spyre_mlir.analysis.groups import Group
from spyre_mlir.analysis.space import (
    CUT_ELEMENTS,
    bytes_of,
    iteration_space,
    operands_of,
)
from spyre_mlir.analysis.tiles import DoesNotFit, TilePlanner
from spyre_mlir.dialects import spyre
from spyre_mlir.dialects.spyre import FullOp, ReindexOp, tensor_of
from spyre_mlir.target.chip import Chip
from spyre_mlir.transforms._functions import chip_of, tensor_functions
from spyre_mlir.transforms._rewriting import insert_before, is_undecided, replace_op

SMALL_BYTES = 128 * 1024
"""A result up to this is one core's work (assumed)."""


@dataclass(frozen=True)
class SplitMovementsPass(ModulePass):
    """Cuts large movements into regions."""

    name = "spyre-split-movements"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        chip = chip_of(op)
        for function in tensor_functions(op):
            for movement in list(function.body.block.ops):
                if isinstance(movement, ReindexOp) and is_undecided(movement):
                    _split(movement, chip)


def _split(op: ReindexOp, chip: Chip) -> None:
    if op.limits is not None or bytes_of(op.result) <= SMALL_BYTES:
        return
    if _is_parallel(op, chip.cores) and _fits(op, chip):
        return
    found = _regions(op)
    if found is not None and any(_is_shareable(r) for r in found[1]):
        _Splitter(op, *found).run()


def _is_shareable(region: Region) -> bool:
    return not region.is_edge and region.extent > CUT_ELEMENTS


def _is_parallel(op: ReindexOp, cores: int) -> bool:
    ranges = iteration_space(op)
    parts = (max(p for p in range(1, cores + 1) if r.allows(p)) for r in ranges)
    return prod(parts) >= cores


def _fits(op: ReindexOp, chip: Chip) -> bool:
    try:
        TilePlanner(Group((op,)), chip).plan()
    except DoesNotFit:
        return False
    return True


def _regions(op: ReindexOp) -> tuple[int, list[Region]] | None:
    """The dimension to cut along, and the regions, or None where there are none."""
    shape = tuple(tensor_of(op.result).get_shape())
    stick_dim = _stick_dim(op)
    pieces = [
        Piece(op.piece_sizes(p), *op.piece_maps(p)) for p in range(len(op.sources))
    ]
    units = {
        d: ceil_div(n, CUT_ELEMENTS) if d == stick_dim else n
        for d, n in enumerate(shape)
    }
    for dim in sorted(units, key=lambda d: (-units[d], -d)):
        parts = parts_along(pieces, dim) if units[dim] > 1 else None
        if not parts:
            continue
        stick = spyre.eps_of(op.result) if dim == stick_dim else 1
        regions = regions_along(parts, dim, shape[dim], stick, CUT_ELEMENTS)
        if sum(len(r.parts) for r in regions) <= MOST_PARTS * 4:
            return dim, regions
    return None


def _stick_dim(op: ReindexOp) -> int:
    return operands_of(op)[1].stick_dim if op.sources else SYNTHETIC


class _Splitter:
    """Writes the movement of some regions in the place of an operation."""

    def __init__(self, op: ReindexOp, dim: int, regions: Sequence[Region]):
        self.op = op
        self.dim = dim
        self.regions = regions
        self.shape = tuple(tensor_of(op.result).get_shape())
        self.stick = spyre.eps_of(op.result) if dim == _stick_dim(op) else 1
        self.dtype = spyre.dtype_name(op.result.type)
        self.sources: list[SSAValue] = []
        self.pieces: list[Piece] = []

    def run(self) -> None:
        edges = [r for r in self.regions if r.is_edge]
        starts: dict[int, int] = {}
        length = 0
        for region in edges:
            starts[region.start] = length
            length += ceil_div(region.extent, self.stick) * self.stick
        made = self._edges(edges, starts, length) if edges else None
        number: SSAValue | None = None
        for region in self.regions:
            if region.is_edge:
                assert made is not None
                self._add(made, self._copy(region, starts[region.start]))
            elif region.parts:
                for part in region.parts:
                    self._add(self.op.sources[part.origin], part.piece)
            else:
                number = self._number() if number is None else number
                self._add(number, self._constant(region))
        new = self._movement()
        new.location = self.op.location
        replace_op(self.op, new)

    def _add(self, source: SSAValue, piece: Piece) -> None:
        self.sources.append(source)
        self.pieces.append(piece)

    def _edges(
        self, edges: Sequence[Region], starts: dict[int, int], length: int
    ) -> SSAValue:
        """The edge regions after each other, as a tensor of their own."""
        shape = list(self.shape)
        shape[self.dim] = length
        parts: list[Part] = []
        for region in edges:
            shift = starts[region.start] - region.start
            parts += [_shifted(p, self.dim, shift) for p in region.parts]
        if not parts:
            return self._full(shape)
        shared, pieces = shared_first([p.piece for p in parts], shape)
        layout = spyre.layout_of(self.op.result)
        op = ReindexOp(
            [self.op.sources[p.origin] for p in parts],
            spyre.tensor_type(shape, self.dtype, layout),
            shared,
            [affine_map(p.source, len(p.sizes)) for p in pieces],
            [affine_map(p.target, len(p.sizes)) for p in pieces],
            [p.sizes[len(shared) :] for p in pieces],
            self.op.fill,
        )
        return insert_before(op, self.op)

    def _number(self) -> SSAValue:
        return self._full([1] * len(self.shape))

    def _full(self, shape: Sequence[int]) -> SSAValue:
        layout = spyre.layout_of(self.op.result)
        full = FullOp(0, spyre.tensor_type(shape, self.dtype, layout))
        full.attributes["value"] = self._fill()
        return insert_before(full, self.op)

    def _fill(self) -> Attribute:
        fill = self.op.fill
        return spyre.number_attr(0, self.dtype) if fill is None else fill

    def _copy(self, region: Region, start: int) -> Piece:
        """A region from where it lies among the edges."""
        target = self._everywhere(region)
        source = list(target.target)
        shift = Linear.constant(start - region.start, len(target.sizes))
        source[self.dim] = source[self.dim] + shift
        return replace(target, source=tuple(source))

    def _constant(self, region: Region) -> Piece:
        target = self._everywhere(region)
        zero = Linear.constant(0, len(target.sizes))
        return replace(target, source=(zero,) * len(self.shape))

    def _everywhere(self, region: Region) -> Piece:
        """All elements of a region, the iterator along the dimension last."""
        rank = len(self.shape)
        others = [d for d in range(rank) if d != self.dim]
        place = {d: k for k, d in enumerate((*others, self.dim))}
        target = [Linear.iterator(place[d], rank) for d in range(rank)]
        target[self.dim] = replace(target[self.dim], offset=region.start)
        sizes = (*(self.shape[d] for d in others), region.extent)
        return Piece(sizes, tuple(target), tuple(target))

    def _movement(self) -> ReindexOp:
        dims = [d for d in range(len(self.shape)) if self._is_shared(d)]
        pieces = [_reordered(p, dims) for p in self.pieces]
        limits = [p.sizes[len(dims)] for p in pieces]
        count = len(dims) + 1
        return ReindexOp(
            self.sources,
            tensor_of(self.op.result),
            (*(self.shape[d] for d in dims), self._longest(limits)),
            [affine_map(p.source, len(p.sizes)) for p in pieces],
            [affine_map(p.target, len(p.sizes)) for p in pieces],
            [p.sizes[count:] for p in pieces],
            self.op.fill if self._has_holes() else None,
            limits,
        )

    def _is_shared(self, dim: int) -> bool:
        """Whether one iterator of every piece runs along the whole dimension."""
        if dim == self.dim:
            return False
        singles = [(p.target[dim].single, p) for p in self.pieces]
        return all(k is not None and p.sizes[k] == self.shape[dim] for k, p in singles)

    def _longest(self, limits: Sequence[int]) -> int:
        backwards = any(p.runs_backwards() for r in self.regions for p in r.parts)
        longest = max(limits)
        if not backwards:
            return longest
        return CUT_ELEMENTS << (ceil_div(longest, CUT_ELEMENTS) - 1).bit_length()

    def _has_holes(self) -> bool:
        """Whether some region with parts is not written whole."""
        across = prod(n for d, n in enumerate(self.shape) if d != self.dim)
        return any(
            r.parts
            and not r.is_edge
            and sum(p.piece.volume for p in r.parts) < across * r.extent
            for r in self.regions
        )


def _shifted(part: Part, dim: int, shift: int) -> Part:
    target = list(part.piece.target)
    target[dim] = replace(target[dim], offset=target[dim].offset + shift)
    return replace(part, piece=replace(part.piece, target=tuple(target)))


def _reordered(piece: Piece, dims: Sequence[int]) -> Piece:
    """With the iterators along `dims` first, then the last one, then the others."""
    front = [k for d in dims if (k := piece.target[d].single) is not None]
    last = len(piece.sizes) - 1
    rest = [k for k in range(last) if k not in front]
    order = [*front, last, *rest]

    def of(coordinates: Sequence[Linear]) -> tuple[Linear, ...]:
        return tuple(
            Linear(tuple(c.coefficients[k] for k in order), c.offset)
            for c in coordinates
        )

    sizes = tuple(piece.sizes[k] for k in order)
    return Piece(sizes, of(piece.source), of(piece.target))
