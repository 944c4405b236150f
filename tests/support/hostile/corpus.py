# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Images of small functions that together have every kind of record and layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.nn import functional

from spyre_mlir.torch_bridge import card_executor
from spyre_mlir.torch_bridge.backend import spyre_mlir


def _functions() -> list[tuple[Callable[..., Any], tuple[Tensor, ...]]]:
    def floats(*sizes: int) -> Tensor:
        return torch.randn(sizes)

    def halves(*sizes: int) -> Tensor:
        return torch.randn(sizes).half()

    def whole(high: int, *sizes: int) -> Tensor:
        return torch.randint(1, high, sizes)

    layer = torch.nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
    layer = layer.half().eval()
    norm, attend = functional.layer_norm, functional.scaled_dot_product_attention
    return [
        (
            lambda x, w, b: functional.gelu(functional.linear(x, w, b)),
            (halves(100, 192), halves(200, 192), halves(200)),
        ),
        (lambda x: torch.softmax(x, -1), (floats(65, 130),)),
        (
            lambda x, w, b: norm(x, (100,), w, b),
            (halves(3, 33, 100), halves(100), halves(100)),
        ),
        (attend, (halves(1, 2, 70, 64), halves(1, 2, 70, 64), halves(1, 2, 70, 64))),
        (
            lambda i, w: functional.embedding(i, w) + 1,
            (whole(50, 4, 9), halves(50, 70)),
        ),
        (
            lambda x, y: torch.cat([x.t(), y.flip(0)[:, :37]], 1),
            (floats(37, 65), floats(65, 40)),
        ),
        (
            lambda x, y: torch.where(x > y, x * 2, y // 3),
            (whole(50, 20, 70), whole(50, 20, 70)),
        ),
        (lambda x: (x.amax(1), x.sum(0), x.mean()), (floats(40, 130).bfloat16(),)),
        (lambda x, i: x.gather(1, i), (halves(20, 70), whole(70, 20, 30))),
        (lambda x: x[1:, 3:40].contiguous() * x[:-1, 5:42], (halves(30, 60),)),
        (lambda x: x.repeat(2, 3).reshape(-1, 6) + torch.arange(6), (floats(30, 60),)),
        (lambda a, b: (a @ b).relu().sum(-1), (floats(3, 40, 50), floats(3, 50, 60))),
        (layer, (halves(2, 33, 128),)),
    ]


def corpus(every: int = 1) -> list[bytes]:
    """Every image once, in order; or those of each so-many-th function."""
    found: list[bytes] = []
    compile_ = card_executor.compile_segment

    def noting(*arguments: Any) -> bytes:
        found.append(compile_(*arguments))
        return found[-1]

    torch.manual_seed(0)
    with patch.object(card_executor, "compile_segment", noting), torch.no_grad():
        for function, arguments in _functions()[::every]:
            torch.compile(function, backend=spyre_mlir, dynamic=False)(*arguments)
            torch._dynamo.reset()
    return list(dict.fromkeys(found))
