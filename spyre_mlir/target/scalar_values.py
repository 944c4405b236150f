# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Values of scalar functions, where no one function of torch gives them.

A library under torch may take another path for the last elements of a run than for
the others, or another path on another processor. What is here gives an element the
same value wherever it lies. The hard functions are computed in f64 and rounded once:
there, the last bits in which paths differ do not count.

Functions are `(torch, *arguments, out=None) -> array`. `out` may be an argument's
own memory, so that each writes it once, at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, pi, sqrt
from typing import Any

Evaluate = Callable[..., Any]

LN_2 = log(2)
GELU_LINEAR = sqrt(2 / pi)
GELU_CUBIC = 0.044715
SOFTPLUS_THRESHOLD = 20


BLOCK = 1 << 16
"""Elements worked on at a time, so that what is between the steps stays in caches."""


def in_blocks(function: Evaluate) -> Evaluate:
    """`function(torch, *arguments, out)`, on parts of large arrays."""

    def evaluate(torch: Any, *args: Any, out: Any = None) -> Any:
        if out is None:
            shape = torch.broadcast_shapes(*(a.shape for a in args))
            out = torch.empty(shape, dtype=args[-1].dtype, device=args[-1].device)
        spread = [a.expand(out.shape) if a.dim() else a for a in args]
        _run_blocks(torch, function, spread, out)
        return out

    return evaluate


def _run_blocks(torch: Any, function: Evaluate, args: list[Any], out: Any) -> None:
    if out.numel() <= BLOCK:
        function(torch, *args, out=out)
        return
    dim = next(d for d, size in enumerate(out.shape) if size > 1)
    step = max(1, BLOCK * out.shape[dim] // out.numel())
    parts = [a.split(step, dim) if a.dim() else None for a in args]
    for number, part in enumerate(out.split(step, dim)):
        own = [a if p is None else p[number] for a, p in zip(args, parts, strict=True)]
        _run_blocks(torch, function, own, part)


def in_double(compute: Evaluate) -> Evaluate:
    """
    `compute(torch, *arguments)` on f64 arrays that it may overwrite, rounded to the
    type of the last argument.
    """

    def function(torch: Any, *args: Any, out: Any) -> None:
        out.copy_(compute(torch, *(a.to(torch.float64) for a in args)))

    return in_blocks(function)


@in_double
def exp2(torch: Any, x: Any) -> Any:
    return x.mul_(LN_2).exp_()


@in_double
def log1p(torch: Any, x: Any) -> Any:
    return x.log1p_()


@in_double
def sigmoid(torch: Any, x: Any) -> Any:
    return x.neg_().exp_().add_(1).reciprocal_()


@in_double
def silu(torch: Any, x: Any) -> Any:
    return torch.neg(x).exp_().add_(1).reciprocal_().mul_(x)


@in_double
def gelu(torch: Any, x: Any) -> Any:
    # 1 + erf would cancel where x is negative.
    return torch.mul(x, -sqrt(0.5)).erfc_().mul_(x).mul_(0.5)


@in_double
def gelu_tanh(torch: Any, x: Any) -> Any:
    # (1 + tanh(y)) / 2 is sigmoid(2 y), which does not cancel.
    y = torch.mul(x, x).mul_(GELU_CUBIC).add_(1).mul_(x).mul_(-2 * GELU_LINEAR)
    return y.exp_().add_(1).reciprocal_().mul_(x)


@in_double
def softplus(torch: Any, x: Any) -> Any:
    return torch.where(x > SOFTPLUS_THRESHOLD, x, torch.exp(x).log1p_())


@in_double
def atan2(torch: Any, y: Any, x: Any) -> Any:
    up, along = torch.abs(y), torch.abs(x)
    equal = (up != 0).to(up.dtype)  # also of two infinities, which have no quotient
    angle = torch.where(up == along, equal, up / along).atan_()
    angle = torch.where(torch.signbit(x), pi - angle, angle)
    return torch.copysign(angle, y)


@in_double
def pow(torch: Any, a: Any, b: Any) -> Any:
    """C's `pow`, with its special cases."""
    whole = torch.floor(b) == b
    odd = whole & (torch.floor(b / 2) * 2 != b)
    exponent = torch.abs(a).log_() * b
    one = (b == 0) | (a == 1) | ((a == -1) & torch.isinf(b))
    size = exponent.masked_fill_(one, 0).exp_()
    size = torch.where(odd & torch.signbit(a), -size, size)
    return size.masked_fill_((a < 0) & torch.isfinite(a) & ~whole, float("nan"))


@in_double
def _fmod(torch: Any, a: Any, b: Any) -> Any:
    # Exact in f64; in f32 the vectorised one fails for large quotients.
    return torch.fmod(a, b)


@in_double
def _remainder(torch: Any, a: Any, b: Any) -> Any:
    rest = torch.fmod(a, b)
    return torch.where(_across(rest, b), rest + b, rest)


@in_double
def _floor_divide(torch: Any, a: Any, b: Any) -> Any:
    rest = torch.fmod(a, b)
    exact = a / b
    whole = ((a - rest) / b).round_().sub_(_across(rest, b).to(a.dtype))
    whole = torch.where(whole == 0, torch.copysign(torch.zeros_like(a), exact), whole)
    return torch.where(b == 0, exact, whole)


def _across(rest: Any, b: Any) -> Any:
    """Where a remainder with the dividend's sign lies on the other side of zero."""
    return (rest != 0) & ((rest < 0) != (b < 0))


def _by_kind(floats: Evaluate, integers: Evaluate) -> Evaluate:
    def evaluate(torch: Any, *args: Any, out: Any = None) -> Any:
        chosen = floats if args[0].is_floating_point() else integers
        return chosen(torch, *args, out=out)

    return evaluate


def _integer_divide(rounding: str) -> Evaluate:
    def evaluate(torch: Any, a: Any, b: Any, out: Any = None) -> Any:
        # The least integer by -1 is a trap of the processor; as a negation it wraps.
        minus = b == -1
        quotient = torch.div(a, b.masked_fill(minus, 1), rounding_mode=rounding)
        return torch.where(minus, torch.neg(a), quotient, out=out)

    return evaluate


def _trunc_divide(torch: Any, a: Any, b: Any, out: Any = None) -> Any:
    return torch.div(a, b, rounding_mode="trunc", out=out)


def _of_torch(name: str) -> Evaluate:
    def evaluate(torch: Any, a: Any, b: Any, out: Any = None) -> Any:
        return getattr(torch, name)(a, b, out=out)

    return evaluate


def _extreme(name: str, of_zeros: str) -> Evaluate:
    """The larger or smaller one, NaN if there is one; -0 is smaller than +0."""

    @in_blocks
    def floats(torch: Any, a: Any, b: Any, out: Any) -> None:
        integer = torch.int32 if a.element_size() == 4 else torch.int16
        # Equal numbers have equal bits but for the signs of zeros.
        bits = getattr(torch, of_zeros)(a.view(integer), b.view(integer))
        chosen = getattr(torch, name)(a, b)
        torch.where(a == b, bits.view(a.dtype), chosen, out=out)

    return _by_kind(floats, _of_torch(name))


fmod = _by_kind(_fmod, _of_torch("fmod"))
remainder = _by_kind(_remainder, _of_torch("remainder"))
floor_divide = _by_kind(_floor_divide, _integer_divide("floor"))
trunc_divide = _by_kind(_trunc_divide, _integer_divide("trunc"))
maximum = _extreme("maximum", "bitwise_and")
minimum = _extreme("minimum", "bitwise_or")
