# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
A file as a tree of its fields, without any of the reader's or writer's checks.

`parse` takes a file apart by the format's tables, `emit` writes whatever the tree holds
and seals it with a right checksum.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from spyre_mlir.binary.encodings import (
    Choice,
    Encoding,
    Integer,
    ListOf,
    Location,
    Number,
    Sink,
    Source,
    Struct,
    TupleOf,
)
from spyre_mlir.binary.records import (
    BY_OPCODE,
    HEADER,
    LOCATION_KINDS,
    LOOP,
    LOOP_OPCODE,
    MAGIC,
    PROGRAM,
    SECTION,
    SECTIONS,
    STREAM,
    VERSION,
    Field,
)
from spyre_mlir.binary.writer import seal


@dataclass(eq=False)
class Leaf:
    """One value: `kind` says how its bytes are written."""

    kind: str
    value: Any


@dataclass(eq=False)
class Group:
    """Values in a fixed order, or a counted list of them."""

    items: list[Node] = field(default_factory=list["Node"])
    counted: bool = False

    def walk(self) -> Iterator[Node]:
        for item in self.items:
            yield item
            if isinstance(item, Group):
                yield from item.walk()


Node = Leaf | Group


def parse(data: bytes) -> dict[str, Node]:
    """The sections of a valid file as trees, by name."""
    parts: dict[str, Node] = {}
    for number, section in enumerate(SECTIONS):
        entry = SECTION.unpack_from(data, HEADER.size + SECTION.size * number)
        source = Source(section.name, data[entry[1] : entry[1] + entry[2]])
        if section.fields:
            parts[section.name] = _fields(source, section.fields)
        elif section.name == "constants":
            parts[section.name] = Leaf("bytes", source.data)
        else:
            parts[section.name] = _SPECIAL[section.name](source)
    return parts


def _fields(source: Source, fields: Sequence[Field]) -> Group:
    return Group([_node(source, f.encoding) for f in fields])


def _node(source: Source, encoding: Encoding) -> Node:
    match encoding:
        case ListOf():
            count = source.count()
            return Group([_node(source, encoding.item) for _ in range(count)], True)
        case TupleOf():
            return Group([_node(source, item) for item in encoding.items])
        case Struct():
            return Group([_node(source, item) for _, item in encoding.fields])
        case Choice():
            return Leaf("byte", source.byte())
        case Number():
            if source.byte():
                return Leaf("float", struct.unpack("<d", source.take(8))[0])
            return Leaf("number", _integer(source))
        case Location():
            return Leaf("index", source.count())
        case Integer():
            return Leaf("integer", _integer(source))
        case _:
            return Leaf("index", source.count())


def _integer(source: Source) -> int:
    value = source.count()
    return -(value + 1 >> 1) if value & 1 else value >> 1


def _strings(source: Source) -> Group:
    count = source.count()
    return Group(
        [Leaf("string", source.take(source.count())) for _ in range(count)], True
    )


def _locations(source: Source) -> Group:
    items: list[Node] = []
    for _ in range(source.count()):
        kind = source.byte()
        fields = _fields(source, LOCATION_KINDS[kind][1])
        items.append(Group([Leaf("byte", kind), *fields.items]))
    return Group(items, True)


def _programs(source: Source) -> Group:
    return Group([_program(source) for _ in range(source.count())], True)


def _program(source: Source) -> Group:
    head = _fields(source, PROGRAM).items
    streams = [
        Group([*_fields(source, STREAM).items, _body(source)])
        for _ in range(source.count())
    ]
    return Group([*head, Group(list(streams), True)])


def _body(source: Source) -> Group:
    items: list[Node] = []
    for _ in range(source.count()):
        opcode = source.byte()
        if opcode == LOOP_OPCODE:
            inner = [*_fields(source, LOOP).items, _body(source)]
        else:
            record = _fields(source, BY_OPCODE[opcode].fields)
            inner = [*record.items, Leaf("index", source.count())]
        items.append(Group([Leaf("byte", opcode), *inner]))
    return Group(items, True)


_SPECIAL = {"strings": _strings, "locations": _locations, "programs": _programs}


def emit(parts: dict[str, Node]) -> bytes:
    """The file of a tree, whatever it says, with a right checksum."""
    made = {name: _bytes(node) for name, node in parts.items()}
    offset = HEADER.size + SECTION.size * len(made)
    size = offset + sum(map(len, made.values()))
    out = bytearray(HEADER.pack(MAGIC, VERSION, len(made), size, b""))
    for name, data in made.items():
        out += SECTION.pack(name.encode(), offset, len(data))
        offset += len(data)
    return seal(out + b"".join(made.values()))


def _bytes(node: Node) -> bytes:
    sink = Sink({}, {})
    _write(sink, node)
    return bytes(sink.data)


def _write(sink: Sink, node: Node) -> None:
    if isinstance(node, Group):
        if node.counted:
            sink.count(len(node.items))
        for item in node.items:
            _write(sink, item)
        return
    match node.kind:
        case "bytes":
            sink.data += node.value
        case "string":
            sink.count(len(node.value))
            sink.data += node.value
        case "byte":
            sink.byte(node.value & 0xFF)
        case "float":
            sink.byte(1)
            sink.data += struct.pack("<d", node.value)
        case "number":
            sink.byte(0)
            _write_integer(sink, node.value)
        case "integer":
            _write_integer(sink, node.value)
        case _:
            sink.count(node.value & 0xFFFFFFFFFFFFFFFF)


def _write_integer(sink: Sink, value: int) -> None:
    value = (value + 2**63) % 2**64 - 2**63
    sink.count(value << 1 if value >= 0 else (-value << 1) - 1)
