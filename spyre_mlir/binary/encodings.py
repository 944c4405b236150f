# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
How plain values become bytes, and how they are checked on the way back.

An encoding writes a value to a `Sink`, reads it from a `Source` and describes itself
for the format's documentation. `encoding_of` derives one from a type annotation, so
that a dataclass states its own file format. All integers are LEB128 varints (signed
ones zigzag first), in their shortest form; floats are little-endian binary64; strings
and locations are indices of tables that the whole file shares.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    Protocol,
    get_args,
    get_origin,
    get_type_hints,
)

from xdsl.dialects.builtin import LocationAttr, NoneAttr

from .image import ImageError

DAMAGED = "the file is damaged; compile again"


@dataclass
class Sink:
    """Bytes of one section in the making, and the tables that the file shares."""

    strings: dict[str, int]
    locations: dict[LocationAttr, int]
    data: bytearray = field(default_factory=bytearray)

    def section(self) -> Sink:
        """An empty section over the same tables."""
        return Sink(self.strings, self.locations)

    def byte(self, value: int) -> None:
        self.data.append(value)

    def count(self, value: int) -> None:
        while value > 0x7F:
            self.data.append(value & 0x7F | 0x80)
            value >>= 7
        self.data.append(value)

    def string(self, value: str) -> None:
        self.count(self.strings.setdefault(value, len(self.strings)))


@dataclass
class Source:
    """A section being read; every step checks that there is something to read."""

    name: str
    data: bytes
    strings: Sequence[str] = ()
    locations: Sequence[LocationAttr] = ()
    position: int = 0

    def fail(self, what: str) -> ImageError:
        return ImageError(
            f"section {self.name}, byte {self.position}: {what}; {DAMAGED}"
        )

    @property
    def left(self) -> int:
        return len(self.data) - self.position

    def take(self, size: int) -> bytes:
        if size > self.left:
            raise self.fail(f"{size} bytes expected, {self.left} left")
        start, self.position = self.position, self.position + size
        return self.data[start : self.position]

    def byte(self) -> int:
        return self.take(1)[0]

    def count(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if shift and not byte:
                    raise self.fail("an integer is not in its shortest form")
                if value >= 2**64:
                    break
                return value
        raise self.fail("an integer has more than 64 bits")

    def length(self) -> int:
        """A number of items that are still to come, each of at least one byte."""
        value = self.count()
        if value > self.left:
            raise self.fail(f"{value} items expected, {self.left} bytes left")
        return value

    def index(self, table: Sequence[Any], what: str) -> int:
        value = self.count()
        if value >= len(table):
            raise self.fail(f"{what} {value} of {len(table)}")
        return value

    def string(self) -> str:
        return self.strings[self.index(self.strings, "string")]

    def finish(self) -> None:
        if self.left:
            raise self.fail(f"{self.left} bytes too many")


class Encoding(Protocol):
    """One kind of field."""

    @property
    def title(self) -> str:
        """Its name in the format's documentation."""
        ...

    def write(self, sink: Sink, value: Any) -> None: ...

    def read(self, source: Source) -> Any: ...


@dataclass(frozen=True)
class Integer:
    """A signed integer of at most 64 bits: zigzag varint."""

    title: str = "integer"

    def write(self, sink: Sink, value: int) -> None:
        if not -(2**63) <= value < 2**63:
            raise ImageError(f"integer {value} does not fit 64 bits")
        sink.count(value << 1 if value >= 0 else (-value << 1) - 1)

    def read(self, source: Source) -> int:
        value = source.count()
        return -(value + 1 >> 1) if value & 1 else value >> 1


@dataclass(frozen=True)
class Text:
    """A string: index in the string table."""

    title: str = "string"

    def write(self, sink: Sink, value: str) -> None:
        sink.string(value)

    def read(self, source: Source) -> str:
        return source.string()


@dataclass(frozen=True)
class Choice:
    """One of a few words: index in their list, one byte."""

    words: tuple[str, ...]

    @property
    def title(self) -> str:
        return "one of " + ", ".join(self.words)

    def write(self, sink: Sink, value: str) -> None:
        if value not in self.words:
            raise ImageError(f'"{value}" is not {self.title}')
        sink.byte(self.words.index(value))

    def read(self, source: Source) -> str:
        value = source.byte()
        if value >= len(self.words):
            raise source.fail(f"choice {value} of {len(self.words)} ({self.title})")
        return self.words[value]


@dataclass(frozen=True)
class Number:
    """An int or a float: byte 0 and an integer, or byte 1 and eight bytes."""

    title: str = "number"

    def write(self, sink: Sink, value: float | int) -> None:
        sink.byte(isinstance(value, float))
        if isinstance(value, float):
            sink.data += struct.pack("<d", value)
        else:
            INTEGER.write(sink, value)

    def read(self, source: Source) -> float | int:
        kind = source.byte()
        if kind > 1:
            raise source.fail(f"number of kind {kind}")
        if kind:
            return struct.unpack("<d", source.take(8))[0]
        return INTEGER.read(source)


@dataclass(frozen=True)
class Location:
    """A source location: index in the location table."""

    title: str = "location"

    def write(self, sink: Sink, value: LocationAttr) -> None:
        sink.count(sink.locations[value])

    def read(self, source: Source) -> LocationAttr:
        found = source.locations[source.index(source.locations, "location")]
        # The absent part of a named location is in the table too.
        if isinstance(found, NoneAttr):
            raise source.fail("a location is missing")
        return found


@dataclass(frozen=True)
class ListOf:
    """A count, then the items."""

    item: Encoding

    @property
    def title(self) -> str:
        return f"list of {self.item.title}"

    def write(self, sink: Sink, value: Sequence[Any]) -> None:
        sink.count(len(value))
        for item in value:
            self.item.write(sink, item)

    def read(self, source: Source) -> tuple[Any, ...]:
        return tuple(self.item.read(source) for _ in range(source.length()))


@dataclass(frozen=True)
class TupleOf:
    """Several values, one after another."""

    items: tuple[Encoding, ...]

    @property
    def title(self) -> str:
        return f"({', '.join(item.title for item in self.items)})"

    def write(self, sink: Sink, value: Sequence[Any]) -> None:
        for item, part in zip(self.items, value, strict=True):
            item.write(sink, part)

    def read(self, source: Source) -> tuple[Any, ...]:
        return tuple(item.read(source) for item in self.items)


@dataclass(frozen=True)
class Struct:
    """The fields of a dataclass, in order."""

    plain: type[Any]
    fields: tuple[tuple[str, Encoding], ...]

    @property
    def title(self) -> str:
        return self.plain.__name__

    def write(self, sink: Sink, value: Any) -> None:
        for name, encoding in self.fields:
            encoding.write(sink, getattr(value, name))

    def read(self, source: Source) -> Any:
        return self.plain(*(encoding.read(source) for _, encoding in self.fields))


INTEGER, TEXT, NUMBER, LOCATION = Integer(), Text(), Number(), Location()


def encoding_of(hint: Any) -> Encoding:
    """The encoding of values of an annotated type."""
    simple: dict[Any, Encoding] = {
        int: INTEGER,
        str: TEXT,
        float | int: NUMBER,
        LocationAttr: LOCATION,
    }
    if isinstance(hint, type | UnionType) and hint in simple:
        return simple[hint]
    if is_dataclass(hint) and isinstance(hint, type):
        return struct_of(hint)
    arguments = get_args(hint)
    if get_origin(hint) is Literal:
        return Choice(arguments)
    if get_origin(hint) is Annotated:
        return Choice(arguments[1:])
    if get_origin(hint) is tuple and arguments[-1] is Ellipsis:
        return ListOf(encoding_of(arguments[0]))
    if get_origin(hint) is tuple:
        return TupleOf(tuple(encoding_of(a) for a in arguments))
    raise TypeError(f"the image format has no encoding for {hint}")


def struct_of(plain: type[Any]) -> Struct:
    """The encoding of a dataclass, from its annotations."""
    hints = get_type_hints(plain, include_extras=True)
    return Struct(
        plain, tuple((f.name, encoding_of(hints[f.name])) for f in fields(plain))
    )
