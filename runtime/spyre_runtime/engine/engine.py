# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The functional machine: runs `dev` programs on the bytes of a card.

    engine = Engine(memory)
    engine.run(program, symbols)

The first run binds the program into a list of actions; later ones replay it.
"""

from __future__ import annotations

import logging
import os
from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol

import torch

from spyre_mlir.dialects import dev

from .codec import Codec, Ieee
from .dl16 import DlFloat
from .errors import CardError
from .guard import plain_torch
from .machine import Machine
from .plan import Binder, Plan
from .records import decode
from .sanitize_dram import Bounds
from .sanitizer import check
from .scratch import Scratch
from .site import Runs

log = logging.getLogger(__name__)

CORES = 32
SCRATCHPAD_BYTES = 2 << 20
MOST_ACTIONS = 400_000
"""Bound actions kept over all plans: about a kilobyte each."""

LaunchedCall = tuple[dev.ProgramOp, tuple[int, ...], tuple[Bounds, ...] | None]
"""A program, the address of each of its symbols, and what each may touch."""


class ChipLike(Protocol):
    """What the machine needs to know about a chip."""

    @property
    def cores(self) -> int: ...

    @property
    def scratchpad_bytes_per_core(self) -> int: ...


class _Bound:
    """A plan and the calls that it is bound to."""

    def __init__(self, plan: Plan):
        self.plan = plan
        self.calls: OrderedDict[tuple[int, ...], Runs] = OrderedDict()
        self.checked: set[object] = set()
        """Calls that the sanitizer has looked at."""

    @property
    def weight(self) -> int:
        return self.plan.weight + sum(len(runs) for runs in self.calls.values())


class Engine:
    """Scratchpads and arithmetic of one card; `memory` is its DRAM as bytes."""

    def __init__(
        self,
        memory: torch.Tensor,
        chip: ChipLike | None = None,
        numerics: str = "ieee",
        sanitize: bool | None = None,
    ):
        if memory.dtype is not torch.uint8 or memory.dim() != 1:
            raise CardError("the card's memory is one row of bytes")
        cores = chip.cores if chip else CORES
        lx_bytes = chip.scratchpad_bytes_per_core if chip else SCRATCHPAD_BYTES
        with plain_torch():
            scratch = Scratch()
            codec = _codec(numerics, scratch)
            self.machine = Machine(memory, cores, lx_bytes, codec, scratch)
        if sanitize is None:
            sanitize = os.environ.get("SPYRE_SANITIZE", "0") == "1"
        self.sanitize = sanitize
        self.binder = Binder(self.machine)
        self._bound: OrderedDict[dev.ProgramOp, _Bound] = OrderedDict()

    @property
    def lx(self) -> torch.Tensor:
        """The scratchpads: bytes by core."""
        return self.machine.lx

    def run(
        self,
        program: dev.ProgramOp,
        symbols: Sequence[int] = (),
        bounds: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        """
        Runs a program with the DRAM address of each of its symbols.

        The sanitizer also takes `bounds`: by symbol, address and bytes of the buffer
        that the program may touch through it.
        """
        given = None if bounds is None else tuple(bounds)
        self.run_row([(program, tuple(symbols), given)])

    def run_row(self, calls: Sequence[LaunchedCall]) -> None:
        """Runs programs one after the other; an error says which call it was."""
        with plain_torch():
            for number, (program, symbols, bounds) in enumerate(calls):
                try:
                    actions = self._actions(program, symbols)
                    if self.sanitize:
                        self._check(program, symbols, bounds)
                    for action in actions:
                        action()
                except CardError as error:
                    error.call = number
                    raise

    def _check(
        self,
        program: dev.ProgramOp,
        symbols: tuple[int, ...],
        bounds: tuple[Bounds, ...] | None,
    ) -> None:
        """Once for a call and its bounds; scratchpads become NaN every time."""
        self.machine.lx.fill_(0xFF)
        key = symbols, bounds
        bound = self._bound[program]
        if key not in bound.checked:
            check(bound.plan.program, self.machine.lx_bytes, symbols, bounds)
            bound.checked.add(key)

    def _actions(self, program: dev.ProgramOp, symbols: tuple[int, ...]) -> Runs:
        bound = self._bound.get(program)
        if bound is None:
            if len(symbols) != program.symbols.value.data:
                raise CardError(
                    f'program "{program.sym_name.data}" has '
                    f"{program.symbols.value.data} symbols, not {len(symbols)}"
                )
            bound = self._bound[program] = _Bound(self.binder.bind(decode(program)))
            log.debug("bound %s", program.sym_name.data)
        self._bound.move_to_end(program)
        runs = bound.calls.get(symbols)
        if runs is None:
            runs = bound.calls[symbols] = bound.plan.runs(symbols)
            self._evict(program)
        bound.calls.move_to_end(symbols)
        return runs

    def _evict(self, current: dev.ProgramOp) -> None:
        """Drops the plans and calls that were used least recently."""
        weight = sum(b.weight for b in self._bound.values())
        while weight > MOST_ACTIONS:
            oldest = next(iter(self._bound))
            bound = self._bound[oldest]
            if len(bound.calls) > 1:
                _, runs = bound.calls.popitem(last=False)
                weight -= len(runs)
            elif oldest is not current:
                weight -= self._bound.pop(oldest).weight
            else:
                return


def _codec(numerics: str, scratch: Scratch) -> Codec:
    if numerics == "ieee":
        return Ieee()
    if numerics == "dl16":
        return DlFloat(scratch)
    raise CardError(f'numerics "{numerics}" is neither ieee nor dl16')
