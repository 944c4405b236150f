# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a record's meaning is bound for, and what binding it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues

from .codec import Run
from .errors import CardError
from .machine import Machine
from .pieces import Block
from .records import Record, Trips

Runs = tuple[Run, ...]


@dataclass(frozen=True)
class Located:
    """Runs that depend on the DRAM addresses of a call."""

    at: Callable[[Sequence[int]], Runs]


Bound = Runs | Located


@dataclass(frozen=True)
class Site:
    """One record at given trips."""

    record: Record
    trips: Trips
    machine: Machine
    pieces: tuple[Block, ...]
    uniform: tuple[int, ...]
    """Per read: the digits (as bits) along which all cores hold the same."""

    @property
    def adds(self) -> bool:
        return self.record.adds(self.trips)

    def busy(self) -> list[Block]:
        """The pieces in which every axis has elements."""
        return [p for p in self.pieces if all(p.extents)]


def bind(interpreter: Interpreter, site: Site) -> Bound:
    """
    Binds a record by its registered meaning.

    Records have no operands and results, which an interpreter would check, so site and
    actions travel in its data.
    """
    interpreter.set_data(InterpreterFunctions, "site", site)
    try:
        interpreter.run_op(site.record.op)
    except CardError as error:
        # The interpreter has added the text of the whole program.
        error.__notes__ = []
        raise
    return interpreter.get_data(InterpreterFunctions, "bound", _missing)


def site_of(interpreter: Interpreter) -> Site:
    """What the record is to be bound for."""
    return interpreter.get_data(InterpreterFunctions, "site", _missing)


def give(interpreter: Interpreter, bound: Bound) -> PythonValues:
    """Hands over what a record was bound to."""
    interpreter.set_data(InterpreterFunctions, "bound", bound)
    return ()


def _missing() -> None:
    raise AssertionError("a record is bound by a plan's binder")
