# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Every knob: `torch.compile(options={...})`, `SPYRE_*` in the environment, `--name` of
the tools. One field of `Options` is the whole definition of one. What concerns the
process and its cards instead is in the environment alone: `VARIABLES`.
"""

from __future__ import annotations

import difflib
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

from spyre_mlir.diagnostics import OptionError


def _knob(default: Any, doc: str, choices: tuple[str, ...] = ()) -> Any:
    return field(default=default, metadata={"doc": doc, "choices": choices})


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a compile is told. Equal options give equal programs."""

    fallback: str = _knob(
        "warn",
        "what happens to operations that the card does not run: an error, the host "
        "and one warning that lists them, or the host alone",
        ("error", "warn", "silent"),
    )
    numerics: str = _knob(
        "ieee",
        "16-bit floats as PyTorch defines them, or the card's DLFloat16",
        ("ieee", "dl16"),
    )
    cpu_weights: str = _knob(
        "verify",
        "how weights of CPU modules are known to be unchanged on the card: by a hash "
        "of all their bytes at each call (128 bits, xxh3; about 0.1 s per GB), which "
        "misses nothing; by their version counter, which costs nothing and misses "
        "writes that PyTorch does not count: through `.data`, NumPy, DLPack, or "
        "another tensor that was wrapped around the same storage; or never, so that "
        "each call brings them anew",
        ("verify", "version", "always"),
    )
    chip: str = _knob("spyre", "chip description to compile for, in target/chips")
    executor: str = _knob(
        "card",
        "what runs compiled segments: the card, or the interpreter of the dialect",
        ("card", "oracle"),
    )
    timing: bool = _knob(True, "advance the card's simulated time by each launch")
    verify: bool = _knob(False, "verify the IR after the import and after each pass")
    dump: str = _knob("", "folder for the IR of each compiled segment; empty: none")
    programs: int = _knob(
        128,
        "how many programs of one graph are kept, one for each set of sizes; of more, "
        "some are dropped and compiled again when they are needed",
    )
    progress: bool = _knob(
        True,
        "when a first call takes more than two seconds and stderr is a terminal, say "
        "there what is going on",
    )

    @staticmethod
    def parse(given: Mapping[str, Any] | None = None) -> Options:
        """Options from the environment, then from what the caller gives."""
        warn_of_unknown_variables()
        values: dict[str, Any] = {}
        for row in fields(Options):
            text = os.environ.get(environment_name(row.name))
            if text is not None:
                values[row.name] = _from_text(row.name, text)
        known = {row.name for row in fields(Options)}
        for name, value in (given or {}).items():
            if name not in known:
                raise _unknown(name, known)
            values[name] = _checked(name, value)
        return Options(**values)


def environment_name(name: str) -> str:
    return f"SPYRE_{name.upper()}"


def _row(name: str) -> Any:
    return next(row for row in fields(Options) if row.name == name)


def _unknown(name: str, known: set[str]) -> OptionError:
    near = difflib.get_close_matches(str(name), known, 1)
    hint = (f"did you mean {near[0]!r}?",) if near else ()
    listed = ", ".join(sorted(known))
    return OptionError(f"unknown option {name!r}; known are {listed}", hint)


def _checked(name: str, value: Any) -> Any:
    row = _row(name)
    choices = row.metadata["choices"]
    if choices and value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise OptionError(f"option {name!r} takes {listed}, not {value!r}")
    if type(value) is not type(row.default):
        kind = type(row.default).__name__
        raise OptionError(f"option {name!r} takes a {kind}, not {value!r}")
    if type(value) is int and value < 1:
        raise OptionError(f"option {name!r} takes a number from 1 on, not {value}")
    return value


def _from_text(name: str, text: str) -> Any:
    default = _row(name).default
    if isinstance(default, bool):
        return _switch(environment_name(name), text)
    if isinstance(default, int):
        return _checked(name, _number(environment_name(name), text))
    return _checked(name, text)


def _switch(name: str, text: str) -> bool:
    if text not in ("0", "1"):
        raise OptionError(f"{name} takes 0 or 1, not {text!r}")
    return text == "1"


def _number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise OptionError(f"{name} takes a number, not {text!r}")
    return int(text)


@dataclass(frozen=True)
class Variable:
    """Something of the environment that is no option of a compile."""

    name: str
    values: str
    default: str
    doc: str


VARIABLES = (
    Variable(
        "SPYRE_AUTOLOAD",
        "`0`, `1`, `verbose`",
        "1",
        "whether `import torch` registers the device, and whether it says why not",
    ),
    Variable(
        "SPYRE_CACHE_DIR",
        "folder",
        "",
        "where builds of the C++ file are kept; empty: in the user's own cache",
    ),
    Variable("SPYRE_DEVICES", "number", "1", "cards of this process"),
    Variable(
        "SPYRE_MEMORY_BYTES",
        "number",
        "",
        "memory of each card; empty: what the chip has",
    ),
    Variable(
        "SPYRE_SANITIZE",
        "`0`, `1`",
        "0",
        "check each launch for reads of what nobody wrote and for accesses that leave "
        "their buffers, and fill scratchpads with NaN before it",
    ),
)
"""All that the environment may say beside `Options`."""


def switch(name: str) -> bool:
    """A variable that is 0 or 1; raises `OptionError` where it is neither."""
    return _switch(name, os.environ.get(name) or _variable(name).default)


def number(name: str) -> int | None:
    """A variable that is a number, or None where nothing is said."""
    text = os.environ.get(name) or _variable(name).default
    return _number(name, text) if text else None


def _variable(name: str) -> Variable:
    return next(row for row in VARIABLES if row.name == name)


@cache
def warn_of_unknown_variables() -> None:
    """Once in a process: names the `SPYRE_*` variables that mean nothing."""
    known = {row.name for row in VARIABLES}
    known |= {environment_name(row.name) for row in fields(Options)}
    for name in sorted(os.environ):
        if name.startswith("SPYRE_") and name not in known:
            near = difflib.get_close_matches(name, sorted(known), 1, 0.5)
            hint = f"did you mean {near[0]}?" if near else "docs/generated/options.md"
            warnings.warn(
                f"the environment variable {name} means nothing here: {hint}",
                stacklevel=3,
            )


def document() -> str:
    """The table of options, in Markdown."""
    lines = ["| option | environment | values | default | meaning |", "|" + "---|" * 5]
    for row in fields(Options):
        kind = type(row.default).__name__
        values = ", ".join(f"`{c}`" for c in row.metadata["choices"]) or kind
        default = f"`{row.default!r}`"
        cells = (f"`{row.name}`", f"`{environment_name(row.name)}`", values, default)
        lines.append("| " + " | ".join((*cells, row.metadata["doc"])) + " |")
    lines += ["", "## Environment alone", ""]
    lines += ["| variable | values | default | meaning |", "|" + "---|" * 4]
    for variable in VARIABLES:
        default = f"`{variable.default}`" if variable.default else ""
        cells = (f"`{variable.name}`", variable.values, default, variable.doc)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
