# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
A compiled graph: what a `.spyre` file holds, as plain data.

Programs are `dev.ProgramOp`s, everything else is integers, strings and tuples. The
dataclasses' fields, in order, are also the file's fields (`binary.records`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Literal

from xdsl.dialects.builtin import UNKNOWN_LOC, CallSiteLoc, LocationAttr

from spyre_mlir.algebra.access import ITEMSIZE
from spyre_mlir.dialects import dev

BufferKind = Literal["argument", "result", "temporary", "constant"]
DType = Annotated[str, *ITEMSIZE]
"""Any string to a type checker; one of these in a file."""
Numerics = Annotated[str, "ieee", "dl16"]


class ImageError(ValueError):
    """An image that cannot be written, read or run: what, where, what to do."""


@dataclass(frozen=True)
class Buffer:
    """A piece of card memory that calls name."""

    name: str
    kind: BufferKind
    dtype: DType
    shape: tuple[int, ...]
    dims: tuple[int, ...]
    """Layout: host dimension by device dimension (`DeviceLayout.dims`)."""
    bytes: int
    offset: int = 0
    """From the start of the pool (temporary) or of the constants (constant)."""
    first_call: int = -1
    """First and last call that touch it; -1 if none does."""
    last_call: int = -1


@dataclass(frozen=True)
class Call:
    """One run of a program, with the addresses that it gets."""

    program: int
    symbols: tuple[tuple[int, int], ...] = ()
    """By the program's symbol: buffer, and bytes from the buffer's start."""
    location: LocationAttr = UNKNOWN_LOC
    """Where the program is called from, if it is shared by several calls."""
    locations: tuple[LocationAttr, ...] = ()
    """By record: replaces the program's own locations; empty keeps them."""


@dataclass(frozen=True)
class HostValue:
    """An argument or result as the host sees it; sizes and strides in elements."""

    buffer: int
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    mutates: int = -1
    """Of a result: the argument whose memory takes it; -1 for a new tensor."""


@dataclass(frozen=True, eq=False)
class Image:
    """A compiled graph."""

    programs: tuple[dev.ProgramOp, ...]
    calls: tuple[Call, ...]
    buffers: tuple[Buffer, ...]
    arguments: tuple[HostValue, ...]
    results: tuple[HostValue, ...]
    chip: str
    fingerprint: str
    """Of the chip description that it was compiled for."""
    constants: bytes = b""
    pool_bytes: int = 0
    """Card memory that all temporaries share."""
    numerics: Numerics = "ieee"
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Image):
            return NotImplemented
        plain = [f.name for f in fields(self) if f.name != "programs"]
        return (
            all(getattr(self, name) == getattr(other, name) for name in plain)
            and len(self.programs) == len(other.programs)
            and all(map(same_program, self.programs, other.programs))
        )

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def location(self, call: int, record: int) -> LocationAttr:
        """
        The user's line behind a record of a call.

        `record` counts the program's records in the order of `dev.walk_records`.
        """
        made = self.calls[call]
        if made.locations:
            found = made.locations[record]
        else:
            records = tuple(dev.walk_records(self.programs[made.program]))
            found = records[record][0].location
        if made.location == UNKNOWN_LOC:
            return found
        return CallSiteLoc(found, made.location)


def same_program(left: dev.ProgramOp, right: dev.ProgramOp) -> bool:
    """Whether two programs have the same records and the same locations."""
    return left.is_structurally_equivalent(right) and all(
        a.location == b.location for a, b in zip(left.walk(), right.walk(), strict=True)
    )
