# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
How element types are stored and computed with.

Arithmetic runs in f32 for every float, in the integer type itself, and in torch.bool.
A codec moves values between storage and compute form, and rounds in place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

import torch

from .scratch import Scratch

Run = Callable[[], object]
"""One bound action of a plan."""

COMPUTE = {
    "f16": torch.float32,
    "bf16": torch.float32,
    "f32": torch.float32,
    "i32": torch.int32,
    "i64": torch.int64,
    "i1": torch.bool,
}
STORAGE = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "i32": torch.int32,
    "i64": torch.int64,
    "i1": torch.int16,
}


class Codec(Protocol):
    """A choice of number formats."""

    def storage(self, dtype: str) -> torch.dtype: ...

    def load(self, target: torch.Tensor, source: torch.Tensor, dtype: str) -> list[Run]:
        """Storage to compute form, elementwise, between views of one shape."""
        ...

    def store(
        self, target: torch.Tensor, source: torch.Tensor, dtype: str
    ) -> list[Run]:
        """Compute form to storage, rounded; `source` may broadcast."""
        ...

    def round(self, value: torch.Tensor, dtype: str) -> list[Run]:
        """Rounds f32 values in place to what `dtype` can hold."""
        ...


def is_native(dtype: str) -> bool:
    """The machine computes on the stored form itself."""
    return COMPUTE[dtype] is STORAGE[dtype]


class Ieee:
    """PyTorch's own formats."""

    def __init__(self, scratch: Scratch):
        self._scratch = scratch

    def storage(self, dtype: str) -> torch.dtype:
        return STORAGE[dtype]

    def load(self, target: torch.Tensor, source: torch.Tensor, dtype: str) -> list[Run]:
        return [partial(target.copy_, source)]

    def store(
        self, target: torch.Tensor, source: torch.Tensor, dtype: str
    ) -> list[Run]:
        return [partial(target.copy_, source)]

    def round(self, value: torch.Tensor, dtype: str) -> list[Run]:
        if is_native(dtype):
            return []
        narrow = self._scratch.take("round", STORAGE[dtype], tuple(value.shape))
        return [partial(narrow.copy_, value), partial(value.copy_, narrow)]
