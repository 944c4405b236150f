# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What one operation does: its axes as divided and looped, its steps, its bytes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, SSAValue

from spyre_mlir.algebra.access import ITEMSIZE, Axis, Step
from spyre_mlir.algebra.layout import STICK_BYTES
from spyre_mlir.analysis.space import IterRange
from spyre_mlir.dialects import spyre


def cut_iterators(op: spyre.SpyreOp) -> tuple[int, ...]:
    """Iterators that the decisions divide or loop over."""
    parts = op.division.parts_data if op.division else ()
    cut = {k for k, p in enumerate(parts) if p > 1}
    levels = op.tile.levels_data if op.tile else ()
    cut |= {k for k, trips in levels if k >= 0 and trips > 1}
    return tuple(sorted(cut))


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
    axes: list[Axis] = []
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


def bytes_of(value: SSAValue) -> int:
    """DRAM footprint of a tensor value."""
    shape = spyre.tensor_of(value).get_shape()
    layout = spyre.layout_of(value)
    itemsize = ITEMSIZE[spyre.dtype_name(value.type)]
    if layout is None:
        raise ValueError(f"{value.type} has no layout")
    return max(layout.bytes(shape, itemsize), STICK_BYTES)
