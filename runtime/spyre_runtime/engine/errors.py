# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can go wrong on the card while a program is bound or runs."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    NameLoc,
)
from xdsl.ir import Attribute, Operation

from spyre_mlir.dialects import dev


class CardError(RuntimeError):
    """A program did what the card cannot do; the message names the record."""

    call = -1
    """Which of a row of calls it was."""


class DeadlockError(CardError):
    """Every unit that has work left waits for a semaphore."""


class BalanceError(CardError):
    """A program ends with other semaphore counts than it began with."""


class BudgetError(CardError):
    """A launch took longer than it may; its buffers hold what it had written."""


class AddressError(CardError):
    """A record reaches outside of a memory, or is not aligned."""


class GatherIndexError(CardError, IndexError):
    """An index lies outside of the dimension that it selects from."""

    def __init__(self, problem: str, record: Operation, location: Attribute):
        self.problem = problem
        self.record = record
        line = location_text(location)
        super().__init__(problem + (f", from {line}" if line else ""))

    def at(self, location: Attribute) -> GatherIndexError:
        """The same error, at another line of the user."""
        return GatherIndexError(self.problem, self.record, location)


class SanitizerError(CardError):
    """A program whose result depends on luck: see `sanitizer`."""


def location_text(location: Attribute) -> str:
    """The user's line of a location, or an empty string if it is unknown."""
    if isinstance(location, FileLineColLoc):
        return f"{location.filename.data}:{location.line.data}"
    if isinstance(location, NameLoc):
        inner = location_text(location.location)
        return f"{inner}, {location.desc.data}" if inner else location.desc.data
    if isinstance(location, CallSiteLoc):
        parts = (location_text(location.callee), location_text(location.caller))
        return " called from ".join(p for p in parts if p)
    if isinstance(location, FusedLoc):
        inside = cast(ArrayAttr[Attribute], location.locations)
        parts = [location_text(part) for part in inside]
        return "; ".join(dict.fromkeys(p for p in parts if p))
    return ""


def describe(op: Operation) -> str:
    """A record by name, stream, program and the user's line."""
    unit = program = ""
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, dev.StreamOp):
            unit = f' of unit "{parent.unit.data}"'
        if isinstance(parent, dev.ProgramOp):
            program = f' in program "{parent.sym_name.data}"'
        parent = parent.parent_op()
    line = location_text(op.location)
    return f"{op.name}{unit}{program}" + (f", from {line}" if line else "")
