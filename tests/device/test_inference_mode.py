# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The first use of a card may be inside inference mode; later ones need not be."""

from __future__ import annotations

import torch

from spyre_mlir.algebra.layout import DeviceLayout
from spyre_runtime.formats import read_host, write_host
from spyre_runtime.memory import CardMemory


def test_memory_first_used_in_inference_mode_serves_other_modes() -> None:
    values = torch.arange(12.0).view(3, 4)
    layout = DeviceLayout.default(2)
    with torch.inference_mode():
        memory = CardMemory(64 << 20)
        block = memory.allocate(layout.bytes(values.shape, 4))
        write_host(memory, block.address, values, layout)
    write_host(memory, block.address, values + 1, layout)
    found = read_host(memory, block.address, values.shape, values.dtype, layout)
    assert torch.equal(found, values + 1)
    assert not found.is_inference()
