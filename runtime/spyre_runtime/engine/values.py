# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The values of a vector record's body, in one of two forms.

A 16-bit float lives in its stored form: it is rounded by being there, and many
functions of torch take it as it is. It is widened to f32 where a function needs that.
Everything else lives in compute form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from spyre_mlir.algebra.access import Access

from .codec import COMPUTE, Run, is_native
from .frame import Frame
from .moves import block_views, load_block
from .pieces import Block
from .site import Site

SHORT = ("f16", "bf16")
"""Types that live in stored form."""


@dataclass(eq=False)
class Value:
    """One value; its arrays are made when they are asked for."""

    dtype: str
    stored: torch.Tensor | None = None
    computed: torch.Tensor | None = None
    load: Callable[[Value, bool], None] | None = None
    """Fills one of the arrays of an input; true asks for the stored form."""
    slots: list[str] = field(default_factory=list)

    @property
    def array(self) -> torch.Tensor | None:
        return self.stored if self.computed is None else self.computed


class Values:
    """Makes the arrays of one block's values and reuses those of dead ones."""

    def __init__(self, site: Site, frame: Frame, runs: list[Run], can_view: bool):
        self.site = site
        self.frame = frame
        self.runs = runs
        self._can_view = can_view
        self._free: list[str] = []
        self._slots = 0

    def take(
        self, value: Value, dtype: torch.dtype, shape: Sequence[int]
    ) -> torch.Tensor:
        """A working array that lives as long as the value."""
        if self._free:
            slot = self._free.pop()
        else:
            self._slots += 1
            slot = f"vector {self._slots}"
        value.slots.append(slot)
        if not shape:
            # What is made of constants alone has no dimensions, as they have none.
            return self.site.machine.scratch.take(slot, dtype, ())
        return self.frame.take(self.site.machine.scratch, slot, dtype, shape)

    def release(self, value: Value) -> None:
        self._free += value.slots
        value.slots = []

    def input(self, access: Access, uniform: int, block: Block, viewed: bool) -> Value:
        """What an access reads of a block; broadcast where that is all the same."""
        grid = self.site.record.grid
        varies = [not uniform >> d & 1 for d in range(len(grid))]
        along = [
            bool(step or stick)
            for step, stick in zip(access.strides, access.stick, strict=True)
        ]
        part = block.kept(varies, along)
        value = Value(access.dtype)
        plain = is_native(access.dtype) or access.dtype in SHORT
        if plain and self._can_view and (not viewed or part == block):
            view = self.view(access, part)
            if is_native(access.dtype):
                value.computed = view
            else:
                value.stored = view
            if view is not None:
                return value
        value.load = lambda v, stored: self._load(v, access, part, stored)
        return value

    def view(self, access: Access, part: Block) -> torch.Tensor | None:
        """The scratchpads themselves in a value's dimensions, if they can be."""
        site, machine = self.site, self.site.machine
        view = self.frame.direct(machine, site.record, access, site.trips, part)
        if view is None:
            return None
        return machine.tensor("lx", machine.codec.storage(access.dtype), view)

    def _load(self, value: Value, access: Access, part: Block, stored: bool) -> None:
        codec, shape = self.site.machine.codec, self.frame.shape(part)
        if not stored:
            value.computed = self.take(value, COMPUTE[access.dtype], shape)
            placed = self.frame.placed(value.computed)
            self.runs += load_block(self.site, access, part, placed)
            return
        value.stored = self.take(value, codec.storage(access.dtype), shape)
        placed = self.frame.placed(value.stored)
        for there, here in block_views(self.site, access, part, placed):
            self.runs.append(_copy(here, there))

    def stored(self, value: Value) -> torch.Tensor:
        """The stored form of a 16-bit float."""
        if value.stored is None:
            assert value.load is not None
            value.load(value, True)
        assert value.stored is not None
        return value.stored

    def computed(self, value: Value) -> torch.Tensor:
        """The compute form of any value."""
        if value.computed is None and value.stored is None:
            assert value.load is not None
            value.load(value, False)
        if value.computed is None:
            assert value.stored is not None
            codec, stored = self.site.machine.codec, value.stored
            value.computed = self.take(value, COMPUTE[value.dtype], stored.shape)
            self.runs += codec.load(value.computed, stored, value.dtype)
        return value.computed


def _copy(target: torch.Tensor, source: torch.Tensor) -> Run:
    return lambda: target.copy_(source)
