# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
A card's memory: the blocks allotted from its window of addresses.

The window is address space, not RAM: pages appear when they are written and go back
when their block is freed. It is mapped twice. Tensors on the card show addresses of
the first mapping, which no process may touch; the card's own code works on the second.
"""

from __future__ import annotations

import threading
import weakref
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from types import MethodType
from typing import Literal, NamedTuple

import torch

from spyre_mlir.algebra.access import ITEMSIZE
from spyre_mlir.algebra.layout import STICK_BYTES, DeviceLayout

from .forks import taken_at_forks
from .window import Window, machine_memory_left

GIB = 1 << 30

_RELEASE_FROM_BYTES = 64 << 10
_WATCH_EVERY_BYTES = 256 << 20
_KEEP_FREE_BYTES = 512 << 20
"""Of the machine's memory, below which caches are dropped."""


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
    """Bytes and blocks in use, their peaks, and what was counted since a reset."""

    allocated: int = 0
    peak: int = 0
    live: int = 0
    most_live: int = 0
    allocations: int = 0
    frees: int = 0
    allocated_bytes: int = 0
    freed_bytes: int = 0
    out_of_memory: int = 0

    def take(self, nbytes: int) -> None:
        self.allocated += nbytes
        self.allocated_bytes += nbytes
        self.live += 1
        self.allocations += 1
        self.peak = max(self.peak, self.allocated)
        self.most_live = max(self.most_live, self.live)

    def give(self, nbytes: int) -> None:
        self.allocated -= nbytes
        self.freed_bytes += nbytes
        self.live -= 1
        self.frees += 1

    def reset_peaks(self) -> None:
        self.peak, self.most_live = self.allocated, self.live

    def reset_counts(self) -> None:
        self.allocations = self.frees = self.out_of_memory = 0
        self.allocated_bytes = self.freed_bytes = 0


class CardMemory:
    """
    First-fit allocator over a card's window, and the way to the bytes.

    Freeing never waits: a collection may drop tensors while this very thread is
    inside `allocate`, so a free only queues an address when the lock is taken, and
    whoever holds the lock empties the queue.
    """

    def __init__(self, nbytes: int, name: str = "spyre:0") -> None:
        self.name = name
        self.window = Window(nbytes, name)
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
        self._stats = MemoryStats()
        self._unwatched = 0
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
        Has `callback` drop what it caches before an allocation is refused, and when
        the machine's own memory runs short.

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
        self._watch_machine(size)
        block = self._take(size, expected)
        if block is None and self._pressure:
            self._relieve()
            block = self._take(size, expected)
        if block is None:
            raise self._refuse(nbytes)
        return block

    def _watch_machine(self, size: int) -> None:
        """Relieves the machine when its RAM runs short; it is asked now and then."""
        self._unwatched += size
        if self._unwatched < _WATCH_EVERY_BYTES:
            return
        self._unwatched = 0
        left = machine_memory_left()
        if left is not None and left < size + _KEEP_FREE_BYTES:
            self._relieve()

    def _relieve(self) -> None:
        for alive in tuple(self._pressure):
            callback = alive()
            if callback is not None:
                callback()

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
        self._stats.reset_peaks()

    def reset_counts(self) -> None:
        self._stats.reset_counts()

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
            self._stats.take(size)
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
        self._stats.give(block.nbytes)
