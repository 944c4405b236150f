# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Stick layouts: how a host tensor lies in device memory.

Device memory is a dense row-major array over device dimensions, the last of which
is one 128-byte stick. A layout lists, per device dimension, the host dimension that
runs along it. The last entry is the stick dimension; its other occurrence counts
sticks. -1 is a synthetic dimension of extent one; as the last entry it means a
sparse tensor: one element per stick.

Source (public): torch-spyre docs/source/user_guide/tensors_and_layouts.md and
torch_spyre/csrc/spyre_tensor_impl.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import prod

STICK_BYTES = 128
"""Unit of data movement; the same on every chip of the family (public)."""

SYNTHETIC = -1
MAX_RANK = 6


def elements_per_stick(itemsize: int) -> int:
    """Elements of `itemsize` bytes in one stick."""
    return STICK_BYTES // itemsize


def ceil_div(value: int, divisor: int) -> int:
    return -(-value // divisor)


@dataclass(frozen=True)
class DeviceLayout:
    """Host dimension per device dimension, outermost first; the last is the stick."""

    dims: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.dims:
            raise ValueError("a layout has at least the stick dimension")
        outer = [d for d in self.dims[:-1] if d != SYNTHETIC]
        if len(set(outer)) != len(outer):
            raise ValueError(f"layout {list(self.dims)} repeats a dimension")
        if any(d < SYNTHETIC for d in self.dims):
            raise ValueError(f"layout {list(self.dims)} has a dimension below -1")
        if self.stick_dim != SYNTHETIC and self.stick_dim not in outer:
            raise ValueError(
                f"layout {list(self.dims)} does not count the sticks of dimension "
                f"{self.stick_dim}"
            )

    @staticmethod
    def ordered(order: Sequence[int]) -> DeviceLayout:
        """
        The layout of the published rule for a dimension order, stick last.

        The first dimension moves just inside the stick count; a trailing -1 asks for
        a sparse layout.
        """
        if len(order) == 0:
            return DeviceLayout((SYNTHETIC, SYNTHETIC))
        if len(order) == 1:
            return DeviceLayout((order[0], order[0]))
        return DeviceLayout((*order[1:], order[0], order[-1]))

    @staticmethod
    @cache
    def default(rank: int) -> DeviceLayout:
        """The layout of a row-major host tensor."""
        return DeviceLayout.ordered(range(rank))

    @staticmethod
    def sparse(rank: int) -> DeviceLayout:
        """Row-major with one element per stick, as a reduction leaves it."""
        if rank == 0:
            return DeviceLayout((SYNTHETIC, SYNTHETIC))
        return DeviceLayout.ordered((*range(rank), SYNTHETIC))

    @staticmethod
    def with_stick(rank: int, stick: int) -> DeviceLayout:
        """Default order of the other dimensions, `stick` moved last."""
        return DeviceLayout.ordered((*(d for d in range(rank) if d != stick), stick))

    @property
    def stick_dim(self) -> int:
        """Host dimension cut into sticks, or -1 if sparse."""
        return self.dims[-1]

    @property
    def is_sparse(self) -> bool:
        return self.stick_dim == SYNTHETIC

    @property
    def rank(self) -> int:
        return len({d for d in self.dims if d != SYNTHETIC})

    def check(self, rank: int) -> None:
        """Raises ValueError unless every host dimension of `rank` has a place."""
        if {d for d in self.dims if d != SYNTHETIC} != set(range(rank)):
            raise ValueError(f"layout {list(self.dims)} does not fit rank {rank}")

    def device_sizes(self, shape: Sequence[int], eps: int) -> tuple[int, ...]:
        """Extent of each device dimension of a host `shape`, `eps` elements a stick."""
        sizes: list[int] = []
        for dim in self.dims[:-1]:
            if dim == SYNTHETIC:
                sizes.append(1)
            elif dim == self.stick_dim:
                sizes.append(ceil_div(shape[dim], eps))
            else:
                sizes.append(shape[dim])
        return (*sizes, eps)

    def stride_map(
        self, shape: Sequence[int], eps: int, host_strides: Sequence[int] | None = None
    ) -> tuple[int, ...]:
        """Host elements stepped by each device dimension; -1 where nothing is."""
        if host_strides is None:
            host_strides = row_major(shape)
        sizes = self.device_sizes(shape, eps)
        seen: dict[int, int] = {}
        strides: list[int] = []
        for place in reversed(range(len(self.dims))):
            dim = self.dims[place]
            if dim == SYNTHETIC or shape[dim] == 1:
                strides.append(-1)
                continue
            stride = seen.get(dim, host_strides[dim])
            seen[dim] = stride * sizes[place]
            strides.append(stride)
        return tuple(reversed(strides))

    def device_strides(self, shape: Sequence[int], eps: int) -> tuple[int, ...]:
        """Device elements stepped by each device dimension."""
        return row_major(self.device_sizes(shape, eps))

    def dim_strides(self, shape: Sequence[int], eps: int) -> tuple[int, ...]:
        """
        Device elements stepped by each *host* dimension; by one whole stick for the
        stick dimension. Size-1 dimensions without a place step by 0.
        """
        strides = self.device_strides(shape, eps)
        found = dict(zip(self.dims[:-1], strides[:-1], strict=True))
        return tuple(found.get(d, 0) for d in range(len(shape)))

    def elements(self, shape: Sequence[int], eps: int) -> int:
        """Device elements, padding included."""
        return prod(self.device_sizes(shape, eps))

    def bytes(self, shape: Sequence[int], itemsize: int) -> int:
        """Device footprint in bytes: whole sticks."""
        eps = elements_per_stick(itemsize)
        return STICK_BYTES * prod(self.device_sizes(shape, eps)[:-1])


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a dense row-major array, in elements."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))
