# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functional machine: what programs compute, on the card's own bytes."""

from .engine import Engine, LaunchedCall
from .errors import (
    AddressError,
    BalanceError,
    CardError,
    DeadlockError,
    GatherIndexError,
    SanitizerError,
)

__all__ = [
    "AddressError",
    "BalanceError",
    "CardError",
    "DeadlockError",
    "Engine",
    "GatherIndexError",
    "LaunchedCall",
    "SanitizerError",
]
