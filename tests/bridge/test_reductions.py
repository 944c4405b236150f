# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions, softmax and norms against eager, on the oracle."""

from math import inf, nan
from typing import Any

import pytest
import torch
from torch.nn import functional

from .checking import check, values

FLOATS = [torch.float16, torch.bfloat16, torch.float32]
DIMS = [None, 0, -1, (0, 2), (0, 1, 2)]


def _over(x: torch.Tensor, dim: int | tuple[int, ...] | None):
    keep: dict[str, Any] = {} if dim is None else {"dim": dim}
    one = dim is None or isinstance(dim, int)
    table: dict[str, Any] = {
        "sum": x.sum(**keep),
        "sum_f32": x.sum(**keep, dtype=torch.float32),
        "mean": x.mean(**keep),
        "var": x.var(**keep),
        "var0": x.var(**keep, correction=0),
        "std": x.std(**keep),
        "norm": torch.linalg.vector_norm(x, dim=dim),
        "norm1": torch.linalg.vector_norm(x, 1, dim=dim),
        "norm_inf": torch.linalg.vector_norm(x, inf, dim=dim),
        "var_mean": torch.var_mean(x, dim),
        "logsumexp": torch.logsumexp(x, (0,) if dim is None else dim),
    }
    if dim is not None:
        table |= {
            "sum_keep": x.sum(dim, keepdim=True),
            "mean_keep": x.mean(dim, keepdim=True),
            "amax": x.amax(dim),
            "amin": x.amin(dim, keepdim=True),
        }
    if one:
        table |= {"any": (x > 0).any(**keep), "all": (x > -9).all(**keep)}
    return table


@pytest.mark.parametrize("dim", DIMS, ids=str)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_reductions(dtype: torch.dtype, dim: int | tuple[int, ...] | None):
    x = values((3, 65, 4), dtype)
    check(lambda x: _over(x, dim), x)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.bool], ids=str)
def test_integer_reductions(dtype: torch.dtype):
    def run(x: torch.Tensor):
        return (
            x.sum(),
            x.sum(1),
            x.sum(0, keepdim=True),
            x.amax(1),
            x.amin(0),
            x.max(),
            x.any(),
            x.all(1),
            x.sum(1, dtype=torch.float32),
        )

    check(run, values((5, 67), dtype), exact=True)


def test_scalars_are_reduced():
    def run(x: torch.Tensor):
        return (
            x.sum(),
            x.mean(),
            x.amax(),
            x.softmax(0),
            x.log_softmax(-1),
            x.var(correction=0),
        )

    check(run, torch.tensor(3.0))


def test_nan_and_infinity():
    x = torch.tensor([[1.0, nan, 2.0], [inf, 1.0, -inf], [inf, inf, 0], [-inf] * 3])

    def run(x: torch.Tensor):
        return x.amax(1), x.amin(1), x.sum(1), x.mean(1), x.softmax(1), x.log_softmax(1)

    check(run, x)
    check(run, x.half())


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_softmax(dtype: torch.dtype):
    def run(x: torch.Tensor):
        return {
            "last": x.softmax(-1),
            "first": x.softmax(0),
            "f32": x.softmax(1, dtype=torch.float32),
            "log": x.log_softmax(-1),
            "log_f32": x.log_softmax(0, dtype=torch.float32),
            "large": (x * 200).softmax(-1),
            "softmin": functional.softmin(x, -1),
        }

    check(run, values((3, 65, 4), dtype))


def _norms(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor):
    channels = x.shape[1]
    v, c = w[:channels], b[:channels]
    return {
        "layer": functional.layer_norm(x, (65,), w, b),
        "layer_plain": functional.layer_norm(x, (65,)),
        "layer_two": functional.layer_norm(x, (6, 65), eps=1e-3),
        "layer_no_bias": functional.layer_norm(x, (65,), w),
        "rms": functional.rms_norm(x, (65,), w),
        "rms_eps": functional.rms_norm(x, (65,), w, 1e-5),
        "rms_plain": functional.rms_norm(x, (6, 65)),
        "group": functional.group_norm(x, 3, c, v),
        "group_plain": functional.group_norm(x, 2),
        "batch": functional.batch_norm(
            x, w[:channels], w[:channels] ** 2, b[:channels]
        ),
        "instance": functional.instance_norm(x),
        "normalize": functional.normalize(x, dim=1),
    }


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_norms(dtype: torch.dtype):
    x, w, b = (values(s, dtype, k) for k, s in enumerate([(4, 6, 65), (65,), (65,)]))
    check(_norms, x, w, b)


def test_norms_with_wider_weights():
    x = values((4, 65), torch.bfloat16)
    w, b = values((65,), torch.float32, 1), values((65,), torch.float32, 2)
    check(lambda x, w, b: functional.layer_norm(x, (65,), w, b), x, w, b)


def test_manual_rms_norm():
    def run(x: torch.Tensor, w: torch.Tensor):
        wide = x.to(torch.float32)
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        other = wide * torch.pow(wide.pow(2).mean(-1, keepdim=True) + 1e-6, -0.5)
        return w * (wide * scale).to(x.dtype), other

    check(run, values((2, 3, 64), torch.float16), values((64,), torch.float16, 1))
