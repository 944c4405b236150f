# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Plain torch, whatever the caller has switched on.

A launch may happen below FakeTensorMode, autocast, inference mode or a user's own
modes; the machine's arithmetic must not see any of them, and runs on one thread, so
that bits repeat.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager

import torch
from torch.utils._python_dispatch import (
    _disable_current_modes,  # pyright: ignore[reportPrivateUsage]
)

_inside = threading.local()


@contextmanager
def plain_torch() -> Generator[None]:
    if getattr(_inside, "now", False):  # nobody switches anything on in between
        yield
        return
    threads = torch.get_num_threads()
    if threads != 1:
        torch.set_num_threads(1)
    _inside.now = True
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
        _inside.now = False
        if threads != 1:
            torch.set_num_threads(threads)
