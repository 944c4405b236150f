# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
A card's memory: a reserved window of addresses, and the blocks allotted from it.

The window is address space, not RAM: pages appear when they are written and go back
when their block is freed. It is mapped twice. Tensors on the card show addresses of
the first mapping, which no process may touch; the card's own code works on the second.
"""

from __future__ import annotations

import mmap
import threading
import weakref
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from types import MethodType
from typing import Literal, NamedTuple

import numpy as np
import torch

from spyre_mlir.algebra.access import ITEMSIZE
from spyre_mlir.algebra.layout import STICK_BYTES, DeviceLayout

from .forks import taken_at_forks

GIB = 1 << 30

_GRANULE = 2 << 20
_SMALLEST_WINDOW = 64 << 20
_MAP_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)
_RELEASE_FROM_BYTES = 64 << 10


class Tiled(NamedTuple):
    """Sticks of a row-major tensor of `shape`, whose element type is `dtype`."""

    layout: DeviceLayout
    dtype: str
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        return self.layout.bytes(self.shape, ITEMSIZE[self.dtype])

    @property
    def numel(self) -> int:
        return prod(self.shape)


LINEAR: Literal["linear"] = "linear"
"""The layout of bytes in host order, as files and untyped storages have them."""

Layout = Tiled | Literal["linear"] | None


@dataclass(eq=False, slots=True)
class Block:
    """One allocation. Its layout is fixed by the first write, and ends with it."""

    address: int
    """Byte offset in the card's window."""
    nbytes: int
    layout: Layout = None
    write_epoch: int = 0
    """Writes enqueued to the block so far, by whichever path."""
    expected: Tiled | None = None
    """The layout that a first write of this dtype gives; None means linear."""

    def settle(self, dtype: str | None) -> Layout:
        """The layout, fixed now if it was open, for a write of elements `dtype`."""
        if self.layout is None:
            fits = self.expected is not None and self.expected.dtype == dtype
            self.layout = self.expected if fits else LINEAR
        return self.layout

    def mark_written(self) -> None:
        self.write_epoch += 1


@dataclass
class MemoryStats:
    """Bytes and counts since the last reset; `reserved` is the window."""

    reserved: int = 0
    allocated: int = 0
    peak: int = 0
    allocations: int = 0
    frees: int = 0
    out_of_memory: int = 0


class Window:
    """Two mappings of the same size: the card's addresses and the bytes behind."""

    def __init__(self, nbytes: int) -> None:
        nbytes = max(-(-nbytes // _GRANULE) * _GRANULE, _GRANULE)
        self.host, self.nbytes = _reserve_at_most(nbytes)
        with suppress(OSError):
            # Only speed: a kernel without huge pages faults in small ones.
            self.host.madvise(mmap.MADV_HUGEPAGE)
        self._device = _map(self.nbytes, 0)
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


def _reserve_at_most(nbytes: int) -> tuple[mmap.mmap, int]:
    """The largest window, halving from `nbytes`, that this process may reserve."""
    while True:
        try:
            return _map(nbytes, mmap.PROT_READ | mmap.PROT_WRITE), nbytes
        except OSError:
            if nbytes <= _SMALLEST_WINDOW:
                raise
            nbytes = -(-nbytes // 2 // _GRANULE) * _GRANULE


class CardMemory:
    """
    First-fit allocator over a card's window, and the way to the bytes.

    Freeing never waits: a collection may drop tensors while this very thread is
    inside `allocate`, so a free only queues an address when the lock is taken, and
    whoever holds the lock empties the queue.
    """

    def __init__(self, nbytes: int, name: str = "spyre:0") -> None:
        self.name = name
        self.window = Window(nbytes)
        self.nbytes = self.window.nbytes
        with torch.inference_mode(False):
            window = torch.frombuffer(self.window.host, dtype=torch.uint8)
        self.bytes_tensor = window
        """All bytes of the card as one uint8 CPU tensor, without a copy."""
        self._typed = {torch.uint8: window}
        self._blocks: dict[int, Block] = {}
        self._starts: list[int] = []
        self._holes: list[tuple[int, int]] = [(0, self.nbytes)]
        self._dropped: deque[int] = deque()
        self._lock = taken_at_forks(threading.Lock())
        self._stats = MemoryStats(reserved=self.nbytes)
        self._pressure: list[Callable[[], Callable[[], None] | None]] = []

    @property
    def device_base(self) -> int:
        """What `data_ptr` shows for address 0."""
        return self.window.device_base

    def typed(self, dtype: torch.dtype) -> torch.Tensor:
        """All bytes of the card as elements of `dtype`."""
        found = self._typed.get(dtype)
        if found is None:
            with torch.inference_mode(False):
                found = self._typed[dtype] = self.bytes_tensor.view(dtype)
        return found

    def on_pressure(self, callback: Callable[[], None]) -> None:
        """
        Has `callback` drop what it caches before an allocation is refused.

        A method is called for as long as its object lives; this does not keep it.
        """
        if isinstance(callback, MethodType):
            method = weakref.WeakMethod(callback, self._pressure_dropped)
            self._pressure.append(method)
        else:
            self._pressure.append(lambda: callback)

    def _pressure_dropped(self, dead: object) -> None:
        self._pressure = [p for p in self._pressure if p is not dead]

    def allocate(self, nbytes: int, expected: Tiled | None = None) -> Block:
        """A block of at least `nbytes`; raises torch.OutOfMemoryError."""
        size = max(-(-nbytes // STICK_BYTES) * STICK_BYTES, STICK_BYTES)
        block = self._take(size, expected)
        if block is None and self._pressure:
            for alive in tuple(self._pressure):
                callback = alive()
                if callback is not None:
                    callback()
            block = self._take(size, expected)
        if block is None:
            raise self._refuse(nbytes)
        return block

    def free(self, block: Block | int) -> None:
        """Ends a block, given by itself or its address."""
        address = block if isinstance(block, int) else block.address
        self._dropped.append(address)
        self._collect()

    def block_at(self, address: int) -> Block:
        """The block that holds `address`; raises LookupError."""
        found = self._blocks.get(address)
        if found is not None:
            return found
        with self._lock:
            place = bisect_right(self._starts, address) - 1
            found = self._blocks[self._starts[place]] if place >= 0 else None
        self._collect()
        if found is None or address >= found.address + found.nbytes:
            raise LookupError(f"{self.name}: no block holds address {address:#x}")
        return found

    def is_live(self, block: Block) -> bool:
        """Whether a block has not been freed."""
        return self._blocks.get(block.address) is block

    def stats(self) -> MemoryStats:
        self._collect()
        return MemoryStats(**vars(self._stats))

    def free_bytes(self) -> int:
        return self.nbytes - self.stats().allocated

    def reset_peak(self) -> None:
        self._stats.peak = self._stats.allocated

    def reset_counts(self) -> None:
        self._stats.allocations = self._stats.frees = self._stats.out_of_memory = 0

    def _take(self, size: int, expected: Tiled | None) -> Block | None:
        with self._lock:
            self._drain()
            block = self._first_fit(size, expected)
        self._collect()
        return block

    def _first_fit(self, size: int, expected: Tiled | None) -> Block | None:
        for index, (start, room) in enumerate(self._holes):
            if room < size:
                continue
            if room == size:
                del self._holes[index]
            else:
                self._holes[index] = (start + size, room - size)
            block = Block(start, size, expected=expected)
            self._blocks[start] = block
            insort(self._starts, start)
            stats = self._stats
            stats.allocated += size
            stats.peak = max(stats.peak, stats.allocated)
            stats.allocations += 1
            return block
        return None

    def _refuse(self, nbytes: int) -> torch.OutOfMemoryError:
        self._stats.out_of_memory += 1
        used = self.stats().allocated
        largest = max((room for _, room in self._holes), default=0)
        return torch.OutOfMemoryError(
            f"{self.name} is out of memory: asked for {nbytes} bytes "
            f"({nbytes / GIB:.2f} GiB); {used} bytes used, {self.nbytes - used} free "
            f"of {self.nbytes}, largest free range {largest}"
        )

    def _collect(self) -> None:
        """Empties the queue of freed addresses unless another holds the lock."""
        while self._dropped and self._lock.acquire(blocking=False):
            try:
                self._drain()
            finally:
                self._lock.release()

    def _drain(self) -> None:
        while self._dropped:
            self._give_back(self._dropped.popleft())

    def _give_back(self, address: int) -> None:
        block = self._blocks.pop(address, None)
        if block is None:
            raise LookupError(f"{self.name}: no block starts at {address:#x}")
        del self._starts[bisect_left(self._starts, address)]
        block.layout = block.expected = None
        start, end = address, address + block.nbytes
        if block.nbytes >= _RELEASE_FROM_BYTES:
            self.window.release(start, end)
        place = bisect_left(self._holes, (start, 0))
        if place < len(self._holes) and self._holes[place][0] == end:
            end += self._holes.pop(place)[1]
        if place and sum(self._holes[place - 1]) == start:
            start = self._holes.pop(place - 1)[0]
            place -= 1
        self._holes.insert(place, (start, end - start))
        self._stats.allocated -= block.nbytes
        self._stats.frees += 1
