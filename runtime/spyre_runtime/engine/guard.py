# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Plain torch, whatever the caller has switched on.

A launch may happen below FakeTensorMode, autocast, inference mode or a user's own
modes; the machine's arithmetic must not see any of them, and runs on one thread, so
that bits repeat.

`torch.set_num_threads` is no way to that: it also changes what every thread that first
uses torch in the meantime takes for its own setting. The libraries below torch have a
setting of each thread, and only that of the launching thread is changed, for as long
as the launch takes.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

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
    _inside.now = True
    try:
        with (
            one_thread(),
            _disable_current_modes(),
            torch._C.DisableTorchFunction(),  # pyright: ignore[reportPrivateUsage]
            torch.inference_mode(False),
            torch.no_grad(),
            torch.autocast("cpu", enabled=False),
        ):
            yield
    finally:
        _inside.now = False


@contextmanager
def one_thread() -> Generator[None]:
    """Kernels run on the calling thread alone; no other thread's setting changes."""
    # What torch says is OpenMP's setting of this thread. Asking also has torch set
    # the thread up, so that it will not do so in the middle.
    threads = torch.get_num_threads()
    library = _torch_library()
    # In this spelling it takes a number; in small letters, a pointer to one.
    mkl = getattr(library, "MKL_Set_Num_Threads_Local", None)
    of_mkl = 0
    try:
        library.omp_set_num_threads(1)
        of_mkl = mkl(1) if mkl else 0
        yield
    finally:
        if mkl:
            mkl(of_mkl)
        library.omp_set_num_threads(threads)


@cache
def _torch_library() -> ctypes.PyDLL:
    """Torch's own library, which has OpenMP's functions and, on x86, MKL's."""
    folder = Path(torch.__file__).parent / "lib"
    (found,) = (p for p in folder.glob("libtorch_cpu.*") if p.suffix != ".lib")
    return ctypes.PyDLL(str(found))
