# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A form says where the elements of a view lie, and never says it wrongly."""

import random

import pytest
import torch

from spyre_mlir.algebra.layout import DeviceLayout
from spyre_runtime.formats import block_bytes, default_tiled, read_host
from spyre_runtime.forms import Form, default_layout, form_of
from spyre_runtime.memory import CardMemory
from spyre_runtime.views import View, read_view, write_view

MEMORY = CardMemory(64 << 20)
DTYPES = (torch.float16, torch.float32, torch.int64, torch.bool)


def stored(values: torch.Tensor) -> View:
    """A tensor in a new block of its default layout."""
    sizes, strides = tuple(values.shape), values.stride()
    expected = default_tiled(sizes, strides, values.dtype)
    block = MEMORY.allocate(block_bytes(values.nbytes, expected), expected)
    view = View(block, sizes, strides, 0, values.dtype)
    write_view(MEMORY, view, values)
    return view


def view_like(base: View, shown: torch.Tensor) -> View:
    offset = int(shown.storage_offset())
    return View(base.block, tuple(shown.shape), shown.stride(), offset, shown.dtype)


def draw_view(values: torch.Tensor, rng: random.Random) -> torch.Tensor:
    """Up to three steps of permuting, selecting, slicing, adding and merging."""
    shown = values.permute(rng.sample(range(values.ndim), values.ndim))
    for _ in range(rng.randint(0, 3)):
        if shown.ndim == 0:
            return shown
        dim = rng.randrange(shown.ndim)
        size = shown.shape[dim]
        step = rng.randrange(4)
        if step == 0:
            shown = shown.select(dim, rng.randrange(size))
        elif step == 1:
            begin = min(rng.choice([0, 64, rng.randrange(size)]), size - 1)
            parts = [slice(None)] * shown.ndim
            end = rng.choice([None, begin + 1, begin + 64])
            parts[dim] = slice(begin, end, rng.choice([1, 1, 2]))
            shown = shown[tuple(parts)]
        elif step == 2:
            shown = shown.unsqueeze(dim)
        elif shown.is_contiguous():
            shown = shown.flatten(0, min(1, shown.ndim - 1))
    return shown


@pytest.mark.parametrize("seed", range(300))
def test_forms_of_random_views(seed: int) -> None:
    rng = random.Random(seed)
    rank = rng.randint(0, 4)
    long = [1, 2, 3, 5, 64, 65, 128, 130]
    shape = [rng.choice(long if d >= rank - 2 else [1, 2, 3]) for d in range(rank)]
    generator = torch.Generator().manual_seed(seed)
    values = (torch.randn(shape, generator=generator) * 10).to(rng.choice(DTYPES))
    base = stored(values)
    shown = draw_view(values, rng)
    view = view_like(base, shown)
    assert torch.equal(read_view(MEMORY, view), shown)
    form = form_of(view)
    if form is not None:
        address = base.block.address + form.offset
        found = read_host(MEMORY, address, shown.shape, shown.dtype, form.layout)
        assert torch.equal(found, shown)
    MEMORY.free(base.block)


def test_the_whole_of_a_block_is_read_in_place() -> None:
    for shape in ((), (1,), (5,), (3, 70), (2, 3, 70), (1, 3, 1, 70)):
        values = torch.ones(shape)
        layout = DeviceLayout.default(len(shape))
        assert form_of(stored(values)) == Form(layout, 0)
    values = torch.ones(3, 70).t()
    layout = DeviceLayout((0, 1, 0))
    assert default_layout((70, 3), (1, 70), torch.float32) == layout
    assert form_of(stored(values)) == Form(layout, 0)


def test_slices_at_sticks_are_read_in_place_and_others_are_not() -> None:
    values = torch.ones(4, 200, dtype=torch.float16)
    base = stored(values)
    sticks = form_of(view_like(base, values[:, 64:128]))
    assert sticks == Form(DeviceLayout.default(2), 4 * 128)
    for shown in (values[:, 3:67], values[:, ::2], values[1:3], values[:, 3]):
        assert form_of(view_like(base, shown)) is None
    other_type = View(base.block, (4, 200), (200, 1), 0, torch.bfloat16)
    assert form_of(other_type) is None
