# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Scalar functions, on indices, scalars and whole tensors.

What a row of the function table spells in arith or math means what the row says; the
rest is here. Indices are computed as Python ints.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias, cast

import torch
from torch import Tensor
from xdsl.dialects import affine, arith, math
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.hints import isa

from spyre_mlir.dialects import spyreop
from spyre_mlir.target.opfuncs import OPFUNCS

from . import affine as affine_values
from .machine import Core, Values, handles
from .values import Value, constant, dtype_of, element_of, rounded, widened

Unary: TypeAlias = Callable[[Tensor], Tensor]
Binary: TypeAlias = Callable[[Tensor, Tensor], Tensor]


def _row(name: str) -> Callable[..., Tensor]:
    """The function of a row, for an op that no row spells."""
    return partial(OPFUNCS[name].evaluate, torch)


def _signed(a: Tensor) -> Tensor:
    return -a.to(torch.int8) if a.dtype == torch.bool else a


ROWS: dict[str, str] = {
    op: name
    for name, row in OPFUNCS.items()
    for op in (row.float_op, row.int_op)
    if op and not row.predicate
}
"""The row that an arith or math op spells, by the op's name."""

UNARY: dict[type[Operation], Unary] = {
    math.RoundOp: lambda a: torch.sign(a) * torch.floor(torch.abs(a) + 0.5),
    math.AtanOp: torch.atan,
    math.AsinOp: torch.asin,
    math.AcosOp: torch.acos,
    math.SinhOp: torch.sinh,
    math.CoshOp: torch.cosh,
    math.AsinhOp: torch.asinh,
    math.AcoshOp: torch.acosh,
    math.AtanhOp: torch.atanh,
}

BINARY: dict[type[Operation], Binary] = {
    arith.MaxnumfOp: torch.fmax,
    arith.MinnumfOp: torch.fmin,
    arith.MaxSIOp: torch.maximum,
    arith.MinSIOp: torch.minimum,
    arith.DivSIOp: _row("trunc_divide"),
    arith.FloorDivSIOp: _row("floor_divide"),
    arith.CeilDivSIOp: lambda a, b: -_row("floor_divide")(-a, b),
    arith.RemSIOp: torch.fmod,
    arith.ShLIOp: torch.bitwise_left_shift,
    arith.ShRSIOp: torch.bitwise_right_shift,
    math.PowFOp: _row("pow"),
    math.Atan2Op: _row("atan2"),
    math.CopySignOp: torch.copysign,
}


def _multiply_add(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    return a * b + c


def _magnitude(a: Tensor, bits: int) -> Tensor:
    """An integer of so many bits, or an index, read as unsigned."""
    if bits < 64:
        return a.to(torch.int64) & ((1 << bits) - 1)
    if bool((a < 0).any()):
        raise InterpretationError("unsigned arithmetic on 64 bits with the top bit set")
    return a.to(torch.int64)


UNSIGNED: dict[type[Operation], Binary] = {
    arith.DivUIOp: lambda a, b: torch.div(a, b, rounding_mode="floor"),
    arith.CeilDivUIOp: lambda a, b: -torch.div(-a, b, rounding_mode="floor"),
    arith.RemUIOp: torch.remainder,
    arith.MinUIOp: torch.minimum,
    arith.MaxUIOp: torch.maximum,
    arith.ShRUIOp: torch.bitwise_right_shift,
}
"""On magnitudes in int64."""

TENSOR_FUNCTIONS: dict[type[Operation], Callable[..., Tensor]] = {
    **UNARY,
    **BINARY,
    **UNSIGNED,
    math.FmaOp: _multiply_add,
}
"""Ops that no row spells, on tensors in their compute type."""

INDEX_FUNCTIONS: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: operator.add,
    arith.SubiOp: operator.sub,
    arith.MuliOp: operator.mul,
    arith.DivSIOp: lambda a, b: a // b if a * b >= 0 else -(-a // b),
    arith.DivUIOp: operator.floordiv,
    arith.FloorDivSIOp: operator.floordiv,
    arith.CeilDivSIOp: lambda a, b: -(-a // b),
    arith.CeilDivUIOp: lambda a, b: -(-a // b),
    arith.RemSIOp: lambda a, b: a - b * (abs(a) // abs(b)) * (1 if a * b >= 0 else -1),
    arith.RemUIOp: operator.mod,
    arith.MinSIOp: min,
    arith.MaxSIOp: max,
    arith.MinUIOp: min,
    arith.MaxUIOp: max,
    arith.AndIOp: operator.and_,
    arith.OrIOp: operator.or_,
    arith.XOrIOp: operator.xor,
    arith.ShLIOp: operator.lshift,
    arith.ShRSIOp: operator.rshift,
    arith.ShRUIOp: operator.rshift,
}
"""Index arithmetic; an unsigned op is exact as no index here is negative."""

CMPF: dict[str, Binary] = {
    "false": lambda a, b: torch.zeros_like(torch.eq(a, b)),
    "oeq": torch.eq,
    "ogt": torch.gt,
    "oge": torch.ge,
    "olt": torch.lt,
    "ole": torch.le,
    "one": lambda a, b: torch.lt(a, b) | torch.gt(a, b),
    "ord": lambda a, b: ~(torch.isnan(a) | torch.isnan(b)),
    "ueq": lambda a, b: ~(torch.lt(a, b) | torch.gt(a, b)),
    "ugt": lambda a, b: ~torch.le(a, b),
    "uge": lambda a, b: ~torch.lt(a, b),
    "ult": lambda a, b: ~torch.ge(a, b),
    "ule": lambda a, b: ~torch.gt(a, b),
    "une": torch.ne,
    "uno": lambda a, b: torch.isnan(a) | torch.isnan(b),
    "true": lambda a, b: torch.ones_like(torch.eq(a, b)),
}

CMPI: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "slt": operator.lt,
    "sle": operator.le,
    "sgt": operator.gt,
    "sge": operator.ge,
}


def apply_row(name: str, arguments: Sequence[Value], result: Attribute) -> Value:
    """A row's function, rounded to the result type."""
    if name == "cast":
        return cast_value(arguments[0], result)
    row = OPFUNCS.get(name)
    if row is None:
        raise InterpretationError(f"no scalar function '{name}'")
    return rounded(row.evaluate(torch, *(widened(a) for a in arguments)), result)


def cast_value(value: Value, result: Attribute) -> Value:
    """To another type: floats truncate to integers, i1 tests against zero."""
    return rounded(torch.as_tensor(value), result)


def binary_function(op: Operation) -> str | None:
    """The row that an op applies, if any, however it is spelled."""
    if isinstance(op, spyreop.FnOp):
        return op.function.data
    if isinstance(op, spyreop.IntrinsicOp):
        return op.FUNCTION
    same: dict[type[Operation], str] = {
        arith.MaxSIOp: "maximum",
        arith.MinSIOp: "minimum",
    }
    return ROWS.get(op.name) or same.get(type(op))


def _apply(core: Core, op: Operation, operands: Values) -> Values:
    result = op.results[0].type
    if isinstance(result, IndexType) and all(isinstance(v, int) for v in operands):
        index_function = INDEX_FUNCTIONS.get(type(op))
        if index_function is None:
            raise InterpretationError(f"{op.name} of index is not known")
        return (index_function(*operands),)
    row = binary_function(op)
    if row in OPFUNCS:
        return (apply_row(row, operands, result),)
    function = TENSOR_FUNCTIONS.get(type(op))
    if function is None:
        raise InterpretationError(f"{op.name} of {result} is not known")
    given = [widened(v) for v in operands]
    if type(op) in UNSIGNED:
        given = [_magnitude(v, _bits(result)) for v in given]
    return (rounded(function(*given), result),)


def _bits(type_: Attribute) -> int:
    element = element_of(type_)
    return element.width.data if isa(element, IntegerType) else 64


def _ops_of_rows() -> list[type[Operation]]:
    dialects = (*arith.Arith.operations, *math.Math.operations)
    return [op for op in dialects if op.name in ROWS and op is not arith.SelectOp]


handles(*_ops_of_rows(), *TENSOR_FUNCTIONS, *INDEX_FUNCTIONS)(_apply)
handles(spyreop.FnOp)(_apply)
handles(
    *(op for op in spyreop.SpyreOp.operations if issubclass(op, spyreop.IntrinsicOp))
)(_apply)


@handles(arith.ConstantOp)
def run_constant(_: Core, op: arith.ConstantOp, __: Values) -> Values:
    return (constant(op.value, op.result.type),)


@handles(arith.SelectOp)
def run_select(_: Core, op: arith.SelectOp, operands: Values) -> Values:
    condition, yes, no = operands
    if isinstance(yes, Tensor) or isinstance(no, Tensor) or condition.ndim:
        return (apply_row("where", operands, op.result.type),)
    return (yes if bool(condition) else no,)


@handles(arith.CmpiOp)
def run_cmpi(_: Core, op: arith.CmpiOp, operands: Values) -> Values:
    name = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    lhs, rhs = operands
    if name.startswith("u"):
        bits = _bits(op.lhs.type)
        lhs, rhs = (_magnitude(torch.as_tensor(v), bits) for v in operands)
        name = name.replace("u", "s")
    return (torch.as_tensor(CMPI[name](lhs, rhs)),)


@handles(arith.CmpfOp)
def run_cmpf(_: Core, op: arith.CmpfOp, operands: Values) -> Values:
    name = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    return (CMPF[name](*(widened(v) for v in operands)),)


@handles(
    arith.ExtFOp,
    arith.TruncFOp,
    arith.FPToSIOp,
    arith.IndexCastOp,
)
def run_cast(_: Core, op: Operation, operands: Values) -> Values:
    return (cast_value(cast(Value, operands[0]), op.results[0].type),)


@handles(arith.UIToFPOp, arith.ExtUIOp)
def run_from_unsigned(_: Core, op: Operation, operands: Values) -> Values:
    value = operands[0]
    if value.dtype != torch.bool:
        value = _magnitude(value, _bits(op.operands[0].type))
    return (cast_value(value, op.results[0].type),)


@handles(arith.FPToUIOp)
def run_to_unsigned(_: Core, op: arith.FPToUIOp, operands: Values) -> Values:
    """Through 64 bits, of which the result keeps the low ones."""
    return (cast_value(operands[0].to(torch.int64), op.result.type),)


@handles(arith.SIToFPOp, arith.ExtSIOp)
def run_signed_cast(_: Core, op: Operation, operands: Values) -> Values:
    """A set i1 is -1 here."""
    return (cast_value(_signed(operands[0]), op.results[0].type),)


@handles(arith.TruncIOp)
def run_trunc(_: Core, op: arith.TruncIOp, operands: Values) -> Values:
    dtype = dtype_of(op.result.type)
    low = operands[0] & 1 if dtype == torch.bool else operands[0]
    return (low.to(dtype),)


@handles(arith.BitcastOp)
def run_bitcast(_: Core, op: arith.BitcastOp, operands: Values) -> Values:
    return (operands[0].view(dtype_of(op.result.type)),)


@handles(affine.ApplyOp)
def run_affine_apply(_: Core, op: affine.ApplyOp, operands: Values) -> Values:
    return (_affine_results(op.map.data, operands)[0],)


@handles(affine.MinOp)
def run_affine_min(_: Core, op: affine.MinOp, operands: Values) -> Values:
    results = _affine_results(op.map.data, operands)
    if all(isinstance(r, int) for r in results):
        return (min(results),)
    total = torch.as_tensor(results[0])
    for result in results[1:]:
        total = torch.minimum(total, torch.as_tensor(result))
    return (total,)


def _affine_results(map_: Any, operands: Values) -> list[Any]:
    dims, symbols = operands[: map_.num_dims], operands[map_.num_dims :]
    return [affine_values.evaluate(e, dims, symbols) for e in map_.results]


@handles(spyreop.SoftplusOp)
def run_softplus(_: Core, op: spyreop.SoftplusOp, operands: Values) -> Values:
    value = torch.nn.functional.softplus(
        widened(operands[0]), op.beta.value.data, op.threshold.value.data
    )
    return (rounded(value, op.result.type),)


@handles(spyreop.Idx32ToAddrOp)
def run_address(_: Core, op: spyreop.Idx32ToAddrOp, operands: Values) -> Values:
    index, start, stride = operands
    return (start + stride * index,)


@handles(
    spyreop.Exx2Op,
    spyreop.Exx2FusedOp,
    spyreop.LayerNormScaleOp,
    spyreop.LayerNormScaleFusedOp,
    spyreop.LayerNormNormOp,
    spyreop.SliceReductionOp,
)
def refuse(_: Core, op: Operation, __: Values) -> Values:
    """Read and written, but never guessed."""
    raise InterpretationError(
        f"{op.name} cannot be run: its public definition does not say what it computes"
    )
