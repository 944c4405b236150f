# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Errors that name the user's line.

Every error that a user can meet is a `SpyreError`: a message, lower case and without a
full stop, that says what broke and by how much, then notes: where in the user's code,
and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ArrayAttr
    from xdsl.ir import Attribute


@dataclass(frozen=True)
class SourceLine:
    """A line of the user's program."""

    file: str
    line: int
    text: str = ""
    function: str = ""

    def __str__(self) -> str:
        text = f", {self.text}" if self.text else ""
        return f"{Path(self.file).name}:{self.line}{text}"


class SpyreError(RuntimeError):
    """A message with notes: where it comes from and what to do."""

    def __init__(self, message: str, notes: Sequence[str] = ()):
        self.message = message
        self.notes = tuple(notes)
        super().__init__("\n".join((message, *(f"note: {note}" for note in notes))))


class OptionError(SpyreError):
    """An option that is unknown, or a value that it does not take."""


class Unsupported(SpyreError):
    """An operation that the card does not run, where the host may not either."""

    def __init__(
        self,
        op: str,
        reason: str,
        dtype: str = "",
        shape: Sequence[int] = (),
        where: SourceLine | None = None,
        hint: str = 'pass options={"fallback": "warn"} to run it on the host',
    ):
        self.op = op
        self.reason = reason
        self.dtype = dtype
        self.shape = tuple(shape)
        self.where = where
        tensor = f" giving {dtype}{list(self.shape)}" if dtype else ""
        notes = [f"from {where}"] if where else []
        super().__init__(
            f"{op}{tensor} does not run on the card: {reason}", (*notes, hint)
        )


def source_lines(location: Attribute) -> tuple[SourceLine, ...]:
    """Lines of the user's program that an operation's location names, inner first."""
    from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc

    if isinstance(location, FileLineColLoc):
        return (SourceLine(location.filename.data, location.line.data),)
    if isinstance(location, NameLoc):
        return source_lines(location.location)
    if isinstance(location, CallSiteLoc):
        return (*source_lines(location.callee), *source_lines(location.caller))
    if isinstance(location, FusedLoc):
        parts = cast("ArrayAttr[Attribute]", location.locations)
        found = (line for part in parts for line in source_lines(part))
        return tuple(dict.fromkeys(found))
    return ()


def location_names(location: Attribute) -> tuple[str, ...]:
    """Names (FX node, module path) that an operation's location carries."""
    from xdsl.dialects.builtin import CallSiteLoc, FusedLoc, NameLoc

    if isinstance(location, NameLoc):
        return (location.desc.data, *location_names(location.location))
    if isinstance(location, CallSiteLoc):
        return (*location_names(location.callee), *location_names(location.caller))
    if isinstance(location, FusedLoc):
        parts = cast("ArrayAttr[Attribute]", location.locations)
        found = (name for part in parts for name in location_names(part))
        return tuple(dict.fromkeys(found))
    return ()


def format_location(location: Attribute) -> str:
    """`model.py:41 (mul_3)`, or "" of an unknown location."""
    lines = [str(line) for line in source_lines(location)]
    names = location_names(location)
    suffix = f" ({', '.join(names)})" if names else ""
    return (", ".join(lines) + suffix).strip()


def describe(message: str, location: Attribute, hint: str = "") -> str:
    """
    An error as a user reads it: the message at its first place, a note for each
    further line that leads there, and what to do.
    """
    from xdsl.dialects.builtin import FileLineColLoc

    lines = source_lines(location)
    names = location_names(location)
    head = f"error: {message}"
    if isinstance(location, FileLineColLoc):
        head = f"{lines[0].file}:{lines[0].line}:{location.column.data}: {head}"
    elif lines:
        head = f"{lines[0].file}:{lines[0].line}: {head}"
    notes = [f"note: named {', '.join(names)}"] if names else []
    notes += [f"note: from {line.file}:{line.line}" for line in lines[1:]]
    if hint:
        notes.append(f"note: {hint}")
    return "\n".join((head, *notes))
