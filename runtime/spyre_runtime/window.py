# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The addresses of a card: one range for tensors to show, and one for the bytes behind.

Both are address space, not RAM. Where a process may not have as much as the card has
memory, the card gets less of it.
"""

from __future__ import annotations

import mmap
import resource
from contextlib import suppress
from pathlib import Path

import numpy as np

MIB = 1 << 20

_GRANULE = 2 * MIB
_SMALLEST_WINDOW = 64 * MIB
_MAP_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)


class Window:
    """Two mappings of the same size, of at most `nbytes`; raises RuntimeError."""

    def __init__(self, nbytes: int, name: str) -> None:
        nbytes = max(-(-nbytes // _GRANULE) * _GRANULE, _GRANULE)
        self.host, self._device = _reserve_at_most(nbytes, name)
        self.nbytes = len(self.host)
        with suppress(OSError):
            # Only speed: a kernel without huge pages faults in small ones.
            self.host.madvise(mmap.MADV_HUGEPAGE)
        self.device_base = _address(self._device)
        self.host_base = _address(self.host)

    def release(self, start: int, end: int) -> None:
        """Gives whole pages of [start, end) back to the system; they read as zero."""
        first = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
        last = end // mmap.PAGESIZE * mmap.PAGESIZE
        if first < last:
            self.host.madvise(mmap.MADV_DONTNEED, first, last - first)


def _map(nbytes: int, protection: int) -> mmap.mmap:
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
    return mmap.mmap(-1, nbytes, flags=flags, prot=protection)


def _address(mapping: mmap.mmap) -> int:
    return np.frombuffer(mapping, np.uint8).__array_interface__["data"][0]


def _reserve_at_most(nbytes: int, name: str) -> tuple[mmap.mmap, mmap.mmap]:
    """The largest pair, halving from `nbytes`, that this process may reserve."""
    left = address_space_left()
    if left is not None:
        half = max(_halved(left // 2), _SMALLEST_WINDOW)  # of it, in two mappings
        nbytes = min(nbytes, half)
    while True:
        try:
            return _map(nbytes, mmap.PROT_READ | mmap.PROT_WRITE), _map(nbytes, 0)
        except OSError as error:
            if nbytes <= _SMALLEST_WINDOW:
                raise RuntimeError(_refusal(nbytes, name, left)) from error
            nbytes = _halved(nbytes)


def _halved(nbytes: int) -> int:
    return -(-nbytes // 2 // _GRANULE) * _GRANULE


def _refusal(nbytes: int, name: str, left: int | None) -> str:
    text = (
        f"{name}: cannot reserve twice {nbytes // MIB} MiB of addresses for the card's "
        "memory"
    )
    if left is None:
        return f"{text}; SPYRE_MEMORY_BYTES asks for less"
    return (
        f"{text}: the limit on this process's address space (ulimit -v, RLIMIT_AS) "
        f"leaves {left // MIB} MiB; raise it, or ask for less with SPYRE_MEMORY_BYTES"
    )


def address_space_left() -> int | None:
    """Bytes that this process may still map, or None where there is no limit."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    return max(limit - mapped, 0)


def machine_memory_left() -> int | None:
    """Bytes of RAM that the machine can still give, or None where it does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    sizes = (line.split()[1] for line in lines if line.startswith("MemAvailable:"))
    return next((int(size) << 10 for size in sizes), None)
