# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
How a program can read and write a card tensor where it lies.

A program takes the address of a tensor's first stick and the tensor's layout. A view
has both where its elements follow the sticks of its block: `form_of` says which, or
that the view must be gathered first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import torch

from spyre_mlir.algebra.access import ITEMSIZE
from spyre_mlir.algebra.layout import SYNTHETIC, DeviceLayout, elements_per_stick

from .formats import DTYPE_NAMES, default_tiled, physical_order
from .memory import Block, Tiled
from .views import View, locate


class Form(NamedTuple):
    """The layout of a view's own dimensions, and where its first stick lies."""

    layout: DeviceLayout
    offset: int
    """Bytes from the start of the block."""


@lru_cache(maxsize=8192)
def default_layout(
    sizes: tuple[int, ...], strides: tuple[int, ...], dtype: torch.dtype
) -> DeviceLayout | None:
    """The layout of a tensor that a user can see, by its own dimensions; or linear."""
    tiled = default_tiled(sizes, strides, dtype)
    order = physical_order(sizes, strides)
    if tiled is None or order is None:
        return None
    places = (order[d] if d != SYNTHETIC else d for d in tiled.layout.dims)
    return DeviceLayout(tuple(places))


def form_of(view: View) -> Form | None:
    """Where and how a view's elements lie, or None if no layout says it."""
    layout = block_layout(view.block)
    name = DTYPE_NAMES.get(view.dtype)
    if layout is None or name != layout.dtype or view.skipped:
        return None
    return _form(layout, view.sizes, view.strides, view.offset, view.dtype)


def block_layout(block: Block) -> Tiled | None:
    """The sticks of a block; an open one will have those that it expects."""
    found = block.expected if block.layout is None else block.layout
    return found if isinstance(found, Tiled) else None


@lru_cache(maxsize=8192)
def _form(
    tiled: Tiled,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
    dtype: torch.dtype,
) -> Form | None:
    if 0 in sizes:
        return None
    default = default_layout(sizes, strides, dtype)
    if tiled.numel == 1 and default is not None:
        return Form(default, 0)
    located = locate(tiled, sizes, strides, offset)
    if located is None:
        return None
    start, walks = located
    itemsize = ITEMSIZE[tiled.dtype]
    eps = elements_per_stick(itemsize)
    block_steps = tiled.layout.dim_strides(tiled.shape, eps)
    block_stick = tiled.layout.stick_dim
    if block_stick == SYNTHETIC or start[block_stick] % eps:
        return None
    steps: list[int] = []
    stick = SYNTHETIC
    for dim, walk in enumerate(walks):
        if walk.size > 1 and walk.dim < 0:
            return None
        if walk.size > 1 and walk.dim == block_stick:
            if walk.step != 1 or stick != SYNTHETIC:
                return None
            stick = dim
        steps.append(walk.step * block_steps[walk.dim] if walk.size > 1 else 0)
    first = sum(s * i for s, i in zip(block_steps, start, strict=True))
    first += start[block_stick] // eps * block_steps[block_stick]
    first -= start[block_stick] * block_steps[block_stick]
    for layout in _candidates(sizes, strides, dtype, steps, stick):
        if _lies_so(layout, sizes, steps, stick, eps):
            return Form(layout, first * itemsize)
    return None


def _candidates(
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: torch.dtype,
    steps: Sequence[int],
    stick: int,
) -> list[DeviceLayout]:
    """The default layout, and the one whose dimensions are in order of their steps."""
    found: list[DeviceLayout] = []
    default = default_layout(sizes, strides, dtype)
    if default is not None:
        found.append(default)
    single = [d for d, size in enumerate(sizes) if size == 1]
    if stick == SYNTHETIC and single:
        stick = single[-1]
    if stick != SYNTHETIC:
        order = sorted((d for d in range(len(sizes))), key=lambda d: -steps[d])
        outer = [d for d in single if d != stick]
        outer += [d for d in order if d not in outer]
        found.append(DeviceLayout((*outer, stick)))
    return found


def _lies_so(
    layout: DeviceLayout,
    sizes: tuple[int, ...],
    steps: Sequence[int],
    stick: int,
    eps: int,
) -> bool:
    """Whether a dense tensor in this layout has these steps."""
    own = layout.stick_dim
    if own != stick and (stick != SYNTHETIC or (own >= 0 and sizes[own] != 1)):
        return False
    found = layout.dim_strides(sizes, eps)
    return all(
        found[d] == steps[d]
        for d, size in enumerate(sizes)
        if size > (eps if d == stick else 1)
    )
