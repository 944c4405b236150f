# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
`--verify-diagnostics`: errors that a test file expects, written beside their cause.

    // expected-error @+1 {{stick dimension out of range}}

`@+n`, `@-n`, `@below` and `@above` count from the comment's line, nothing means that
line, `@unknown` an error without a place. `expected-error-re` takes, between `{{` and
`}}` within the text, regular expressions; `expected-warning`, `-remark` and `-note`
expect what is no error. A comment that begins like one and is none is an error itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_BEGIN = re.compile(r"//.*expected-(error|warning|remark|note)(-re)?\s*[@{]")
_COMMENT = re.compile(
    r"expected-(?P<severity>error|warning|remark|note)(?P<re>-re)?\s*"
    r"(?:@\s*(?P<where>[+-]\d+|below|above|unknown))?"
    r"\s*\{\{(?P<text>.*)\}\}"
)
MALFORMED = "malformed"
"""Severity of a comment that begins like an expectation; nothing meets it."""
_WORDS = {"below": 1, "above": -1, "unknown": 0}


@dataclass(frozen=True)
class Diagnosed:
    """Something that was reported; line 0: without a place."""

    severity: str
    line: int
    message: str


@dataclass(frozen=True)
class Expected:
    """Something that a comment expects; line 0: without a place."""

    severity: str
    line: int
    pattern: str
    comment_line: int
    text: str = ""
    """As the comment has it."""

    def matches(self, found: Diagnosed) -> bool:
        return (
            found.severity == self.severity
            and found.line == self.line
            and re.search(self.pattern, found.message, re.DOTALL) is not None
        )


def expectations(text: str) -> list[Expected]:
    """What the comments of a file expect."""
    found: list[Expected] = []
    for number, line in enumerate(text.split("\n"), start=1):
        match = _COMMENT.search(line)
        if match is None:
            if _BEGIN.search(line):
                found.append(Expected(MALFORMED, number, "(?!)", number))
            continue
        where = match["where"] or "+0"
        offset = _WORDS[where] if where in _WORDS else int(where)
        target = 0 if where == "unknown" else number + offset
        pattern = _pattern(match["text"]) if match["re"] else re.escape(match["text"])
        text = match["text"]
        found.append(Expected(match["severity"], target, pattern, number, text))
    return found


def _pattern(text: str) -> str:
    parts = re.split(r"\{\{(.*?)\}\}", text)
    return "".join(p if k % 2 else re.escape(p) for k, p in enumerate(parts))


def mismatches(
    expected: Sequence[Expected], found: Sequence[Diagnosed], file: str
) -> list[str]:
    """Complaints about what was expected but not reported, and the other way round."""
    open_ = list(expected)
    complaints: list[str] = []
    for diagnosed in found:
        match = next((e for e in open_ if e.matches(diagnosed)), None)
        if match is not None:
            open_.remove(match)
        elif diagnosed.severity == "error":
            place = f"{file}:{diagnosed.line}" if diagnosed.line else file
            complaints.append(f"{place}: error: unexpected error: {diagnosed.message}")
    return [*complaints, *(f"{file}:{_unmet(expected)}" for expected in open_)]


def _unmet(expected: Expected) -> str:
    if expected.severity == MALFORMED:
        return (
            f"{expected.comment_line}: error: this expects nothing; it reads "
            "expected-error @+1 {{text}}"
        )
    what = f'expected {expected.severity} "{expected.text}"'
    return f"{expected.comment_line}: error: {what} was not produced"
