# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Every knob: `torch.compile(options={...})`, `SPYRE_*` in the environment, `--name` of
the tools. One field of `Options` is the whole definition of one.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
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

    @staticmethod
    def parse(given: Mapping[str, Any] | None = None) -> Options:
        """Options from the environment, then from what the caller gives."""
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
    return value


def _from_text(name: str, text: str) -> Any:
    if not isinstance(_row(name).default, bool):
        return _checked(name, text)
    if text not in ("0", "1"):
        raise OptionError(f"{environment_name(name)} takes 0 or 1, not {text!r}")
    return text == "1"


def document() -> str:
    """The table of options, in Markdown."""
    lines = ["| option | environment | values | default | meaning |", "|" + "---|" * 5]
    for row in fields(Options):
        kind = type(row.default).__name__
        values = ", ".join(f"`{c}`" for c in row.metadata["choices"]) or kind
        default = f"`{row.default!r}`"
        cells = (f"`{row.name}`", f"`{environment_name(row.name)}`", values, default)
        lines.append("| " + " | ".join((*cells, row.metadata["doc"])) + " |")
    return "\n".join(lines) + "\n"
