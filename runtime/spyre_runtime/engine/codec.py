# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
How element types are stored and computed with.

Arithmetic runs in f32 for every float, in the integer type itself, and in torch.bool.
A codec moves values between storage and compute form.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

import torch

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
        """Compute form to storage, rounded, between views of one shape."""
        ...

    def computes_stored(self, function: str) -> bool:
        """Torch's function on the stored form gives the bits of f32, then rounded."""
        ...


STORED_FUNCTIONS = frozenset(
    """
    add sub mul div maximum minimum where abs neg sign relu floor ceil round trunc
    reciprocal
    """.split()  # noqa: SIM905
)
"""
Those that IEEE arithmetic rounds exactly, so that on any host rounding f32 again
changes nothing. Checked on every f16 and bf16 by `tests/engine/test_codec.py`.
"""


def is_native(dtype: str) -> bool:
    """The machine computes on the stored form itself."""
    return COMPUTE[dtype] is STORAGE[dtype]


class Ieee:
    """PyTorch's own formats."""

    def storage(self, dtype: str) -> torch.dtype:
        return STORAGE[dtype]

    def load(self, target: torch.Tensor, source: torch.Tensor, dtype: str) -> list[Run]:
        return [partial(target.copy_, source)]

    def store(
        self, target: torch.Tensor, source: torch.Tensor, dtype: str
    ) -> list[Run]:
        return [partial(target.copy_, source)]

    def computes_stored(self, function: str) -> bool:
        return function in STORED_FUNCTIONS
