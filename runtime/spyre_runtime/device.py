# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Card tensors: what PyTorch's kernels ask of the runtime, and what compiled code does.

The functions of the first part are called by name from the C++ file, under a guard
that hides the caller's modes. Tensors keep host sizes and strides; how the bytes lie
belongs to the block, found by the storage's address.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .card import Card, card, made_cards
from .formats import DTYPE_NAMES, block_bytes, default_tiled, physical_order
from .memory import Block, CardMemory, Tiled
from .views import View, host_bytes, read_into, read_view, write_view

# What the C++ file calls


def allocate(index: int, nbytes: int) -> int:
    """Room for bytes in host order; the address that `data_ptr` shows."""
    memory = card(index).memory
    return memory.device_base + memory.allocate(nbytes).address


def allocate_tensor(
    index: int,
    nbytes: int,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: torch.dtype,
) -> int:
    """Room for a new tensor, whose block will have the default layout."""
    memory = card(index).memory
    expected = default_tiled(sizes, strides, dtype)
    block = memory.allocate(block_bytes(nbytes, expected), expected)
    return memory.device_base + block.address


def free(address: int) -> None:
    """Ends the block at an address that `data_ptr` showed."""
    memory = _card_at(address).memory
    memory.free(address - memory.device_base)


def card_of(address: int) -> int:
    return _card_at(address).index


def copy(source: torch.Tensor, target: torch.Tensor) -> None:
    """`target.copy_(source)` where one of them, or both, is on a card."""
    if target.numel() == 0:
        return
    if source.device.type == target.device.type and _copy_sticks(source, target):
        return
    if source.device.type == "cpu":
        values = source.resolve_conj().resolve_neg()
    elif target.device.type == "cpu" and _is_plain(source, target):
        owner, view = card_at(source), view_of(source)
        owner.submit(lambda: read_into(owner.memory, view, target))
        return
    else:
        values = _read(source)
    if target.device.type == "cpu":
        target.copy_(values)
    else:
        _write(target, values)


def copy_bytes(source: int, target: int, nbytes: int) -> None:
    """Copies bytes in host order between blocks."""
    memory, other = _card_at(source).memory, _card_at(target).memory
    origin, start = _place(memory, source)
    if origin.layout is None:
        return
    block, first = _place(other, target)
    view = View(block, (nbytes,), (1,), first, torch.uint8)
    write_view(other, view, host_bytes(memory, origin, start, nbytes))


def empty_cache() -> None:
    """Nothing is cached: freed memory has gone back already."""


def memory_numbers(index: int) -> dict[str, int]:
    return vars(card(index).memory.stats())


def memory_info(index: int) -> tuple[int, int]:
    """Bytes free and in all."""
    memory = card(index).memory
    return memory.free_bytes(), memory.nbytes


def reset_counts(index: int) -> None:
    card(index).memory.reset_counts()


def reset_peak(index: int) -> None:
    card(index).memory.reset_peak()


def synchronize(index: int) -> None:
    card(index).synchronize()


def elapsed_picoseconds(index: int) -> int:
    return card(index).elapsed_picoseconds


# What compiled code uses


def card_at(tensor: torch.Tensor) -> Card:
    """The card that a tensor is on; raises TypeError for other tensors."""
    if tensor.device.type != "spyre":
        raise TypeError(f"expected a tensor on a card, not on {tensor.device}")
    return card(tensor.device.index)


def block_of(tensor: torch.Tensor) -> Block:
    """The block behind a card tensor; an empty one has a block of its own."""
    return view_of(tensor).block


def address_of(tensor: torch.Tensor) -> int:
    """
    Byte offset in the card's window of the block behind a tensor.

    The tensor's own storage offset counts elements in host order, and is not in it.
    """
    return block_of(tensor).address


def view_of(tensor: torch.Tensor) -> View:
    """A tensor's window on its block; its storage may begin inside the block."""
    memory = card_at(tensor).memory
    shown = tensor.untyped_storage().data_ptr()
    block, start = _place(memory, shown) if shown else (Block(0, 0), 0)
    before, skipped = divmod(start, tensor.dtype.itemsize)
    return View(
        block,
        tuple(tensor.shape),
        tensor.stride(),
        int(tensor.storage_offset()) + before,
        tensor.dtype,
        skipped,
    )


def whole_layout(tensor: torch.Tensor) -> tuple[Tiled, list[int]] | None:
    """
    The block's layout and the tensor's dimension at each of its dimensions.

    Only for a tensor that is the whole of its block, dimension for dimension; None
    for any other view and for linear blocks. An open layout counts as the one that a
    first write gives.
    """
    view = view_of(tensor)
    block = view.block
    tiled = block.expected if block.layout is None else block.layout
    if not isinstance(tiled, Tiled) or view.offset or view.skipped:
        return None
    order = physical_order(tensor.shape, tensor.stride())
    if order is None or DTYPE_NAMES.get(tensor.dtype) != tiled.dtype:
        return None
    if tuple(tensor.shape[d] for d in order) != tiled.shape:
        return None
    return tiled, order


def empty_on_card(
    shape: Sequence[int],
    dtype: torch.dtype,
    strides: Sequence[int] | None = None,
    index: int = 0,
) -> torch.Tensor:
    """A new card tensor, whose block will have the default layout."""
    device = torch.device("spyre", index)
    if strides is None:
        return torch.empty(tuple(shape), dtype=dtype, device=device)
    return torch.empty_strided(tuple(shape), tuple(strides), dtype=dtype, device=device)


def settle(tensor: torch.Tensor) -> Block:
    """The tensor's block with its layout fixed, as before a write."""
    block = block_of(tensor)
    block.settle(DTYPE_NAMES.get(tensor.dtype))
    return block


def mark_written(block: Block) -> None:
    """Counts a write; to be called for each write that is enqueued."""
    block.mark_written()


# Details


def _card_at(address: int) -> Card:
    for found in made_cards():
        if 0 <= address - found.memory.device_base < found.memory.nbytes:
            return found
    raise LookupError(f"address {address:#x} is on no card")


def _place(memory: CardMemory, shown: int) -> tuple[Block, int]:
    """The block at an address that `data_ptr` shows, and the bytes before it there."""
    address = shown - memory.device_base
    block = memory.block_at(address)
    return block, address - block.address


def _is_plain(source: torch.Tensor, target: torch.Tensor) -> bool:
    """Elements go over one by one, with nothing left to compute."""
    lazy = (t.is_conj() or t.is_neg() for t in (source, target))
    return source.shape == target.shape and not any(lazy)


def _read(tensor: torch.Tensor) -> torch.Tensor:
    """A card tensor's values on the host."""
    owner = card_at(tensor)
    view = view_of(tensor)
    values = owner.submit(lambda: read_view(owner.memory, view))
    if tensor.is_conj():
        values = values.conj().resolve_conj()
    return values.neg() if tensor.is_neg() else values


def _write(tensor: torch.Tensor, values: torch.Tensor) -> None:
    """Stores values in a card tensor, broadcasting them."""
    owner = card_at(tensor)
    view = view_of(tensor)
    if tensor.is_conj():
        values = values.conj().resolve_conj()
    if tensor.is_neg():
        values = values.neg()
    source = values.expand(view.sizes)
    owner.submit(lambda: write_view(owner.memory, view, source))


def _copy_sticks(source: torch.Tensor, target: torch.Tensor) -> bool:
    """Copies a whole block's bytes if both sides have the same layout."""
    if (
        source.device != target.device
        or source.shape != target.shape
        or source.stride() != target.stride()
        or source.dtype != target.dtype
        or source.is_conj() != target.is_conj()
        or source.is_neg() != target.is_neg()
    ):
        return False
    found, wanted = whole_layout(source), whole_layout(target)
    if found is None or wanted is None or found[0] != wanted[0]:
        return False
    origin, block = block_of(source), settle(target)
    if origin.layout is None or origin is block:
        return origin is block
    owner = card_at(source)
    nbytes = found[0].nbytes

    def work() -> None:
        data = owner.memory.bytes_tensor
        block.mark_written()
        data.narrow(0, block.address, nbytes).copy_(
            data.narrow(0, origin.address, nbytes)
        )

    owner.submit(work)
    return True
