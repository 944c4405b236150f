# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Where things lie: scratchpad buffers of a kernel, DRAM temporaries of a program.

First fit by start of life: buffers whose lives overlap never share bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spyre_mlir.algebra.layout import STICK_BYTES, ceil_div
from spyre_mlir.analysis.statements import LxBuffer


@dataclass(frozen=True)
class Life:
    """Bytes needed from `first` to `last`, both included."""

    bytes: int
    first: int
    last: int


def first_fit(
    lives: Sequence[Life], decided: Mapping[int, int] | None = None
) -> list[int]:
    """
    Addresses, on sticks; the longest lives are placed first, after those that have
    their address `decided`.
    """
    known = decided or {}
    order = sorted(
        (i for i in range(len(lives)) if i not in known),
        key=lambda i: (lives[i].first - lives[i].last, i),
    )
    placed = [(a, a + _sticks(lives[i]), i) for i, a in known.items()]
    addresses = [known.get(i, 0) for i in range(len(lives))]
    for index in order:
        life = lives[index]
        size = _sticks(life)
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


def _sticks(life: Life) -> int:
    """Its bytes in whole sticks."""
    return ceil_div(max(life.bytes, 1), STICK_BYTES) * STICK_BYTES


def place_buffers(buffers: Sequence[LxBuffer]) -> int:
    """Gives each buffer that has none its address; returns the bytes used."""
    lives = [Life(b.total_bytes, b.first, b.last) for b in buffers]
    decided = {i: b.address for i, b in enumerate(buffers) if b.is_placed}
    peak = 0
    for buffer, address in zip(buffers, first_fit(lives, decided), strict=True):
        buffer.address = address
        peak = max(peak, address + buffer.total_bytes)
    return peak
