# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Tensors at the ends of a launch: the card address of each argument and result.

A card tensor that lies as the program expects is read where it is; any other is
brought to a temporary block first, which the call's `Lease` frees. Static ones stay on
the card, in the `Residents`.
"""

from __future__ import annotations

import weakref
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
from spyre_runtime.views import View, read_view, write_view

from .execute import Output, Traffic, count, written
from .residents import CardResident, Residents


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
        self._known: Known | None = None

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
        known = self._known
        if known is not None and known.holds(tensor, lease):
            return known.address
        view = view_of(tensor)
        if not tensor.is_neg():
            form = form_of(view)
            if form is not None and form.layout == self.layout:
                address = view.block.address + form.offset
                return self._know(tensor, view, address)
            if self.is_static:
                return self._resident(tensor, view, lease)
        return self._gathered(tensor, view, lease)

    def _resident(self, tensor: torch.Tensor, view: View, lease: Lease) -> int:
        resident = lease.residents.card(tensor, view, self.layout)
        if not resident.is_current(view):
            if not resident.is_stable(view):
                return self._gathered(tensor, view, lease)
            count(self.traffic.gathers, tensor.nbytes)
            resident.fill(view, self.bytes)
        return self._know(tensor, view, resident.address, resident)

    def _gathered(self, tensor: torch.Tensor, view: View, lease: Lease) -> int:
        count(self.traffic.gathers, tensor.nbytes)
        values = read_view(lease.memory, view)
        address = lease.allocate(self.bytes)
        values = values.neg() if tensor.is_neg() else values
        write_host(lease.memory, address, values, self.layout)
        return address

    def _know(
        self,
        tensor: torch.Tensor,
        view: View,
        address: int,
        resident: CardResident | None = None,
    ) -> int:
        if view.block.layout is not None:
            self._known = Known(tensor, view, address, resident)
        return address


class Known:
    """Where the card tensor of the last call was read, for when it comes again."""

    __slots__ = ("_block", "_epoch", "_form", "_owner", "_resident", "address")

    def __init__(
        self,
        tensor: torch.Tensor,
        view: View,
        address: int,
        resident: CardResident | None,
    ):
        self.address = address
        self._owner = weakref.ref(tensor)
        self._form = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
        self._block = view.block
        self._resident = resident
        self._epoch = view.block.write_epoch

    def holds(self, tensor: torch.Tensor, lease: Lease) -> bool:
        """Whether the tensor is that of the last call, and nothing has changed."""
        if self._owner() is not tensor or not lease.memory.is_live(self._block):
            return False
        form = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
        if form != self._form:
            return False
        resident = self._resident
        if resident is None:
            return True
        if not resident.is_held or self._block.write_epoch != self._epoch:
            return False
        lease.residents.pin(resident)
        return True


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
