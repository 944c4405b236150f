# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
A planned group as one core's staged program, in plain data.

`build_kernel` spells out what the decisions on a group's operations say: the loops,
each transfer and compute with its accesses, and every scratchpad buffer with its
bytes and life. Planner, verifier and lowering all read this one list, so that a plan
is complete and the lowering allocates nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.ir import Block, SSAValue
from xdsl.utils.exceptions import PassFailedException

from spyre_mlir.algebra.access import ITEMSIZE, Access, Axis, Step
from spyre_mlir.algebra.layout import STICK_BYTES, ceil_div
from spyre_mlir.analysis.movements import is_stick_copy, piece_axes, regions_of
from spyre_mlir.analysis.space import IterRange, Operand, iteration_space, operands_of
from spyre_mlir.analysis.tilebox import (
    TileBox,
    dram_box,
    dram_walk,
    lx_box,
    lx_walk,
    tile_box,
)
from spyre_mlir.dialects import spyre


@dataclass(frozen=True)
class LoopLevel:
    """A loop of the kernel; the identity tells siblings of one depth apart."""

    identity: int
    trips: int


@dataclass
class LxBuffer:
    """A scratchpad buffer of a kernel."""

    owner: int
    """Position of the operation whose decision places it."""
    role: str
    """`result`, `sum` (partial sums) or `stage` (a loaded operand)."""
    bytes: int
    """Of one stage, whole sticks."""
    depth: int
    first: int
    last: int
    """Life, as positions of operations; a buffer that a transfer touches lives on."""
    address: int = 0

    @property
    def total_bytes(self) -> int:
        return self.bytes * self.depth


@dataclass(frozen=True)
class Statement:
    """One transfer or compute, at its place in the loop nest."""

    kind: str
    """`load`, `gather`, `matmul`, `vector`, `shuffle` or `store`."""
    nest: tuple[LoopLevel, ...]
    op: int
    """Position of the operation that it belongs to."""
    axes: tuple[Axis, ...]
    reads: tuple[Access, ...]
    write: Access
    roles: str = ""
    steps: tuple[Step, ...] = ()
    combine: str = ""
    fold: tuple[int, ...] = ()
    acc_level: int = -1
    index: tuple[int, int, int] = (0, 0, 0)
    """Gather: stride, stick step and limit of the index."""


@dataclass
class Kernel:
    """A group's program: symbols number the kernel's DRAM tensors."""

    grid: tuple[int, ...]
    symbols: list[SSAValue]
    statements: list[Statement] = field(default_factory=list[Statement])
    buffers: list[LxBuffer] = field(default_factory=list[LxBuffer])

    def peak_bytes(self) -> int:
        return max((b.address + b.total_bytes for b in self.buffers), default=0)


@dataclass
class _OpContext:
    position: int
    op: spyre.SpyreOp
    space: tuple[IterRange, ...]
    axes: tuple[Axis, ...]
    shared: tuple[LoopLevel, ...]
    private: tuple[LoopLevel, ...]
    depth: int

    @property
    def nest(self) -> tuple[LoopLevel, ...]:
        return self.shared + self.private


@dataclass
class _Tile:
    """A value's tile in the scratchpad."""

    buffer: LxBuffer
    box: TileBox
    levels: int
    """Loops whose trips pick the stage."""


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
        self._loops = 0
        self._shared: tuple[LoopLevel, ...] | None = None
        self._inlined = _inlined_maps(self.ops, self.outputs)
        self._last_use = _last_uses(self.ops, self._inlined)

    def build(self) -> Kernel:
        for position, op in enumerate(self.ops):
            context = self._context(position, op)
            if op.results[0] not in self._inlined:
                self._op(context)
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
        space = iteration_space(op)
        reduced = op.reduction_iterators()
        levels = op.tile.levels_data if op.tile else ()
        count = sum(1 for it, _ in levels if it not in reduced)
        if self._shared is None:
            self._shared = tuple(self._loop(t) for _, t in levels[:count])
        shared = self._shared
        private = tuple(self._loop(t) for _, t in levels[count:])
        axes = op_axes(op, space)
        depth = op.tile.depth_data if op.tile else 1
        return _OpContext(position, op, space, axes, shared, private, depth)

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
        self.kernel.buffers.append(buffer)
        return buffer

    def _result_tile(self, ctx: _OpContext, target: Operand) -> _Tile:
        box = tile_box(target, ctx.axes)
        stored = target.value in self._output
        trips = 1
        for level in ctx.shared:
            trips *= level.trips
        depth = ctx.depth if stored and trips > 1 else 1
        buffer = self._buffer(ctx, "result", box.lx_bytes, depth)
        buffer.last = -1 if stored else self._last_use.get(target.value, ctx.position)
        tile = _Tile(buffer, box, len(ctx.shared) if depth > 1 else 0)
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
        trips = 1
        for loop in nest:
            trips *= loop.trips
        depth = ctx.depth if trips > 1 else 1
        buffer = self._buffer(ctx, "stage", box.lx_bytes, depth)
        tile = _Tile(buffer, box, level if depth > 1 else 0)
        target = _staged(lx_box(operand, box, buffer.address), tile)
        source = replace(source, loop_strides=source.loop_strides[:level])
        self.kernel.statements.append(
            Statement("load", nest, ctx.position, box.axes, (source,), target)
        )
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
        access = lx_walk(operand, tile.box, axes, tile.buffer.address, private)
        return _staged(access, tile)

    def _emit(self, ctx: _OpContext, kind: str, **fields_: object) -> None:
        nest = fields_.pop("nest", ctx.nest)
        self.kernel.statements.append(
            Statement(kind, nest, ctx.position, **fields_)  # pyright: ignore
        )

    def _store(self, ctx: _OpContext, target: Operand, tile: _Tile) -> None:
        symbol = self._output.get(target.value)
        if symbol is None:
            return
        access = dram_box(target, tile.box, symbol)
        source = _staged(lx_box(target, tile.box, tile.buffer.address), tile)
        self._emit(
            ctx,
            "store",
            nest=ctx.shared,
            axes=tile.box.axes,
            reads=(source,),
            write=access,
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
            self._emit(
                ctx,
                "vector",
                axes=ctx.axes,
                reads=reads,
                write=write,
                steps=vector_steps(op),
            )
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
            inputs = operands_of(inlined)[:-1]
            steps = vector_steps(inlined)
        reads = tuple(self._read(ctx, o) for o in inputs)
        result = _staged(lx_walk(target, tile.box, ctx.axes, tile.buffer.address), tile)
        write, acc_level = result, -1
        if ctx.private:
            acc_level = len(ctx.shared)
            wide = "f32" if spyre.is_float(target.dtype) else target.dtype
            if wide != target.dtype:
                write = self._partial_sums(ctx, target, tile, wide)
        if isinstance(op, spyre.MatmulOp):
            roles = "".join(op.role(k) for k in range(len(ctx.axes)))
            self._emit(
                ctx,
                "matmul",
                axes=ctx.axes,
                reads=reads,
                write=write,
                roles=roles,
                acc_level=acc_level,
            )
        else:
            self._emit(
                ctx,
                "vector",
                axes=ctx.axes,
                reads=reads,
                write=write,
                steps=steps,
                combine=op.kind.data,
                fold=op.dims_data,
                acc_level=acc_level,
            )
        if write is not result:
            # The reduced axes have extent one in what is left to do.
            reduced = op.reduction_iterators()
            axes = tuple(
                Axis.whole(1) if k in reduced else a for k, a in enumerate(ctx.axes)
            )
            self._emit(
                ctx,
                "vector",
                nest=ctx.shared,
                axes=axes,
                reads=(write,),
                write=result,
                steps=(Step("cast", (0,), target.dtype),),
            )
        self._store(ctx, target, tile)

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
        tile = self._result_tile(ctx, target)
        index_read = self._read(ctx, index)
        walk = dram_walk(source, ctx.axes, self._symbol[source.value])
        write = _staged(lx_walk(target, tile.box, ctx.axes, tile.buffer.address), tile)
        eps = spyre.eps_of(source.value)
        strides = source.layout.dim_strides(source.shape, eps)
        on_stick = source.stick_dim == op.axis_data
        self._emit(
            ctx,
            "gather",
            nest=ctx.shared,
            axes=ctx.axes,
            reads=(walk, index_read),
            write=write,
            index=(
                0 if on_stick else strides[op.axis_data],
                int(on_stick),
                source.shape[op.axis_data],
            ),
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
        whole = lx_box(target, tile.box, tile.buffer.address)
        self._emit(
            ctx,
            "vector",
            nest=ctx.shared,
            axes=tile.box.axes,
            reads=(),
            write=_staged(whole, tile),
            steps=(Step("constant", (), target.dtype, (value,)),),
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
                    ctx, "load", nest=ctx.shared, axes=axes, reads=(walk,), write=write
                )
                return
        piece = replace(ctx, axes=axes)
        read = self._read(piece, source, axes)
        self._emit(
            ctx, "shuffle", nest=ctx.shared, axes=axes, reads=(read,), write=write
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


def kernel_grid(ops: Sequence[spyre.SpyreOp]) -> tuple[int, ...]:
    """Parts of each core digit, first fastest; the same for all of a group."""
    return division_digits(ops[0])[0]


def division_digits(op: spyre.SpyreOp) -> tuple[tuple[int, ...], dict[int, int]]:
    """The grid that an operation's division makes, and the digit of each iterator."""
    if op.division is None:
        return (1,), {}
    parts = op.division.parts_data
    used = [k for k in op.division.order_data if parts[k] > 1]
    grid = tuple(parts[k] for k in used)
    return grid or (1,), {k: digit for digit, k in enumerate(used)}


def op_axes(op: spyre.SpyreOp, space: Sequence[IterRange]) -> tuple[Axis, ...]:
    """The axes that an operation's division and tiles say."""
    _, digits = division_digits(op)
    parts = op.division.parts_data if op.division else (1,) * len(space)
    loops: dict[int, tuple[int, int]] = {}
    for depth, (iterator, trips) in enumerate(op.tile.levels_data if op.tile else ()):
        if iterator >= 0:
            loops[iterator] = (depth, trips)
    axes = []
    for k, it in enumerate(space):
        chunk = it.chunk(parts[k]) if parts[k] > 1 else it.size
        depth, trips = loops.get(k, (-1, 1))
        tile = it.chunk(trips, chunk) if trips > 1 else chunk
        axes.append(
            Axis(
                it.size,
                digits.get(k, -1),
                chunk,
                depth if trips > 1 else -1,
                tile,
            )
        )
    return tuple(axes)


def vector_steps(op: spyre.SpyreOp) -> tuple[Step, ...]:
    """The scalar functions of a map, full or iota as a record's body."""
    if isinstance(op, spyre.MapOp):
        return _body_steps(op.body.block)
    dtype = spyre.dtype_name(op.results[0].type)
    if isinstance(op, spyre.FullOp):
        return (Step("constant", (), dtype, (op.number,)),)
    assert isinstance(op, spyre.IotaOp), f"{op.name} has no body"
    wide = "f32" if spyre.is_float(dtype) else "i64"
    start, step = spyre.number_of(op.start), spyre.number_of(op.step)
    return (
        Step("index", (), wide, (op.dim.value.data,)),
        Step("constant", (), wide, (step,)),
        Step("mul", (0, 1), wide),
        Step("constant", (), wide, (start,)),
        Step("add", (2, 3), wide),
        Step("cast", (4,), dtype),
    )


def _body_steps(block: Block) -> tuple[Step, ...]:
    number: dict[SSAValue, int] = {a: i for i, a in enumerate(block.args)}
    steps: list[Step] = []
    for op in block.ops:
        if isinstance(op, spyre.YieldOp):
            if not steps or number[op.value] != len(number) - 1:
                dtype = spyre.dtype_name(op.value.type)
                steps.append(Step("identity", (number[op.value],), dtype))
            break
        dtype = spyre.dtype_name(op.results[0].type)
        if isinstance(op, spyre.ConstantOp):
            steps.append(Step("constant", (), dtype, (op.number,)))
        else:
            assert isinstance(op, spyre.FnOp)
            operands = tuple(number[a] for a in op.arguments)
            steps.append(Step(op.function.data, operands, dtype))
        number[op.results[0]] = len(number)
    return tuple(steps)


def build_kernel(
    ops: Sequence[spyre.SpyreOp],
    inputs: Sequence[SSAValue],
    outputs: Sequence[SSAValue],
) -> Kernel:
    """The staged program of a planned group that reads `inputs`, writes `outputs`."""
    return KernelBuilder(ops, inputs, outputs).build()


def bytes_of(value: SSAValue) -> int:
    """DRAM footprint of a tensor value."""
    shape = spyre.tensor_of(value).get_shape()
    layout = spyre.layout_of(value)
    itemsize = ITEMSIZE[spyre.dtype_name(value.type)]
    if layout is None:
        raise PassFailedException(f"{value.type} has no layout: run spyre-plan-layouts")
    return max(layout.bytes(shape, itemsize), STICK_BYTES)


__all__ = ["Kernel", "LxBuffer", "Statement", "build_kernel", "bytes_of", "ceil_div"]
