# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Steps of a vector record as scalar ops, and back.

A step is the arith or math op that its row of the function table names, where all
operands have the result's type; a cast is arith's where arith has the same meaning;
everything else is `spyreop.fn`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from xdsl.dialects import arith, linalg, math
from xdsl.dialects.builtin import (
    FloatAttr,
    IndexType,
    IntegerAttr,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from spyre_mlir.algebra.access import ITEMSIZE, Step
from spyre_mlir.dialects import spyreop
from spyre_mlir.dialects.spyre import (
    ELEMENT_TYPES,
    dtype_name,
    is_float,
    number_attr,
    number_of,
)
from spyre_mlir.target.opfuncs import OPFUNCS

_NO_FLAGS = {"fastmath": arith.FastMathFlagsAttr("none")}
_NO_OVERFLOW = {"overflowFlags": arith.IntegerOverflowAttr("none")}
_ORDERS = ("lt", "le", "gt", "ge")
_INDEX = IndexType()


class UnknownScalar(ValueError):
    """An op that is no step."""


@cache
def _classes() -> dict[str, type[Operation]]:
    return {op.name: op for op in (*arith.Arith.operations, *math.Math.operations)}


@cache
def _properties(op_name: str) -> dict[str, Attribute]:
    if op_name in ("arith.addi", "arith.subi", "arith.muli"):
        return dict(_NO_OVERFLOW)
    if op_name in ("arith.andi", "arith.ori", "arith.xori", "math.absi"):
        return {}
    return {} if op_name == "arith.select" else dict(_NO_FLAGS)


@cache
def _cast_op(source: str, target: str) -> type[Operation] | None:
    """arith's op for a change of type, or None if its meaning differs."""
    if source == target:
        return None
    if is_float(source) and is_float(target):
        if source != "f32" and target == "f32":
            return arith.ExtFOp
        return arith.TruncFOp if source == "f32" else None
    if target == "i1":
        return None  # ours tests against zero
    if is_float(source):
        return arith.FPToSIOp
    if source == "i1":
        return arith.UIToFPOp if is_float(target) else arith.ExtUIOp
    if is_float(target):
        return arith.SIToFPOp
    return arith.ExtSIOp if target == "i64" else arith.TruncIOp


@cache
def _compared(function: str, dtype: str) -> tuple[type[Operation], IntegerAttr] | None:
    """The comparison of a predicate row, and its predicate."""
    row = OPFUNCS[function]
    if not row.predicate_name or (dtype == "i1" and function in _ORDERS):
        return None  # a set i1 is -1 to arith
    cmpf, cmpi = row.predicate_name.split(",")
    if is_float(dtype):
        number = arith.CMPF_COMPARISON_OPERATIONS.index(cmpf)
        return arith.CmpfOp, IntegerAttr(number, i64)
    number = arith.CMPI_COMPARISON_OPERATIONS.index(cmpi)
    return arith.CmpiOp, IntegerAttr(number, i64)


def cast_op(value: SSAValue, dtype: str, type_: Attribute | None = None) -> Operation:
    """A change of element type; `type_` is the result's where it is a tensor."""
    result = ELEMENT_TYPES[dtype] if type_ is None else type_
    found = _cast_op(dtype_name(value.type), dtype)
    if found is None:
        return spyreop.FnOp("cast", [value], result)
    return found.create(operands=[value], result_types=[result])


def function_op(step: Step, operands: Sequence[SSAValue]) -> Operation:
    """The op of a step that is a row of the function table."""
    function, dtype = step.function, step.dtype
    if function == "cast":
        return cast_op(operands[0], dtype)
    row, result = OPFUNCS[function], ELEMENT_TYPES[dtype]
    types = {dtype_name(o.type) for o in operands}
    if row.predicate and len(types) == 1:
        compared = _compared(function, types.pop())
        if compared is not None:
            class_, predicate = compared
            properties: dict[str, Attribute] = {"predicate": predicate}
            if class_ is arith.CmpfOp:
                properties |= _NO_FLAGS
            return class_.create(
                operands=operands, result_types=[i1], properties=properties
            )
    name = row.float_op if is_float(dtype) else row.int_op
    same = operands[1:] if function == "where" else operands
    if row.predicate or not name or any(o.type != result for o in same):
        return spyreop.FnOp(function, operands, result)
    return _classes()[name].create(
        operands=operands, result_types=[result], properties=_properties(name)
    )


def constant_op(value: float | int, dtype: str) -> arith.ConstantOp:
    attr = number_attr(value, dtype)
    return arith.ConstantOp.create(
        result_types=[ELEMENT_TYPES[dtype]], properties={"value": attr}
    )


def index_ops(step: Step, start: SSAValue | None) -> list[Operation]:
    """The coordinate of an axis, which starts at `start` on this core and trip."""
    ops: list[Operation] = [linalg.ops.IndexOp(step.values[0])]  # pyright: ignore
    if start is not None:
        ops.append(
            arith.AddiOp.create(
                operands=[ops[-1].results[0], start],
                result_types=[_INDEX],
                properties=_NO_OVERFLOW,
            )
        )
    wide = ELEMENT_TYPES["i64" if is_float(step.dtype) else step.dtype]
    ops.append(
        arith.IndexCastOp.create(operands=[ops[-1].results[0]], result_types=[wide])
    )
    if is_float(step.dtype):
        ops.append(cast_op(ops[-1].results[0], step.dtype))
    return ops


# --------------------------------------------------------------------------
# and back


@cache
def _functions() -> dict[str, str]:
    """The row that an arith or math op spells, predicates aside."""
    found = {"arith.maxsi": "maximum", "arith.minsi": "minimum"}
    for name, row in OPFUNCS.items():
        for op in (row.float_op, row.int_op):
            if op and not row.predicate:
                found[op] = name
    return found


@cache
def _predicates() -> dict[tuple[str, int], str]:
    found: dict[tuple[str, int], str] = {}
    for name, row in OPFUNCS.items():
        if row.predicate_name:
            for dtype in ("f32", "i64"):
                compared = _compared(name, dtype)
                assert compared is not None
                found[compared[0].name, compared[1].value.data] = name
    return found


_CASTS = (
    arith.ExtFOp,
    arith.TruncFOp,
    arith.SIToFPOp,
    arith.UIToFPOp,
    arith.FPToSIOp,
    arith.ExtSIOp,
    arith.ExtUIOp,
    arith.TruncIOp,
)


def function_of(op: Operation) -> str | None:
    """The row of the function table that an op applies, or None."""
    if isinstance(op, spyreop.FnOp):
        return op.function.data
    if isinstance(op, spyreop.IntrinsicOp):
        return op.FUNCTION
    if isinstance(op, arith.CmpfOp | arith.CmpiOp):
        name = _predicates().get((op.name, op.predicate.value.data))
        is_order = name in _ORDERS and op.operands[0].type == i1
        return None if is_order else name
    if isinstance(op, _CASTS):
        source, target = dtype_name(op.operands[0].type), dtype_name(op.results[0].type)
        return "cast" if _cast_op(source, target) is type(op) else None
    return _functions().get(op.name)


def is_widening(op: Operation) -> bool:
    """Whether an op changes nothing but the type, exactly, as a sum does by itself."""
    return isinstance(op, arith.ExtFOp | arith.ExtSIOp)


class StepReader:
    """Numbers the values of a body and turns its ops into steps."""

    def __init__(self, block: Block, inputs: int):
        self.block = block
        self.number: dict[SSAValue, int] = {
            a: i for i, a in enumerate(block.args[:inputs])
        }
        self.steps: list[Step] = []

    def read(self, ops: Sequence[Operation]) -> tuple[Step, ...]:
        for op in ops:
            if not self._is_part_of_index(op):
                self.steps.append(self._step(op))
                self.number[op.results[0]] = len(self.number)
        return tuple(self.steps)

    def _step(self, op: Operation) -> Step:
        if isinstance(op, arith.ConstantOp):
            value = op.value
            if not isinstance(value, FloatAttr | IntegerAttr):
                raise UnknownScalar(f"constant {value} is no number")
            return Step("constant", (), dtype_name(op.result.type), (number_of(value),))
        dtype = dtype_name(op.results[0].type)
        if (axis := index_axis(op)) is not None:
            return Step("index", (), dtype, (axis[0],))
        function = function_of(op)
        if function is None:
            raise UnknownScalar(f"{op.name} is no function of the card")
        if any(o not in self.number for o in op.operands):
            raise UnknownScalar(f"{op.name} uses a value from outside the body")
        return Step(function, tuple(self.number[o] for o in op.operands), dtype)

    @staticmethod
    def _is_part_of_index(op: Operation) -> bool:
        """An op on the way from `linalg.index` to the value that is the step."""
        if isinstance(op.results[0].type, IndexType):
            return True
        if not isinstance(op, arith.IndexCastOp):
            return False
        uses = list(op.results[0].uses)
        return len(uses) == 1 and isinstance(uses[0].operation, arith.SIToFPOp)


def index_axis(op: Operation) -> tuple[int, SSAValue | None] | None:
    """Axis and start of the coordinate that an op gives, or None."""
    if isinstance(op, arith.SIToFPOp):
        inner = op.input.owner
        if not isinstance(inner, arith.IndexCastOp) or len(list(op.input.uses)) != 1:
            return None
        op = inner
    if not isinstance(op, arith.IndexCastOp):
        return None
    inner, start = op.input.owner, None
    if isinstance(inner, arith.AddiOp):
        inner, start = inner.lhs.owner, inner.rhs
    if not isinstance(inner, linalg.ops.IndexOp):
        raise UnknownScalar("arith.index_cast of what is no linalg.index plus a start")
    return inner.dim.value.data, start


def identity_number(combine: str, dtype: str) -> float | int:
    """What a reduction starts from; adding zero would lose the sign of -0."""
    if combine == "sum":
        return -0.0 if is_float(dtype) else 0
    if is_float(dtype):
        return float("-inf" if combine == "max" else "inf")
    limit = 1 << (8 * ITEMSIZE[dtype] - 1)
    return -limit if combine == "max" else limit - 1
