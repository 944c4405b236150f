# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
A planned group as one core's staged program.

`build_kernel` spells out what the decisions on a group's operations say: the loops,
each transfer and compute with its accesses, and every scratchpad buffer with its
bytes and life. Planner, verifier and lowering all read this one list, so that a plan
is complete and the lowering allocates nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import SSAValue

from spyre_mlir.algebra.access import Access, Axis, Step
from spyre_mlir.analysis.decisions import (
    PlanFault,
    division_digits,
    kernel_grid,
    op_axes,
)
from spyre_mlir.analysis.movements import is_stick_copy, piece_axes, regions_of
from spyre_mlir.analysis.ownership import Share, difference, shares_of
from spyre_mlir.analysis.space import Operand, iteration_space, operands_of
from spyre_mlir.analysis.statements import Kernel, LoopLevel, LxBuffer, Statement
from spyre_mlir.analysis.tilebox import (
    TileBox,
    dram_box,
    dram_walk,
    lx_box,
    lx_walk,
    tile_box,
)
from spyre_mlir.analysis.vector_steps import vector_steps
from spyre_mlir.dialects import spyre


@dataclass
class _OpContext:
    """An operation with what its decisions say."""

    position: int
    op: spyre.SpyreOp
    axes: tuple[Axis, ...]
    shared: tuple[LoopLevel, ...]
    private: tuple[LoopLevel, ...]
    depth: int

    @property
    def nest(self) -> tuple[LoopLevel, ...]:
        return self.shared + self.private

    def statement(
        self,
        kind: str,
        reads: tuple[Access, ...],
        write: Access,
        steps: tuple[Step, ...] = (),
    ) -> Statement:
        """A compute over the operation's axes, inside all its loops."""
        return Statement(
            kind, self.nest, self.position, self.axes, reads, write, steps=steps
        )


@dataclass
class _Tile:
    """A value's tile in the scratchpad."""

    buffer: LxBuffer
    box: TileBox
    levels: int
    """Loops whose trips pick the stage."""
    shares: tuple[Share, ...] = ()
    """What a core makes of each dimension in a trip of the shared loops."""


class KernelBuilder:
    """Builds the kernel of one group; see `build_kernel`."""

    def __init__(
        self,
        ops: Sequence[spyre.SpyreOp],
        inputs: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
    ):
        self.ops = list(ops)
        self.outputs = list(outputs)
        self.kernel = Kernel(kernel_grid(ops), [*inputs, *outputs])
        self._symbol = {v: i for i, v in enumerate(inputs)}
        self._output = {v: len(inputs) + i for i, v in enumerate(outputs)}
        self._tiles: dict[SSAValue, _Tile] = {}
        self._loads: dict[object, _Tile] = {}
        self._contexts: dict[spyre.SpyreOp, _OpContext] = {}
        self._loops = 0
        self._shared: tuple[LoopLevel, ...] | None = None
        self._inlined = _inlined_maps(self.ops, self.outputs)
        self._last_use = _last_uses(self.ops, self._inlined)

    def build(self) -> Kernel:
        for position, op in enumerate(self.ops):
            try:
                context = self._context(position, op)
                self._contexts[op] = context
                if op.results[0] not in self._inlined:
                    self._op(context)
            except PlanFault as fault:
                fault.op = fault.op or op
                raise
        self.kernel.statements = _in_program_order(self.kernel.statements)
        for buffer in self.kernel.buffers:
            if buffer.role == "stage" or buffer.last < 0:
                buffer.first, buffer.last = 0, len(self.ops) - 1
        return self.kernel

    # ---- contexts

    def _loop(self, trips: int) -> LoopLevel:
        self._loops += 1
        return LoopLevel(self._loops, trips)

    def _context(self, position: int, op: spyre.SpyreOp) -> _OpContext:
        own, private = _trips(op)
        if self._shared is None:
            self._shared = tuple(map(self._loop, own))
        shared = self._shared
        self._check_group(op, own)
        private = tuple(map(self._loop, private))
        axes = op_axes(op, iteration_space(op))
        depth = op.tile.depth_data if op.tile else 1
        return _OpContext(position, op, axes, shared, private, depth)

    def _check_group(self, op: spyre.SpyreOp, own: Sequence[int]) -> None:
        """One grid and one nest of shared loops for all members."""
        grid = division_digits(op)[0]
        if grid != self.kernel.grid:
            raise PlanFault(
                f"divided over {list(grid)}, its group over {list(self.kernel.grid)}"
            )
        trips = [level.trips for level in self._shared or ()]
        if list(own) != trips:
            raise PlanFault(f"loops of {list(own)} trips, its group has {trips}")

    def _check_owner(
        self, op: spyre.SpyreOp, made: Sequence[Share], read: Sequence[Share]
    ) -> None:
        """A member reads in the scratchpad what the same core made in the same trip."""
        wrong = difference(made, read)
        if wrong is not None:
            raise PlanFault(
                f"reads other parts of a value than its group makes: {wrong}", op
            )

    # ---- buffers

    def _buffer(self, ctx: _OpContext, role: str, bytes_: int, depth: int) -> LxBuffer:
        same = [b for b in self.kernel.buffers if b.owner == ctx.position]
        places = ctx.op.places.data if ctx.op.places else ()
        buffer = LxBuffer(ctx.position, role, bytes_, depth, ctx.position, ctx.position)
        # The result's own place comes first in the attribute.
        index = len(same)
        lx = [p for p in places if p.space.data == "lx"]
        if index < len(lx):
            buffer.address = lx[index].address.value.data
            buffer.is_placed = True
        self.kernel.buffers.append(buffer)
        return buffer

    def _result_tile(self, ctx: _OpContext, target: Operand) -> _Tile:
        box = tile_box(target, ctx.axes)
        stored = target.value in self._output
        trips = prod(level.trips for level in ctx.shared)
        depth = ctx.depth if stored and trips > 1 else 1
        buffer = self._buffer(ctx, "result", box.lx_bytes, depth)
        buffer.last = -1 if stored else self._last_use.get(target.value, ctx.position)
        levels = len(ctx.shared)
        shares = shares_of(target, ctx.axes, levels)
        if target.value in self._tiles:
            shares = ()
        tile = _Tile(buffer, box, levels if depth > 1 else 0, shares)
        self._tiles[target.value] = tile
        return tile

    # ---- operands

    def _load(self, ctx: _OpContext, operand: Operand) -> _Tile:
        """Brings an operand's tile into the scratchpad, once per distinct tile."""
        box = tile_box(operand, ctx.axes)
        level = box.level
        nest = ctx.nest[:level]
        symbol = self._symbol[operand.value]
        source = dram_box(operand, box, symbol)
        key = (operand.value, source, box.axes, nest)
        known = self._loads.get(key)
        if known is not None:
            return known
        depth = ctx.depth if prod(loop.trips for loop in nest) > 1 else 1
        buffer = self._buffer(ctx, "stage", box.lx_bytes, depth)
        tile = _Tile(buffer, box, level if depth > 1 else 0)
        target = _staged(lx_box(box, buffer.address), tile)
        source = replace(source, loop_strides=source.loop_strides[:level])
        self._emit(Statement("load", nest, ctx.position, box.axes, (source,), target))
        self._loads[key] = tile
        return tile

    def _read(
        self, ctx: _OpContext, operand: Operand, axes: Sequence[Axis] | None = None
    ) -> Access:
        """The access of an operand in the scratchpad over the op's axes."""
        axes = ctx.axes if axes is None else axes
        tile = self._tiles.get(operand.value)
        if tile is None:
            tile = self._load(ctx, operand)
            return _staged(lx_walk(operand, tile.box, axes, tile.buffer.address), tile)
        private = len(ctx.shared)
        if not tile.shares and operand.coordinates:
            raise PlanFault("reads what its group makes in several regions")
        self._check_owner(ctx.op, tile.shares, shares_of(operand, ctx.axes, private))
        access = lx_walk(operand, tile.box, axes, tile.buffer.address, private)
        return _staged(access, tile)

    def _emit(self, statement: Statement) -> None:
        self.kernel.statements.append(statement)

    def _store(self, ctx: _OpContext, target: Operand, tile: _Tile) -> None:
        symbol = self._output.get(target.value)
        if symbol is None:
            return
        access = dram_box(target, tile.box, symbol)
        source = _staged(lx_box(tile.box, tile.buffer.address), tile)
        axes = tile.box.axes
        self._emit(
            Statement("store", ctx.shared, ctx.position, axes, (source,), access)
        )

    # ---- operations

    def _op(self, ctx: _OpContext) -> None:
        op = ctx.op
        if isinstance(op, spyre.ReindexOp):
            self._reindex(ctx, op)
            return
        *inputs, target = operands_of(op)
        if isinstance(op, spyre.GatherOp):
            self._gather(ctx, op, inputs, target)
        elif isinstance(op, spyre.MatmulOp | spyre.ReduceOp):
            self._contraction(ctx, op, inputs, target)
        else:
            tile = self._result_tile(ctx, target)
            reads = tuple(self._read(ctx, o) for o in inputs)
            write = _staged(
                lx_walk(target, tile.box, ctx.axes, tile.buffer.address), tile
            )
            steps = vector_steps(op)
            self._emit(ctx.statement("vector", reads, write, steps=steps))
            self._store(ctx, target, tile)

    def _contraction(
        self,
        ctx: _OpContext,
        op: spyre.MatmulOp | spyre.ReduceOp,
        inputs: Sequence[Operand],
        target: Operand,
    ) -> None:
        tile = self._result_tile(ctx, target)
        steps: tuple[Step, ...] = ()
        inlined = self._inlined.get(inputs[0].value)
        if inlined is not None:
            *inputs, made = operands_of(inlined)
            self._check_inlined(ctx, made, operands_of(op)[0])
            steps = vector_steps(inlined)
        reads = tuple(self._read(ctx, o) for o in inputs)
        result = _staged(lx_walk(target, tile.box, ctx.axes, tile.buffer.address), tile)
        write, acc_level = result, -1
        if ctx.private:
            acc_level = len(ctx.shared)
            wide = "f32" if spyre.is_float(target.dtype) else target.dtype
            if wide != target.dtype:
                write = self._partial_sums(ctx, target, tile, wide)
        statement = ctx.statement("vector", reads, write, steps=steps)
        self._emit(_contracting(statement, op, acc_level))
        if write is not result:
            self._emit(_rounding(ctx, write, result, target.dtype))
        self._store(ctx, target, tile)

    def _check_inlined(self, ctx: _OpContext, made: Operand, read: Operand) -> None:
        """A map inside a reduction's record runs over the reduction's axes."""
        owner = made.value.owner
        assert isinstance(owner, spyre.MapOp)
        shared = len(ctx.shared)
        shares = shares_of(made, self._contexts[owner].axes, shared)
        self._check_owner(ctx.op, shares, shares_of(read, ctx.axes, shared))

    def _partial_sums(
        self, ctx: _OpContext, target: Operand, tile: _Tile, dtype: str
    ) -> Access:
        box = tile.box.with_dtype(dtype)
        buffer = self._buffer(ctx, "sum", box.lx_bytes, 1)
        access = lx_walk(target, box, ctx.axes, buffer.address)
        return replace(access, dtype=dtype)

    def _gather(
        self,
        ctx: _OpContext,
        op: spyre.GatherOp,
        inputs: Sequence[Operand],
        target: Operand,
    ) -> None:
        source, index = inputs
        if source.value in self._tiles:
            raise PlanFault("looks up rows in DRAM that its group makes")
        tile = self._result_tile(ctx, target)
        index_read = self._read(ctx, index)
        walk = dram_walk(source, ctx.axes, self._symbol[source.value])
        write = _staged(lx_walk(target, tile.box, ctx.axes, tile.buffer.address), tile)
        eps = spyre.eps_of(source.value)
        strides = source.layout.dim_strides(source.shape, eps)
        on_stick = source.stick_dim == op.axis_data
        self._emit(
            Statement(
                "gather",
                ctx.shared,
                ctx.position,
                ctx.axes,
                (walk, index_read),
                write,
                index=(
                    0 if on_stick else strides[op.axis_data],
                    int(on_stick),
                    source.shape[op.axis_data],
                ),
            )
        )
        self._store(ctx, target, tile)

    def _reindex(self, ctx: _OpContext, op: spyre.ReindexOp) -> None:
        for region in regions_of(op):
            tile = self._result_tile(ctx, region.target)
            if op.fill is not None:
                self._fill(ctx, region.target, tile, spyre.number_of(op.fill))
            for source, target in region.pieces:
                self._piece(ctx, source, target, tile)
            self._store(ctx, region.target, tile)

    def _fill(
        self, ctx: _OpContext, target: Operand, tile: _Tile, value: float | int
    ) -> None:
        whole = _staged(lx_box(tile.box, tile.buffer.address), tile)
        steps = (Step("constant", (), target.dtype, (value,)),)
        axes = tile.box.axes
        self._emit(
            Statement("vector", ctx.shared, ctx.position, axes, (), whole, steps=steps)
        )

    def _piece(
        self, ctx: _OpContext, source: Operand, target: Operand, tile: _Tile
    ) -> None:
        axes = piece_axes(ctx.axes, source.sizes)
        write = _staged(lx_walk(target, tile.box, axes, tile.buffer.address), tile)
        external = source.value not in self._tiles
        if external:
            walk = dram_walk(source, axes, self._symbol[source.value])
            if is_stick_copy(walk, write, axes, target):
                self._emit(
                    Statement("load", ctx.shared, ctx.position, axes, (walk,), write)
                )
                return
        piece = replace(ctx, axes=axes)
        read = self._read(piece, source, axes)
        self._emit(Statement("shuffle", ctx.shared, ctx.position, axes, (read,), write))


def _trips(op: spyre.SpyreOp) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Trips of the loops that a group shares, and of those over what is reduced."""
    levels = op.tile.levels_data if op.tile else ()
    reduced = op.reduction_iterators()
    count = sum(1 for iterator, _ in levels if iterator not in reduced)
    for iterator, _ in levels[:count]:
        if iterator in reduced:
            raise PlanFault(
                f"its loop over iterator {iterator}, which is summed or folded, stands "
                "outside of another loop"
            )
    trips = tuple(t for _, t in levels)
    return trips[:count], trips[count:]


def _contracting(
    statement: Statement, op: spyre.MatmulOp | spyre.ReduceOp, acc_level: int
) -> Statement:
    """A statement that sums over what the operation reduces."""
    if isinstance(op, spyre.MatmulOp):
        roles = "".join(op.role(k) for k in range(len(statement.axes)))
        return replace(statement, kind="matmul", roles=roles, acc_level=acc_level)
    return replace(
        statement, combine=op.kind.data, fold=op.dims_data, acc_level=acc_level
    )


def _rounding(ctx: _OpContext, sums: Access, result: Access, dtype: str) -> Statement:
    """Brings finished sums to the result's type; the reduced axes have extent one."""
    reduced = ctx.op.reduction_iterators()
    axes = tuple(Axis.whole(1) if k in reduced else a for k, a in enumerate(ctx.axes))
    steps = (Step("cast", (0,), dtype),)
    return Statement(
        "vector", ctx.shared, ctx.position, axes, (sums,), result, steps=steps
    )


def _in_program_order(
    statements: Sequence[Statement], depth: int = 0
) -> list[Statement]:
    """
    The statements with each loop's own ones in one run: a load that stands outside a
    loop goes before it, not into its middle.
    """
    runs: list[tuple[LoopLevel | None, list[Statement]]] = []
    for statement in statements:
        loop = statement.nest[depth] if len(statement.nest) > depth else None
        known = [i for i, (own, _) in enumerate(runs) if loop and own == loop]
        if not known:
            runs.append((loop, [statement]))
            continue
        place = known[0]
        runs[place][1].append(statement)
        between = runs[place + 1 :]
        assert all(s.kind == "load" for _, run in between for s in run), (
            "only loads stand in the middle of a loop that they are not in"
        )
        runs = [*runs[:place], *between, runs[place]]
    ordered: list[Statement] = []
    for loop, run in runs:
        ordered += run if loop is None else _in_program_order(run, depth + 1)
    return ordered


def _staged(access: Access, tile: _Tile) -> Access:
    if tile.buffer.depth == 1:
        return access
    return replace(
        access,
        depth=tile.buffer.depth,
        stage_bytes=tile.buffer.bytes,
        stage_levels=tile.levels,
    )


def _inlined_maps(
    ops: Sequence[spyre.SpyreOp], outputs: Sequence[SSAValue]
) -> dict[SSAValue, spyre.MapOp]:
    """Maps whose only reader is a reduction of the group: one record does both."""
    found: dict[SSAValue, spyre.MapOp] = {}
    for op in ops:
        if not isinstance(op, spyre.ReduceOp) or _has_own_loops(op):
            continue
        source = op.source.owner
        if (
            isinstance(source, spyre.MapOp)
            and source in ops
            and op.source not in outputs
            and op.source.has_one_use()
        ):
            found[op.source] = source
    return found


def _has_own_loops(op: spyre.ReduceOp) -> bool:
    levels = op.tile.levels_data if op.tile else ()
    return any(iterator in op.dims_data for iterator, _ in levels)


def _last_uses(
    ops: Sequence[spyre.SpyreOp], inlined: Mapping[SSAValue, spyre.MapOp]
) -> dict[SSAValue, int]:
    last: dict[SSAValue, int] = {}
    for position, op in enumerate(ops):
        for operand in op.operands:
            last[operand] = position
            if operand in inlined:
                last |= dict.fromkeys(inlined[operand].operands, position)
    return last


def build_kernel(
    ops: Sequence[spyre.SpyreOp],
    inputs: Sequence[SSAValue],
    outputs: Sequence[SSAValue],
) -> Kernel:
    """The staged program of a planned group that reads `inputs`, writes `outputs`."""
    return KernelBuilder(ops, inputs, outputs).build()
