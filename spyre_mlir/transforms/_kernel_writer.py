# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Writes the addresses, extents, views and tiles of a staged kernel.

A view is a tile: its base is where the tile of this core and trip begins, its sizes
are the tile's extents, which are dynamic where they vary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeVar

from xdsl.dialects import affine, arith, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    LocationAttr,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from spyre_mlir.algebra.access import Access, Axis
from spyre_mlir.analysis.statements import LoopLevel
from spyre_mlir.dialects import ktdp
from spyre_mlir.transforms import _affine as shared
from spyre_mlir.transforms._scalars import constant_op

Size = int | SSAValue
_INDEX = IndexType()
_Op = TypeVar("_Op", bound=Operation)


@dataclass(frozen=True)
class Skew:
    """A view, and the coordinates in it as linear functions of the kept axes."""

    view: SSAValue
    rows: tuple[tuple[tuple[int, ...], int], ...]


class KernelWriter:
    """Appends to one kernel's body, at the current loop and location."""

    def __init__(self, entry: Block, grid: Sequence[int], location: LocationAttr):
        self.entry = entry
        self.block = entry
        self.location = location
        self.grid = tuple(grid)
        self.nest: list[LoopLevel] = []
        self.trips: list[SSAValue] = []
        self._constants: dict[Attribute, SSAValue] = {}
        self._constant_ops: list[Operation] = []
        self._extents: list[dict[Axis, Size]] = [{}]
        ids = ktdp.GetComputeTileIdOp(len(grid))
        self.digits = list(self.add(ids).results)

    def add(self, op: _Op) -> _Op:
        op.location = self.location
        self.block.add_op(op)
        return op

    # ---- structure

    def finish(self) -> None:
        """Puts the constants that were used before everything else."""
        first = self.entry.first_op
        assert first is not None
        self.entry.insert_ops_before(self._constant_ops, first)

    def enter(self, level: LoopLevel) -> None:
        bounds = [self.constant(n) for n in (0, level.trips, 1)]
        body = Block(arg_types=[_INDEX])
        self.add(scf.ForOp.create(operands=bounds, regions=[Region(body)]))
        self.block = body
        self.nest.append(level)
        self.trips.append(body.args[0])
        self._extents.append({})

    def leave(self) -> None:
        self.add(scf.YieldOp.create())
        loop = self.block.parent_op()
        assert loop is not None and loop.parent is not None
        self.block = loop.parent
        self.nest.pop()
        self.trips.pop()
        self._extents.pop()

    # ---- numbers

    def constant(self, value: int) -> SSAValue:
        """An index."""
        attr = IntegerAttr(value, _INDEX)
        op = arith.ConstantOp.create(result_types=[_INDEX], properties={"value": attr})
        return self._constant(attr, op)

    def number(self, value: float | int, dtype: str) -> SSAValue:
        """A scalar of the kernel's data."""
        op = constant_op(value, dtype)
        return self._constant(op.value, op)

    def _constant(self, key: Attribute, op: arith.ConstantOp) -> SSAValue:
        known = self._constants.get(key)
        if known is None:
            self._constant_ops.append(op)
            known = self._constants[key] = op.result
        return known

    def apply(self, map_: AffineMapAttr, operands: Sequence[SSAValue]) -> SSAValue:
        op = affine.ApplyOp.create(
            operands=operands, result_types=[_INDEX], properties={"map": map_}
        )
        return self.add(op).result

    def _minimum(self, map_: AffineMapAttr, operands: Sequence[SSAValue]) -> SSAValue:
        op = affine.MinOp.create(
            operands=operands, result_types=[_INDEX], properties={"map": map_}
        )
        return self.add(op).result

    def base(self, access: Access, shift: int = 0) -> SSAValue:
        """Where an access begins, in elements; `shift` more."""
        item = access.itemsize
        digits, loops = access.digit_strides, access.loop_strides
        values = (*self.digits, *self.trips)
        steps = [*digits, *[0] * (len(self.digits) - len(digits))]
        steps += [*loops, *[0] * (len(self.trips) - len(loops))]
        turns = [0] * len(values)
        if access.depth > 1:
            trips = [level.trips for level in self.nest[: access.stage_levels]]
            for k in range(len(trips)):
                turns[len(self.digits) + k] = prod(trips[k + 1 :])
        used = [k for k in range(len(values)) if steps[k] or turns[k]]
        offset = access.base // item + shift
        symbol = [self.entry.args[access.symbol]] if access.symbol >= 0 else []
        if not used and not symbol:
            return self.constant(offset)
        if not used and not offset:
            return symbol[0]
        map_ = shared.address_map(
            tuple(steps[k] // item for k in used),
            offset,
            bool(symbol),
            tuple(turns[k] for k in used),
            access.depth,
            access.stage_bytes // item,
        )
        return self.apply(map_, [*(values[k] for k in used), *symbol])

    def start(self, axis: Axis) -> SSAValue | None:
        """First coordinate of an axis's tile, None where it is always zero."""
        values, steps = self._moves(axis)
        if not values:
            return None
        return self.apply(shared.linear_map(((steps, 0),), len(steps)), values)

    def _moves(self, axis: Axis) -> tuple[list[SSAValue], tuple[int, ...]]:
        """The digit and the trip that an axis depends on, and its steps."""
        values: list[SSAValue] = []
        steps: list[int] = []
        if axis.digit >= 0:
            values.append(self.digits[axis.digit])
            steps.append(axis.chunk)
        if axis.loop >= 0:
            values.append(self.trips[axis.loop])
            steps.append(axis.tile)
        return values, tuple(steps)

    # ---- extents

    def extent(self, axis: Axis) -> Size:
        """The elements of an axis's tile: static if all cores and trips agree."""
        for known in self._extents:
            if axis in known:
                return known[axis]
        least = self._least_left(axis)
        if least >= min(axis.tile, axis.chunk, axis.size):
            size: Size = axis.widest
        else:
            size = self._varying(axis, least <= 0)
        self._extents[-1][axis] = size
        return size

    def _least_left(self, axis: Axis) -> int:
        """What is left of the axis at the last core and trip, not clamped at zero."""
        cores = self.grid[axis.digit] if axis.digit >= 0 else 1
        trips = self.nest[axis.loop].trips if axis.loop >= 0 else 1
        owned = min(axis.chunk, axis.size - (cores - 1) * axis.chunk)
        return min(axis.tile, owned - (trips - 1) * axis.tile)

    def _varying(self, axis: Axis, is_idle: bool) -> SSAValue:
        """
        min(tile, what is left of the chunk, what is left of the whole), plus the
        halo; where a core or trip has nothing left, max with zero.
        """
        values, steps = self._moves(axis)
        late = is_idle and axis.halo > 0
        halo = 0 if late else axis.halo
        zero = (0,) * len(steps)
        down = tuple(-s for s in steps)
        rows: list[tuple[tuple[int, ...], int]]
        rows = [(zero, min(axis.tile, axis.chunk) + halo)]
        if axis.digit >= 0 and axis.loop >= 0:
            trips = self.nest[axis.loop].trips
            if trips * axis.tile > axis.chunk:
                rows.append(((0, -axis.tile), axis.chunk + halo))
        rows.append((down, axis.size + halo))
        value = self._minimum(shared.linear_map(tuple(rows), len(steps)), values)
        if not is_idle:
            return value
        op = arith.MaxSIOp.create(
            operands=[value, self.constant(0)], result_types=[_INDEX]
        )
        value = self.add(op).result
        if not late:
            return value
        # At nothing left nothing, else all of the halo.
        rows = [((1,), axis.halo), ((1 + axis.halo,), 0)]
        return self._minimum(shared.linear_map(tuple(rows), 1), [value])

    # ---- views and tiles

    def view(
        self,
        access: Access,
        base: SSAValue,
        sizes: Sequence[Size],
        strides: Sequence[int],
        stick: int,
    ) -> SSAValue:
        shape, dynamic = split(sizes)
        space = ktdp.LX if access.space == "lx" else ktdp.DRAM
        op = ktdp.ConstructMemoryViewOp.create(
            operands=[base, *dynamic],
            result_types=[shared.view_type(shape, access.dtype, stick)],
            properties={
                "static_sizes": shared.integers(shape),
                "static_strides": shared.integers(tuple(strides)),
                "coordinate_set": shared.box(shape),
                "memory_space": space,
                "operandSegmentSizes": _segments(1, len(dynamic), 0),
            },
        )
        return self.add(op).view

    def tile(
        self, access: Access, axes: Sequence[Axis], kept: Sequence[int]
    ) -> SSAValue:
        """The access tile of an operand over the `kept` axes."""
        stick = plain_stick(access, kept)
        if stick is None:
            return self._skewed_tile(access, axes, kept)
        sizes = [self.extent(axes[a]) for a in kept]
        strides = [
            access.stick_stride if place == stick else access.strides[a]
            for place, a in enumerate(kept)
        ]
        base = self.base(access, access.stick_offset)
        view = self.view(access, base, sizes, strides, stick)
        shape, dynamic = split(sizes)
        op = ktdp.ConstructAccessTileOp.create(
            operands=[view, *dynamic],
            result_types=[shared.tile_type(shape)],
            properties={
                "base_map": shared.origin(len(shape)),
                "access_tile_set": shared.box(shape),
                "access_tile_order": shared.identity_map(len(shape)),
                "operandSegmentSizes": _segments(1, 0, len(dynamic)),
            },
        )
        return self.add(op).tile

    def skew(
        self,
        access: Access,
        axes: Sequence[Axis],
        kept: Sequence[int],
        extra: tuple[int, int, bool] | None = None,
    ) -> Skew:
        """
        A view with a dimension per axis that has a stride and one for the sticks.

        `extra` is the size and stride of one more dimension, and whether it walks the
        sticks; the caller gives its coordinate, and its row is empty.
        """
        linear = [a for a in kept if access.strides[a]]
        sizes = [max(1, axes[a].widest) for a in linear]
        strides = [access.strides[a] for a in linear]
        rows = [(_unit(kept.index(a), len(kept)), 0) for a in linear]
        shift, stick = access.stick_offset, -1
        if extra is not None:
            stick = len(sizes) if extra[2] else -1
            sizes.append(extra[0])
            strides.append(extra[1])
            rows.append(((), 0))
        if any(access.stick[a] for a in kept):
            low, high = _stick_bounds(access, axes, kept)
            whole = low // access.eps
            shift = whole * access.stick_stride
            first = whole * access.eps
            stick = len(sizes)
            sizes.append(high - first + 1)
            strides.append(access.stick_stride)
            row = tuple(access.stick[a] for a in kept)
            rows.append((row, access.stick_offset - first))
        base = self.base(access, shift)
        return Skew(self.view(access, base, sizes, strides, stick), tuple(rows))

    def _skewed_tile(
        self, access: Access, axes: Sequence[Axis], kept: Sequence[int]
    ) -> SSAValue:
        found = self.skew(access, axes, kept)
        subscripts = [ktdp.Subscript((shared.linear_expr(*row),)) for row in found.rows]
        return self.indirect_tile(found.view, subscripts, axes, kept)

    def indirect_tile(
        self,
        view: SSAValue,
        subscripts: Sequence[ktdp.Subscript],
        axes: Sequence[Axis],
        kept: Sequence[int],
    ) -> SSAValue:
        shape, dynamic = split([self.extent(axes[a]) for a in kept])
        op = ktdp.ConstructIndirectAccessTileOp(
            view, subscripts, shared.box(shape).data, (), dynamic, shape
        )
        return self.add(op).tile


def plain_stick(access: Access, kept: Sequence[int]) -> int | None:
    """
    Place of the axis that walks the sticks among the kept ones, -1 if none does;
    None where the stick coordinate is more than one axis from a stick's start.
    """
    used = [place for place, a in enumerate(kept) if access.stick[a]]
    if not used:
        return -1
    if len(used) > 1 or access.stick_offset:
        return None
    axis = kept[used[0]]
    return used[0] if access.stick[axis] == 1 and not access.strides[axis] else None


def _stick_bounds(
    access: Access, axes: Sequence[Axis], kept: Sequence[int]
) -> tuple[int, int]:
    """Least and greatest stick coordinate of the widest tile."""
    spans = [access.stick[a] * max(0, axes[a].widest - 1) for a in kept]
    low = access.stick_offset + sum(s for s in spans if s < 0)
    return low, access.stick_offset + sum(s for s in spans if s > 0)


def _unit(place: int, rank: int) -> tuple[int, ...]:
    return tuple(int(k == place) for k in range(rank))


def _segments(*sizes: int) -> DenseArrayBase:
    return DenseArrayBase.from_list(i32, sizes)


def split(sizes: Sequence[Size]) -> tuple[tuple[int, ...], list[SSAValue]]:
    """The static shape, and the values of its dynamic sizes."""
    shape = tuple(s if isinstance(s, int) else DYNAMIC_INDEX for s in sizes)
    return shape, [s for s in sizes if not isinstance(s, int)]
