# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors that lead to the user's line: what, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    LocationAttr,
    NameLoc,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import PassFailedException


class CompileError(PassFailedException):
    """
    A pass cannot go on with an operation of the user's program.

    `message` begins in lower case, has no full stop and puts values beside limits;
    `hint` says what to do.
    """

    def __init__(self, message: str, op: Operation | None = None, hint: str = ""):
        super().__init__(message)
        self.message = message
        self.op = op
        self.hint = hint


@dataclass(frozen=True)
class SourceLine:
    """A place in a file; `name` is what a location calls it, if it does."""

    file: str
    line: int
    column: int
    name: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


def source_lines(location: Attribute, name: str = "") -> Iterator[SourceLine]:
    """The places that a location names, the operation's own first, then callers."""
    match location:
        case FileLineColLoc():
            yield SourceLine(
                location.filename.data, location.line.data, location.column.data, name
            )
        case NameLoc():
            yield from source_lines(location.location, location.desc.data)
        case CallSiteLoc():
            yield from source_lines(location.callee, name)
            yield from source_lines(location.caller)
        case FusedLoc():
            assert isinstance(location.locations, ArrayAttr)
            for part in cast(ArrayAttr[Attribute], location.locations):
                yield from source_lines(part, name)
        case _:
            return


def quoted(line: SourceLine) -> str:
    """The text of a source line, or empty if the file is not to be read."""
    path = Path(line.file)
    if not path.is_file():
        return ""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return lines[line.line - 1].strip() if 0 < line.line <= len(lines) else ""


def describe(message: str, location: LocationAttr, hint: str = "") -> str:
    """
    An error as the user reads it: the message at its first place, a note for each
    place that leads there, and what to do.
    """
    places = list(dict.fromkeys(source_lines(location)))
    head = f"{places[0]}: error: {message}" if places else f"error: {message}"
    notes = [n for p in places if (n := _note(p, first=p is places[0]))]
    if hint:
        notes.append(f"note: {hint}")
    return "\n".join([head, *notes])


def _note(place: SourceLine, first: bool) -> str:
    named = f" ({place.name})" if place.name else ""
    text = quoted(place) if place.file.endswith(".py") else ""
    if text:
        return f"note: from {place}{named}, {text}"
    return "" if first and not named else f"note: from {place}{named}"
