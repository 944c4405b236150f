# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch dtypes, the card's dtype names, and numbers rounded as torch rounds them."""

from __future__ import annotations

from functools import lru_cache

import torch

NAMES = {
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.bool: "i1",
}
TORCH = {name: dtype for dtype, name in NAMES.items()}
RANK = {"i1": 0, "i32": 1, "i64": 1, "f16": 2, "bf16": 2, "f32": 2}
"""Categories of type promotion: bool, integer, float."""

MAX_RANK = 6
"""Ranks that the card's programs take."""


def name_of(dtype: torch.dtype) -> str | None:
    """The card's name of a dtype; None where the card lacks it."""
    return NAMES.get(dtype)


def is_half(dtype: str) -> bool:
    return dtype in ("f16", "bf16")


@lru_cache(maxsize=4096)
def _rounded(value: float | int, dtype: str, sign: float) -> float | int:
    del sign  # keeps 0.0 and -0.0 apart in the cache
    if dtype == "i1":
        return int(bool(value))
    if dtype in ("i32", "i64"):
        return int(value)
    return float(torch.tensor(value, dtype=torch.float64).to(TORCH[dtype]).item())


def rounded(value: float | int, dtype: str) -> float | int:
    """A number as a dtype holds it: `finfo(float32).min` in f16 is -inf."""
    negative_zero = value == 0 and str(value).startswith("-")
    return _rounded(value, dtype, -1.0 if negative_zero else 1.0)


def is_exact(value: float | int, dtype: str) -> bool:
    """Whether a dtype holds a number without rounding; NaN and infinities are exact."""
    stored = rounded(value, dtype)
    return stored == value or stored != stored
