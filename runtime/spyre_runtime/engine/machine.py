# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The memories of a card and strided views of them for all cores at once.

A view's leading dimensions are the core digits, then come the axes. DRAM views
depend on the addresses of a call, so they are described first and made per call.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod

import torch

from spyre_mlir.algebra.access import Access

from .boxes import Box
from .codec import Codec
from .errors import AddressError, describe
from .pieces import Block
from .records import Record, Trips
from .scratch import Scratch

ROW_GAP_BYTES = 17 * 128
"""
Between scratchpads in the host's memory: rows a power of two apart would compete for
the same sets of its caches.
"""


def huge_pages(nbytes: int) -> torch.Tensor:
    """Zeroed bytes that the host maps in large pages, if it has them."""
    mapping = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):
        # Only speed: a kernel without them maps small ones.
        mapping.madvise(mmap.MADV_HUGEPAGE)
    return torch.frombuffer(mapping, dtype=torch.uint8)


@dataclass(frozen=True)
class Strided:
    """Where a view lies: elements of `itemsize` bytes, the start in bytes."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    start: int
    itemsize: int

    @property
    def span(self) -> tuple[int, int]:
        """First byte, and the one behind the last."""
        low = high = self.start
        for size, stride in zip(self.shape, self.strides, strict=True):
            step = (size - 1) * stride * self.itemsize
            low, high = low + min(0, step), high + max(0, step)
        return low, high + self.itemsize

    def upright(self) -> tuple[Strided, frozenset[int]]:
        """The same places with strides of at least 0, and the dimensions turned."""
        turned = frozenset(
            d
            for d, (n, s) in enumerate(zip(self.shape, self.strides, strict=True))
            if s < 0 and n > 1
        )
        start = self.start + self.itemsize * sum(
            (self.shape[d] - 1) * self.strides[d] for d in turned
        )
        strides = tuple(abs(s) for s in self.strides)
        return Strided(self.shape, strides, start, self.itemsize), turned

    def last_of(self, keep: Sequence[bool]) -> Strided:
        """Only the last place along the dimensions that are not kept."""
        dims = list(zip(self.shape, self.strides, keep, strict=True))
        skipped = sum((n - 1) * s for n, s, k in dims if not k)
        shape = tuple(n for n, _, k in dims if k)
        strides = tuple(s for _, s, k in dims if k)
        start = self.start + skipped * self.itemsize
        return Strided(shape, strides, start, self.itemsize)


class Machine:
    """Scratchpads of all cores, the card's DRAM, number formats, working arrays."""

    def __init__(
        self,
        memory: torch.Tensor,
        cores: int,
        lx_bytes: int,
        codec: Codec,
        scratch: Scratch,
    ):
        self.cores = cores
        self.lx_bytes = lx_bytes
        self.memory = memory
        self.row_bytes = lx_bytes + ROW_GAP_BYTES
        rows = huge_pages(cores * self.row_bytes).view(cores, self.row_bytes)
        self.lx = rows[:, :lx_bytes]
        self.codec = codec
        self.scratch = scratch
        self._typed: dict[tuple[str, torch.dtype], torch.Tensor] = {}

    def flat(self, space: str, dtype: torch.dtype) -> torch.Tensor:
        """A memory as one row of elements."""
        found = self._typed.get((space, dtype))
        if found is None:
            raw = self.memory
            if space == "lx":
                raw = self.lx.as_strided((self.cores * self.row_bytes,), (1,))
            whole = raw.numel() // dtype.itemsize * dtype.itemsize
            found = raw[:whole].view(dtype)
            self._typed[space, dtype] = found
        return found

    def digit_strides(
        self, record: Record, access: Access
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Bytes per core digit within a memory, and between scratchpads."""
        given = (*access.digit_strides, *(0,) * len(record.grid))[: len(record.grid)]
        if access.space == "dram":
            return given, (0,) * len(given)
        return given, tuple(
            self.row_bytes * prod(record.grid[:d]) for d in range(len(given))
        )

    def place(
        self,
        record: Record,
        access: Access,
        trips: Trips,
        block: Block,
        shape: Sequence[int],
        strides: Sequence[int],
        element: int,
        itemsize: int = 0,
    ) -> Strided:
        """
        The view of all the block's cores: `shape` and `strides` of one core's part
        in items, `element` the offset of its first element of the access's type.
        """
        steps, rows = self.digit_strides(record, access)
        size = itemsize or access.itemsize
        firsts = [first for first, _ in block.digits]
        local = record.offset(access, trips) + element * access.itemsize
        local += sum(step * first for step, first in zip(steps, firsts, strict=True))
        start = local + sum(r * f for r, f in zip(rows, firsts, strict=True))
        strides = [
            *((s + r) // size for s, r in zip(steps, rows, strict=True)),
            *strides,
        ]
        if any(step % size for step in steps) or start % size:
            raise AddressError(
                f"byte {local} of {access.space} is not aligned to {size} bytes: "
                + describe(record.op)
            )
        view = Strided((*block.cores, *shape), tuple(strides), start, size)
        if access.space == "lx":
            self._check_scratchpad(record, view, local, len(rows))
        return view

    def _check_scratchpad(
        self, record: Record, view: Strided, local: int, digits: int
    ) -> None:
        low, high = Strided(
            view.shape[digits:], view.strides[digits:], local, view.itemsize
        ).span
        if low < 0 or high > self.lx_bytes:
            raise AddressError(
                f"bytes [{low}, {high}) of a scratchpad of {self.lx_bytes} bytes: "
                + describe(record.op)
            )

    def box_view(
        self, record: Record, access: Access, trips: Trips, block: Block, box: Box
    ) -> Strided:
        """Dimensions: core digits, then (periods, run) of each axis."""
        return self.place(
            record,
            access,
            trips,
            block,
            box.shape,
            box.strides(access),
            access.element(box.starts),
        )

    def tensor(self, space: str, dtype: torch.dtype, view: Strided) -> torch.Tensor:
        """A scratchpad view itself, or a DRAM view with its address in it."""
        return self.flat(space, dtype).as_strided(
            view.shape, view.strides, view.start // view.itemsize
        )

    def dram(
        self, record: Record, dtype: torch.dtype, view: Strided, address: int
    ) -> torch.Tensor:
        """A DRAM view at the address that a call gives."""
        low, high = view.span
        if low + address < 0 or high + address > self.memory.numel():
            raise AddressError(
                f"bytes [{low + address}, {high + address}) of a memory of "
                f"{self.memory.numel()} bytes: {describe(record.op)}"
            )
        if address % view.itemsize:
            raise AddressError(
                f"address {address} is not aligned to {view.itemsize} bytes: "
                + describe(record.op)
            )
        return self.flat("dram", dtype).as_strided(
            view.shape, view.strides, (view.start + address) // view.itemsize
        )


@dataclass(frozen=True)
class Placed:
    """A working array described as operands are: it starts where its block does."""

    array: torch.Tensor
    digits: tuple[int, ...]
    """Elements per core digit."""
    access: Access

    def view(self, block: Block, box: Box) -> torch.Tensor:
        """The part that `box` of `block` fills, in the dimensions of `box_view`."""
        first = [start for start, _ in block.ranges]
        inside = [s - f for s, f in zip(box.starts, first, strict=True)]
        return self.array.as_strided(
            (*block.cores, *box.shape),
            (*self.digits, *box.strides(self.access)),
            self.array.storage_offset() + self.access.element(inside),
        )


def dense(array: torch.Tensor, digits: int) -> Placed:
    """An array with a dimension per core digit and axis; size 1 broadcasts."""
    strides = tuple(
        0 if size == 1 else stride
        for size, stride in zip(array.shape, array.stride(), strict=True)
    )
    axes = strides[digits:]
    access = Access("lx", "f32", 0, axes, (0,) * len(axes))
    return Placed(array, strides[:digits], access)
