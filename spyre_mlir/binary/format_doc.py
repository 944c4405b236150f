# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
`docs/image-format.md`, made from the tables of `binary.records`.

    python -m spyre_mlir.binary.format_doc > docs/image-format.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence

from spyre_mlir.algebra.access import Access, Axis, Step, Sync

from .encodings import (
    INTEGER,
    LOCATION,
    NUMBER,
    TEXT,
    Encoding,
    Struct,
    struct_of,
)
from .image import Buffer, Call, HostValue
from .records import (
    HEADER,
    LOCATION_KINDS,
    LOOP,
    LOOP_OPCODE,
    MAGIC,
    MAX_LOCATION_DEPTH,
    MAX_LOCATION_NODES,
    MAX_LOOP_DEPTH,
    ORDER,
    PROGRAM,
    RECORDS,
    SECTION,
    SECTIONS,
    STREAM,
    VERSION,
    Field,
)

INTRODUCTION = f"""\
# The image format

This page is generated from `spyre_mlir/binary/records.py`; a test keeps it current.

A `.spyre` file holds one compiled graph: constants, programs, calls, buffers and what
the host passes in and gets back. It is little endian, depends on nothing but the graph
(no time stamps, no order of sets), and a reader refuses it if a single bit is wrong.
This is version {VERSION}. There is no compatibility between versions: compile again.

`spyre-objdump FILE` shows an image as text.

## Header

| bytes | value |
|---|---|
| 8 | magic: `{MAGIC.hex(" ")}` |
| 4 | version |
| 4 | number of sections: {len(SECTIONS)} |
| 8 | bytes of the file |
| 16 | BLAKE2b-128 of the file without these 16 bytes |

Then, for each section, {SECTION.size} bytes: name (16, ASCII, zero-padded), offset in
the file (8), bytes (8). The first section follows at byte
{HEADER.size + SECTION.size * len(SECTIONS)}; sections stand in the order below with
nothing between or after them.
"""

ENCODINGS = (
    (INTEGER, "LEB128 varint of the zigzag code (0, -1, 1, -2, ...); 64 bits at most"),
    (TEXT, "index in the string table, as a varint"),
    (LOCATION, "index in the location table, as a varint"),
    (NUMBER, "byte 0 and an integer, or byte 1 and eight bytes (IEEE 754 binary64)"),
)


def format_markdown() -> str:
    """The text of the page."""
    blocks = [
        INTRODUCTION,
        "## Encodings\n",
        *_encodings(),
        "## Sections\n",
        _table(
            ("section", "holds", "fields"),
            ((f"`{s.name}`", s.text, _inline(s.fields)) for s in SECTIONS),
        ),
        "## Structures\n",
        *_structures(),
        "## Locations\n",
        f"A location has at most {MAX_LOCATION_NODES} parts, {MAX_LOCATION_DEPTH} "
        "deep, and refers to earlier locations only.\n",
        _table(
            ("kind", "location", "fields"),
            (
                (f"`{i:#04x}`", name, _inline(fields))
                for i, (name, fields) in enumerate(LOCATION_KINDS)
            ),
        ),
        *_programs(),
    ]
    return "\n".join(blocks)


def _encodings() -> Iterator[str]:
    rows = [(encoding.title, text) for encoding, text in ENCODINGS]
    rows += [
        ("one of ...", "index in the list of words, one byte"),
        ("list of x", "count as a varint (not zigzag), then the items"),
        ("(x, y)", "one after another"),
        ("Name", "a structure: its fields in order"),
    ]
    yield _table(("value", "bytes"), rows)
    yield "A varint that is not in its shortest form is refused.\n"


def _structures() -> Iterator[str]:
    for plain in (HostValue, Buffer, Call, Axis, Access, Step, Sync):
        encoding = struct_of(plain)
        yield f"### {encoding.title}\n"
        yield _field_table(Field(*pair) for pair in encoding.fields)


def _programs() -> Iterator[str]:
    yield "## Programs\n"
    yield "A program is:\n"
    yield _field_table(PROGRAM)
    yield "then a count of streams, each:\n"
    yield _field_table(STREAM)
    yield (
        "then a body: a count, and so many loops and records, each opened by its "
        "opcode byte.\n"
    )
    yield f"### `{LOOP_OPCODE:#04x}` loop\n"
    yield _field_table(LOOP)
    yield f"then a body. Loops nest at most {MAX_LOOP_DEPTH} deep.\n"
    yield "### Records\n"
    yield "Every record starts with:\n"
    yield _field_table(ORDER)
    yield "then come its own fields, and last its location.\n"
    for record in RECORDS:
        yield f"### `{record.opcode:#04x}` {record.mnemonic}\n"
        yield f"{_summary(record.op.__doc__)}\n"
        yield f"Runs on: {', '.join(record.op.ON_UNITS)}.\n"
        yield _field_table(record.own)


def _summary(doc: str | None) -> str:
    """The first paragraph of a docstring."""
    assert doc, "every record says what it does"
    return " ".join(doc.strip().split("\n\n")[0].split())


def _title(encoding: Encoding) -> str:
    title = encoding.title
    return f"[{title}](#{title.lower()})" if isinstance(encoding, Struct) else title


def _inline(fields: Sequence[Field]) -> str:
    return "; ".join(f"{f.name}: {_title(f.encoding)}" for f in fields)


def _field_table(fields: Iterable[Field]) -> str:
    return _table(
        ("field", "encoding"), ((f"`{f.name}`", _title(f.encoding)) for f in fields)
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    sys.stdout.write(format_markdown())
