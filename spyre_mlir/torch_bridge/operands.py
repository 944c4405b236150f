# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Tensors at the ends of a launch: the card address of each argument and result.

A card tensor that lies as the program expects is read where it is; any other is
brought to a temporary block first, which the call's `Lease` frees. Static ones stay on
the card, in the `Residents`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

import torch

from spyre_mlir.algebra.layout import DeviceLayout
from spyre_mlir.binary.image import Buffer
from spyre_mlir.diagnostics import SpyreError
from spyre_runtime.card import Card
from spyre_runtime.device import settle, view_of
from spyre_runtime.formats import read_host, read_into, write_host
from spyre_runtime.forms import form_of
from spyre_runtime.memory import Block, CardMemory
from spyre_runtime.views import read_view, write_view

from .execute import Output, Traffic, count, written
from .residents import Residents


class Lease:
    """What one call holds on the card until it ends."""

    def __init__(self, card: Card, residents: Residents):
        self.memory = card.memory
        self.index = card.index
        self.residents = residents
        self._blocks: list[Block] = []

    def __enter__(self) -> Lease:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.residents.unpin()
        for block in self._blocks:
            self.memory.free(block)
        self._blocks.clear()

    def allocate(self, nbytes: int) -> int:
        """The address of a temporary block."""
        block = self.memory.allocate(nbytes)
        self._blocks.append(block)
        return block.address


class Argument:
    """An argument of an image."""

    def __init__(self, buffer: Buffer, is_static: bool, mode: str, traffic: Traffic):
        self.bytes = buffer.bytes
        self.layout = DeviceLayout(buffer.dims)
        self.is_static = is_static
        self.mode = mode
        self.traffic = traffic

    def address(self, tensor: torch.Tensor, lease: Lease) -> int:
        """Where a call's tensor lies on the card, in the argument's layout."""
        if tensor.device.type == "cpu":
            return self._host(tensor, lease)
        if tensor.device.index != lease.index:
            raise SpyreError(
                f"a tensor is on {tensor.device}, the program runs on "
                f"spyre:{lease.index}",
                ("move all inputs to one card",),
            )
        return self._card(tensor, lease)

    def _host(self, tensor: torch.Tensor, lease: Lease) -> int:
        if self.is_static and self.mode != "always":
            resident = lease.residents.host(tensor, self.layout, self.mode)
            if not resident.is_current(tensor):
                resident.fill(tensor, self.bytes)
                count(self.traffic.uploads, tensor.nbytes)
            return resident.address
        address = lease.allocate(self.bytes)
        count(self.traffic.uploads, tensor.nbytes)
        write_host(lease.memory, address, tensor.detach(), self.layout)
        return address

    def _card(self, tensor: torch.Tensor, lease: Lease) -> int:
        view = view_of(tensor)
        form = form_of(view)
        negated = tensor.is_neg()
        if form is not None and form.layout == self.layout and not negated:
            return view.block.address + form.offset
        if self.is_static and not negated:
            resident = lease.residents.card(tensor, view, self.layout)
            if resident.is_current(view):
                return resident.address
            if resident.is_stable(view):
                count(self.traffic.gathers, tensor.nbytes)
                resident.fill(view, self.bytes)
                return resident.address
        count(self.traffic.gathers, tensor.nbytes)
        values = read_view(lease.memory, view)
        address = lease.allocate(self.bytes)
        values = values.neg() if negated else values
        write_host(lease.memory, address, values, self.layout)
        return address


class Result:
    """A result of an image."""

    def __init__(self, buffer: Buffer, output: Output, traffic: Traffic):
        self.bytes = buffer.bytes
        self.layout = DeviceLayout(buffer.dims)
        self.output = output
        self.traffic = traffic

    def target(self, lease: Lease) -> tuple[int, Callable[[], torch.Tensor]]:
        """Where a call writes the result, and what gives it after the launch."""
        output, memory = self.output, lease.memory
        if output.device.type == "cpu":
            address = lease.allocate(self.bytes)
            return address, lambda: self._download(memory, address)
        made = torch.empty_strided(
            output.sizes, output.strides, dtype=output.dtype, device=output.device
        )
        block = settle(made)
        form = form_of(view_of(made))
        if form is not None and form.layout == self.layout:
            block.mark_written()
            return block.address + form.offset, lambda: made
        address = lease.allocate(self.bytes)
        return address, lambda: self._scatter(memory, address, made)

    def _download(self, memory: CardMemory, address: int) -> torch.Tensor:
        output = self.output
        values = torch.empty_strided(
            output.sizes, output.strides, dtype=output.dtype, device="cpu"
        )
        count(self.traffic.downloads, values.nbytes)
        if 0 not in output.strides:
            read_into(memory, address, values, self.layout)
        else:
            target, source = written(values, self._read(memory, address))
            target.copy_(source)
        return values

    def _scatter(
        self, memory: CardMemory, address: int, made: torch.Tensor
    ) -> torch.Tensor:
        count(self.traffic.scatters, made.nbytes)
        target, source = written(made, self._read(memory, address))
        write_view(memory, view_of(target), source)
        return made

    def _read(self, memory: CardMemory, address: int) -> torch.Tensor:
        output = self.output
        return read_host(memory, address, output.sizes, output.dtype, self.layout)
