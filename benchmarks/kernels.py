# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportPrivateUsage=false
# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""
CPU seconds of a warm launch against NumPy fp32 doing the same arithmetic.

    OMP_NUM_THREADS=1 python benchmarks/kernels.py [--only softmax] [--runs 5]

Each kernel is compiled by `torch.compile(backend="spyre_mlir")` in fp16. A launch of
the compiled program, on tensors that are on the card, is timed in turn with NumPy, in
one process and on one thread; the median of the runs and their ratio are printed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from _common import Bars, interleaved, launches, one_thread

Array = np.ndarray


@dataclass(frozen=True)
class Kernel:
    """A benchmark: the torch function, its inputs' shapes, NumPy's version, the bar."""

    name: str
    function: Callable[..., torch.Tensor]
    shapes: tuple[tuple[int, ...], ...]
    numpy: Callable[..., Array]
    limit: float


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    e /= e.sum(-1, keepdims=True)
    return e


def _layernorm(x: Array, w: Array, b: Array) -> Array:
    d = x - x.mean(-1, keepdims=True)
    v = (d * d).mean(-1, keepdims=True)
    d /= np.sqrt(v + 1e-5)
    d *= w
    d += b
    return d


def _sdpa(q: Array, k: Array, v: Array) -> Array:
    return _softmax((q * (q.shape[-1] ** -0.5)) @ k.T) @ v


def _swiglu(x: Array, gate: Array, up: Array, down: Array) -> Array:
    g = x @ gate.T
    return (g / (1 + np.exp(-g)) * (x @ up.T)) @ down.T


def _torch_sdpa(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    head = (1, 1, *q.shape)
    out = torch.nn.functional.scaled_dot_product_attention(
        q.view(head), k.view(head), v.view(head)
    )
    return out.view(q.shape)


def _torch_swiglu(
    x: torch.Tensor, gate: torch.Tensor, up: torch.Tensor, down: torch.Tensor
) -> torch.Tensor:
    linear = torch.nn.functional.linear
    hidden = torch.nn.functional.silu(linear(x, gate)) * linear(x, up)
    return linear(hidden, down)


KERNELS = (
    Kernel("matmul 1024^3", torch.matmul, ((1024, 1024),) * 2, np.matmul, 2.5),
    Kernel(
        "softmax 4096^2", lambda x: torch.softmax(x, -1), ((4096, 4096),), _softmax, 1.5
    ),
    Kernel(
        "layernorm 2048x4096",
        lambda x, w, b: torch.nn.functional.layer_norm(x, w.shape, w, b),
        ((2048, 4096), (4096,), (4096,)),
        _layernorm,
        1.5,
    ),
    Kernel("SDPA 2048x64", _torch_sdpa, ((2048, 64),) * 3, _sdpa, 2.0),
    Kernel(
        "SwiGLU 128x512x2048",
        _torch_swiglu,
        ((128, 512), (2048, 512), (2048, 512), (512, 2048)),
        _swiglu,
        3.0,
    ),
    Kernel(
        "row times 4096x4096",
        torch.matmul,
        ((1, 4096), (4096, 4096)),
        np.matmul,
        5.0,
    ),
)


@dataclass(frozen=True)
class Result:
    """What a kernel took, and how far its result is from NumPy's."""

    card_seconds: float
    numpy_seconds: float
    error: float
    device_us: float


def _measure(kernel: Kernel, runs: int) -> Result:
    generator = torch.Generator().manual_seed(0)
    inputs = [
        (torch.randn(s, generator=generator) / s[-1] ** 0.25).half()
        for s in kernel.shapes
    ]
    arrays = [x.float().numpy() for x in inputs]
    torch._dynamo.reset()
    compiled = torch.compile(kernel.function, backend="spyre_mlir")
    on_card = [x.to("spyre") for x in inputs]
    with torch.no_grad(), launches() as made:
        result = compiled(*on_card)
    (launch,) = made
    ours, theirs = interleaved([launch.again, lambda: kernel.numpy(*arrays)], runs)
    expected = kernel.numpy(*arrays)
    error = np.abs(result.cpu().float().numpy() - expected).max()
    device_us = launch.executable.total_picoseconds / 1e6
    return Result(ours, theirs, float(error / np.abs(expected).max()), device_us)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="")
    parser.add_argument("--runs", type=int, default=5)
    flags = parser.parse_args()
    one_thread()
    bars = Bars(
        "CPU seconds of a warm launch, and what the clock says of the device",
        ("kernel", "card ms", "NumPy ms", "ratio", "bar", "error", "device us"),
    )
    for kernel in KERNELS:
        if flags.only in kernel.name:
            found = _measure(kernel, flags.runs)
            ratio = found.card_seconds / found.numpy_seconds
            bars.add(
                kernel.name,
                f"{1e3 * found.card_seconds:.1f}",
                f"{1e3 * found.numpy_seconds:.1f}",
                f"{ratio:.2f}",
                f"{kernel.limit}",
                f"{found.error:.1e}",
                f"{found.device_us:.1f}",
                ok=ratio <= kernel.limit,
            )
    return bars.finish()


if __name__ == "__main__":
    sys.exit(main())
