# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles segments to images and runs them on the card."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from spyre_mlir.algebra.layout import DeviceLayout
from spyre_mlir.config import Options

from .dtypes import TORCH

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from spyre_runtime.loader import Executable
    from spyre_runtime.memory import Block

    from .execute import Executable as Callee


class CardExecutor:
    """Runs what the compiler wrote on the current card."""

    def __init__(self, options: Options):
        self.options = options

    def compile(self, module: ModuleOp) -> Callee:
        from spyre_runtime.card import card
        from spyre_runtime.loader import load

        executable = load(card(), compile_segment(module, self.options))
        return CardSegment(executable)


def compile_segment(module: ModuleOp, options: Options) -> bytes:
    """The image of an imported segment."""
    from xdsl.context import Context
    from xdsl.dialects.builtin import StringAttr

    from spyre_mlir.binary.writer import write
    from spyre_mlir.compiler import encode
    from spyre_mlir.pipelines import run_pipeline
    from spyre_mlir.transforms._functions import CHIP

    module.attributes[CHIP] = StringAttr(options.chip)
    run_pipeline(module, Context(), verify="each" if options.verify else "off")
    return write(encode(module, numerics=options.numerics))


class CardSegment:
    """A loaded image as a function of CPU tensors."""

    def __init__(self, executable: Executable):
        self.executable = executable
        self.memory = executable.card.memory

    def __call__(self, arguments: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        from spyre_runtime.formats import read_host, write_host

        blocks: list[Block] = []
        try:
            given = []
            for buffer, tensor in zip(
                self.executable.arguments, arguments, strict=True
            ):
                block = self.memory.allocate(buffer.bytes)
                blocks.append(block)
                write_host(
                    self.memory,
                    block.address,
                    tensor.detach(),
                    DeviceLayout(buffer.dims),
                )
                given.append(block.address)
            results = []
            for buffer in self.executable.results:
                block = self.memory.allocate(buffer.bytes)
                blocks.append(block)
                results.append(block.address)
            self.executable.launch(given, results)
            return [
                read_host(
                    self.memory,
                    address,
                    buffer.shape,
                    TORCH[buffer.dtype],
                    DeviceLayout(buffer.dims),
                )
                for address, buffer in zip(
                    results, self.executable.results, strict=True
                )
            ]
        finally:
            for block in blocks:
                self.memory.free(block)

    def blocks(self, arguments: Sequence[torch.Tensor]) -> tuple[list[int], list[int]]:
        """Card addresses of copies of the arguments, and of memory for the results."""
        from spyre_runtime.formats import write_host

        given = []
        for buffer, tensor in zip(self.executable.arguments, arguments, strict=True):
            block = self.memory.allocate(buffer.bytes)
            layout = DeviceLayout(buffer.dims)
            write_host(self.memory, block.address, tensor.detach(), layout)
            given.append(block.address)
        results = [
            self.memory.allocate(b.bytes).address for b in self.executable.results
        ]
        return given, results
