# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Static inputs that stay on a card between calls, in the layouts that programs chose.

One `Resident` per storage, view of it and layout. Of a CPU tensor it knows a hash of
its bytes: writes through `.data` or NumPy leave no other trace. Of a card tensor it
knows the block and its write epoch. It goes with the storage, and before the card's
memory is refused to anyone.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections import deque

import torch
import xxhash

from spyre_mlir.algebra.layout import DeviceLayout
from spyre_runtime.card import Card
from spyre_runtime.forks import taken_at_forks
from spyre_runtime.formats import physical_order, write_host
from spyre_runtime.memory import Block, CardMemory
from spyre_runtime.views import View, read_view

Key = tuple[int, int, torch.Size, tuple[int, ...], torch.dtype, DeviceLayout]
"""Storage and offset, sizes and strides, dtype; layout on the card."""


Owner = weakref.ref[torch.UntypedStorage]
"""Python's object of a storage lives as long as the storage itself."""


Version = tuple[weakref.ref[torch.Tensor], int, int]
"""A tensor, where its storage lies, and how often the tensor was written."""


class Resident:
    """One tensor's copy on the card."""

    def __init__(self, memory: CardMemory, layout: DeviceLayout):
        self.memory = memory
        self.layout = layout
        self._block: Block | None = None

    @property
    def is_held(self) -> bool:
        """Whether the card has the copy."""
        return self._block is not None

    @property
    def address(self) -> int:
        assert self._block is not None, "a resident is filled before it is read"
        return self._block.address

    def release(self) -> None:
        """Gives the card's memory back; the next call fills the copy again."""
        block, self._block = self._block, None
        if block is not None:
            self.memory.free(block)

    def _store(self, values: torch.Tensor, nbytes: int) -> None:
        if self._block is None:
            self._block = self.memory.allocate(nbytes)
        write_host(self.memory, self._block.address, values, self.layout)


class HostResident(Resident):
    """The copy of a CPU tensor."""

    def __init__(self, memory: CardMemory, layout: DeviceLayout, mode: str):
        super().__init__(memory, layout)
        self.mode = mode
        self._seen: Version | bytes | None = None

    def is_current(self, tensor: torch.Tensor) -> bool:
        """Whether the copy holds what the tensor does now."""
        return self._block is not None and self._seen == self._look(tensor)

    def fill(self, tensor: torch.Tensor, nbytes: int) -> None:
        """Brings the tensor to the card."""
        self._seen = self._look(tensor)
        self._store(tensor.detach(), nbytes)

    def _look(self, tensor: torch.Tensor) -> Version | bytes:
        if self.mode == "version" and not tensor.is_inference():
            return version_of(tensor)
        return digest_of(tensor)


class CardResident(Resident):
    """The copy of a card tensor, in another layout than its block's."""

    def __init__(self, memory: CardMemory, layout: DeviceLayout):
        super().__init__(memory, layout)
        self._seen: tuple[View, int] | None = None

    def is_current(self, view: View) -> bool:
        return self._block is not None and self._seen == (view, view.block.write_epoch)

    def is_stable(self, view: View) -> bool:
        """Whether nobody wrote the block since the last call: a copy may pay."""
        now = (view, view.block.write_epoch)
        stable, self._seen = self._seen == now, now
        if not stable:
            self.release()
        return stable

    def fill(self, view: View, nbytes: int) -> None:
        self._store(read_view(self.memory, view), nbytes)


class Residents:
    """All residents of one card."""

    def __init__(self, card: Card):
        self.memory = card.memory
        self._found: dict[Key, tuple[Owner, Resident]] = {}
        self._pinned: set[Resident] = set()
        self._dead: deque[Key] = deque()
        self._lock = taken_at_forks(threading.RLock())
        card.memory.on_pressure(self.drop)

    def host(
        self, tensor: torch.Tensor, layout: DeviceLayout, mode: str
    ) -> HostResident:
        """The resident of a CPU tensor, in use until `unpin`."""
        found = self._find(tensor, layout)
        if not isinstance(found, HostResident) or found.mode != mode:
            found = HostResident(self.memory, layout, mode)
            self._add(tensor, found)
        return found

    def card(
        self, tensor: torch.Tensor, view: View, layout: DeviceLayout
    ) -> CardResident:
        """The resident of a card tensor, in use until `unpin`."""
        found = self._find(tensor, layout)
        if not isinstance(found, CardResident):
            found = CardResident(self.memory, layout)
            self._add(tensor, found)
        return found

    def pin(self, resident: Resident) -> None:
        """Keeps a resident until `unpin`."""
        self._pinned.add(resident)

    def unpin(self) -> None:
        """The call that used residents has ended."""
        self._pinned.clear()

    def drop(self) -> None:
        """Gives back the memory of all that no call is using."""
        with self._lock:
            for key, (_, resident) in list(self._found.items()):
                if resident not in self._pinned:
                    del self._found[key]
                    resident.release()

    def _find(self, tensor: torch.Tensor, layout: DeviceLayout) -> Resident | None:
        storage = tensor.untyped_storage()
        with self._lock:
            found = self._found.get(key_of(tensor, storage, layout))
            if found is None or found[0]() is not storage:
                return None
            self._pinned.add(found[1])
            return found[1]

    def _add(self, tensor: torch.Tensor, resident: Resident) -> None:
        storage = tensor.untyped_storage()
        key = key_of(tensor, storage, resident.layout)
        with self._lock:
            old = self._found.get(key)
            if old is not None:
                old[1].release()
            owner = weakref.ref(storage, lambda _: self._died(key))
            self._found[key] = (owner, resident)
            self._pinned.add(resident)
        self._bury()

    def _died(self, key: Key) -> None:
        """
        Runs where a collection happens to drop a storage, perhaps below one of our own
        locks: it must not wait.
        """
        self._dead.append(key)
        self._bury()

    def _bury(self) -> None:
        while self._dead and self._lock.acquire(blocking=False):
            try:
                while self._dead:
                    key = self._dead.popleft()
                    found = self._found.get(key)
                    if found is not None and found[0]() is None:
                        del self._found[key]
                        found[1].release()
            finally:
                self._lock.release()


_of_card: weakref.WeakKeyDictionary[Card, Residents] = weakref.WeakKeyDictionary()
_making = taken_at_forks(threading.Lock())


def residents_of(card: Card) -> Residents:
    """The residents of a card, which all compiled graphs share."""
    with _making:
        found = _of_card.get(card)
        if found is None:
            found = _of_card[card] = Residents(card)
        return found


def key_of(
    tensor: torch.Tensor, storage: torch.UntypedStorage, layout: DeviceLayout
) -> Key:
    offset = int(tensor.storage_offset())
    return id(storage), offset, tensor.shape, tensor.stride(), tensor.dtype, layout


def version_of(tensor: torch.Tensor) -> Version:
    """
    Which tensor in which version. Each tensor that is wrapped around a storage counts
    for itself, and the number of a dead one may come again: a reference to it not.
    """
    return weakref.ref(tensor), tensor.data_ptr(), tensor._version


def digest_of(tensor: torch.Tensor) -> bytes:
    """A hash of 128 bits of a tensor's elements, whatever they mean as numbers."""
    values = tensor.detach()
    order = physical_order(values.shape, values.stride())
    values = values.contiguous() if order is None else values.permute(order)
    row = values.reshape(-1)
    # Not `row.numpy()`: the user could not resize the storage any more.
    raw = (ctypes.c_char * row.nbytes).from_address(row.data_ptr())
    return xxhash.xxh3_128_digest(raw) if row.numel() else b""
