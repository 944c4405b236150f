# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Loads an image onto a card and launches it.

    executable = load(card, open("model.spyre", "rb").read())
    executable.launch(argument_addresses, result_addresses)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from spyre_mlir.binary.image import Buffer, Image, ImageError
from spyre_mlir.binary.reader import read

from .card import Card
from .clock import Timing, time_program
from .memory import Block

observers: list[Callable[[Executable], None]] = []
"""Called at each launch with what is launched, by tools that report."""


class Executable:
    """An image on a card: its programs, constants and pool."""

    def __init__(self, card: Card, image: Image):
        chip = card.chip
        if image.fingerprint != chip.fingerprint():
            raise ImageError(
                f'image is compiled for chip "{image.chip}" {image.fingerprint}, the '
                f'card is "{chip.name}" {chip.fingerprint()}: compile it again'
            )
        self.card = card
        self.image = image
        self.engine = card.engine(image.numerics)
        self._pool: Block | None = None
        self._constants: Block | None = None
        self._symbols: dict[tuple[int, ...], list[Callable[[], None]]] = {}
        card.memory.on_pressure(self.release)

    @property
    def arguments(self) -> list[Buffer]:
        """The buffers of the arguments, in order."""
        return [self.image.buffers[v.buffer] for v in self.image.arguments]

    @property
    def results(self) -> list[Buffer]:
        """The buffers of the results, in order."""
        return [self.image.buffers[v.buffer] for v in self.image.results]

    def release(self) -> None:
        """Gives the pool back; the next launch takes another."""
        if self._pool is not None:
            self.card.memory.free(self._pool)
            self._pool = None

    def launch(self, arguments: Sequence[int], results: Sequence[int]) -> None:
        """
        Runs the image on tensors at these card addresses, in the layouts of its
        buffers. Results must not overlap arguments.
        """
        if len(arguments) != len(self.image.arguments):
            raise ImageError(
                f"{len(arguments)} arguments, the image takes "
                f"{len(self.image.arguments)}"
            )
        if len(results) != len(self.image.results):
            raise ImageError(
                f"{len(results)} results, the image gives {len(self.image.results)}"
            )
        self.card.submit(lambda: self._run(arguments, results))

    def _run(self, arguments: Sequence[int], results: Sequence[int]) -> None:
        for observe in observers:
            observe(self)
        base = self._bases(arguments, results)
        for call in self.image.calls:
            symbols = [base[buffer] + offset for buffer, offset in call.symbols]
            self.engine.run(self.image.programs[call.program], symbols)
        self.card.advance(self.total_picoseconds)

    def _bases(self, arguments: Sequence[int], results: Sequence[int]) -> list[int]:
        """The address of each buffer."""
        if self._pool is None and self.image.pool_bytes:
            self._pool = self.card.memory.allocate(self.image.pool_bytes)
        pool = self._pool.address if self._pool is not None else 0
        constants = self._constant_address()
        given = {
            v.buffer: a for v, a in zip(self.image.arguments, arguments, strict=True)
        }
        given |= {v.buffer: a for v, a in zip(self.image.results, results, strict=True)}
        bases = []
        for index, buffer in enumerate(self.image.buffers):
            if index in given:
                bases.append(given[index])
            elif buffer.kind == "constant":
                bases.append(constants + buffer.offset)
            else:
                bases.append(pool + buffer.offset)
        return bases

    def _constant_address(self) -> int:
        if not self.image.constants:
            return 0
        if self._constants is None:
            import torch

            data = self.image.constants
            block = self._constants = self.card.memory.allocate(len(data))
            view = self.card.memory.bytes_tensor[
                block.address : block.address + len(data)
            ]
            view.copy_(torch.frombuffer(bytearray(data), dtype=torch.uint8))
        return self._constants.address

    @cached_property
    def timings(self) -> list[Timing]:
        """Simulated time of each program."""
        return [time_program(p, self.card.chip) for p in self.image.programs]

    @cached_property
    def total_picoseconds(self) -> int:
        """Simulated time of one launch on the device."""
        return sum(self.timings[call.program].total_ps for call in self.image.calls)


def load(card: Card, data: bytes) -> Executable:
    """An image's bytes, checked and ready to launch on a card."""
    return Executable(card, read(data))
