# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Simplifies the bodies of maps.

    x * 1, x / 1, x - 0, x + (-0)      becomes  x
    cast(cast(x : f16 -> f32) -> f16)  becomes  x
    x / 8                              becomes  x * 0.125
    where(true, x, y)                  becomes  x
    pow(x, 3)                          becomes  x * x * x, in f32

All keep every bit, also of NaN, infinities and signed zeros, except the last: a power
to a whole number is a product by definition, and the card has no other way. A map
that is left to yield a number becomes a `full`. Runs after `fuse-maps`, which brings
numbers into bodies.
"""

from __future__ import annotations

from collections.abc import Callable
from math import copysign, frexp, isinf
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from spyre_mlir.dialects.spyre import (
    ELEMENT_TYPES,
    ConstantOp,
    FnOp,
    FullOp,
    MapOp,
    YieldOp,
    dtype_name,
    is_float,
    tensor_of,
)
from spyre_mlir.transforms._rewriting import is_undecided, replace_op

Rule: TypeAlias = Callable[[FnOp], SSAValue | None]
"""The value that a function's result is, or None where the rule does not apply."""

MAX_POWER = 16
"""Powers up to this become products: at most six multiplications."""

EXACT = {
    "f16": ("f32",),
    "bf16": ("f32",),
    "i32": ("i64",),
    "i1": ("f16", "bf16", "f32", "i32", "i64"),
}
"""Types that hold every value of a type."""


def number(value: SSAValue) -> float | int | None:
    """The number that a value is known to be."""
    return value.owner.number if isinstance(value.owner, ConstantOp) else None


def maker(value: SSAValue, function: str) -> FnOp | None:
    """The function that makes a value, if it is this one."""
    op = value.owner
    return op if isinstance(op, FnOp) and op.function.data == function else None


def before(op: FnOp, new: Operation) -> SSAValue:
    """Inserts an operation before another; gives its result."""
    new.location = op.location
    Rewriter.insert_op(new, InsertPoint.before(op))
    return new.results[0]


def constant(op: FnOp, value: float | int, type_: Attribute) -> SSAValue:
    return before(op, ConstantOp(value, dtype_name(type_)))


def _is(value: SSAValue, wanted: float | int) -> bool:
    """Is this number, with this sign of zero."""
    found = number(value)
    if found is None or found != wanted:
        return False
    return copysign(1, found) == copysign(1, wanted)


def neutral_right(wanted: float | int) -> Rule:
    """x op wanted is x."""

    def rule(op: FnOp) -> SSAValue | None:
        left, right = op.arguments
        return left if _is(right, wanted) else None

    return rule


def neutral(wanted: float | int) -> Rule:
    """x op wanted and wanted op x are x."""

    def rule(op: FnOp) -> SSAValue | None:
        left, right = op.arguments
        if _is(right, wanted):
            return left
        return right if _is(left, wanted) else None

    return rule


def add_nothing(op: FnOp) -> SSAValue | None:
    """Of floats only -0 adds nothing: -0 + 0 is 0."""
    floats = is_float(dtype_name(op.result.type))
    return neutral(-0.0 if floats else 0)(op)


def involution(op: FnOp) -> SSAValue | None:
    """f(f(x)) is x."""
    inner = maker(op.arguments[0], op.function.data)
    return None if inner is None else inner.arguments[0]


def idempotent(op: FnOp) -> SSAValue | None:
    """f(f(x)) is f(x)."""
    inner = maker(op.arguments[0], op.function.data)
    return None if inner is None else inner.result


def same_twice(op: FnOp) -> SSAValue | None:
    """f(x, x) is x."""
    return op.arguments[0] if op.arguments[0] is op.arguments[1] else None


def abs_of_neg(op: FnOp) -> SSAValue | None:
    """|-x| is |x|."""
    inner = maker(op.arguments[0], "neg")
    if inner is None:
        return None
    return before(op, FnOp("abs", [inner.arguments[0]], op.result.type))


def identity(op: FnOp) -> SSAValue | None:
    return op.arguments[0]


def cast(op: FnOp) -> SSAValue | None:
    """Casts that change nothing, or that follow one that changes no value."""
    source = op.arguments[0]
    if source.type == op.result.type:
        return source
    inner = maker(source, "cast")
    if inner is not None:
        first = inner.arguments[0]
        exact = EXACT.get(dtype_name(first.type), ())
        if dtype_name(inner.result.type) in exact:
            return before(op, FnOp("cast", [first], op.result.type))
    known = number(source)
    if known is not None and (isinf(known) or known in (-1, 0, 1)):
        return _cast_number(op, known)
    return None


def _cast_number(op: FnOp, known: float | int) -> SSAValue | None:
    target = dtype_name(op.result.type)
    if is_float(target):
        return constant(op, known, op.result.type)
    if isinf(known):
        return None
    return constant(op, int(known != 0) if target == "i1" else known, op.result.type)


def choose(op: FnOp) -> SSAValue | None:
    condition, yes, no = op.arguments
    if yes is no:
        return yes
    known = number(condition)
    return None if known is None else (yes if known else no)


def divide(op: FnOp) -> SSAValue | None:
    """Division by a power of two is the product with its exact reciprocal."""
    left, right = op.arguments
    if _is(right, 1):
        return left
    divisor = number(right)
    if divisor is None or divisor == 0 or isinf(divisor):
        return None
    mantissa, exponent = frexp(divisor)
    if abs(mantissa) != 0.5 or not -13 <= exponent <= 14:
        return None
    factor = constant(op, 1 / divisor, right.type)
    return before(op, FnOp("mul", [left, factor], op.result.type))


def power(op: FnOp) -> SSAValue | None:
    """Whole powers by repeated squaring, in f32, rounded once."""
    base, exponent = op.arguments[0], number(op.arguments[1])
    if exponent is None or exponent != exponent or isinf(exponent):
        return None
    if exponent == 1:
        return base
    if exponent == 0:
        return constant(op, 1.0, op.result.type)
    count = int(abs(exponent))
    if count != abs(exponent) or count > MAX_POWER:
        return None
    wide = ELEMENT_TYPES["f32"]
    narrow = op.result.type
    square = base if narrow == wide else before(op, FnOp("cast", [base], wide))
    product: SSAValue | None = None
    while count:
        if count % 2:
            product = (
                square
                if product is None
                else before(op, FnOp("mul", [product, square], wide))
            )
        count //= 2
        if count:
            square = before(op, FnOp("mul", [square, square], wide))
    assert product is not None
    if exponent < 0:
        product = before(op, FnOp("reciprocal", [product], wide))
    return product if narrow == wide else before(op, FnOp("cast", [product], narrow))


RULES: dict[str, tuple[Rule, ...]] = {
    "mul": (neutral(1),),
    "add": (add_nothing,),
    "sub": (neutral_right(0),),
    "div": (divide,),
    "pow": (power,),
    "neg": (involution,),
    "not": (involution,),
    "abs": (idempotent, abs_of_neg),
    "relu": (idempotent,),
    "maximum": (same_twice,),
    "minimum": (same_twice,),
    "and": (same_twice,),
    "or": (same_twice,),
    "identity": (identity,),
    "cast": (cast,),
    "where": (choose,),
}


def simplify(op: MapOp) -> None:
    """Applies the rules to a body, from its operands on, and drops what is unused."""
    block = op.body.block
    for step in list(block.ops):
        if isinstance(step, FnOp):
            _apply(step)
    for step in reversed(list(block.ops)):
        if step.results and not step.results[0].uses:
            block.erase_op(step)


def _apply(step: FnOp) -> None:
    for rule in RULES.get(step.function.data, ()):
        value = rule(step)
        if value is None:
            continue
        step.result.replace_all_uses_with(value)
        made = value.owner
        if isinstance(made, FnOp) and made.function.data == step.function.data:
            _apply(made)
        return


def as_full(op: MapOp) -> FullOp | None:
    """The full tensor that a map makes, if its body is a number."""
    last = op.body.block.last_op
    assert isinstance(last, YieldOp)
    made = last.value.owner
    if not isinstance(made, ConstantOp):
        return None
    full = FullOp(0, tensor_of(op.result))
    full.attributes["value"] = made.value
    full.location = op.location
    return full


class SimplifyFunctionsPass(ModulePass):
    """Simplifies scalar functions."""

    name = "spyre-simplify-functions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for map_ in [o for o in op.walk() if isinstance(o, MapOp)]:
            simplify(map_)
            full = as_full(map_)
            if full is not None and is_undecided(map_):
                replace_op(map_, full)
            elif full is None and is_undecided(map_):
                _drop_copy(map_)


def _drop_copy(op: MapOp) -> None:
    """A map that yields its operand's element unchanged is that operand."""
    last = op.body.block.last_op
    assert isinstance(last, YieldOp)
    args = op.body.block.args
    for index, argument in enumerate(args):
        source = op.inputs[index]
        map_ = op.input_maps.data[index].data
        whole = map_ == AffineMap.identity(map_.num_dims)
        if last.value is argument and whole and source.type == op.result.type:
            op.result.replace_all_uses_with(source)
            assert op.parent is not None
            op.parent.erase_op(op)
            return
