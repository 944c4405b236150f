# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
From an image to the bytes of a `.spyre` file.

The bytes depend on the image alone: tables number their entries in the order of first
use, and there is no time stamp.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, Operation

from spyre_mlir.dialects import dev

from .check import check_image
from .encodings import Sink
from .image import Image, ImageError
from .records import (
    BY_OP,
    CHECKSUM,
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
    plain_value,
)


def write(image: Image) -> bytes:
    """The file of an image; ImageError if the image is not consistent."""
    check_image(image)
    strings: dict[str, int] = {}
    locations = LocationTable(strings)
    made: dict[str, bytes | bytearray] = {"constants": image.constants}
    sink = Sink(strings, locations.indices)
    for program in image.programs:
        for op in program.walk():
            locations.add(op.location)
    for call in image.calls:
        for location in (call.location, *call.locations):
            locations.add(location)
    values = {**vars(image), "metadata": sorted(image.metadata.items())}
    for section in SECTIONS:
        if section.fields:
            target = sink.section()
            write_fields(target, section.fields, values)
            made[section.name] = target.data
    made["programs"] = _programs(sink.section(), image.programs)
    made["locations"] = locations.section()
    made["strings"] = _strings(strings)
    return _file([(section.name, made[section.name]) for section in SECTIONS])


def seal(data: bytes | bytearray) -> bytes:
    """The bytes of a file with the checksum that they should have."""
    data = bytearray(data)
    data[CHECKSUM] = checksum(data)
    return bytes(data)


def checksum(data: bytes | bytearray) -> bytes:
    """BLAKE2b-128 of a file without the checksum itself."""
    digest = blake2b(digest_size=CHECKSUM.stop - CHECKSUM.start)
    digest.update(data[: CHECKSUM.start])
    digest.update(memoryview(data)[CHECKSUM.stop :])
    return digest.digest()


def _file(sections: Sequence[tuple[str, bytes | bytearray]]) -> bytes:
    offset = HEADER.size + SECTION.size * len(sections)
    size = offset + sum(len(data) for _, data in sections)
    out = bytearray(HEADER.pack(MAGIC, VERSION, len(sections), size, b""))
    for name, data in sections:
        out += SECTION.pack(name.encode(), offset, len(data))
        offset += len(data)
    for _, data in sections:
        out += data
    return seal(out)


def _strings(strings: Iterable[str]) -> bytearray:
    sink = Sink({}, {})
    table = tuple(strings)
    sink.count(len(table))
    for text in table:
        # File names may hold bytes that are no UTF-8; Python keeps them as surrogates.
        data = text.encode("utf-8", "surrogatepass")
        sink.count(len(data))
        sink.data += data
    return sink.data


def write_fields(sink: Sink, fields: Sequence[Field], values: Any) -> None:
    """Writes named values in the order of the fields."""
    for field in fields:
        field.encoding.write(sink, values[field.name])


class LocationTable:
    """Locations in the order of first use, each after what it refers to."""

    def __init__(self, strings: dict[str, int]):
        self.indices: dict[LocationAttr, int] = {}
        self._sink = Sink(strings, self.indices)
        self._sizes: dict[LocationAttr, tuple[int, int]] = {}

    def add(self, location: Any) -> None:
        if location in self.indices:
            return
        kind, values, children = _location(location)
        for child in children:
            self.add(child)
        sizes = [self._sizes[child] for child in children]
        nodes = 1 + sum(n for n, _ in sizes)
        depth = 1 + max((d for _, d in sizes), default=0)
        if nodes > MAX_LOCATION_NODES or depth > MAX_LOCATION_DEPTH:
            raise ImageError(
                f"a location has {nodes} parts, {depth} deep; an image takes "
                f"{MAX_LOCATION_NODES}, {MAX_LOCATION_DEPTH} deep; shorten the chain"
            )
        self._sizes[location] = nodes, depth
        self._sink.byte(kind)
        for field, value in zip(LOCATION_KINDS[kind][1], values, strict=True):
            field.encoding.write(self._sink, value)
        self.indices[location] = len(self.indices)

    def section(self) -> bytearray:
        sink = self._sink.section()
        sink.count(len(self.indices))
        return sink.data + self._sink.data


def _location(
    location: Attribute,
) -> tuple[int, tuple[Any, ...], tuple[Any, ...]]:
    """Kind, values of its fields, and the locations among them."""
    match location:
        case NoneAttr():
            return 0, (), ()
        case UnknownLoc():
            return 1, (), ()
        case FileLineColLoc(filename=name, line=line, column=column):
            return 2, (name.data, line.data, column.data), ()
        case NameLoc(desc=name, location=child):
            return 3, (name.data, child), (child,)
        case FusedLoc(locations=ArrayAttr() as children, metadata=NoneAttr()):
            return 4, (children.data, ()), children.data
        case FusedLoc(locations=ArrayAttr() as children, metadata=StringAttr() as text):
            return 4, (children.data, (text.data,)), children.data
        case CallSiteLoc(callee=callee, caller=caller):
            return 5, (callee, caller), (callee, caller)
        case _:
            raise ImageError(
                f"an image cannot hold the location {location}; use file, name, fused "
                "(with a string) or call site locations"
            )


def _programs(sink: Sink, programs: Sequence[dev.ProgramOp]) -> bytearray:
    sink.count(len(programs))
    for program in programs:
        values = {
            "name": program.sym_name.data,
            "grid": program.grid_data,
            "symbols": program.symbols.value.data,
            "lx_bytes": program.lx_bytes.value.data,
            "semaphores": program.semaphores_data,
            "location": program.location,
        }
        _check_attributes(program, 5)
        write_fields(sink, PROGRAM, values)
        sink.count(len(program.streams))
        for stream in program.streams:
            _check_attributes(stream, 1)
            head = {"unit": stream.unit.data, "location": stream.location}
            write_fields(sink, STREAM, head)
            _body(sink, list(stream.body.block.ops), 0)
    return sink.data


def _body(sink: Sink, ops: Sequence[Operation], depth: int) -> None:
    if depth > MAX_LOOP_DEPTH:
        raise ImageError(f"loops nest {depth} deep, an image takes {MAX_LOOP_DEPTH}")
    sink.count(len(ops))
    for op in ops:
        if isinstance(op, dev.LoopOp):
            _check_attributes(op, 1)
            sink.byte(LOOP_OPCODE)
            write_fields(sink, LOOP, {"trips": op.trips_data, "location": op.location})
            _body(sink, list(op.body.block.ops), depth + 1)
        else:
            _record(sink, op)


def _record(sink: Sink, op: Operation) -> None:
    record = BY_OP.get(type(op)) if isinstance(op, dev.RecordOp) else None
    if record is None:
        raise ImageError(f"{op.name} has no record; lower it first")
    _check_attributes(op, len(record.fields))
    sink.byte(record.opcode)
    for field in record.fields:
        field.encoding.write(sink, plain_value(op.attributes[field.name]))
    sink.count(sink.locations[op.location])


def _check_attributes(op: Operation, known: int) -> None:
    if len(op.attributes) != known or op.properties:
        raise ImageError(
            f"{op.name} has attributes that an image does not hold: "
            f"{', '.join(sorted(op.attributes))}; remove what is not its own"
        )
