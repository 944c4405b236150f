# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
What a program depends on besides its graph, found at call time.

Dynamo guards sizes, strides and dtypes, but neither storage offsets nor how a tensor
lies on its card; a program is compiled for these too.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from typing import Any, cast

import torch
from torch._guards import TracingContext
from torch._subclasses.fake_tensor import FakeTensor

from spyre_mlir.algebra.layout import DeviceLayout
from spyre_runtime.device import view_of
from spyre_runtime.forms import default_layout, form_of

Key = tuple[Any, ...]


def program_key(arguments: Sequence[Any], static: Collection[int] = ()) -> Key:
    """
    Numbers, and each tensor's form, not its values. What is static has the form that
    Dynamo guards, and a layout that is the program's to choose. Inputs may share
    memory, since all that a graph changes is written at the end of a call.
    """
    parts: list[Any] = []
    for position, value in enumerate(arguments):
        if not isinstance(value, torch.Tensor):
            parts.append(value)
            continue
        if position in static:
            continue
        device = value.device
        form = (value.shape, value.stride(), value.dtype, device)
        if device.type == "spyre":
            form = (*form, layout_of(value))
        parts.append(form)
    return tuple(parts)


_FORM = ("size", "layout in memory", "dtype", "device", "layout on the card")


def difference(old: Key, new: Key) -> str:
    """Why a program of one key does not serve another, in a few words."""
    if old[0] != new[0]:
        return "another card"
    before: tuple[Any, ...] = old[1]
    found = {_what_changed(a, b) for a, b in zip(before, new[1], strict=True)} - {""}
    # A number that changes with a size is mostly that size.
    return ", ".join(sorted(found - {"new number"} or found)) or "dropped before"


def _what_changed(old: Any, new: Any) -> str:
    """Of one argument."""
    if old == new:
        return ""
    if not (isinstance(old, tuple) and isinstance(new, tuple)):
        return "new number"
    before, after = cast(Key, old), cast(Key, new)
    return next(
        f"new {name}"
        for name, a, b in zip(_FORM, before, after, strict=False)
        if a != b
    )


def layout_of(tensor: torch.Tensor) -> DeviceLayout | None:
    """
    The layout in which a program takes a tensor: for card tensors the one they have;
    None is the default of their dimensions.
    """
    if tensor.device.type != "spyre":
        return None
    sizes, strides = tuple(tensor.shape), tensor.stride()
    if isinstance(tensor, FakeTensor):
        return visible_layout(sizes, strides, tensor.dtype)
    form = form_of(view_of(tensor))
    return None if form is None else _unless_default(form.layout, len(sizes))


def visible_layout(
    sizes: tuple[int, ...], strides: tuple[int, ...], dtype: torch.dtype
) -> DeviceLayout | None:
    """The layout of a new card tensor; None is the default of its dimensions."""
    found = default_layout(sizes, strides, dtype)
    return None if found is None else _unless_default(found, len(sizes))


def _unless_default(layout: DeviceLayout, rank: int) -> DeviceLayout | None:
    return None if layout == DeviceLayout.default(rank) else layout


def current_card() -> int:
    """The card of this thread, the first unless the program chose another."""
    device = sys.modules.get("spyre_runtime.torch_spyre")
    if device is None or not device.is_initialized():
        return 0
    return device.current_device()


def static_inputs(training: bool = False) -> frozenset[int]:
    """
    Arguments of the forward graph at hand that are parameters and buffers. In training,
    AOTAutograd does not count the tokens of effects that come before them: then none.
    """
    context = TracingContext.try_get()
    if context is None or context.fw_metadata is None:
        return frozenset()
    if training and context.fw_metadata.tokens:
        return frozenset()
    found: Sequence[int] | None = context.fw_metadata.static_input_indices
    return frozenset(found or ())
