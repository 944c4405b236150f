# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Loads an image onto a card and launches it.

    executable = load(card, open("model.spyre", "rb").read())
    executable.launch(argument_addresses, result_addresses)
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cached_property, partial

import torch

from spyre_mlir.algebra.layout import STICK_BYTES
from spyre_mlir.binary.bounds import UNLIMITED, Budget, check_bounds
from spyre_mlir.binary.image import Buffer, HostValue, Image, ImageError
from spyre_mlir.binary.reader import read
from spyre_mlir.dialects import dev

from .card import Card
from .clock import ImageTiming, time_image
from .engine import GatherIndexError, LaunchedCall
from .memory import Block

Row = list[LaunchedCall]
"""Programs with the addresses of their symbols and the buffers there, in order."""

KEPT_ROWS = 16
"""Rows kept per image, by the addresses that they were made for."""

observers: list[Callable[[Executable], None]] = []
"""Called at each launch with what is launched, by tools that report."""


class Executable:
    """An image on a card: its programs, constants and pool."""

    def __init__(
        self,
        card: Card,
        image: Image,
        timed: bool = True,
        budget: Budget = UNLIMITED,
    ):
        self._pool: Block | None = None
        self._constants: Block | None = None
        self._running = False
        self._ready = False
        chip = card.chip
        if image.fingerprint != chip.fingerprint():
            raise ImageError(
                f'image is compiled for chip "{image.chip}" {image.fingerprint}, the '
                f'card is "{chip.name}" {chip.fingerprint()}: compile it again'
            )
        check_bounds(image, chip, budget)
        self.card = card
        self.image = image
        self.budget = budget
        self.timed = timed
        """Whether launches advance the card's simulated time."""
        self.engine = card.engine(image.numerics)
        if self.engine.sanitize:
            from .engine.sanitize_image import check_buffers

            check_buffers(image)
        self._rows: OrderedDict[tuple[object, ...], Row] = OrderedDict()
        card.memory.on_pressure(self.release)
        self._ready = True

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # At the end of the process modules are empty already, and memory goes anyway.
        if is_finalizing() or not self._ready:
            return
        self._running = False
        self.release()
        self.engine.forget(self.image.programs)
        if self._constants is not None:
            self.card.memory.free(self._constants)

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
        if self._running:
            return
        pool, self._pool = self._pool, None
        if pool is not None:
            self.card.memory.free(pool)

    def prepare(self) -> None:
        """Does what a first launch would: binds the programs and times them."""
        for program in self.image.programs:
            self.card.submit(partial(self.engine.prepare, program))
        if self.timed:
            _ = self.total_picoseconds

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
        self._running = True
        try:
            row = self._row(arguments, results)
            self.engine.run_row(row, self.budget.seconds)
        except GatherIndexError as error:
            raise self._located(error) from None
        finally:
            self._running = False
        if self.timed:
            self.card.advance(self.total_picoseconds)

    def _located(self, error: GatherIndexError) -> GatherIndexError:
        """The error at the line of its own call: calls may share a program."""
        program = self.image.programs[self.image.calls[error.call].program]
        records = (op for op, _ in dev.walk_records(program))
        number = next(k for k, op in enumerate(records) if op is error.record)
        return error.at(self.image.location(error.call, number))

    def _row(self, arguments: Sequence[int], results: Sequence[int]) -> Row:
        # The constants first: what they need may cost other images their pools.
        constants = self._constant_address()
        if self._pool is None and self.image.pool_bytes:
            self._pool = self.card.memory.allocate(self.image.pool_bytes)
        pool = self._pool.address if self._pool is not None else 0
        key = (pool, constants, *arguments, *results)
        row = self._rows.get(key)
        if row is None:
            self._check_addresses(self.image.arguments, arguments)
            self._check_addresses(self.image.results, results)
            base = self._bases(pool, constants, arguments, results)
            row = self._rows[key] = [
                (
                    self.image.programs[call.program],
                    tuple(base[buffer] + offset for buffer, offset in call.symbols),
                    tuple(
                        (base[buffer], self.image.buffers[buffer].bytes)
                        for buffer, _ in call.symbols
                    ),
                )
                for call in self.image.calls
            ]
            if len(self._rows) > KEPT_ROWS:
                self._rows.popitem(last=False)
        return row

    def _check_addresses(
        self, values: Sequence[HostValue], given: Sequence[int]
    ) -> None:
        """What the caller gives holds the buffers."""
        end = self.card.memory.bytes_tensor.numel()
        for value, address in zip(values, given, strict=True):
            nbytes = self.image.buffers[value.buffer].bytes
            if address % STICK_BYTES or not 0 <= address <= end - nbytes:
                raise ImageError(
                    f"{nbytes} bytes at address {address} are no sticks of a card of "
                    f"{end} bytes"
                )

    def _bases(
        self, pool: int, constants: int, given: Sequence[int], results: Sequence[int]
    ) -> list[int]:
        """The address of each buffer."""
        start = {"constant": constants, "temporary": pool, "argument": 0, "result": 0}
        bases = [start[b.kind] + b.offset for b in self.image.buffers]
        for value, address in zip(self.image.arguments, given, strict=True):
            bases[value.buffer] = address
        for value, address in zip(self.image.results, results, strict=True):
            bases[value.buffer] = address
        return bases

    def _constant_address(self) -> int:
        data = self.image.constants
        if not data:
            return 0
        if self._constants is None:
            block = self._constants = self.card.memory.allocate(len(data))
            view = self.card.memory.bytes_tensor[
                block.address : block.address + len(data)
            ]
            view.copy_(torch.frombuffer(bytearray(data), dtype=torch.uint8))
        return self._constants.address

    @cached_property
    def timing(self) -> ImageTiming:
        """Simulated time of each program, worked out when it is first asked for."""
        return time_image(self.image, self.card.chip)

    @cached_property
    def total_picoseconds(self) -> int:
        """Simulated time of one launch on the device."""
        return self.timing.total_ps


def load(
    card: Card, data: bytes, timed: bool = True, budget: Budget | None = None
) -> Executable:
    """
    An image's bytes, checked and ready to launch on a card.

    A file may not be what the compiler wrote: it is refused with an ImageError, or its
    launch ends with one, where it costs more than the budget; `UNLIMITED` trusts it.
    """
    budget = Budget() if budget is None else budget
    if budget != UNLIMITED:
        budget = Budget(budget.seconds, min(budget.bytes, card.memory.nbytes))
    return Executable(card, read(data), timed, budget)
