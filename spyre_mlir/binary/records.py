# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The file format `.spyre` as tables: header, sections, locations, records.

Writer, reader, disassembler and `docs/image-format.md` all work from these tables. A
change to any of them, or to a dataclass that they name, changes the format: count
`VERSION` up.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute

from spyre_mlir.algebra.access import Access, Axis, Step, Sync
from spyre_mlir.dialects import dev

from .encodings import (
    INTEGER,
    LOCATION,
    TEXT,
    Choice,
    Encoding,
    ListOf,
    Struct,
    TupleOf,
    encoding_of,
    struct_of,
)
from .image import Buffer, Call, HostValue, Numerics

# As PNG's: a high byte and a line end show a transfer that took the file for text.
MAGIC = b"\x89SPYRE\r\n"
VERSION = 1

HEADER = struct.Struct("<8sIIQ16s")
"""Magic, version, number of sections, bytes of the file, checksum."""
CHECKSUM = slice(24, 40)
"""Where the header holds BLAKE2b-128 of the file without these bytes."""
SECTION = struct.Struct("<16sQQ")
"""An entry of the section table: name, offset in the file, bytes."""

MAX_LOOP_DEPTH = 32
MAX_LOCATION_DEPTH = 256
MAX_LOCATION_NODES = 4096
"""Of one location with all that it refers to."""


@dataclass(frozen=True)
class Field:
    """A named value of a section, record or program."""

    name: str
    encoding: Encoding


@dataclass(frozen=True)
class Section:
    """A part of the file; `fields` is empty where the text says what it holds."""

    name: str
    text: str
    fields: tuple[Field, ...] = ()


SECTIONS = (
    Section("strings", "the string table: a count, then byte count and UTF-8 of each"),
    Section(
        "chip",
        "what it was compiled for",
        (
            Field("chip", TEXT),
            Field("fingerprint", TEXT),
            Field("numerics", encoding_of(Numerics)),
        ),
    ),
    Section(
        "metadata",
        "names and values, in ascending order of the names",
        (Field("metadata", ListOf(TupleOf((TEXT, TEXT)))),),
    ),
    Section(
        "abi",
        "arguments and results as the host sees them, in order",
        (
            Field("arguments", ListOf(struct_of(HostValue))),
            Field("results", ListOf(struct_of(HostValue))),
        ),
    ),
    Section(
        "buffers",
        "card memory: bytes of the pool, and every buffer",
        (Field("pool_bytes", INTEGER), Field("buffers", ListOf(struct_of(Buffer)))),
    ),
    Section("constants", "bytes that go to the card as they are"),
    Section("locations", "the location table: a count, then a kind byte and fields"),
    Section("programs", "a count, then the programs, whose bodies nest"),
    Section(
        "calls", "in the order they run", (Field("calls", ListOf(struct_of(Call))),)
    ),
)
"""In the order of the file; nothing lies between them."""

LOCATION_KINDS: tuple[tuple[str, tuple[Field, ...]], ...] = (
    ("none", ()),
    ("unknown", ()),
    ("file", (Field("name", TEXT), Field("line", INTEGER), Field("column", INTEGER))),
    ("name", (Field("name", TEXT), Field("location", LOCATION))),
    (
        "fused",
        (
            Field("locations", ListOf(LOCATION)),
            Field("metadata", ListOf(TEXT)),
        ),
    ),
    ("call site", (Field("callee", LOCATION), Field("caller", LOCATION))),
)
"""By kind byte. A location refers to earlier ones only."""

PROGRAM = (
    Field("name", TEXT),
    Field("grid", ListOf(INTEGER)),
    Field("symbols", INTEGER),
    Field("lx_bytes", INTEGER),
    Field("semaphores", ListOf(INTEGER)),
    Field("location", LOCATION),
)
"""Then a count of streams."""
STREAM = (Field("unit", Choice(dev.UNITS)), Field("location", LOCATION))
"""Then a count of records and loops, each opened by its opcode."""
LOOP_OPCODE = 0x01
LOOP = (Field("trips", INTEGER), Field("location", LOCATION))
"""Then a count of records and loops."""

AXES, ACCESS, SYNCS = (
    ListOf(struct_of(Axis)),
    struct_of(Access),
    ListOf(struct_of(Sync)),
)
ORDER = (Field("axes", AXES), Field("waits", SYNCS), Field("signals", SYNCS))
"""What every record starts with."""


@dataclass(frozen=True)
class Record:
    """The binary form of one operation of the `dev` dialect."""

    opcode: int
    op: type[dev.RecordOp]
    own: tuple[Field, ...]

    @property
    def mnemonic(self) -> str:
        return self.op.name.removeprefix("dev.")

    @property
    def fields(self) -> tuple[Field, ...]:
        return ORDER + self.own


RECORDS = (
    Record(
        0x10,
        dev.TransferOp,
        (Field("source", ACCESS), Field("target", ACCESS)),
    ),
    Record(
        0x11,
        dev.GatherOp,
        (
            Field("source", ACCESS),
            Field("index", ACCESS),
            Field("target", ACCESS),
            Field("index_stride", INTEGER),
            Field("index_stick", INTEGER),
            Field("limit", INTEGER),
        ),
    ),
    Record(
        0x20,
        dev.MatmulOp,
        (
            Field("roles", TEXT),
            Field("lhs", ACCESS),
            Field("rhs", ACCESS),
            Field("out", ACCESS),
            Field("acc_level", INTEGER),
        ),
    ),
    Record(
        0x30,
        dev.VectorOp,
        (
            Field("inputs", ListOf(ACCESS)),
            Field("steps", ListOf(struct_of(Step))),
            Field("out", ACCESS),
            Field("combine", TEXT),
            Field("fold", ListOf(INTEGER)),
            Field("acc_level", INTEGER),
        ),
    ),
    Record(
        0x31,
        dev.ShuffleOp,
        (Field("source", ACCESS), Field("target", ACCESS)),
    ),
    Record(
        0x40,
        dev.RingReduceOp,
        (
            Field("source", ACCESS),
            Field("target", ACCESS),
            Field("combine", TEXT),
            Field("digits", ListOf(INTEGER)),
        ),
    ),
)
"""After its fields, every record has its location."""

BY_OP = {record.op: record for record in RECORDS}
BY_OPCODE = {record.opcode: record for record in RECORDS}

_ATTRIBUTES: dict[type[Any], type[dev.PlainAttr]] = {
    attribute.PLAIN: attribute
    for attribute in (dev.AxisAttr, dev.AccessAttr, dev.SyncAttr)
}


@lru_cache(maxsize=4096)
def _shared(value: Axis | Access | Sync) -> dev.PlainAttr:
    """Building and verifying an attribute is most of the cost of reading."""
    return _ATTRIBUTES[type(value)].of(value)


def plain_value(attr: Attribute) -> Any:
    """The plain value that an attribute of a record holds."""
    if isinstance(attr, dev.PlainAttr):
        return attr.data
    if isinstance(attr, ArrayAttr):
        return tuple(plain_value(a) for a in cast(ArrayAttr[Attribute], attr))
    return dev.to_plain(attr)


def attribute(encoding: Encoding, value: Any) -> Attribute:
    """The attribute of a record that a decoded value belongs in."""
    if isinstance(encoding, Struct):
        # A step may hold 1 or 1.0, which a cache would take for the same.
        return dev.StepAttr.of(value) if encoding.plain is Step else _shared(value)
    if isinstance(encoding, ListOf) and isinstance(encoding.item, Struct):
        return ArrayAttr([attribute(encoding.item, item) for item in value])
    return dev.to_attribute(value)
