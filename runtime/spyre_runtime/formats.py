# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Between host tensors and the bytes of a card.

A region of a tiled block is cut into at most three strided rectangles (the sticks
that it covers wholly, and the partial ones before and after), each moved by one
`copy_`, which converts the dtype too. Padding lanes are neither read nor written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch

from spyre_mlir.algebra.access import ITEMSIZE
from spyre_mlir.algebra.layout import (
    MAX_RANK,
    STICK_BYTES,
    DeviceLayout,
    elements_per_stick,
    row_major,
)

from .memory import LINEAR, CardMemory, Tiled

TORCH_DTYPES = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "i32": torch.int32,
    "i64": torch.int64,
    "i1": torch.bool,
}
"""The dtypes that are tiled, by their name; any other is kept as linear bytes."""

DTYPE_NAMES = {dtype: name for name, dtype in TORCH_DTYPES.items()}


def device_dtype(name: str) -> torch.dtype:
    """What the elements are in device memory: a bool is a 16-bit 0 or 1."""
    return torch.int16 if name == "i1" else TORCH_DTYPES[name]


def as_elements(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """
    Values that a copy into device elements of `dtype` keeps: converted here if not.

    A bool's elements are integers, into which a copy would truncate; and what a float
    outside of an integer's range becomes depends on the strides of both.
    """
    if values.dtype == dtype or dtype.is_floating_point or dtype.is_complex:
        return values
    return values.to(dtype)


@dataclass(frozen=True)
class Walk:
    """One dimension of a region: `size` steps of `step` along a tensor dimension."""

    dim: int
    """Dimension of the tiled tensor; -1 repeats one element."""
    step: int
    size: int


@dataclass(frozen=True)
class Rectangle:
    """`count` elements of dimension `cut` from `first` on, and where they lie."""

    cut: int
    first: int
    count: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """This part of a host tensor, shaped as the rectangle is."""
        if self.cut < 0:
            return tensor
        part = tensor.narrow(self.cut, self.first, self.count)
        if len(self.sizes) == tensor.ndim:
            return part
        per_stick = self.sizes[self.cut + 1]
        split = (self.count // per_stick, per_stick)
        before, after = part.shape[: self.cut], part.shape[self.cut + 1 :]
        return part.view(*before, *split, *after)


def rectangles(
    tiled: Tiled, start: Sequence[int], walks: Sequence[Walk]
) -> Iterator[Rectangle] | None:
    """
    The rectangles of a region that begins at `start`, or None if there are none.

    Offsets and strides count device elements from the block's first byte.
    """
    eps = elements_per_stick(ITEMSIZE[tiled.dtype])
    steps = tiled.layout.dim_strides(tiled.shape, eps)
    stick = tiled.layout.stick_dim
    along = [k for k, walk in enumerate(walks) if stick >= 0 and walk.dim == stick]
    sizes = tuple(walk.size for walk in walks)
    strides = tuple(w.step * steps[w.dim] if w.dim >= 0 else 0 for w in walks)
    base = sum(
        s * i for d, (s, i) in enumerate(zip(steps, start, strict=True)) if d != stick
    )
    if stick < 0:
        return iter([Rectangle(-1, 0, 0, sizes, strides, base)])
    first = start[stick]
    if not along:
        base += first // eps * steps[stick] + first % eps
        return iter([Rectangle(-1, 0, 0, sizes, strides, base)])
    walk = walks[along[0]]
    if len(along) > 1 or (eps % walk.step and walk.step % eps):
        return None
    return _cut(along[0], walk, first, eps, steps[stick], sizes, strides, base)


def _cut(
    cut: int,
    walk: Walk,
    first: int,
    eps: int,
    stick_step: int,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    base: int,
) -> Iterator[Rectangle]:
    """Head, whole sticks and tail of a walk along the stick dimension."""

    def at(index: int) -> int:
        c = first + index * walk.step
        return base + c // eps * stick_step + c % eps

    if walk.step % eps == 0:
        stride = walk.step // eps * stick_step
        strides = (*strides[:cut], stride, *strides[cut + 1 :])
        yield Rectangle(-1, 0, 0, sizes, strides, at(0))
        return
    lane = first % eps
    per_stick = eps // walk.step
    head = 0 if lane < walk.step else -(-(eps - lane) // walk.step)
    head = min(head, walk.size)
    body = (walk.size - head) // per_stick * per_stick
    partial = (*strides[:cut], walk.step, *strides[cut + 1 :])
    for begin, count in ((0, head), (head + body, walk.size - head - body)):
        if count:
            size = (*sizes[:cut], count, *sizes[cut + 1 :])
            yield Rectangle(cut, begin, count, size, partial, at(begin))
    if body:
        size = (*sizes[:cut], body // per_stick, per_stick, *sizes[cut + 1 :])
        stride = (*strides[:cut], stick_step, walk.step, *strides[cut + 1 :])
        yield Rectangle(cut, head, body, size, stride, at(head))


def device_view(
    memory: CardMemory, address: int, tiled: Tiled, rectangle: Rectangle
) -> torch.Tensor:
    """A rectangle of device memory as a CPU tensor, without a copy."""
    elements = memory.typed(device_dtype(tiled.dtype))
    offset = address // elements.itemsize + rectangle.offset
    return elements.as_strided(rectangle.sizes, rectangle.strides, offset)


def linear_view(
    memory: CardMemory,
    address: int,
    sizes: Sequence[int],
    strides: Sequence[int],
    offset: int,
    dtype: torch.dtype,
) -> torch.Tensor:
    """Elements of a linear block as a CPU tensor, without a copy."""
    elements = memory.typed(dtype)
    return elements.as_strided(sizes, strides, address // dtype.itemsize + offset)


@lru_cache(maxsize=4096)
def whole(tiled: Tiled) -> tuple[Rectangle, ...]:
    """The rectangles of all elements."""
    walks = [Walk(d, 1, size) for d, size in enumerate(tiled.shape)]
    parts = rectangles(tiled, (0,) * len(walks), walks)
    assert parts is not None  # every dimension is walked once
    return tuple(parts)


def write_host(
    memory: CardMemory,
    address: int,
    source: torch.Tensor,
    layout: DeviceLayout | str = LINEAR,
    dtype: str | None = None,
) -> None:
    """
    Stores a CPU tensor at `address`, in sticks by `layout` or as linear bytes.

    The elements become `dtype`, by default the tensor's own.
    """
    if source.numel() == 0:
        return
    if isinstance(layout, str):
        strides = row_major(source.shape)
        view = linear_view(memory, address, source.shape, strides, 0, source.dtype)
        view.copy_(source)
        return
    tiled = Tiled(layout, dtype or dtype_name(source.dtype), tuple(source.shape))
    values = as_elements(source, TORCH_DTYPES[tiled.dtype])
    for part in whole(tiled):
        device_view(memory, address, tiled, part).copy_(part.of(values))


def read_host(
    memory: CardMemory,
    address: int,
    shape: Sequence[int],
    dtype: torch.dtype,
    layout: DeviceLayout | str = LINEAR,
) -> torch.Tensor:
    """A row-major CPU tensor of what lies at `address`."""
    out = torch.empty(tuple(shape), dtype=dtype, device="cpu")
    if out.numel() == 0:
        return out
    if isinstance(layout, str):
        return out.copy_(
            linear_view(memory, address, shape, row_major(shape), 0, dtype)
        )
    read_into(memory, address, out, layout)
    return out


def read_into(
    memory: CardMemory, address: int, out: torch.Tensor, layout: DeviceLayout
) -> None:
    """Copies what lies in sticks at `address` to a CPU tensor of any strides."""
    tiled = Tiled(layout, dtype_name(out.dtype), tuple(out.shape))
    for part in whole(tiled):
        part.of(out).copy_(device_view(memory, address, tiled, part))


def dtype_name(dtype: torch.dtype) -> str:
    """The card's name of a torch dtype; raises TypeError where it has none."""
    name = DTYPE_NAMES.get(dtype)
    if name is None:
        raise TypeError(f"{dtype} has no stick layout; it is kept as linear bytes")
    return name


def physical_order(sizes: Sequence[int], strides: Sequence[int]) -> list[int] | None:
    """
    Dimensions from the largest stride to the smallest, if the tensor is dense.

    None if it has gaps or overlaps. Dimensions of size 1 keep their place.
    """
    if tuple(strides) == row_major(sizes):
        return list(range(len(sizes)))
    long = sorted((d for d, n in enumerate(sizes) if n != 1), key=lambda d: -strides[d])
    expected = 1
    for dim in reversed(long):
        if strides[dim] != expected:
            return None
        expected *= sizes[dim]
    order = iter(long)
    return [next(order) if size != 1 else dim for dim, size in enumerate(sizes)]


def default_tiled(
    sizes: Sequence[int], strides: Sequence[int], dtype: torch.dtype
) -> Tiled | None:
    """The layout of a tensor that a user can see; None means linear."""
    return _default_tiled(tuple(sizes), tuple(strides), dtype)


@lru_cache(maxsize=4096)
def _default_tiled(
    sizes: tuple[int, ...], strides: tuple[int, ...], dtype: torch.dtype
) -> Tiled | None:
    name = DTYPE_NAMES.get(dtype)
    if name is None or len(sizes) > MAX_RANK:
        return None
    order = physical_order(sizes, strides)
    if order is None:
        return None
    shape = tuple(sizes[d] for d in order)
    return Tiled(DeviceLayout.default(len(shape)), name, shape)


def block_bytes(host_bytes: int, expected: Tiled | None) -> int:
    """What a tensor needs on the card: room for its sticks and for linear bytes."""
    padded = -(-host_bytes // STICK_BYTES) * STICK_BYTES
    return max(padded, expected.nbytes if expected else 0)
