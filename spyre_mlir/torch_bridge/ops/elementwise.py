# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise functions: one map each, typed as PyTorch types them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from spyre_mlir.target.opfuncs import OPFUNCS

from ..dtypes import is_exact, is_half, rounded
from ..emit import Body, BodyBuilder, Emitter, NotOnCard, Number, dtype_of, shape_of
from .promotion import Operand, is_float, promote, to_float

Tensor = SSAValue
Importer = Callable[..., Tensor]


def apply(
    e: Emitter,
    operands: Sequence[Operand],
    compute: str,
    body: BodyBuilder,
    dtype: str | None = None,
) -> Tensor:
    """A map whose body gets every operand, also numbers, in the compute type."""
    tensors = [x for x in operands if isinstance(x, SSAValue)]

    def convert(b: Body, *elements: SSAValue) -> SSAValue:
        read = iter(elements)
        values = [
            b.cast(next(read), compute)
            if isinstance(x, SSAValue)
            else b.constant(x, compute)
            for x in operands
        ]
        return body(b, *values)

    dtype = e.result.dtype if dtype is None else dtype
    return e.map(tensors, dtype, convert, e.result.shape)


def _takes(function: str, dtype: str) -> None:
    if dtype not in OPFUNCS[function].dtypes:
        raise NotOnCard(f"the card's {function} does not take {dtype}")


def exact_compute(operands: Sequence[Operand], dtype: str) -> str:
    """
    f32 for 16-bit products with a scalar that 16 bits do not hold: there PyTorch keeps
    the scalar in f32 and rounds once. (Sums round the scalar first.)
    """
    if not is_half(dtype):
        return dtype
    for x in operands:
        if isinstance(x, SSAValue):
            if not shape_of(x) and dtype_of(x) == "f32":
                return "f32"
        elif not is_exact(x, dtype):
            return "f32"
    return dtype


# -------------------------------------------------------------------- unary


def unary(function: str, floats: bool = True) -> Importer:
    """A function of one operand; `floats` turns integers to floats first."""

    def importer(e: Emitter, x: Tensor) -> Tensor:
        dtype = dtype_of(x)
        compute = to_float(dtype) if floats else dtype
        _takes(function, compute)
        return apply(e, [x], compute, lambda b, v: b(function, v))

    return importer


def rounding(function: str) -> Importer:
    """floor, ceil, round, trunc: integers stay as they are."""

    def importer(e: Emitter, x: Tensor) -> Tensor:
        if not is_float(dtype_of(x)):
            return x
        return apply(e, [x], dtype_of(x), lambda b, v: b(function, v))

    return importer


def classify(function: str) -> Importer:
    """isnan, isinf: false for integers."""

    def importer(e: Emitter, x: Tensor) -> Tensor:
        if not is_float(dtype_of(x)):
            return e.full(0, e.result.shape, "i1")
        return apply(e, [x], dtype_of(x), lambda b, v: b(function, v))

    return importer


def gelu(e: Emitter, x: Tensor, approximate: str = "none") -> Tensor:
    function = "gelu_tanh" if approximate == "tanh" else "gelu"
    return unary(function)(e, x)


def softplus(e: Emitter, x: Tensor, beta: Number = 1, threshold: Number = 20) -> Tensor:
    if beta == 1 and threshold == 20:
        return unary("softplus")(e, x)

    def body(b: Body, v: SSAValue) -> SSAValue:
        scaled = b("mul", v, b.like(v, beta))
        soft = b("div", b("log1p", b("exp", scaled)), b.like(v, beta))
        return b("where", b("gt", scaled, b.like(v, threshold)), v, soft)

    return apply(e, [x], "f32", body)


def hardtanh(
    e: Emitter, x: Tensor, min_val: Number = -1, max_val: Number = 1
) -> Tensor:
    return clamp(e, x, min_val, max_val)


def leaky_relu(e: Emitter, x: Tensor, negative_slope: Number = 0.01) -> Tensor:
    def body(b: Body, v: SSAValue) -> SSAValue:
        scaled = b("mul", v, b.like(v, negative_slope))
        return b("where", b("gt", v, b.like(v, 0)), v, scaled)

    return apply(e, [x], "f32", body)


def elu(
    e: Emitter,
    x: Tensor,
    alpha: Number = 1,
    scale: Number = 1,
    input_scale: Number = 1,
) -> Tensor:
    def body(b: Body, v: SSAValue) -> SSAValue:
        below = b("expm1", b("mul", v, b.like(v, input_scale)))
        below = b("mul", below, b.like(v, alpha * scale))
        above = b("mul", v, b.like(v, scale))
        return b("where", b("gt", v, b.like(v, 0)), above, below)

    return apply(e, [x], "f32", body)


def logical_not(e: Emitter, x: Tensor) -> Tensor:
    return apply(e, [x], "i1", lambda b, v: b("not", v))


def square(e: Emitter, x: Tensor) -> Tensor:
    return power(e, x, 2)


# ------------------------------------------------------------------- binary


def binary(function: str, bools: str = "", exact: bool = False) -> Importer:
    """Arithmetic on the promoted type; `bools` is the function for i1."""

    def importer(e: Emitter, a: Operand, b: Operand) -> Tensor:
        dtype = promote((a, b))
        name = bools if dtype == "i1" and bools else function
        _takes(name, dtype)
        compute = exact_compute((a, b), dtype) if exact else dtype
        return apply(e, [a, b], compute, lambda body, x, y: body(name, x, y))

    return importer


def additive(function: str) -> Importer:
    """add and sub, with `alpha` times the second operand."""

    def importer(e: Emitter, a: Operand, b: Operand, alpha: Number = 1) -> Tensor:
        if alpha == 1:
            return binary(function, "or" if function == "add" else "")(e, a, b)
        dtype = promote((a, b))
        _takes(function, dtype)
        compute = "f32" if is_half(dtype) else dtype

        def body(bld: Body, x: SSAValue, y: SSAValue) -> SSAValue:
            factor = bld.like(y, rounded(alpha, dtype))
            return bld(function, x, bld("mul", y, factor))

        return apply(e, [a, b], compute, body)

    return importer


def rsub(e: Emitter, a: Operand, b: Operand, alpha: Number = 1) -> Tensor:
    if alpha == 1:
        return additive("sub")(e, b, a)
    dtype = promote((a, b))
    compute = "f32" if is_half(dtype) else dtype

    def body(bld: Body, x: SSAValue, y: SSAValue) -> SSAValue:
        factor = bld.like(x, rounded(alpha, dtype))
        return bld("sub", y, bld("mul", x, factor))

    return apply(e, [a, b], compute, body)


def divide(
    e: Emitter, a: Operand, b: Operand, rounding_mode: str | None = None
) -> Tensor:
    dtype = promote((a, b))
    if rounding_mode is None:
        dtype = to_float(dtype)
        compute = exact_compute((a, b), dtype)
        return apply(e, [a, b], compute, lambda body, x, y: body("div", x, y))
    function = f"{rounding_mode}_divide"
    _takes(function, dtype)
    return apply(e, [a, b], dtype, lambda body, x, y: body(function, x, y))


def floor_divide(e: Emitter, a: Operand, b: Operand) -> Tensor:
    return divide(e, a, b, "floor")


def float_binary(function: str) -> Importer:
    """A float function of two operands, such as atan2."""

    def importer(e: Emitter, a: Operand, b: Operand) -> Tensor:
        compute = to_float(promote((a, b)))
        return apply(e, [a, b], compute, lambda body, x, y: body(function, x, y))

    return importer


def compare(function: str) -> Importer:
    def importer(e: Emitter, a: Operand, b: Operand) -> Tensor:
        compute = promote((a, b))
        return apply(e, [a, b], compute, lambda body, x, y: body(function, x, y))

    return importer


def logical(function: str) -> Importer:
    def importer(e: Emitter, a: Operand, b: Operand) -> Tensor:
        return apply(e, [a, b], "i1", lambda body, x, y: body(function, x, y))

    return importer


def bitwise(function: str) -> Importer:
    def importer(e: Emitter, a: Operand, b: Operand) -> Tensor:
        compute = promote((a, b))
        _takes(function, compute)
        return apply(e, [a, b], compute, lambda body, x, y: body(function, x, y))

    return importer


# -------------------------------------------------------------------- power


def power(e: Emitter, base: Operand, exponent: Operand) -> Tensor:
    """
    Integer powers are products; the halves are roots, but for f16, where PyTorch
    raises to them and infinity and -0 have other results; the rest is `pow`.
    """
    dtype = promote((base, exponent))
    if isinstance(base, SSAValue) and not isinstance(exponent, SSAValue):
        if float(exponent).is_integer() and abs(exponent) <= 64:
            if is_float(dtype) or exponent >= 0:
                return _integer_power(e, base, int(exponent), dtype)
        elif dtype in ("bf16", "f32") and exponent in (0.5, -0.5):
            function = "sqrt" if exponent > 0 else "rsqrt"
            return apply(e, [base], dtype, lambda b, v: b(function, v))
    if not is_float(dtype):
        raise NotOnCard("an integer power of a tensor")
    return apply(e, [base, exponent], dtype, lambda b, x, y: b("pow", x, y))


def _integer_power(e: Emitter, base: Tensor, exponent: int, dtype: str) -> Tensor:
    if dtype == "i1":
        raise NotOnCard("a power of bools")

    def body(b: Body, v: SSAValue) -> SSAValue:
        result, square, left = None, v, abs(exponent)
        while left:
            if left & 1:
                result = square if result is None else b("mul", result, square)
            left >>= 1
            square = b("mul", square, square) if left else square
        if result is None:
            return b.like(v, 1)
        return b("reciprocal", result) if exponent < 0 else result

    compute = "f32" if is_half(dtype) and abs(exponent) > 2 else dtype
    return apply(e, [base], compute, body)


# ------------------------------------------------------------ choice, bounds


def where(e: Emitter, condition: Tensor, a: Operand, b: Operand) -> Tensor:
    dtype = e.result.dtype
    values = [x for x in (a, b) if isinstance(x, SSAValue)]

    def body(bld: Body, c: SSAValue, *elements: SSAValue) -> SSAValue:
        read = iter(elements)
        x, y = (
            bld.cast(next(read), dtype)
            if isinstance(v, SSAValue)
            else bld.constant(v, dtype)
            for v in (a, b)
        )
        return bld("where", bld.cast(c, "i1"), x, y)

    return e.map([condition, *values], dtype, body, e.result.shape)


def masked_fill(e: Emitter, x: Tensor, mask: Tensor, value: Operand) -> Tensor:
    return where(e, mask, value, x)


def clamp(
    e: Emitter, x: Tensor, low: Operand | None = None, high: Operand | None = None
) -> Tensor:
    bounds = [v for v in (low, high) if v is not None]
    compute = promote((x, *bounds))
    functions = [
        name for name, v in (("maximum", low), ("minimum", high)) if v is not None
    ]
    _takes("maximum", compute)

    def body(b: Body, value: SSAValue, *limits: SSAValue) -> SSAValue:
        for function, limit in zip(functions, limits, strict=True):
            value = b(function, value, limit)
        return value

    return apply(e, [x, *bounds], compute, body)


def clamp_min(e: Emitter, x: Tensor, low: Operand) -> Tensor:
    return clamp(e, x, low, None)


def clamp_max(e: Emitter, x: Tensor, high: Operand) -> Tensor:
    return clamp(e, x, None, high)


# -------------------------------------------------------------------- casts


def convert(e: Emitter, x: Tensor, *_: object, **__: object) -> Tensor:
    """_to_copy, to, convert_element_type: what FX promises says the type."""
    return e.cast(x, e.result.dtype)
