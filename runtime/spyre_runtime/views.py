# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Reading and writing a block through a tensor's sizes, strides and offset.

Those count elements in host order, whatever the block's layout is. Where they follow
the block's dimensions the region is moved as rectangles; where they do not, a read
goes through the block's host image and a write through the address of each element.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

import torch

from spyre_mlir.algebra.access import ITEMSIZE
from spyre_mlir.algebra.layout import elements_per_stick, row_major

from .formats import (
    DTYPE_NAMES,
    TORCH_DTYPES,
    Rectangle,
    Walk,
    as_elements,
    device_dtype,
    device_view,
    linear_view,
    rectangles,
    whole,
    write_host,
)
from .memory import Block, CardMemory, Tiled


@dataclass(frozen=True)
class View:
    """A tensor's window on its block; sizes, strides and offset in elements."""

    block: Block
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    dtype: torch.dtype
    skipped: int = 0
    """Bytes before the first element that are not a whole number of elements."""

    def as_bytes(self) -> View:
        """The same bytes, with one more dimension for those of an element."""
        size = self.dtype.itemsize
        return View(
            self.block,
            (*self.sizes, size),
            (*(stride * size for stride in self.strides), 1),
            self.offset * size + self.skipped,
            torch.uint8,
        )


def read_view(memory: CardMemory, view: View) -> torch.Tensor:
    """A new row-major CPU tensor with the view's elements."""
    out = torch.empty(view.sizes, dtype=view.dtype, device="cpu")
    read_into(memory, view, out)
    return out


def read_into(memory: CardMemory, view: View, out: torch.Tensor) -> None:
    """Stores the view's elements in a CPU tensor of its sizes and any dtype."""
    layout = view.block.layout
    if out.numel() == 0:
        return
    if view.skipped:
        found = read_view(memory, view.as_bytes())
        out.copy_(found.view(view.dtype).squeeze(-1))
        return
    if as_elements(out, view.dtype) is not out:
        out.copy_(read_view(memory, view))
        return
    if not isinstance(layout, Tiled):
        out.copy_(_linear(memory, view))
        return
    if DTYPE_NAMES.get(view.dtype) != layout.dtype:
        out.copy_(_as_host(_image(memory, view.block, layout), view))
        return
    parts = _parts(layout, view)
    if parts is not None:
        for part in parts:
            source = device_view(memory, view.block.address, layout, part)
            part.of(out).copy_(source)
    elif out.numel() * 4 < layout.numel:
        found = _elements(memory, view, layout).take(_places(layout, view))
        out.copy_(found.to(view.dtype))
    else:
        image = _image(memory, view.block, layout).view(-1)
        out.copy_(image.as_strided(view.sizes, view.strides, view.offset))


def write_view(memory: CardMemory, view: View, source: torch.Tensor) -> None:
    """
    Stores a CPU tensor, of the view's sizes and any dtype, in the view's elements.

    Fixes the block's layout if this is its first write. Where elements share their
    place, all of them get what the first one does.
    """
    view, source = _without_repeats(view, as_elements(source, view.dtype))
    if view.skipped:
        values = source.to(view.dtype).contiguous().unsqueeze(-1)
        write_view(memory, view.as_bytes(), values.view(torch.uint8))
        return
    block = view.block
    layout = block.settle(DTYPE_NAMES.get(view.dtype))
    block.mark_written()
    if source.numel() == 0:
        return
    if not isinstance(layout, Tiled):
        _linear(memory, view).copy_(source)
        return
    if DTYPE_NAMES.get(view.dtype) != layout.dtype or _has_overlaps(view):
        _write_in_image(memory, view, layout, source)
        return
    parts = _parts(layout, view)
    if parts is not None:
        for part in parts:
            device_view(memory, block.address, layout, part).copy_(part.of(source))
    elif _is_all_in_order(layout, view):
        values = source.reshape(layout.shape)
        write_host(memory, block.address, values, layout.layout, layout.dtype)
    else:
        elements = _elements(memory, view, layout)
        values = source.to(view.dtype).to(elements.dtype)
        elements.put_(_places(layout, view), values)


def _without_repeats(view: View, source: torch.Tensor) -> tuple[View, torch.Tensor]:
    """One element of each dimension of stride 0, which a copy would not write."""
    for dim, (size, stride) in enumerate(zip(view.sizes, view.strides, strict=True)):
        if stride == 0 and size > 1:
            source = source.narrow(dim, 0, 1)
    return replace(view, sizes=tuple(source.shape)), source


def host_bytes(
    memory: CardMemory, block: Block, start: int, nbytes: int
) -> torch.Tensor:
    """`nbytes` of a block in host order from `start`, zero past the tensor's end."""
    layout = block.layout
    out = torch.zeros(nbytes, dtype=torch.uint8, device="cpu")
    if isinstance(layout, Tiled):
        found = _image(memory, block, layout).view(-1).view(torch.uint8)
    else:
        found = memory.bytes_tensor[block.address : block.address + block.nbytes]
    found = found[start:]
    count = min(nbytes, found.numel())
    out[:count] = found[:count]
    return out


def _linear(memory: CardMemory, view: View) -> torch.Tensor:
    block = view.block
    reach = sum((n - 1) * s for n, s in zip(view.sizes, view.strides, strict=True))
    if (view.offset + reach + 1) * view.dtype.itemsize > block.nbytes:
        raise RuntimeError(
            f"a view reaches element {view.offset + reach} of a block of "
            f"{block.nbytes} bytes"
        )
    return linear_view(
        memory, block.address, view.sizes, view.strides, view.offset, view.dtype
    )


def _image(memory: CardMemory, block: Block, tiled: Tiled) -> torch.Tensor:
    """The whole block as a row-major CPU tensor; bools are whatever their bytes are."""
    dtype = torch.uint8 if tiled.dtype == "i1" else TORCH_DTYPES[tiled.dtype]
    image = torch.empty(tiled.shape, dtype=dtype, device="cpu")
    for part in whole(tiled):
        part.of(image).copy_(device_view(memory, block.address, tiled, part))
    return image


def _as_host(image: torch.Tensor, view: View) -> torch.Tensor:
    """The view's elements within the bytes of a host image."""
    flat = image.view(-1).view(torch.uint8)
    missing = -flat.numel() % view.dtype.itemsize
    if missing:
        flat = torch.nn.functional.pad(flat, (0, missing))
    return flat.view(view.dtype).as_strided(view.sizes, view.strides, view.offset)


def _has_overlaps(view: View) -> bool:
    """Whether elements may share a place: a dimension steps inside shorter ones."""
    span = 1
    for stride, size in sorted(zip(view.strides, view.sizes, strict=True)):
        if size > 1 and stride < span:
            return True
        span += stride * (size - 1)
    return False


def _write_in_image(
    memory: CardMemory, view: View, tiled: Tiled, source: torch.Tensor
) -> None:
    """A write that sticks do not tell apart, done on all bytes in host order."""
    image = _image(memory, view.block, tiled)
    part = _as_host(image, view)
    part.copy_(source)
    if part.untyped_storage().data_ptr() != image.untyped_storage().data_ptr():
        grown = torch.empty(0, dtype=torch.uint8, device="cpu").set_(
            part.untyped_storage()
        )
        image.view(-1).view(torch.uint8).copy_(grown[: image.nbytes])
    for rectangle in whole(tiled):
        target = device_view(memory, view.block.address, tiled, rectangle)
        target.copy_(rectangle.of(image))


def _is_all_in_order(tiled: Tiled, view: View) -> bool:
    return (
        view.offset == 0
        and prod(view.sizes) == tiled.numel
        and view.strides == row_major(view.sizes)
    )


def _parts(tiled: Tiled, view: View) -> tuple[Rectangle, ...] | None:
    """The view as rectangles, or None where it does not follow the dimensions."""
    return _rectangles(tiled, view.sizes, view.strides, view.offset)


@lru_cache(maxsize=4096)
def _rectangles(
    tiled: Tiled, sizes: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> tuple[Rectangle, ...] | None:
    located = locate(tiled, sizes, strides, offset)
    if located is None:
        return None
    parts = rectangles(tiled, *located)
    return None if parts is None else tuple(parts)


def locate(
    tiled: Tiled, sizes: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> tuple[list[int], list[Walk]] | None:
    """Where a view begins, and the dimension that each of its own walks along."""
    steps = row_major(tiled.shape)
    rest = offset
    start: list[int] = []
    for step, size in zip(steps, tiled.shape, strict=True):
        start.append(min(rest // step, size - 1))
        rest -= start[-1] * step
    if rest:
        raise RuntimeError(f"a view begins at element {offset} of {tiled.numel}")
    last = list(start)
    walks: list[Walk] = []
    for size, stride in zip(sizes, strides, strict=True):
        dim = _dimension(tiled.shape, steps, stride) if size > 1 and stride else -1
        if dim is None:
            return None
        step = stride // steps[dim] if dim >= 0 else 0
        if dim >= 0:
            last[dim] += step * (size - 1)
        walks.append(Walk(dim, step, size))
    if any(at >= size for at, size in zip(last, tiled.shape, strict=True)):
        return None
    return start, walks


def _dimension(
    shape: tuple[int, ...], steps: tuple[int, ...], stride: int
) -> int | None:
    """The outermost dimension that a stride steps through in whole elements."""
    for dim, (size, step) in enumerate(zip(shape, steps, strict=True)):
        if size > 1 and step <= stride:
            return dim if stride % step == 0 else None
    return None


def _elements(memory: CardMemory, view: View, tiled: Tiled) -> torch.Tensor:
    elements = memory.typed(device_dtype(tiled.dtype))
    first = view.block.address // elements.itemsize
    return elements[first : first + view.block.nbytes // elements.itemsize]


def _places(tiled: Tiled, view: View) -> torch.Tensor:
    """The place of each of the view's elements among the block's device elements."""
    linear = torch.full((), view.offset, dtype=torch.int64, device="cpu")
    for dim, (size, stride) in enumerate(zip(view.sizes, view.strides, strict=True)):
        shape = [1] * len(view.sizes)
        shape[dim] = size
        steps = torch.arange(size, dtype=torch.int64, device="cpu") * stride
        linear = linear + steps.view(shape)
    if int(linear.max()) >= tiled.numel:
        raise RuntimeError(
            f"a view reaches element {int(linear.max())} of a tensor of {tiled.numel}"
        )
    eps = elements_per_stick(ITEMSIZE[tiled.dtype])
    places = torch.zeros_like(linear)
    device = tiled.layout.dim_strides(tiled.shape, eps)
    for dim, step in enumerate(row_major(tiled.shape)):
        index = linear // step % tiled.shape[dim]
        if dim == tiled.layout.stick_dim:
            places += index // eps * device[dim] + index % eps
        else:
            places += index * device[dim]
    return places.expand(view.sizes)
