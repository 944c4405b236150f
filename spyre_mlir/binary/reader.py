# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
From the bytes of a `.spyre` file to an image.

Nothing of the file is believed before its checksum has been compared, and nothing
after that without a check: lengths, indices, choices, opcodes, and what must hold
between the parts. A file that fails is refused with an `ImageError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
)
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from spyre_mlir.dialects import dev

from .check import check_image
from .encodings import LOCATION, Source
from .image import Image, ImageError
from .records import (
    BY_OPCODE,
    HEADER,
    LOCATION_KINDS,
    LOOP,
    LOOP_OPCODE,
    MAGIC,
    MAX_LOCATION_DEPTH,
    MAX_LOCATION_NODES,
    MAX_LOOP_DEPTH,
    PROGRAM,
    SECTION,
    SECTIONS,
    STREAM,
    VERSION,
    Field,
    Record,
    attribute,
)
from .writer import checksum


def read(data: bytes, fingerprint: str | None = None) -> Image:
    """
    The image in a file's bytes; ImageError if there is anything wrong with them.

    With `fingerprint`, an image for any other chip is refused too.
    """
    data = bytes(data)
    parts = _sections(data)
    strings = _strings(Source("strings", parts["strings"]))
    source = Source("locations", parts["locations"], strings)
    locations = _locations(source)
    values: dict[str, Any] = {}
    for section in SECTIONS:
        if section.fields:
            source = Source(section.name, parts[section.name], strings, locations)
            values |= read_fields(source, section.fields)
            source.finish()
    if fingerprint is not None and values["fingerprint"] != fingerprint:
        raise ImageError(
            f"the image is for chip {values['chip']} ({values['fingerprint']}), not "
            f"for this one ({fingerprint}); compile for this chip"
        )
    names = [name for name, _ in values["metadata"]]
    if names != sorted(set(names)):
        raise ImageError("section metadata: names are not in order; compile again")
    values["metadata"] = dict(values["metadata"])
    source = Source("programs", parts["programs"], strings, locations)
    values["programs"] = _programs(source)
    image = Image(constants=parts["constants"], **values)
    check_image(image)
    return image


def _sections(data: bytes) -> dict[str, bytes]:
    """Checks the header, the checksum and the section table."""
    if data[: len(MAGIC)] != MAGIC:
        raise ImageError(
            "this is no spyre image: the file does not start with the magic bytes; "
            "give a file that the compiler wrote"
        )
    if len(data) < HEADER.size:
        raise ImageError(f"the image ends in its header, at byte {len(data)}")
    _, version, count, size, digest = HEADER.unpack_from(data)
    if version != VERSION:
        raise ImageError(
            f"the image has format version {version}, this is version {VERSION}; "
            "compile again"
        )
    if size != len(data):
        raise ImageError(
            f"the image has {len(data)} bytes, its header says {size}; the file is "
            "cut off or damaged; copy it again"
        )
    if checksum(data) != digest:
        raise ImageError(
            "the checksum is wrong; the image is damaged; copy it again or compile "
            "again"
        )
    if count != len(SECTIONS) or len(data) < HEADER.size + SECTION.size * count:
        raise ImageError(f"the image has {count} sections, not {len(SECTIONS)}")
    return _section_table(data, count)


def _section_table(data: bytes, count: int) -> dict[str, bytes]:
    parts: dict[str, bytes] = {}
    end = HEADER.size + SECTION.size * count
    for i, section in enumerate(SECTIONS):
        entry = SECTION.unpack_from(data, HEADER.size + SECTION.size * i)
        raw, offset, size = entry
        if raw != section.name.encode().ljust(16, b"\0"):
            raise ImageError(f"section {i} is {raw!r}, not {section.name}")
        if offset != end or size > len(data) - offset:
            raise ImageError(
                f"section {section.name} takes {size} bytes from {offset} on; the "
                f"section before ends at {end}, the file at {len(data)}"
            )
        end = offset + size
        parts[section.name] = data[offset:end]
    if end != len(data):
        raise ImageError(f"{len(data) - end} bytes follow the last section")
    return parts


def _strings(source: Source) -> tuple[str, ...]:
    table: list[str] = []
    for _ in range(source.length()):
        raw = source.take(source.length())
        try:
            table.append(raw.decode("utf-8", "surrogatepass"))
        except UnicodeDecodeError as error:
            raise source.fail(f"string {len(table)} is no UTF-8") from error
    source.finish()
    return tuple(table)


def _locations(source: Source) -> tuple[LocationAttr, ...]:
    table: list[LocationAttr] = []
    sizes: list[tuple[int, int]] = []
    source.locations = table
    for _ in range(source.length()):
        kind = source.byte()
        if kind >= len(LOCATION_KINDS):
            raise source.fail(f"location of kind {kind}")
        name, fields = LOCATION_KINDS[kind]
        children: list[int] = []
        values = [_location_field(source, field, children) for field in fields]
        nodes = 1 + sum(sizes[child][0] for child in children)
        depth = 1 + max((sizes[child][1] for child in children), default=0)
        # Shared parts make a short table stand for a location of any size.
        if nodes > MAX_LOCATION_NODES or depth > MAX_LOCATION_DEPTH:
            raise source.fail(f"location {len(table)} has {nodes} parts")
        sizes.append((nodes, depth))
        try:
            table.append(_location(name, values))
        except VerifyException as error:
            raise source.fail(f"location {len(table)}: {error}") from error
    source.finish()
    return tuple(table)


def _location_field(source: Source, field: Field, children: list[int]) -> Any:
    """Reads a field, and notes which earlier locations it names."""
    if field.encoding == LOCATION:
        children.append(source.index(source.locations, "location"))
        return source.locations[children[-1]]
    if field.name == "locations":
        found = [
            source.index(source.locations, "location") for _ in range(source.length())
        ]
        children += found
        return [source.locations[i] for i in found]
    return field.encoding.read(source)


def _location(kind: str, values: Sequence[Any]) -> Any:
    match kind, values:
        case "none", ():
            return NoneAttr()
        case "file", (name, line, column):
            return FileLineColLoc(StringAttr(name), IntAttr(line), IntAttr(column))
        case "name", (name, child):
            return NameLoc(StringAttr(name), child)
        case "fused", (children, ()):
            return FusedLoc(ArrayAttr(children), NoneAttr())
        case "fused", (children, (text,)):
            return FusedLoc(ArrayAttr(children), StringAttr(text))
        case "fused", _:
            raise VerifyException("a fused location has at most one string")
        case "call site", (callee, caller):
            return CallSiteLoc(callee, caller)
        case _:
            return UNKNOWN_LOC


def read_fields(source: Source, fields: Sequence[Field]) -> dict[str, Any]:
    """The values of the fields by name."""
    return {field.name: field.encoding.read(source) for field in fields}


def _programs(source: Source) -> tuple[dev.ProgramOp, ...]:
    programs = tuple(_program(source) for _ in range(source.length()))
    source.finish()
    return programs


def _program(source: Source) -> dev.ProgramOp:
    values = read_fields(source, PROGRAM)
    location = values.pop("location")
    streams = [_stream(source) for _ in range(source.length())]
    program = dev.ProgramOp(streams=streams, **values)
    program.location = location
    return program


def _stream(source: Source) -> dev.StreamOp:
    values = read_fields(source, STREAM)
    stream = dev.StreamOp(values["unit"], _body(source, 0))
    stream.location = values["location"]
    return stream


def _body(source: Source, depth: int) -> list[Operation]:
    if depth > MAX_LOOP_DEPTH:
        raise source.fail(f"loops nest deeper than {MAX_LOOP_DEPTH}")
    ops: list[Operation] = []
    for _ in range(source.length()):
        opcode = source.byte()
        if opcode == LOOP_OPCODE:
            values = read_fields(source, LOOP)
            ops.append(dev.LoopOp(values["trips"], _body(source, depth + 1)))
            ops[-1].location = values["location"]
        elif opcode in BY_OPCODE:
            ops.append(_record(source, BY_OPCODE[opcode]))
        else:
            raise source.fail(f"record opcode {opcode:#04x} is unknown")
    return ops


def _record(source: Source, record: Record) -> dev.RecordOp:
    start = source.position
    try:
        attributes = {
            field.name: attribute(field.encoding, field.encoding.read(source))
            for field in record.fields
        }
    except VerifyException as error:
        raise ImageError(
            f"section programs, byte {start}: {record.mnemonic} record: {error}; "
            "compile again"
        ) from error
    return record.op.create(attributes=attributes, location=LOCATION.read(source))
