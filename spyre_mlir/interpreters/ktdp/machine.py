# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Cores that run one kernel, and the table of what each op does on a core.

A core is a coroutine: it runs until it waits for another core's contribution. Plain
ops are functions in `HANDLERS`; ops with regions that may wait, and the deliveries,
are generators in `FLOW`. xDSL's own interpreter cannot leave an op half way, which is
why this one stands beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeAlias

import torch
from torch import Tensor
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator, SymbolTable
from xdsl.utils.exceptions import InterpretationError

from spyre_mlir.dialects.ktdp import (
    GRID,
    DeliveryOp,
    InterTileProduceOp,
    SetError,
    grid_of,
)

from .errors import DeadlockError, KernelError, describe, located
from .lives import Lives, held_bytes
from .memory import Memory
from .values import argument

Values: TypeAlias = tuple[Any, ...]
Handler: TypeAlias = Callable[["Core", Any, Values], Values]
Steps: TypeAlias = Generator["Wait", None, Values]
Flow: TypeAlias = Callable[["Core", Any, Values], Steps]

HANDLERS: dict[type[Operation], Handler] = {}
FLOW: dict[type[Operation], Flow] = {}


def handles(*ops: type[Operation]) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(ops, handler))
        return handler

    return register


def steps(*ops: type[Operation]) -> Callable[[Flow], Flow]:
    def register(flow: Flow) -> Flow:
        FLOW.update(dict.fromkeys(ops, flow))
        return flow

    return register


@dataclass
class Post:
    """One execution of a production: who has contributed what."""

    contributions: dict[int, Values] = field(default_factory=dict)
    taken: int = 0


@dataclass(frozen=True)
class Wait:
    """What a core waits for before it can go on."""

    op: DeliveryOp
    sources: tuple[int, ...]
    post: Post

    def missing(self) -> list[int]:
        return [tile for tile in self.sources if tile not in self.post.contributions]


@dataclass(frozen=True)
class Future:
    """The value of a tile_future: which execution of which production."""

    op: InterTileProduceOp
    number: int


class Core:
    """One core: its place in the grid, its scratchpad and its values."""

    def __init__(self, machine: Machine, number: int, coordinates: tuple[int, ...]):
        self.machine = machine
        self.number = number
        self.coordinates = coordinates
        self.scratchpad = Memory.undefined(
            f"the scratchpad of core {number}", machine.lx_bytes
        )
        self.values: dict[SSAValue, Any] = {}
        self.live_bytes = 0
        """Scratchpad that tensor values hold which something is still to read."""
        self.produced: dict[Operation, int] = {}
        self.iteration: list[tuple[Tensor, ...]] = []
        """Coordinates of the linalg bodies being evaluated, innermost last."""

    def run(self, block: Block, args: Values) -> Steps:
        """Runs a block; gives the operands of its terminator."""
        self.values.update(zip(block.args, args, strict=True))
        ends = self.machine.lives.ends(block)
        for op in block.ops:
            operands = tuple(self.values[operand] for operand in op.operands)
            flow = FLOW.get(type(op))
            if flow is not None:
                results = yield from flow(self, op, operands)
            elif op.has_trait(IsTerminator):
                self._hold(op, ends[op])
                return operands
            else:
                results = self.perform(op, operands)
            self.values.update(zip(op.results, results, strict=True))
            self._hold(op, ends[op])
        return ()

    def _hold(self, op: Operation, ended: Sequence[SSAValue]) -> None:
        """
        Counts the tensors that an op makes, and no longer those that it reads last;
        what a block gives to the op around it is counted there.
        """
        for sign, values in ((-1, ended), (1, op.results)):
            for value in values:
                self.live_bytes += sign * held_bytes(value, self.values[value])
        if self.live_bytes > self.machine.lx_bytes:
            message = (
                f"tensor values of {self.live_bytes} bytes are alive here, the "
                f"scratchpad has {self.machine.lx_bytes}"
            )
            raise located(op, self.number, InterpretationError(message))

    def run_body(self, block: Block, args: Values) -> Values:
        """Runs a block of which nothing can wait."""
        self.values.update(zip(block.args, args, strict=True))
        for op in block.ops:
            operands = tuple(self.values[operand] for operand in op.operands)
            if op.has_trait(IsTerminator):
                return operands
            results = self.perform(op, operands)
            self.values.update(zip(op.results, results, strict=True))
        return ()

    def perform(self, op: Operation, operands: Values) -> Values:
        handler = HANDLERS.get(type(op))
        if handler is None:
            raise KernelError(f"{describe(op)}: no meaning is known for this op")
        try:
            return handler(self, op, operands)
        except KernelError:
            raise
        except (InterpretationError, RuntimeError, SetError) as error:
            raise located(op, self.number, error) from error


class Machine:
    """All cores of one launch, the memory they share, and their mail."""

    def __init__(
        self,
        module: ModuleOp | None,
        dram: Tensor,
        grid: Sequence[int],
        lx_bytes: int,
        last_fastest: bool,
    ):
        self.module = module
        self.dram = Memory("DRAM", dram)
        self.grid = tuple(grid)
        self.lx_bytes = lx_bytes
        self.lives = Lives()
        self.posts: dict[Future, Post] = {}
        self.cores = [
            Core(self, number, grid_coordinates(number, self.grid, last_fastest))
            for number in range(prod(self.grid))
        ]

    def function(self, symbol: SymbolRefAttr) -> FuncOp:
        found = (
            None
            if self.module is None
            else SymbolTable.lookup_symbol(self.module, symbol)
        )
        if not isinstance(found, FuncOp):
            raise InterpretationError(f"no function {symbol}")
        return found

    def launch(self, function: FuncOp, arguments: Values) -> None:
        """Runs the cores in turn, each until it waits, until all have finished."""
        block = function.body.block
        waiting: dict[int, Wait] = {}
        running = {core.number: core.run(block, arguments) for core in self.cores}
        while running:
            ready = [
                number
                for number in running
                if number not in waiting or not waiting[number].missing()
            ]
            if not ready:
                raise _deadlock(waiting)
            for number in ready:
                try:
                    waiting[number] = next(running[number])
                except StopIteration:
                    waiting.pop(number, None)
                    del running[number]


def grid_coordinates(
    number: int, grid: Sequence[int], last_fastest: bool
) -> tuple[int, ...]:
    """A core's grid coordinates from its linear number, in either order."""
    coordinates: list[int] = []
    for size in reversed(grid) if last_fastest else grid:
        coordinates.append(number % size)
        number //= size
    return tuple(reversed(coordinates)) if last_fastest else tuple(coordinates)


def _deadlock(waiting: dict[int, Wait]) -> DeadlockError:
    lines = [
        f"core {number} waits for {wait.missing()} in {describe(wait.op)}"
        for number, wait in sorted(waiting.items())[:8]
    ]
    rest = len(waiting) - len(lines)
    if rest:
        lines.append(f"and {rest} more")
    return DeadlockError("deadlock: " + "; ".join(lines))


def run_kernel(
    kernel: ModuleOp | FuncOp,
    arguments: Sequence[int | float],
    dram: Tensor,
    grid: Sequence[int] | None,
    lx_bytes: int,
    last_fastest: bool,
    name: str | None,
) -> Machine:
    """See `spyre_mlir.interpreters.ktdp.run_kernel`."""
    function = _kernel(kernel, name)
    expected = len(function.function_type.inputs)
    if len(arguments) != expected:
        raise InterpretationError(
            f"@{function.sym_name.data} takes {expected} arguments, got "
            f"{len(arguments)}"
        )
    module = function.get_toplevel_object()
    machine = Machine(
        module if isinstance(module, ModuleOp) else None,
        dram,
        grid_of(function) if grid is None else grid,
        lx_bytes,
        last_fastest,
    )
    types = function.function_type.inputs
    values = tuple(map(argument, arguments, types))
    with torch.no_grad():
        machine.launch(function, values)
    return machine


def _kernel(kernel: ModuleOp | FuncOp, name: str | None) -> FuncOp:
    if isinstance(kernel, FuncOp):
        return kernel
    functions = [op for op in kernel.walk() if isinstance(op, FuncOp)]
    if name is not None:
        functions = [f for f in functions if f.sym_name.data == name]
    elif len(functions) > 1:
        functions = [f for f in functions if GRID in f.attributes]
    if len(functions) != 1:
        raise InterpretationError(
            f"expected one kernel, found {len(functions)}; name one"
        )
    return functions[0]
