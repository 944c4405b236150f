# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Plain torch, whatever the caller has switched on.

A launch may happen below FakeTensorMode, autocast, inference mode or a user's own
modes; the machine's arithmetic must not see any of them, and runs on one thread, so
that bits repeat.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import torch
from torch.utils._python_dispatch import (
    _disable_current_modes,  # pyright: ignore[reportPrivateUsage]
)


@contextmanager
def plain_torch() -> Generator[None]:
    threads = torch.get_num_threads()
    if threads != 1:
        torch.set_num_threads(1)
    try:
        with (
            _disable_current_modes(),
            torch._C.DisableTorchFunction(),  # pyright: ignore[reportPrivateUsage]
            torch.inference_mode(False),
            torch.no_grad(),
            torch.autocast("cpu", enabled=False),
        ):
            yield
    finally:
        if threads != 1:
            torch.set_num_threads(threads)
