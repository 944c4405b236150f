# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Where things lie: scratchpad buffers of a kernel, DRAM temporaries of a program.

First fit by start of life: buffers whose lives overlap never share bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spyre_mlir.algebra.layout import STICK_BYTES, ceil_div
from spyre_mlir.analysis.statements import LxBuffer


@dataclass(frozen=True)
class Life:
    """Bytes needed from `first` to `last`, both included."""

    bytes: int
    first: int
    last: int


def first_fit(lives: Sequence[Life]) -> list[int]:
    """Addresses, on sticks; the longest lives are placed first."""
    order = sorted(range(len(lives)), key=lambda i: (lives[i].first - lives[i].last, i))
    placed: list[tuple[int, int, int]] = []
    addresses = [0] * len(lives)
    for index in order:
        life = lives[index]
        size = ceil_div(max(life.bytes, 1), STICK_BYTES) * STICK_BYTES
        address = 0
        taken = sorted(
            (start, end)
            for start, end, other in placed
            if lives[other].first <= life.last and life.first <= lives[other].last
        )
        for start, end in taken:
            if address + size <= start:
                break
            address = max(address, end)
        placed.append((address, address + size, index))
        addresses[index] = address
    return addresses


def place_buffers(buffers: Sequence[LxBuffer]) -> int:
    """Gives each buffer its address; returns the bytes used."""
    lives = [Life(b.total_bytes, b.first, b.last) for b in buffers]
    peak = 0
    for buffer, address in zip(buffers, first_fit(lives), strict=True):
        buffer.address = address
        peak = max(peak, address + buffer.total_bytes)
    return peak
