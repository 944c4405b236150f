# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Binding a program: the functional walk once, each record's meaning as bound actions.

What lies in scratchpads is bound once per program; only DRAM records are bound again
for other addresses. Trips that do the same to the same bytes share their actions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import Interpreter

from spyre_mlir.algebra.layout import STICK_BYTES

from .deadline import Deadline
from .errors import CardError
from .gather import GatherFunctions
from .machine import Machine
from .matmul import MatmulFunctions
from .moves import MoveFunctions
from .pieces import Block, pieces
from .records import Program, Record, Trips
from .site import Bound, Located, Runs, Site, bind
from .uniform import Touched, Uniform
from .vector import VectorFunctions
from .walk import walk


def interpreter() -> Interpreter:
    """The machine's meaning of every record."""
    result = Interpreter(ModuleOp([]))
    for functions in (
        MoveFunctions(),
        GatherFunctions(),
        MatmulFunctions(),
        VectorFunctions(),
    ):
        result.register_implementations(functions)
    return result


_PLACES_PER_ACTION = 128
"""Places in a list that take as much memory as a bound action."""


@dataclass(frozen=True)
class Plan:
    """A program bound but for the addresses of a call."""

    program: Program
    parts: tuple[Bound, ...]

    @property
    def weight(self) -> int:
        """Bound actions and records, as a measure of memory."""
        distinct = {id(part): part for part in self.parts}.values()
        actions = sum(1 if isinstance(p, Located) else len(p) for p in distinct)
        return actions + len(self.parts) // _PLACES_PER_ACTION

    def weight_of(self, runs: Runs) -> int:
        """The same of a call's actions, but for those that are the plan's own."""
        own = sum(len(p) for p in self.parts if not isinstance(p, Located))
        return 1 + len(runs) - own + len(runs) // _PLACES_PER_ACTION

    def runs(self, symbols: Sequence[int]) -> Runs:
        """Every action of a call, in order."""
        return tuple(
            run
            for part in self.parts
            for run in (part.at(symbols) if isinstance(part, Located) else part)
        )


class Binder:
    """Binds programs to one machine."""

    def __init__(self, machine: Machine, deadline: Deadline):
        self._machine = machine
        self._deadline = deadline
        self._interpreter = interpreter()
        self.starts_defined = False
        """Programs may read what scratchpads hold at their start."""

    def bind(self, program: Program) -> Plan:
        if program.cores > self._machine.cores:
            raise CardError(
                f'program "{program.name}" wants {program.cores} of '
                f"{self._machine.cores} cores"
            )
        return Plan(program, tuple(self._parts(program)))

    def _parts(self, program: Program) -> Iterator[Bound]:
        sticks = self._machine.lx_bytes // STICK_BYTES
        uniform = Uniform(program.grid, sticks, Touched(), self.starts_defined)
        known: dict[tuple[object, ...], Bound] = {}
        groups: dict[tuple[object, ...], tuple[Block, ...]] = {}
        for record, trips in self._deadline.watched(walk(program)):
            done = tuple(
                trips[a.loop] * a.tile if a.loop >= 0 else 0 for a in record.axes
            )
            cores = groups.get((record, done))
            if cores is None:
                cores = pieces(record.grid, record.axes, trips)
                groups[record, done] = cores
            busy = [p for p in cores if all(p.extents)]
            reads = [uniform.read(record, a, trips, busy) for a in record.reads]
            key = _key(record, trips, cores, reads)
            part = known.get(key)
            if part is None:
                site = Site(record, trips, self._machine, cores, tuple(reads))
                part = known[key] = bind(self._interpreter, site)
            uniform.write(record, trips, busy, reads)
            yield part


def _key(
    record: Record, trips: Trips, cores: tuple[Block, ...], reads: list[int]
) -> tuple[object, ...]:
    """All that a record's actions depend on."""
    offsets = tuple(record.offset(a, trips) for a in record.accesses)
    origins = tuple(
        record.axes[a].start((0,) * len(record.grid), trips)
        for a in record.indexed_axes
    )
    return record, offsets, cores, record.adds(trips), tuple(reads), origins
