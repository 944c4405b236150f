# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors in the input of a tool, as a user reads them and as tests match them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import ParseError

from spyre_mlir.diagnostics import (
    SpyreError,
    format_location,
    location_names,
    source_lines,
)
from spyre_mlir.tools.expected import Diagnosed

TOO_DEEP = (
    f"nested too deeply: more than {sys.getrecursionlimit()} calls, about a tenth as "
    "many regions or attributes inside one another"
)


def read_input(file: str) -> str:
    """The text of a file, or of stdin for "-"; IR is UTF-8 whatever the terminal is."""
    try:
        if file == "-":
            return sys.stdin.buffer.read().decode()
        return Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SpyreError(f"{file}: this is no IR text: {error}") from error


class FoundError(Exception):
    """A pass, or the verifier, found an error, at an operation if it is known."""

    def __init__(self, error: Exception, op: Operation | None, during: str):
        super().__init__(str(error))
        self.error = error
        self.op = op
        self.during = during


@dataclass(frozen=True)
class Problem:
    """An error in the input."""

    text: str
    diagnosed: Diagnosed


def of_text(error: ParseError) -> Problem:
    """An error of the parser, with the line under it."""
    location = error.span.get_location()
    context = error.span.print_with_context().split("\n", 1)[1].rstrip()
    text = f"{location}: error: {error.msg}\n{context}"
    return Problem(text, Diagnosed("error", location.line, error.msg))


def of_message(message: str, file: str) -> Problem:
    """An error without a place."""
    return Problem(f"{file}: error: {message}", Diagnosed("error", 0, message))


def of_found(found: FoundError, file: str) -> Problem:
    """An error at an operation, with the lines that it comes from."""
    message, *notes = str(found.error).split("\n")
    if found.op is not None:
        message = f"'{found.op.name}' {message}"
    if found.during:
        message += f" ({found.during})"
    location = getattr(found.error, "location", UNKNOWN_LOC)
    if found.op is not None:
        location = found.op.location
    place = _place(location)
    where = file if place is None else _spelled(place)
    named = f"note: from {format_location(location)}"
    notes = [*(n for n in notes if n != named), *_origins(location, place)]
    if found.op is not None:
        line = str(found.op).split("\n", 1)[0]
        notes.append(f"note: see the operation: {line}")
    text = "\n".join([f"{where}: error: {message}", *notes])
    number = 0 if place is None else place.line.data
    return Problem(text, Diagnosed("error", number, message))


def _spelled(place: FileLineColLoc) -> str:
    return f"{place.filename.data}:{place.line.data}:{place.column.data}"


def _place(location: Attribute) -> FileLineColLoc | None:
    """The first place in a file that a location names."""
    if isinstance(location, FileLineColLoc):
        return location
    for part in _parts(location):
        if (place := _place(part)) is not None:
            return place
    return None


def _parts(location: Attribute) -> list[Attribute]:
    from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FusedLoc, NameLoc

    if isinstance(location, NameLoc):
        return [location.location]
    if isinstance(location, CallSiteLoc):
        return [location.callee, location.caller]
    if isinstance(location, FusedLoc) and isinstance(location.locations, ArrayAttr):
        return list(cast(ArrayAttr[Attribute], location.locations))
    return []


def _origins(location: Attribute, place: FileLineColLoc | None) -> list[str]:
    """Notes for the lines behind the first, and for lines of Python with their text."""
    notes: list[str] = []
    for line in source_lines(location):
        text = _quoted(line.file, line.line) if line.file.endswith(".py") else ""
        first = place is not None and (line.file, line.line) == (
            place.filename.data,
            place.line.data,
        )
        if text:
            notes.append(f"note: from {line}, {text}")
        elif not first:
            notes.append(f"note: from {line}")
    names = ", ".join(location_names(location))
    return [*notes, f"note: from {names}"] if names else notes


def _quoted(file: str, number: int) -> str:
    """The text of a source line, or empty if the file is not to be read."""
    path = Path(file)
    if not path.is_file():
        return ""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""
