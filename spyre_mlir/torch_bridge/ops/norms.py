# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalisations: moments and scale in f32, one rounding at the end."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import torch
from xdsl.ir import SSAValue

from ..dtypes import TORCH
from ..emit import Body, Emitter, NotOnCard, Number, dtype_of, shape_of
from .movement import reshape
from .reductions import moments

Tensor = SSAValue


def _affine(
    b: Body, value: SSAValue, weight: SSAValue | None, bias: SSAValue | None
) -> SSAValue:
    if weight is not None:
        value = b("mul", value, b.cast(weight, "f32"))
    if bias is not None:
        value = b("add", value, b.cast(bias, "f32"))
    return value


def _check_types(x: Tensor, parameters: Sequence[Tensor]) -> None:
    types = {dtype_of(v) for v in parameters}
    if len(types) > 1 or not types <= {dtype_of(x), "f32"}:
        raise NotOnCard("a norm's parameters of other types, which PyTorch refuses")


def normalise(
    e: Emitter,
    x: Tensor,
    average: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    dtype: str,
) -> Tensor:
    """(x - average) * rstd * weight + bias; the operands broadcast against x."""
    affine = [v for v in (weight, bias) if v is not None]
    _check_types(x, affine)
    inputs = [x, average, rstd, *affine]

    def body(b: Body, v: SSAValue, m: SSAValue, r: SSAValue, *rest: SSAValue):
        read = iter(rest)
        scaled = b("mul", b("sub", b.cast(v, "f32"), m), r)
        w = None if weight is None else next(read)
        return _affine(b, scaled, w, None if bias is None else next(read))

    return e.map(inputs, dtype, body)


def _rstd(e: Emitter, spread: Tensor, eps: float) -> Tensor:
    def body(b: Body, v: SSAValue) -> SSAValue:
        return b("rsqrt", b("add", v, b.like(v, eps)))

    return e.map([spread], "f32", body)


def native_layer_norm(
    e: Emitter,
    x: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    rank = len(shape_of(x))
    dims = range(rank - len(normalized_shape), rank)
    spread, average = moments(e, x, dims, 0)
    rstd = _rstd(e, spread, eps)
    dtype = e.results[0].dtype
    value = normalise(e, x, average, rstd, weight, bias, dtype)
    if len(e.results) == 1:
        return value, average, rstd
    return (
        value,
        e.cast(average, e.results[1].dtype),
        e.cast(rstd, e.results[2].dtype),
    )


def layer_norm(
    e: Emitter,
    x: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    return native_layer_norm(e, x, normalized_shape, weight, bias, eps)[0]


def fused_rms_norm(
    e: Emitter,
    x: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    eps: float | None,
) -> tuple[Tensor, Tensor]:
    rank = len(shape_of(x))
    dims = list(range(rank - len(normalized_shape), rank))
    count = prod(normalized_shape)
    if eps is None:
        eps = torch.finfo(TORCH[dtype_of(x)]).eps

    def square(b: Body, v: SSAValue) -> SSAValue:
        v = b.cast(v, "f32")
        return b("mul", v, v)

    total = e.reduce("sum", e.map([x], "f32", square), dims)

    def root(b: Body, v: SSAValue) -> SSAValue:
        average = b("div", v, b.like(v, count))
        return b("rsqrt", b("add", average, b.like(v, eps)))

    rstd = e.map([total], "f32", root)

    def scale(b: Body, v: SSAValue, r: SSAValue, *rest: SSAValue) -> SSAValue:
        factor = rest[0] if rest else None
        return _affine(b, b("mul", b.cast(v, "f32"), r), factor, None)

    inputs = [x, rstd] if weight is None else [x, rstd, weight]
    return e.map(inputs, e.results[0].dtype, scale), rstd


def rms_norm(
    e: Emitter,
    x: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    return fused_rms_norm(e, x, normalized_shape, weight, eps)[0]


def _per_channel(e: Emitter, value: Tensor | None, rank: int) -> Tensor | None:
    """[C] against [N, C, ...]."""
    if value is None:
        return None
    return reshape(e, value, (shape_of(value)[0], *(1,) * (rank - 2)))


def native_group_norm(
    e: Emitter,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    batch: int,
    channels: int,
    inner: int,
    groups: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    shape = shape_of(x)
    grouped = (batch, groups, channels // groups, inner)
    flat = reshape(e, x, grouped)
    spread, average = moments(e, flat, (2, 3), 0)
    rstd = _rstd(e, spread, eps)
    affine = [
        None if v is None else reshape(e, v, (groups, channels // groups, 1))
        for v in (weight, bias)
    ]
    dtype = e.results[0].dtype
    value = normalise(e, flat, average, rstd, affine[0], affine[1], dtype)
    stats = [reshape(e, v, (batch, groups)) for v in (average, rstd)]
    if len(e.results) > 1:
        stats = [e.cast(v, m.dtype) for v, m in zip(stats, e.results[1:], strict=True)]
    return reshape(e, value, shape), stats[0], stats[1]


def group_norm(
    e: Emitter,
    x: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    batch, channels, *rest = shape_of(x)
    args = (weight, bias, batch, channels, prod(rest), num_groups, eps)
    return native_group_norm(e, x, *args)[0]


def batch_norm_inference(
    e: Emitter,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: Number,
    eps: float,
) -> tuple[Tensor, ...]:
    given = (weight, bias, running_mean, running_var)
    _check_types(x, [v for v in given if v is not None])
    rank = len(shape_of(x))
    average, spread, weight, bias = (
        _per_channel(e, v, rank) for v in (running_mean, running_var, weight, bias)
    )
    assert average is not None and spread is not None
    spread, average = e.cast(spread, "f32"), e.cast(average, "f32")
    rstd = _rstd(e, spread, eps)
    value = normalise(e, x, average, rstd, weight, bias, e.results[0].dtype)
    # FX promises [C] on a card, as on any accelerator, and nothing on the CPU.
    stats = (reshape(e, v, shape_of(running_mean)) for v in (average, rstd))
    return (value, *stats)
