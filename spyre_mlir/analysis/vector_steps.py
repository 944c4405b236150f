# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The scalar functions of an operation as the steps of a vector record."""

from __future__ import annotations

from xdsl.ir import Block, SSAValue

from spyre_mlir.algebra.access import Step
from spyre_mlir.dialects import spyre


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
