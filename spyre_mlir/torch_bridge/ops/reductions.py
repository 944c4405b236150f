# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums, extrema, means and variances; 16-bit floats accumulate in f32."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan, prod

from xdsl.ir import SSAValue

from ..emit import Body, Emitter, Empty, NotOnCard, Number, dtype_of, shape_of
from .movement import reshape
from .promotion import is_float

Tensor = SSAValue
Dims = int | Sequence[int] | None


def dims_of(rank: int, dim: Dims) -> tuple[int, ...]:
    """The dimensions that a reduction folds; none given means all."""
    if isinstance(dim, int):
        dim = [dim]
    if not dim:
        return tuple(range(rank))
    return tuple(sorted({d % rank for d in dim})) if rank else ()


def drop(e: Emitter, x: Tensor, dims: Sequence[int], keepdim: bool) -> Tensor:
    """Takes away the folded dimensions, which have size 1."""
    if keepdim:
        return x
    return reshape(e, x, [n for d, n in enumerate(shape_of(x)) if d not in dims])


def sum_(
    e: Emitter,
    x: Tensor | Empty,
    dim: Dims = None,
    keepdim: bool = False,
    dtype: object = None,
) -> Tensor:
    result = e.result.dtype
    if isinstance(x, Empty):
        return e.full(0, e.result.shape, result)
    dims = dims_of(len(shape_of(x)), dim)
    if not is_float(result) or not is_float(dtype_of(x)):
        x = e.cast(x, "f32" if is_float(result) else result)
        total = e.reduce("sum", x, dims, dtype_of(x))
    else:
        total = e.reduce("sum", x, dims, "f32")
    return e.cast(drop(e, total, dims, keepdim), result)


def mean(
    e: Emitter,
    x: Tensor | Empty,
    dim: Dims = None,
    keepdim: bool = False,
    dtype: object = None,
) -> Tensor:
    if isinstance(x, Empty):
        return e.full(nan, e.result.shape, e.result.dtype)
    dims = dims_of(len(shape_of(x)), dim)
    average = mean_f32(e, x, dims)
    return e.cast(drop(e, average, dims, keepdim), e.result.dtype)


def mean_f32(e: Emitter, x: Tensor, dims: Sequence[int]) -> Tensor:
    """The mean in f32; the folded dimensions stay."""
    if not is_float(dtype_of(x)):
        x = e.cast(x, "f32")
    count = prod(shape_of(x)[d] for d in dims)
    total = e.reduce("sum", x, dims, "f32")
    return e.map([total], "f32", lambda b, v: b("div", v, b.like(v, count)))


def extremum(kind: str):
    """amax, amin, and max and min of all elements."""

    def importer(
        e: Emitter, x: Tensor, dim: Dims = None, keepdim: bool = False
    ) -> Tensor:
        dims = dims_of(len(shape_of(x)), dim)
        if dtype_of(x) == "i1":
            folded = e.cast(e.reduce(kind, e.cast(x, "i32"), dims), "i1")
        else:
            folded = e.reduce(kind, x, dims)
        return drop(e, folded, dims, keepdim)

    return importer


def truth(kind: str):
    """any (max) and all (min) of what is not zero."""

    def importer(
        e: Emitter, x: Tensor | Empty, dim: Dims = None, keepdim: bool = False
    ) -> Tensor:
        if isinstance(x, Empty):
            return e.full(int(kind == "min"), e.result.shape, "i1")
        dims = dims_of(len(shape_of(x)), dim)
        flags = e.map([x], "i32", lambda b, v: b.cast(v, "i1"))
        folded = e.cast(e.reduce(kind, flags, dims), "i1")
        return drop(e, folded, dims, keepdim)

    return importer


# ---------------------------------------------------------------- variances


def moments(
    e: Emitter, x: Tensor, dims: Sequence[int], correction: Number
) -> tuple[Tensor, Tensor]:
    """Variance and mean in f32, in two passes; the folded dimensions stay."""
    average = mean_f32(e, x, dims)
    count = prod(shape_of(x)[d] for d in dims)
    divisor = max(float(count - correction), 0.0)

    def square(b: Body, v: SSAValue, m: SSAValue) -> SSAValue:
        centred = b("sub", b.cast(v, "f32"), m)
        return b("mul", centred, centred)

    total = e.reduce("sum", e.map([x, average], "f32", square), dims)
    spread = e.map([total], "f32", lambda b, v: b("div", v, b.like(v, divisor)))
    return spread, average


def _correction(unbiased: bool | None, correction: Number | None) -> Number:
    if correction is not None:
        return correction
    return 1 if unbiased is None else int(unbiased)


def variance(root: bool, with_mean: bool):
    """var, std, var_mean and std_mean."""

    def importer(
        e: Emitter,
        x: Tensor | Empty,
        dim: Dims = None,
        unbiased: bool | None = None,
        keepdim: bool = False,
        correction: Number | None = None,
    ) -> Tensor | tuple[Tensor, ...]:
        if isinstance(x, Empty):
            values = [e.full(nan, m.shape, m.dtype) for m in e.results]
            return tuple(values) if with_mean else values[0]
        dims = dims_of(len(shape_of(x)), dim)
        spread, average = moments(e, x, dims, _correction(unbiased, correction))
        if root:
            spread = e.map([spread], "f32", lambda b, v: b("sqrt", v))
        found = [spread, average] if with_mean else [spread]
        results = tuple(
            e.cast(drop(e, v, dims, keepdim), m.dtype)
            for v, m in zip(found, e.results, strict=True)
        )
        return results if with_mean else results[0]

    return importer


# -------------------------------------------------------------------- norms


def vector_norm(
    e: Emitter,
    x: Tensor | Empty,
    ord: Number = 2,
    dim: Dims = None,
    keepdim: bool = False,
    dtype: object = None,
) -> Tensor:
    if isinstance(x, Empty):
        return e.full(0, e.result.shape, e.result.dtype)
    dims = dims_of(len(shape_of(x)), dim)
    if abs(ord) == inf:
        size = e.map([x], "f32", lambda b, v: b("abs", b.cast(v, "f32")))
        folded = e.reduce("max" if ord > 0 else "min", size, dims)
        return e.cast(drop(e, folded, dims, keepdim), e.result.dtype)
    if ord not in (0, 1, 2):
        raise NotOnCard(f"a norm of order {ord}")

    def term(b: Body, v: SSAValue) -> SSAValue:
        v = b.cast(v, "f32")
        if ord == 2:
            return b("mul", v, v)
        return b("abs", v) if ord == 1 else b("ne", v, b.like(v, 0))

    total = e.reduce("sum", e.map([x], "f32", term), dims)
    if ord == 2:
        total = e.map([total], e.result.dtype, lambda b, v: b("sqrt", v))
    return e.cast(drop(e, total, dims, keepdim), e.result.dtype)


# ------------------------------------------------------------------ softmax


def softmax(e: Emitter, x: Tensor, dim: int, dtype: object = None) -> Tensor:
    _check_rows(e, x, dim)
    return _row(e, x, dim, log=False)


def log_softmax(e: Emitter, x: Tensor, dim: int, dtype: object = None) -> Tensor:
    _check_rows(e, x, dim)
    return _row(e, x, dim, log=True)


def _check_rows(e: Emitter, x: Tensor, dim: int) -> None:
    """What eager refuses is eager's to refuse."""
    rank = max(1, len(shape_of(x)))
    if not -rank <= dim < rank or not is_float(e.result.dtype):
        raise NotOnCard("a softmax of integers, or over a dimension that is not there")


def safe_softmax(e: Emitter, x: Tensor, dim: int, dtype: object = None) -> Tensor:
    """Zeros for a row of nothing but -inf."""
    if not shape_of(x):
        return reshape(e, safe_softmax(e, reshape(e, x, (1,)), 0), ())
    weights = softmax_f32(e, e.cast(x, "f32"), dim, safe=True)
    return e.cast(weights, e.result.dtype)


def _row(e: Emitter, x: Tensor, dim: int, log: bool) -> Tensor:
    shape = shape_of(x)
    if not shape:
        return reshape(e, _row(e, reshape(e, x, (1,)), 0, log), ())
    dim %= len(shape)
    top = e.reduce("max", x if is_float(dtype_of(x)) else e.cast(x, "f32"), [dim])
    dtype = e.result.dtype

    def exponent(b: Body, v: SSAValue, m: SSAValue) -> SSAValue:
        return b("exp", b("sub", b.cast(v, "f32"), b.cast(m, "f32")))

    powers = e.map([x, top], "f32", exponent)
    total = e.reduce("sum", powers, [dim])
    if not log:
        return e.map([powers, total], dtype, lambda b, p, s: b("div", p, s))

    def logarithm(b: Body, v: SSAValue, m: SSAValue, s: SSAValue) -> SSAValue:
        centred = b("sub", b.cast(v, "f32"), b.cast(m, "f32"))
        return b("sub", centred, b("log", s))

    return e.map([x, top, total], dtype, logarithm)


def softmax_f32(e: Emitter, x: Tensor, dim: int, safe: bool) -> Tensor:
    """Softmax of f32 in f32; `safe` rows of nothing but -inf give zeros."""
    dim %= len(shape_of(x))
    top = e.reduce("max", x, [dim])
    if not safe:
        powers = e.map([x, top], "f32", lambda b, v, m: b("exp", b("sub", v, m)))
        total = e.reduce("sum", powers, [dim])
        return e.map([powers, total], "f32", lambda b, p, s: b("div", p, s))

    def finite(b: Body, m: SSAValue) -> SSAValue:
        return b("where", b("eq", m, b.like(m, -inf)), b.like(m, 0), m)

    def exponent(b: Body, v: SSAValue, m: SSAValue) -> SSAValue:
        return b("exp", b("sub", v, finite(b, m)))

    powers = e.map([x, top], "f32", exponent)
    total = e.reduce("sum", powers, [dim])

    def divide(b: Body, p: SSAValue, s: SSAValue) -> SSAValue:
        empty = b("eq", s, b.like(s, 0))
        return b("div", p, b("where", empty, b.like(s, 1), s))

    return e.map([powers, total], "f32", divide)
