# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Compiles a function and compares it with eager PyTorch: on the oracle, or with
`SPYRE_EXECUTOR=card` on the card.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch

from spyre_mlir.torch_bridge.backend import spyre_mlir

Function = (
    Callable[[Any], Any]
    | Callable[[Any, Any], Any]
    | Callable[[Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any, Any], Any]
)
"""What `check` compiles; the arities give lambdas the types of their parameters."""
EXECUTOR = os.environ.get("SPYRE_EXECUTOR", "oracle")
CLOSE = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float32: 2e-5}


def compiled(function: Function, **options: Any) -> Callable[..., Any]:
    """`torch.compile` with our backend; the host may not help unless asked."""
    torch._dynamo.reset()
    strict = {"fallback": "error", "verify": True}
    return torch.compile(function, backend=backend(**strict | options), fullgraph=True)


def backend(**options: Any) -> Callable[..., Any]:
    """Our backend with options, on the executor under test."""
    return partial(spyre_mlir, options={"executor": EXECUTOR} | options)


def values(shape: tuple[int, ...], dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    """Numbers around zero, zero included; bools and small integers of both signs."""
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.rand(shape, generator=generator) > 0.5
    if not dtype.is_floating_point:
        return torch.randint(-9, 10, shape, generator=generator, dtype=dtype)
    drawn = torch.randn(shape, generator=generator)
    return torch.where(drawn.abs() < 0.05, torch.zeros(()), drawn).to(dtype)


def assert_same(name: str, got: Any, want: Any, exact: bool = False) -> None:
    """Equal structure, shapes, dtypes, strides; values equal or close."""
    if isinstance(want, Mapping):
        assert list(got) == list(want), name
        for key in want:
            assert_same(f"{name}[{key}]", got[key], want[key], exact)
        return
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want), f"{name}: {len(got)} results, not {len(want)}"
        for k, pair in enumerate(zip(got, want, strict=True)):
            assert_same(f"{name}[{k}]", *pair, exact)
        return
    if not isinstance(want, torch.Tensor):
        assert got == want, f"{name}: {got} is not {want}"
        return
    assert got.shape == want.shape, f"{name}: {got.shape} is not {want.shape}"
    assert got.dtype == want.dtype, f"{name}: {got.dtype} is not {want.dtype}"
    bound = 0.0 if exact else CLOSE.get(want.dtype, 0.0)
    torch.testing.assert_close(
        got,
        want,
        rtol=bound,
        atol=bound,
        equal_nan=True,
        msg=lambda text: f"{name}: {text}",
    )


def check(function: Function, *inputs: Any, exact: bool = False, **options: Any) -> Any:
    """The compiled function gives what eager gives, and leaves the same inputs."""

    def copies() -> list[Any]:
        return [
            x.detach().clone() if isinstance(x, torch.Tensor) else x for x in inputs
        ]

    expected_inputs, found_inputs = copies(), copies()
    with torch.no_grad():
        want = function(*expected_inputs)
        got = compiled(function, **options)(*found_inputs)
    assert_same("result", got, want, exact)
    assert_same("inputs", found_inputs, expected_inputs, exact)
    return got
