# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Products, sums and what is made of them stay within the bounds by size that
`docs/generated/functions.md` states, on the oracle and on the card.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

from spyre_mlir.target.opfuncs import sum_error

from .checking import Function, compiled

EXECUTORS = pytest.mark.parametrize("executor", ["oracle", "card"])
SIZES = pytest.mark.parametrize("size", [1, 63, 65, 1000, 4100])
DTYPES = pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
U = 2.0**-24


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def run(function: Function, executor: str, *arguments: torch.Tensor) -> torch.Tensor:
    return compiled(function, executor=executor)(*arguments).double()


def rounding(exact: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """What rounding to a type may add; twice, as what is rounded is off itself."""
    info = torch.finfo(dtype)
    return exact.abs() * info.eps + info.smallest_normal * info.eps


def assert_within(
    got: torch.Tensor, exact: torch.Tensor, allowed: torch.Tensor
) -> None:
    over = (got - exact).abs() / allowed
    assert bool((over <= 1).all()), f"{float(over.max()):.2f} times the bound"


@EXECUTORS
@SIZES
@DTYPES
def test_product(size: int, dtype: torch.dtype, executor: str) -> None:
    a, b = drawn(5, size).to(dtype), drawn(size, 70).to(dtype)
    got = run(lambda a, b: a @ b, executor, a, b)
    a, b = a.double(), b.double()
    allowed = sum_error(size) * (a.abs() @ b.abs()) + rounding(a @ b, dtype)
    assert_within(got, a @ b, allowed)


@EXECUTORS
@SIZES
@DTYPES
@pytest.mark.parametrize("dim", [0, 1])
def test_sum(size: int, dtype: torch.dtype, executor: str, dim: int) -> None:
    x = drawn(size, 3).to(dtype) if dim == 0 else drawn(3, size).to(dtype)
    got = run(lambda x: x.sum(dim), executor, x)
    exact = x.double().sum(dim)
    allowed = sum_error(size) * x.double().abs().sum(dim) + rounding(exact, dtype)
    assert_within(got, exact, allowed)


@EXECUTORS
@SIZES
def test_extremes_are_exact(size: int, executor: str) -> None:
    x = drawn(3, size)
    got = run(lambda x: x.amax(1) - x.amin(1), executor, x)
    assert torch.equal(got, (x.amax(1) - x.amin(1)).double())


@EXECUTORS
@SIZES
def test_softmax(size: int, executor: str) -> None:
    x = drawn(3, size) * 4
    got = run(lambda x: torch.softmax(x, 1), executor, x)
    exact = x.double().softmax(1)
    spread = (x.amax(1) - x.amin(1)).double()[:, None]
    assert_within(got, exact, (size + spread + 8) * U * exact)


NORMS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "centred": lambda x: x,
    "apart": lambda x: x + 10,
}


@EXECUTORS
@pytest.mark.parametrize("size", [63, 65, 1000, 4100])
@pytest.mark.parametrize("place", NORMS)
def test_layer_norm(size: int, executor: str, place: str) -> None:
    x = NORMS[place](drawn(3, size))
    got = run(lambda x: F.layer_norm(x, x.shape[1:]), executor, x)
    wide = x.double()
    exact = F.layer_norm(wide, wide.shape[1:])
    average = wide.abs().mean(1, keepdim=True)
    deviation = (wide.var(1, correction=0, keepdim=True) + 1e-5).sqrt()
    off = (size + 8) * U * (average + wide.abs()) / deviation
    assert_within(got, exact, off * (1 + exact.abs()) + size * U * exact.abs())
