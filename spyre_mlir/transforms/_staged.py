# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Reads staged ktdp: affine values as addresses and extents, tiles as accesses.

What is not in staged form is a PassError that names the op and says what would be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from xdsl.dialects import affine, arith, func
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineSetAttr,
    IntegerAttr,
    MemRefType,
)
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)
from xdsl.utils.hints import isa

from spyre_mlir.algebra.access import Access, Axis
from spyre_mlir.algebra.linear import Linear
from spyre_mlir.algebra.linear import linear_map as linear_of
from spyre_mlir.analysis.statements import LoopLevel
from spyre_mlir.dialects import ktdp
from spyre_mlir.dialects.spyre import dtype_name
from spyre_mlir.transforms import _affine as shared
from spyre_mlir.transforms._errors import PassError

Size = int | SSAValue
_Terms = dict[SSAValue, int]


def not_staged(op: Operation, why: str) -> PassError:
    return PassError(f"{op.name} is not in staged form: {why}", op.location)


@dataclass
class Place:
    """constant + sum(terms) + sum(factor * (terms mod depth)), over core and trips."""

    constant: int = 0
    terms: _Terms = field(default_factory=dict[SSAValue, int])
    turns: list[tuple[_Terms, int, int]] = field(
        default_factory=list[tuple[_Terms, int, int]]
    )

    def __add__(self, other: Place) -> Place:
        terms = dict(self.terms)
        for value, step in other.terms.items():
            terms[value] = terms.get(value, 0) + step
        return Place(self.constant + other.constant, terms, [*self.turns, *other.turns])

    def __mul__(self, factor: int) -> Place:
        return Place(
            self.constant * factor,
            {v: s * factor for v, s in self.terms.items()},
            [(t, depth, f * factor) for t, depth, f in self.turns],
        )

    @property
    def is_constant(self) -> bool:
        return not self.turns and not any(self.terms.values())


@dataclass
class Operand:
    """A tile as an access over its own variables, and their extents."""

    access: Access
    extents: tuple[Size, ...]

    def spread(self, places: Sequence[int], rank: int) -> Access:
        """The same access over `rank` axes; variable i is the axis `places[i]`."""
        strides, stick = [0] * rank, [0] * rank
        for variable, place in enumerate(places):
            strides[place] = self.access.strides[variable]
            stick[place] = self.access.stick[variable]
        return replace(self.access, strides=tuple(strides), stick=tuple(stick))


@dataclass
class Lookup:
    """A gather's source, the index that it is read at, and how the index steps."""

    source: Operand
    index: Access
    stride: int
    stick: int
    limit: int


class StagedReader:
    """What the values of one kernel mean; the open loops are the caller's."""

    def __init__(self, function: func.FuncOp, grid: Sequence[int]):
        self.grid = tuple(grid)
        arguments: Sequence[SSAValue] = function.body.block.args
        self.symbols: dict[SSAValue, int] = {a: i for i, a in enumerate(arguments)}
        self.digits: dict[SSAValue, int] = {}
        self.nest: list[LoopLevel] = []
        self.depths: dict[SSAValue, int] = {}
        """Depth of each open loop by its induction variable."""
        self._places: dict[SSAValue, Place] = {}
        self._axes: dict[SSAValue, Axis] = {}

    def name_digits(self, op: ktdp.GetComputeTileIdOp) -> None:
        if len(op.coordinates) != len(self.grid):
            raise not_staged(op, f"the grid has {len(self.grid)} digits")
        self.digits.update({v: d for d, v in enumerate(op.coordinates)})

    # ---- affine values

    def place(self, value: SSAValue, user: Operation) -> Place:
        """An index as an affine function of symbols, digits and trips."""
        known = self._places.get(value)
        if known is None:
            known = self._places[value] = self._new_place(value, user)
        return known

    def _new_place(self, value: SSAValue, user: Operation) -> Place:
        if value in self.symbols or value in self.digits or value in self.depths:
            return Place(0, {value: 1})
        owner = value.owner
        if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
            return Place(owner.value.value.data)
        if isinstance(owner, affine.ApplyOp):
            return self._results(owner, owner.map.data, owner.mapOperands)[0]
        what = owner.name if isinstance(owner, Operation) else "a block argument"
        raise not_staged(
            user,
            f"{what} is no constant or affine.apply of the kernel's arguments, the "
            "core's digits and the enclosing loops",
        )

    def _results(
        self, op: Operation, map_: AffineMap, operands: Sequence[SSAValue]
    ) -> list[Place]:
        places = [self.place(v, op) for v in operands]
        dims, symbols = places[: map_.num_dims], places[map_.num_dims :]
        return [_evaluate(e, dims, symbols, op) for e in map_.results]

    def digit_steps(self, place: Place) -> dict[int, int]:
        return {self.digits[v]: s for v, s in place.terms.items() if v in self.digits}

    def loop_steps(self, place: Place) -> dict[int, int]:
        return {self.depths[v]: s for v, s in place.terms.items() if v in self.depths}

    # ---- extents

    def axis(self, size: Size, user: Operation) -> Axis:
        """The axis of an extent; a fixed one is whole."""
        if isinstance(size, int):
            return Axis.whole(size)
        known = self._axes.get(size)
        if known is None:
            known = self._axes[size] = self._varying(size, user)
        return known

    def _varying(self, size: SSAValue, user: Operation) -> Axis:
        owner = size.owner
        if isinstance(owner, arith.MaxSIOp):
            return self._clamped(owner)
        if isinstance(owner, affine.MinOp):
            inner = owner.arguments[0].owner if owner.arguments else None
            if isinstance(inner, arith.MaxSIOp):
                axis, halo = self._clamped(inner), _late_halo(owner)
                return replace(axis, halo=halo)
            return self._least(owner)
        raise not_staged(
            user,
            "an extent is a number, or an affine.min of the tile and of what is left, "
            "clamped at zero by arith.maxsi",
        )

    def _clamped(self, op: arith.MaxSIOp) -> Axis:
        low, least = self.place(op.rhs, op), op.lhs.owner
        if not low.is_constant or low.constant or not isinstance(least, affine.MinOp):
            raise not_staged(op, "it clamps an affine.min at zero")
        return self._least(least)

    def _least(self, op: affine.MinOp) -> Axis:
        """min(tile, chunk - tile*t, size - chunk*d - tile*t), each plus the halo."""
        rows = self._results(op, op.map.data, op.arguments)
        fixed = [r for r in rows if r.is_constant]
        divided = [r for r in rows if self.digit_steps(r)]
        looped = [r for r in rows if self.loop_steps(r) and r not in divided]
        known = {v for r in rows for v in r.terms} <= {*self.digits, *self.depths}
        counts = (len(fixed), len(divided), len(looped))
        if not known or counts not in ((1, 1, 0), (1, 0, 1), (1, 1, 1)):
            raise not_staged(op, "its results are no tile, rest of chunk, rest of all")
        last = (divided or looped)[0]
        digit, chunk = _single(op, self.digit_steps(last))
        loop, tile = _single(op, self.loop_steps(last))
        halo = fixed[0].constant - (tile if loop >= 0 else chunk)
        size = last.constant - halo
        axis = Axis(
            size,
            digit,
            chunk if digit >= 0 else size,
            loop,
            tile if loop >= 0 else chunk,
            halo,
        )
        if halo or (divided and loop >= 0):
            self._check(op, rows, axis)
        return axis

    def _check(self, op: affine.MinOp, rows: Sequence[Place], axis: Axis) -> None:
        """That an axis has the extents of an affine.min on every core and trip."""
        cores = self.grid[axis.digit] if axis.digit >= 0 else 1
        trips = self.nest[axis.loop].trips if axis.loop >= 0 else 1
        flat = [
            (
                row.constant,
                self.digit_steps(row).get(axis.digit, 0),
                self.loop_steps(row).get(axis.loop, 0),
            )
            for row in rows
        ]
        alone = replace(axis, digit=min(axis.digit, 0), loop=min(axis.loop, 0))
        for core, trip in product(range(cores), range(trips)):
            found = min(c + d * core + t * trip for c, d, t in flat)
            wanted = alone.extent((core,), (trip,))
            if max(0, found) != wanted:
                raise not_staged(op, f"at core digit {core}, trip {trip} it is {found}")

    def started(self, axis: Axis, start: SSAValue | None, user: Operation) -> Axis:
        """The axis whose tiles begin at `start`, with the extents of `axis`."""
        place = Place() if start is None else self.place(start, user)
        digit, chunk = _single(user, self.digit_steps(place), -1)
        loop, tile = _single(user, self.loop_steps(place), -1)
        if axis.digit >= 0 or axis.loop >= 0:
            wanted = (axis.digit, axis.chunk if axis.digit >= 0 else 0)
            wanted += (axis.loop, axis.tile if axis.loop >= 0 else 0)
            if wanted == (digit, chunk, loop, tile):
                return axis
            raise not_staged(user, "an axis begins elsewhere than its extents say")
        if digit < 0 and loop < 0:
            return axis
        size = (tile if digit < 0 else chunk) * (
            self.nest[loop].trips if digit < 0 else self.grid[digit]
        )
        step = tile if loop >= 0 else chunk
        chunk = chunk if digit >= 0 else size
        return Axis(size, digit, chunk, loop, step, axis.size - step)

    # ---- tiles

    def tile(self, value: SSAValue, user: Operation) -> Operand:
        """The access that a load's or store's tile is."""
        op = value.owner
        if isinstance(op, ktdp.ConstructAccessTileOp):
            return self._whole_view(op)
        if isinstance(op, ktdp.ConstructIndirectAccessTileOp):
            if op.index_views:
                raise not_staged(user, "only a load from DRAM goes through indices")
            return self._skewed(op)[0]
        raise not_staged(user, "its tile is constructed in the kernel")

    def lookup(self, op: ktdp.ConstructIndirectAccessTileOp) -> Lookup:
        """The gather that an indirect tile is."""
        operand, found = self._skewed(op)
        if len(found) != 1:
            raise not_staged(op, "one subscript comes from an index view")
        dim, subscript = found[0]
        assert subscript.view is not None
        view = self._view(op.base, op)
        rank = len(operand.extents)
        rows = [_row(op, e, rank) for e in subscript.expressions]
        index = self._over_variables(op, self._view(subscript.view, op), rows, rank)
        limit = view.static_sizes.get_values()[dim]
        if limit == DYNAMIC_INDEX:
            raise not_staged(op, "the gathered dimension has a fixed size")
        stride = view.static_strides.get_values()[dim]
        if dim == _stick_dim(view):
            source = replace(operand.access, stick_stride=stride)
            return Lookup(Operand(source, operand.extents), index, 0, 1, limit)
        return Lookup(operand, index, stride, 0, limit)

    def _view(self, value: SSAValue, user: Operation) -> ktdp.ConstructMemoryViewOp:
        op = value.owner
        if not isinstance(op, ktdp.ConstructMemoryViewOp):
            raise not_staged(user, "its view is constructed in the kernel")
        if op.strides or op.space.space not in ("dram", "lx"):
            raise not_staged(op, "strides are numbers, the space global or ct_local")
        if op.space.core is not None:
            raise not_staged(op, "a core reads and writes its own scratchpad")
        return op

    def _whole_view(self, op: ktdp.ConstructAccessTileOp) -> Operand:
        view = self._view(op.base, op)
        sizes = tuple(view.mixed_sizes())
        extents = _extents(op, op.tile, op.access_tile_set, op.symbol_operands)
        begin = op.base_map.data.results
        if any(not isinstance(e, AffineConstantExpr) or e.value for e in begin):
            raise not_staged(op, "a tile begins where its view does")
        rank = len(sizes)
        order = op.access_tile_order
        if extents != sizes or order.data != shared.identity_map(rank).data:
            raise not_staged(op, "a tile is its whole view, in the view's order")
        rows = [Linear.iterator(d, rank) for d in range(rank)]
        return Operand(self._over_variables(op, view, rows, rank), extents)

    def _skewed(
        self, op: ktdp.ConstructIndirectAccessTileOp
    ) -> tuple[Operand, list[tuple[int, ktdp.Subscript]]]:
        """The direct part of an indirect tile, and its indirect subscripts by dim."""
        view = self._view(op.base, op)
        extents = _extents(op, op.tile, op.variables_space_set, op.symbol_operands)
        rank = len(extents)
        order = op.variables_space_order
        if op.captured or order.data != shared.identity_map(rank).data:
            raise not_staged(op, "subscripts are over the tile's variables alone")
        rows: list[Linear] = []
        found: list[tuple[int, ktdp.Subscript]] = []
        for dim, subscript in enumerate(op.subscripts()):
            if subscript.view is None:
                rows.append(_row(op, subscript.expressions[0], rank))
            else:
                rows.append(Linear.constant(0, rank))
                found.append((dim, subscript))
        return Operand(self._over_variables(op, view, rows, rank), extents), found

    def _over_variables(
        self,
        op: Operation,
        view: ktdp.ConstructMemoryViewOp,
        rows: Sequence[Linear],
        rank: int,
    ) -> Access:
        """The access of view coordinates that are linear in `rank` variables."""
        on = _stick_dim(view)
        strides = view.static_strides.get_values()
        total = Linear.constant(0, rank)
        for dim, row in enumerate(rows):
            if dim != on:
                total = total + row * strides[dim]
        stick = rows[on] if on >= 0 else Linear.constant(0, rank)
        step = strides[on] if on >= 0 and stick.used else 0
        fixed = self._fixed(op, view)
        whole, lane = divmod(stick.offset, fixed.eps)
        if not stick.used:
            lane, total = 0, total + Linear.constant(lane, rank)
        stride = strides[on] if on >= 0 else 0
        shift = total.offset + whole * stride
        return replace(
            fixed,
            base=fixed.base + shift * fixed.itemsize,
            strides=total.coefficients,
            stick=stick.coefficients,
            stick_stride=step,
            stick_offset=lane,
        )

    def _fixed(self, user: Operation, view: ktdp.ConstructMemoryViewOp) -> Access:
        """Space, type and base of a view, as an access over nothing yet."""
        type_ = view.view.type
        assert isa(type_, MemRefType)
        dtype, space = dtype_name(type_.element_type), view.space.space
        assert space in ("dram", "lx")
        access = Access(space, dtype, 0, (), ())
        place = self.place(view.base, view)
        named = [self.symbols[v] for v in place.terms if v in self.symbols]
        steps = [s for v, s in place.terms.items() if v in self.symbols]
        if steps != ([1] if space == "dram" else []):
            raise not_staged(
                view, "a base in DRAM counts from one argument, in LX none"
            )
        item = access.itemsize
        access = replace(
            access,
            base=place.constant * item,
            symbol=named[0] if named else -1,
            digit_strides=_dense(self.digit_steps(place), item),
            loop_strides=_dense(self.loop_steps(place), item),
        )
        if not place.turns:
            return access
        if len(place.turns) > 1:
            raise not_staged(view, "a base has one stage")
        terms, depth, factor = place.turns[0]
        levels = self._stage_levels(view, terms)
        return replace(
            access, depth=depth, stage_bytes=factor * item, stage_levels=levels
        )

    def _stage_levels(self, view: Operation, terms: _Terms) -> int:
        """How many outer loops the number of a stage counts, row-major."""
        found = self.loop_steps(Place(0, terms))
        step, levels = 1, max(found, default=-1) + 1
        wanted: dict[int, int] = {}
        for depth in reversed(range(levels)):
            wanted[depth] = step
            step *= self.nest[depth].trips
        if len(found) != len(terms) or found != wanted:
            raise not_staged(view, "a stage numbers the trips of the outer loops")
        return levels


def _evaluate(
    expr: AffineExpr, dims: Sequence[Place], symbols: Sequence[Place], op: Operation
) -> Place:
    match expr:
        case AffineConstantExpr(value):
            return Place(value)
        case AffineDimExpr(position):
            return dims[position]
        case AffineSymExpr(position):
            return symbols[position]
        case AffineBinaryOpExpr(kind, lhs, rhs):
            left = _evaluate(lhs, dims, symbols, op)
            right = _evaluate(rhs, dims, symbols, op)
            if kind == AffineBinaryOpKind.Add:
                return left + right
            if kind == AffineBinaryOpKind.Mul and right.is_constant:
                return left * right.constant
            if kind == AffineBinaryOpKind.Mul and left.is_constant:
                return right * left.constant
            is_stage = kind == AffineBinaryOpKind.Mod and right.is_constant
            if is_stage and not left.constant and not left.turns:
                return Place(0, {}, [(left.terms, right.constant, 1)])
        case _:
            pass
    raise not_staged(op, f"{expr} is not linear, nor the stage of a buffer")


def _single(op: Operation, steps: dict[int, int], sign: int = 1) -> tuple[int, int]:
    """The one digit or loop of a row, and minus its step; (-1, 0) without any."""
    used = {k: -sign * s for k, s in steps.items() if s}
    if not used:
        return -1, 0
    if len(used) > 1 or min(used.values()) < 0:
        raise not_staged(op, "an axis is cut by one digit and one loop at most")
    return next(iter(used.items()))


def _late_halo(op: affine.MinOp) -> int:
    """h of min(left + h, (1 + h) * left): all of the halo, or nothing."""
    rows = linear_of(op.map.data)
    if len(rows) == 2 and op.map.data.num_dims == 1:
        halo = rows[0].offset
        if rows == (Linear((1,), halo), Linear((1 + halo,))):
            return halo
    raise not_staged(op, "a halo is min(left + h, (1 + h) * left)")


def _row(op: Operation, expr: AffineExpr, rank: int) -> Linear:
    try:
        return linear_of(AffineMap(rank, 0, (expr,)))[0]
    except ValueError as error:
        raise not_staged(op, str(error)) from error


def _stick_dim(view: ktdp.ConstructMemoryViewOp) -> int:
    layout = ktdp.view_layout(view.view.type)
    return -1 if layout is None else layout.stick_dim


def _dense(steps: dict[int, int], itemsize: int) -> tuple[int, ...]:
    used = {k: s for k, s in steps.items() if s}
    return tuple(used.get(k, 0) * itemsize for k in range(max(used, default=-1) + 1))


def _extents(
    op: Operation,
    tile: SSAValue,
    points: AffineSetAttr,
    symbols: Sequence[SSAValue],
) -> tuple[Size, ...]:
    """Extents of a tile whose points are a box from zero."""
    type_ = tile.type
    assert isinstance(type_, ktdp.AccessTileType)
    shape = type_.get_shape()
    box = shared.box(shape)
    if points is not box and points != box and not _is_box(points, shape):
        raise not_staged(op, f"its points are {box.data}, each symbol in its place")
    rest: Iterator[SSAValue] = iter(symbols)
    return tuple(next(rest) if e == DYNAMIC_INDEX else e for e in shape)


def _is_box(points: AffineSetAttr, shape: Sequence[int]) -> bool:
    """The same as a box, spelled otherwise; dynamic extents are tried out."""
    tried = [i + 3 for i, _ in enumerate(s for s in shape if s == DYNAMIC_INDEX)]
    if len(tried) != points.data.num_symbols:
        return False
    rest = iter(tried)
    wanted = [next(rest) if s == DYNAMIC_INDEX else s for s in shape]
    try:
        found = ktdp.set_values(points.data, tried)
    except ktdp.SetError:
        return False
    return [list(v) for v in found] == [list(range(n)) for n in wanted]
