# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
`spyre-objdump FILE`: what a `.spyre` file holds.

Without a choice it shows everything: interface, buffers, calls and the assembly of
every program.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from spyre_mlir.binary import Image, ImageError, read
from spyre_mlir.binary.disassemble import (
    call_arguments,
    image_to_json,
    program_lines,
    program_to_json,
    show,
    show_location,
)
from spyre_mlir.dialects import dev
from spyre_mlir.tools.output import write_in_any_encoding

PIPE_WIDTH = 200
"""Columns where the output is no terminal, so that no cell is cut."""


def parser() -> ArgumentParser:
    made = ArgumentParser(
        prog="spyre-objdump",
        description=__doc__,
        formatter_class=RawDescriptionHelpFormatter,
    )
    made.add_argument("file", help="a .spyre image, or - for standard input")
    made.add_argument(
        "--program",
        action="append",
        metavar="NAME",
        help="only the program of this name (can be given several times)",
    )
    made.add_argument("--programs", action="store_true", help="all programs")
    made.add_argument("--buffers", action="store_true", help="the buffer table")
    made.add_argument("--calls", action="store_true", help="the call list")
    made.add_argument("--abi", action="store_true", help="arguments and results")
    form = made.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument(
        "--ir",
        action="store_true",
        help="programs as IR of the dev dialect, which the other tools read",
    )
    return made


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    try:
        image = read(_bytes(options.file))
        programs = _chosen(image, options.program)
    except (ImageError, OSError) as error:
        print(f"spyre-objdump: error: {options.file}: {error}", file=sys.stderr)
        return 1
    try:
        _print(image, programs, options)
    except BrokenPipeError:
        # The reader has seen enough; a traceback at exit would only disturb it.
        sys.stderr.close()
    return 0


def _bytes(file: str) -> bytes:
    return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()


def _chosen(image: Image, names: Sequence[str] | None) -> list[dev.ProgramOp]:
    if names is None:
        return list(image.programs)
    known = {program.sym_name.data: program for program in image.programs}
    missing = [name for name in names if name not in known]
    if missing:
        raise ImageError(
            f'there is no program "{missing[0]}"; there are: {", ".join(known)}'
        )
    return [known[name] for name in names]


def _print(image: Image, programs: Sequence[dev.ProgramOp], options: Namespace) -> None:
    parts = {name for name in ("abi", "buffers", "calls") if getattr(options, name)}
    if options.programs or options.program:
        parts.add("programs")
    if options.json:
        print(json.dumps(_json(image, programs, parts), indent=1, ensure_ascii=False))
        return
    if options.ir:
        for program in programs:
            print(program)
        return
    everything = not parts
    console = Console(
        width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False
    )
    if everything:
        _head(console, image)
    for name, show_part in (("abi", _abi), ("buffers", _buffers), ("calls", _calls)):
        if everything or name in parts:
            show_part(console, image)
    if everything or "programs" in parts:
        for program in programs:
            print("\n".join(program_lines(program)) + "\n")


def _json(
    image: Image, programs: Sequence[dev.ProgramOp], parts: set[str]
) -> dict[str, Any]:
    """The chosen parts of the image, or all of it."""
    write_in_any_encoding()
    everything = image_to_json(image)
    everything["programs"] = [program_to_json(program) for program in programs]
    keys = set(parts)
    if "abi" in parts:
        keys |= {"arguments", "results"}
    return {k: v for k, v in everything.items() if not parts or k in keys}


def _head(console: Console, image: Image) -> None:
    rows = [
        ("chip", f"{image.chip} ({image.fingerprint})"),
        ("numerics", image.numerics),
        ("pool", f"{image.pool_bytes} bytes"),
        ("constants", f"{len(image.constants)} bytes"),
        *sorted(image.metadata.items()),
    ]
    _table(console, "image", ("", ""), rows)


def _abi(console: Console, image: Image) -> None:
    rows: list[tuple[Any, ...]] = []
    for kind, values in (("argument", image.arguments), ("result", image.results)):
        for i, value in enumerate(values):
            into = f"argument {value.mutates}" if value.mutates >= 0 else ""
            name = image.buffers[value.buffer].name
            row = (value.dtype, show(value.shape), show(value.strides), name, into)
            rows.append((f"{kind} {i}", *row))
    head = ("value", "dtype", "shape", "strides", "buffer", "written into")
    _table(console, "interface", head, rows)


def _buffers(console: Console, image: Image) -> None:
    rows = [
        (
            i,
            b.name,
            b.kind,
            b.dtype,
            show(b.shape),
            show(b.dims),
            b.bytes,
            b.offset if b.kind in ("temporary", "constant") else "",
            f"{b.first_call}..{b.last_call}" if b.first_call >= 0 else "",
        )
        for i, b in enumerate(image.buffers)
    ]
    head = ("", "name", "kind", "dtype", "shape", "layout", "bytes", "offset", "calls")
    _table(console, "buffers", head, rows)


def _calls(console: Console, image: Image) -> None:
    rows = [
        (
            i,
            image.programs[call.program].sym_name.data,
            call_arguments(call, image),
            show_location(call.location),
        )
        for i, call in enumerate(image.calls)
    ]
    _table(console, "calls", ("", "program", "addresses", "from"), rows)


def _table(
    console: Console, title: str, head: Sequence[str], rows: Sequence[Sequence[Any]]
) -> None:
    table = Table(
        title=title, title_justify="left", box=None, show_header=any(head), padding=0
    )
    for name in head:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(_plain(cell) for cell in row))
    table.padding = (0, 2, 0, 0)
    console.print(table)
    console.print()


def _plain(cell: Any) -> str:
    """Text of a cell; brackets are no markup, and odd bytes of names are shown."""
    text = str(cell).encode("utf-8", "backslashreplace").decode()
    return text.replace("[", "\\[")


if __name__ == "__main__":
    sys.exit(main())
