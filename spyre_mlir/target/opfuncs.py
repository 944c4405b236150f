# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The card's scalar functions: one row is the whole definition of one.

Interpreters, engine, cost, verifiers and the lowering to `ktdp` read `OPFUNCS`; the
ATen table of the importer names its rows. `evaluate` gets the torch module as its
first argument, so that reading the table costs no import of torch.

Arguments come in the compute type of their dtype (f32 for every float, the integer
itself, torch.bool for i1); the caller rounds the result to the function's result
type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import scalar_values as values

FLOATS = ("f16", "bf16", "f32")
INTEGERS = ("i32", "i64")
BOOL = ("i1",)
NUMBERS = FLOATS + INTEGERS
EVERY = NUMBERS + BOOL

Evaluate = Callable[..., Any]


@dataclass(frozen=True)
class OpFunc:
    """One scalar function: meaning, domain, price, spelling in MLIR."""

    evaluate: Evaluate
    """(torch, *arguments, out=None) -> array"""
    arity: int = 1
    dtypes: tuple[str, ...] = FLOATS
    """Operand types it takes."""
    predicate: bool = False
    """The result is i1 instead of the operands' type."""
    passes: int = 1
    """
    Trips through the vector unit for each stick. Assumed: 4 for transcendental
    functions, as ktir-cpu estimates; no figure is published.
    """
    float_op: str = ""
    """Upstream MLIR op on floats; empty: the intrinsic `spyreop.fn`."""
    int_op: str = ""
    """Upstream MLIR op on integers and i1."""
    predicate_name: str = ""
    """Predicate of arith.cmpf / arith.cmpi."""
    ulps: int = 0
    """
    How many numbers of f32 away from the correctly rounded value a result may be, on
    any host. NaN, infinities, signs of zero and subnormals are always right.
    """

    def bound(self, dtype: str) -> int:
        """
        The same for a type. A 16-bit float is an f32 result that is rounded once more,
        which is at most one of its numbers away.
        """
        return self.ulps if dtype == "f32" else min(self.ulps, 1)


def _call(name: str) -> Evaluate:
    def evaluate(torch: Any, *args: Any, out: Any = None) -> Any:
        return getattr(torch, name)(*args, out=out)

    return evaluate


def _relu(torch: Any, a: Any, out: Any = None) -> Any:
    return torch.clamp_min(a, 0, out=out)


def _isnan(torch: Any, a: Any, out: Any = None) -> Any:
    return torch.ne(a, a, out=out)


def _isinf(torch: Any, a: Any, out: Any = None) -> Any:
    return torch.eq(torch.abs(a), float("inf"), out=out)


def _identity(torch: Any, a: Any, out: Any = None) -> Any:
    return a if out is None else out.copy_(a)


def _where(torch: Any, c: Any, a: Any, b: Any, out: Any = None) -> Any:
    return torch.where(c, a, b, out=out)


def _compare(name: str, cmpf: str, cmpi: str) -> OpFunc:
    predicate = f"{cmpf},{cmpi}"
    return OpFunc(_call(name), 2, EVERY, True, 1, "arith.cmpf", "arith.cmpi", predicate)


def _hard(name: str, float_op: str = "") -> OpFunc:
    """A function of torch that holds its bound under every library below it."""
    return OpFunc(_call(name), passes=4, float_op=float_op, ulps=2)


def _double(evaluate: Evaluate, float_op: str = "") -> OpFunc:
    """Computed in f64: rounded wrongly only where f64 cannot tell two sides apart."""
    return OpFunc(evaluate, passes=4, float_op=float_op, ulps=1)


OPFUNCS: dict[str, OpFunc] = {
    "add": OpFunc(_call("add"), 2, NUMBERS, float_op="arith.addf", int_op="arith.addi"),
    "sub": OpFunc(_call("sub"), 2, NUMBERS, float_op="arith.subf", int_op="arith.subi"),
    "mul": OpFunc(_call("mul"), 2, NUMBERS, float_op="arith.mulf", int_op="arith.muli"),
    "div": OpFunc(_call("div"), 2, FLOATS, float_op="arith.divf", passes=4),
    "floor_divide": OpFunc(values.floor_divide, 2, NUMBERS, passes=4),
    "trunc_divide": OpFunc(values.trunc_divide, 2, NUMBERS, passes=4),
    "remainder": OpFunc(values.remainder, 2, NUMBERS, passes=4),
    "fmod": OpFunc(values.fmod, 2, NUMBERS, passes=4),
    "pow": OpFunc(values.pow, 2, FLOATS, passes=8, ulps=1),
    "atan2": OpFunc(values.atan2, 2, FLOATS, passes=8, ulps=1),
    "maximum": OpFunc(values.maximum, 2, NUMBERS, float_op="arith.maximumf"),
    "minimum": OpFunc(values.minimum, 2, NUMBERS, float_op="arith.minimumf"),
    "eq": _compare("eq", "oeq", "eq"),
    "ne": _compare("ne", "une", "ne"),
    "lt": _compare("lt", "olt", "slt"),
    "le": _compare("le", "ole", "sle"),
    "gt": _compare("gt", "ogt", "sgt"),
    "ge": _compare("ge", "oge", "sge"),
    "and": OpFunc(_call("bitwise_and"), 2, BOOL + INTEGERS, int_op="arith.andi"),
    "or": OpFunc(_call("bitwise_or"), 2, BOOL + INTEGERS, int_op="arith.ori"),
    "xor": OpFunc(_call("bitwise_xor"), 2, BOOL + INTEGERS, int_op="arith.xori"),
    "not": OpFunc(_call("bitwise_not"), 1, BOOL + INTEGERS),
    "where": OpFunc(_where, 3, EVERY, float_op="arith.select", int_op="arith.select"),
    "identity": OpFunc(_identity, 1, EVERY),
    "cast": OpFunc(_identity, 1, EVERY),
    "abs": OpFunc(_call("abs"), 1, NUMBERS, float_op="math.absf", int_op="math.absi"),
    "neg": OpFunc(_call("neg"), 1, NUMBERS, float_op="arith.negf"),
    "sign": OpFunc(_call("sign"), 1, NUMBERS),
    "relu": OpFunc(_relu, 1, NUMBERS),
    "floor": OpFunc(_call("floor"), 1, FLOATS, float_op="math.floor"),
    "ceil": OpFunc(_call("ceil"), 1, FLOATS, float_op="math.ceil"),
    "round": OpFunc(_call("round"), 1, FLOATS, float_op="math.roundeven"),
    "trunc": OpFunc(_call("trunc"), 1, FLOATS, float_op="math.trunc"),
    "isnan": OpFunc(_isnan, 1, FLOATS, predicate=True),
    "isinf": OpFunc(_isinf, 1, FLOATS, predicate=True),
    "exp": _hard("exp", "math.exp"),
    "exp2": _double(values.exp2, "math.exp2"),
    "expm1": _hard("expm1", "math.expm1"),
    "log": _hard("log", "math.log"),
    "log2": _hard("log2", "math.log2"),
    "log10": _hard("log10", "math.log10"),
    "log1p": _double(values.log1p, "math.log1p"),
    "sqrt": _hard("sqrt", "math.sqrt"),
    "rsqrt": _hard("rsqrt", "math.rsqrt"),
    "reciprocal": OpFunc(_call("reciprocal"), passes=4),
    "sin": _hard("sin", "math.sin"),
    "cos": _hard("cos", "math.cos"),
    "tan": _hard("tan", "math.tan"),
    "erf": _hard("erf", "math.erf"),
    "tanh": _hard("tanh", "math.tanh"),
    "sigmoid": _double(values.sigmoid),
    "silu": _double(values.silu),
    "gelu": _double(values.gelu),
    "gelu_tanh": _double(values.gelu_tanh),
    "softplus": _double(values.softplus),
}
"""
Every scalar function by name. `softplus` has beta 1 and threshold 20. `cast` changes
the type: float to integer truncates, anything to i1 tests against zero.
"""

GENERATORS = {"constant": 0, "index": 0}
"""
Body functions that are no rows: `constant` gives its immediate, `index` the
coordinate of an axis in the whole operation.
"""

REDUCTIONS: dict[str, dict[str, Any]] = {
    "sum": {"combine": "add", "identity": 0, "dtypes": NUMBERS},
    "max": {"combine": "maximum", "identity": float("-inf"), "dtypes": NUMBERS},
    "min": {"combine": "minimum", "identity": float("inf"), "dtypes": NUMBERS},
}
"""
Combiner and identity of each reduction. Sums of floats accumulate in f32; for
integers the identities of max and min are the type's own limits.
"""


def result_dtype(name: str, operands: tuple[str, ...]) -> str | None:
    """Result type of a function on these operand types; None where it is free."""
    if name == "cast":
        return None
    if OPFUNCS[name].predicate:
        return "i1"
    return operands[-1]


def mistyped(name: str, operands: tuple[str, ...], result: str) -> str:
    """What is wrong with a function on these operand types, or ""."""
    row = OPFUNCS.get(name)
    if row is None:
        return f'the card has no function "{name}"'
    if len(operands) != row.arity:
        return f'"{name}" takes {row.arity} operands, not {len(operands)}'
    values = operands[1:] if name == "where" else operands
    if name == "where" and operands[0] != "i1":
        return f'"where" chooses by i1, not {operands[0]}'
    for dtype in values:
        if dtype not in row.dtypes:
            return f'"{name}" does not take {dtype}'
    if len(set(values)) > 1:
        return f'"{name}" mixes operand types {", ".join(values)}'
    expected = result_dtype(name, operands)
    if expected not in (None, result):
        return f'"{name}" gives {expected}, not {result}'
    return ""


def sum_error(terms: int) -> float:
    """
    How far a float sum of so many terms, or of so many products, may be from the exact
    one before it is rounded to its type, as a part of the sum of absolute values:
    whatever the order, and whether or not products are rounded before they are added.
    """
    lost = terms * 2.0**-24
    return lost / (1 - lost)
