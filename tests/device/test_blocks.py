# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layout and write epoch of the block behind a tensor."""

import copy
import gc
from itertools import pairwise

import torch

from spyre_mlir.algebra.layout import DeviceLayout
from spyre_runtime import torch_spyre as spyre
from spyre_runtime.card import card
from spyre_runtime.device import (
    address_of,
    block_of,
    empty_on_card,
    mark_written,
    settle,
    whole_layout,
)
from spyre_runtime.memory import Tiled


def test_the_first_write_fixes_the_default_layout() -> None:
    tensor = torch.empty(3, 70, dtype=torch.float16, device="spyre")
    block = block_of(tensor)
    assert (block.layout, block.write_epoch) == (None, 0)
    tensor[1].fill_(1)
    expected = Tiled(DeviceLayout.default(2), "f16", (3, 70))
    assert block.layout == expected
    tensor.view(-1)[3:5].fill_(1)
    assert block.layout == expected


def test_a_first_write_of_another_dtype_makes_it_linear() -> None:
    tensor = torch.empty(3, 70, dtype=torch.float16, device="spyre")
    tensor.view(torch.uint8).fill_(0)
    assert block_of(tensor).layout == "linear"
    assert not tensor.cpu().any()


def test_reading_fixes_nothing() -> None:
    tensor = torch.empty(3, 70, device="spyre")
    tensor.cpu()
    assert block_of(tensor).layout is None


def test_bytes_lie_in_sticks() -> None:
    host = torch.arange(210).view(3, 70).half()
    tensor = host.to("spyre")
    block = block_of(tensor)
    assert block.nbytes == 2 * 3 * 128
    raw = card(0).memory.bytes_tensor.narrow(0, address_of(tensor), block.nbytes)
    sticks = raw.view(torch.float16).view(2, 3, 64)
    assert torch.equal(sticks[0], host[:, :64])
    assert torch.equal(sticks[1, :, :6], host[:, 64:])


def test_what_is_loaded_or_copied_as_bytes_is_linear() -> None:
    tensor = torch.ones(3, 70, device="spyre")
    assert block_of(copy.deepcopy(tensor)).layout == "linear"
    assert block_of(
        torch.empty_strided((3, 4), (8, 1), device="spyre").fill_(1)
    ).layout == ("linear")


def test_results_of_host_operators_are_tiled() -> None:
    tensor = torch.ones(3, 70, device="spyre")
    out = torch.empty(0, device="spyre")
    torch.add(tensor, 1, out=out)
    for found in (tensor + 1, tensor @ tensor.t(), out):
        assert isinstance(block_of(found).layout, Tiled)


def test_every_path_of_writing_counts() -> None:
    tensor = torch.empty(3, 70, device="spyre")
    block = block_of(tensor)
    ones = torch.ones(210)
    seen = [block.write_epoch]
    for write in (
        lambda: tensor.fill_(1),
        lambda: tensor[1:].copy_(torch.zeros(2, 70)),
        lambda: tensor.add_(1),
        lambda: tensor.copy_(torch.ones(3, 70, device="spyre")),
        lambda: tensor.untyped_storage().copy_(ones.untyped_storage()),
        lambda: tensor.view(torch.int16).zero_(),
        lambda: tensor.index_fill_(0, torch.tensor([1], device="spyre"), 3),
        lambda: mark_written(block),
    ):
        write()
        seen.append(block.write_epoch)
    assert all(before < after for before, after in pairwise(seen)), seen
    tensor.cpu()
    tensor.sum()
    assert block.write_epoch == seen[-1]


def test_whole_layout_of_a_transposed_tensor() -> None:
    tensor = empty_on_card((3, 70), torch.float16, (1, 3))
    settle(tensor)
    found = whole_layout(tensor)
    assert found == (Tiled(DeviceLayout.default(2), "f16", (70, 3)), [1, 0])
    assert whole_layout(tensor.t()) == (found and found[0], [0, 1])
    assert whole_layout(tensor[1:]) is None


def test_an_empty_tensor_has_a_block() -> None:
    assert block_of(torch.empty(0, 3, device="spyre")).nbytes == 0


def test_memory_comes_back_when_tensors_go() -> None:
    gc.collect()
    before = spyre.memory_allocated()
    tensor = torch.empty(1000, device="spyre")
    view = tensor[3:]
    assert spyre.memory_allocated() == before + 4096
    del tensor
    assert spyre.memory_allocated() == before + 4096
    del view
    assert spyre.memory_allocated() == before
