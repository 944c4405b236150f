# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Size and form of the source files."""

from __future__ import annotations

import re

from sources import (
    EVERYWHERE,
    PACKAGES,
    functions_of,
    named,
    python_files,
    text_of,
)

MAX_FUNCTION_LINES = 80
MAX_FILE_LINES = 600
SPDX = "# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"

STUBS = re.compile("TO" + "DO|FIX" + r"ME|\braise NotImplemented" + r"Error\b")
SWALLOWED = re.compile(r"except (Base)?Exception\b|except:")


def test_functions_are_short() -> None:
    long = [
        f"{named(path)}:{line}: {name} has {length} lines"
        for path in python_files(*EVERYWHERE)
        for name, line, length in functions_of(path)
        if length > MAX_FUNCTION_LINES
    ]
    assert not long, "\n".join(long)


def test_files_are_short() -> None:
    long = [
        f"{named(path)} has {lines} lines"
        for path in python_files(*EVERYWHERE)
        if (lines := len(text_of(path).splitlines())) > MAX_FILE_LINES
    ]
    assert not long, "\n".join(long)


def test_files_say_their_licence() -> None:
    missing = [
        named(path)
        for path in python_files(*EVERYWHERE)
        if not text_of(path).startswith(SPDX)
    ]
    assert not missing, "\n".join(missing)


def test_nothing_is_left_to_do() -> None:
    found = [
        f"{named(path)}: {match.group()}"
        for path in python_files(*EVERYWHERE)
        for match in STUBS.finditer(text_of(path))
    ]
    assert not found, "\n".join(found)


def test_no_exception_is_swallowed() -> None:
    found = [
        f"{named(path)}: {match.group()}"
        for path in python_files(*PACKAGES)
        for match in SWALLOWED.finditer(text_of(path))
    ]
    assert not found, "\n".join(found)
