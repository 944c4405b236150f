# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The functional machine: runs `dev` programs on the bytes of a card.

    engine = Engine(memory)
    engine.run(program, symbols)

The first run binds the program into a list of actions; later ones replay it.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Protocol

import torch

from spyre_mlir import config
from spyre_mlir.dialects import dev

from ..forks import taken_at_forks
from .codec import Codec, Ieee
from .deadline import Deadline
from .dl16 import DlFloat
from .errors import CardError
from .guard import plain_torch
from .kept import Kept
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
MOST_PLAN_ACTIONS = 400_000
"""Bound actions kept in plans, which are dear to make: about a kilobyte each."""
MOST_CALL_ACTIONS = 200_000
"""Actions kept that were bound to the addresses of calls, which is quickly redone."""

Call = tuple[dev.ProgramOp, tuple[int, ...]]
"""A program and the address of each of its symbols."""
LaunchedCall = tuple[dev.ProgramOp, tuple[int, ...], tuple[Bounds, ...] | None]
"""A program, the address of each of its symbols, and what each may touch."""


class ChipLike(Protocol):
    """What the machine needs to know about a chip."""

    @property
    def cores(self) -> int: ...

    @property
    def scratchpad_bytes_per_core(self) -> int: ...


@dataclass(frozen=True)
class _BoundCall:
    """The actions of a call."""

    call: Call
    runs: Runs
    checked: set[tuple[Bounds, ...] | None] = field(
        default_factory=set[tuple[Bounds, ...] | None]
    )
    """Bounds for which the sanitizer has looked at the call."""


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
            sanitize = config.switch("SPYRE_SANITIZE")
        self.sanitize = sanitize
        self.deadline = Deadline()
        self.binder = Binder(self.machine, self.deadline)
        self._plans: Kept[dev.ProgramOp, Plan] = Kept(MOST_PLAN_ACTIONS)
        self._calls: Kept[Call, _BoundCall] = Kept(MOST_CALL_ACTIONS)
        self._calls_of: defaultdict[dev.ProgramOp, set[Call]] = defaultdict(set)
        self._dead: deque[dev.ProgramOp] = deque()
        self._lock = taken_at_forks(threading.Lock())
        """Of what is kept; `forget` may come from any thread, and never waits."""

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

    def run_row(self, calls: Sequence[LaunchedCall], seconds: float = inf) -> None:
        """
        Runs programs one after the other; an error says which call it was.

        BudgetError if that takes the processor more than `seconds`.
        """
        with plain_torch(), self.deadline.within(seconds):
            for number, (program, symbols, bounds) in enumerate(calls):
                try:
                    call = self._bound_call(program, symbols)
                    if self.sanitize:
                        self._check(call, bounds)
                    for action in self.deadline.watched(call.runs):
                        action()
                except CardError as error:
                    error.call = number
                    raise

    def prepare(self, program: dev.ProgramOp) -> None:
        """Binds a program but for the addresses of its calls."""
        with plain_torch():
            self._plan(program, program.symbols.value.data)

    def forget(self, programs: Iterable[dev.ProgramOp]) -> None:
        """Drops all that is bound of programs that will not run again."""
        self._dead.extend(programs)
        self._bury()

    @property
    def kept_actions(self) -> tuple[int, int]:
        """Bound actions that are kept, of plans and of calls."""
        return self._plans.weight, self._calls.weight

    def _check(self, call: _BoundCall, bounds: tuple[Bounds, ...] | None) -> None:
        """Once for a call and its bounds; scratchpads become NaN every time."""
        self.machine.lx.fill_(0xFF)
        if bounds not in call.checked:
            program, symbols = decode(call.call[0]), call.call[1]
            check(program, self.machine.lx_bytes, symbols, bounds)
            call.checked.add(bounds)

    def _bound_call(
        self, program: dev.ProgramOp, symbols: tuple[int, ...]
    ) -> _BoundCall:
        call = program, symbols
        with self._lock:
            found = self._calls.get(call)
        if found is None:
            plan = self._plan(program, len(symbols))
            found = _BoundCall(call, plan.runs(symbols))
            with self._lock:
                for gone in self._calls.add(call, found, plan.weight_of(found.runs)):
                    self._calls_of[gone.call[0]].discard(gone.call)
                self._calls_of[program].add(call)
        self._bury()
        return found

    def _plan(self, program: dev.ProgramOp, symbols: int) -> Plan:
        with self._lock:
            plan = self._plans.get(program)
        if plan is not None:
            return plan
        if symbols != program.symbols.value.data:
            raise CardError(
                f'program "{program.sym_name.data}" has '
                f"{program.symbols.value.data} symbols, not {symbols}"
            )
        plan = self.binder.bind(decode(program))
        log.debug("bound %s", program.sym_name.data)
        with self._lock:
            self._plans.add(program, plan, plan.weight)
        return plan

    def _bury(self) -> None:
        """Drops what was forgotten, unless another is at it."""
        while self._dead and self._lock.acquire(blocking=False):
            try:
                while self._dead:
                    program = self._dead.popleft()
                    self._plans.discard(program)
                    for call in self._calls_of.pop(program, ()):
                        self._calls.discard(call)
            finally:
                self._lock.release()


def _codec(numerics: str, scratch: Scratch) -> Codec:
    if numerics == "ieee":
        return Ieee()
    if numerics == "dl16":
        return DlFloat(scratch)
    raise CardError(f'numerics "{numerics}" is neither ieee nor dl16')
