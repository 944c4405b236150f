# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files and images that must not run: each is refused, and the message says why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from xdsl.dialects.builtin import IntegerAttr

from spyre_mlir.binary import Buffer, Call, HostValue, Image, ImageError, read, write
from spyre_mlir.binary.records import HEADER, SECTION, SECTIONS
from spyre_mlir.binary.writer import seal


@pytest.fixture
def data(image: Image) -> bytes:
    return write(image)


def section_start(data: bytes, name: str) -> int:
    """Offset in the file of a section's first byte."""
    place = [s.name for s in SECTIONS].index(name)
    return SECTION.unpack_from(data, HEADER.size + SECTION.size * place)[1]


def patched(data: bytes, at: int, value: int) -> bytes:
    """The file with one byte changed and its checksum made right again."""
    changed = bytearray(data)
    changed[at] = value
    return seal(changed)


def test_every_truncation(data: bytes) -> None:
    for size in range(len(data)):
        with pytest.raises(ImageError):
            read(data[:size])


def test_every_changed_byte(data: bytes) -> None:
    for at in range(len(data)):
        for bit in (0x01, 0x80, 0xFF):
            changed = bytearray(data)
            changed[at] ^= bit
            with pytest.raises(ImageError):
                read(bytes(changed))


def test_every_changed_byte_under_a_right_checksum(data: bytes) -> None:
    """
    No more than an ImageError may come of it; what is accepted is consistent.

    This reaches the checks behind the checksum, which a faulty writer would meet.
    """
    accepted = refused = 0
    for at in range(HEADER.size, len(data), 2):
        bit = (0x01, 0x7F, 0x80)[at % 3]
        try:
            image = read(patched(data, at, data[at] ^ bit))
        except ImageError:
            refused += 1
        else:
            write(image)
            accepted += 1
    assert accepted and refused


def test_bytes_after_the_end(data: bytes) -> None:
    with pytest.raises(ImageError, match="its header says"):
        read(data + b"\0")


@pytest.mark.parametrize("foreign", [b"", b"\x7fELF" + bytes(100), b"module {\n}\n"])
def test_a_foreign_file(foreign: bytes) -> None:
    with pytest.raises(ImageError, match="this is no spyre image"):
        read(foreign)


def test_a_file_sent_as_text(data: bytes) -> None:
    with pytest.raises(ImageError, match="this is no spyre image"):
        read(data.replace(b"\r\n", b"\n"))


def test_another_version(data: bytes) -> None:
    with pytest.raises(ImageError, match="format version 2, this is version 1"):
        read(patched(data, 8, 2))


def test_another_chip(data: bytes) -> None:
    assert read(data, fingerprint="00112233").chip == "spyre"
    with pytest.raises(ImageError, match=r"for chip spyre \(00112233\), not .* \(ff\)"):
        read(data, fingerprint="ff")


def test_a_cut_file(data: bytes) -> None:
    with pytest.raises(ImageError, match="is cut off or damaged"):
        read(data[:-1])


def test_a_flipped_bit(data: bytes) -> None:
    changed = bytearray(data)
    changed[-1] ^= 1
    with pytest.raises(ImageError, match="the checksum is wrong"):
        read(bytes(changed))


@pytest.mark.parametrize("opcode", [0x77, 0xEE])
def test_an_unknown_opcode(data: bytes, opcode: int) -> None:
    start = section_start(data, "programs")
    at = data.index(b"\x10", start + 20)
    changed = patched(data, at, opcode)
    with pytest.raises(ImageError, match="section programs, byte"):
        read(changed)


def test_a_number_that_is_too_long(data: bytes) -> None:
    changed = bytearray(data)
    start = section_start(data, "constants")
    changed[section_start(data, "buffers") : start] = b"\xff" * (
        start - section_start(data, "buffers")
    )
    with pytest.raises(ImageError, match="more than 64 bits"):
        read(seal(changed))


def test_a_list_longer_than_the_file(data: bytes) -> None:
    at = section_start(data, "metadata")
    with pytest.raises(ImageError, match="items expected"):
        read(patched(data, at, 0x7F))


def test_a_section_out_of_place(data: bytes) -> None:
    at = HEADER.size + SECTION.size
    with pytest.raises(ImageError, match="not chip"):
        read(patched(data, at, ord("x")))


BUFFER = Buffer("b", "temporary", "f16", (4, 64), (1, 0, 1), 512, 0, 0, 2)

INCONSISTENT: list[tuple[str, dict[str, Any], str]] = [
    ("pool", {"pool_bytes": -1}, "pool has -1 bytes"),
    ("pool end", {"pool_bytes": 128}, "ends at byte 16640 of 128"),
    ("constants", {"constants": b""}, "ends at byte 128 of 0"),
    ("program", {"calls": (Call(7),)}, "call 0 runs program 7 of 2"),
    ("symbols", {"calls": (Call(0, ((0, 0),)),)}, "gives 1 addresses to 2 symbols"),
    (
        "buffer",
        {"calls": (Call(0, ((0, 0), (9, 0))),)},
        "call 0 names buffer 9 of 7",
    ),
    (
        "offset",
        {"calls": (Call(0, ((0, 0), (0, 20000))),)},
        "call 0 points 20000 bytes into the 16384",
    ),
    (
        "records",
        {"calls": (Call(1, (), locations=(Call(1).location,)),)},
        "has 1 locations for 0 records",
    ),
    (
        "argument",
        {"arguments": (HostValue(1, "f16", (64, 128), (128, 1)),)},
        "argument 0 is a result buffer",
    ),
    (
        "strides",
        {"arguments": (HostValue(0, "f16", (64, 128), (128,)),)},
        "argument 0 has 2 sizes and 1 strides",
    ),
    (
        "twice",
        {"results": (HostValue(1, "f16", (64, 128), (128, 1)),) * 2},
        "result 1 is the buffer of result 0",
    ),
    (
        "not named",
        {"results": (HostValue(1, "f16", (64, 128), (128, 1)),)},
        'buffer 6 "z" is no result of the image',
    ),
    (
        "argument mutates",
        {"arguments": (HostValue(0, "f16", (64, 128), (128, 1), 0),)},
        "argument 0 mutates argument 0 of 0",
    ),
    (
        "mutation",
        {"results": (HostValue(1, "f16", (64, 128), (128, 1), 3),)},
        "result 0 mutates argument 3 of 3",
    ),
]


@pytest.mark.parametrize(
    ("changes", "message"), [row[1:] for row in INCONSISTENT], ids=lambda _: ""
)
def test_parts_that_do_not_fit(
    image: Image, changes: dict[str, Any], message: str
) -> None:
    if "calls" in changes:
        still = [replace(b, first_call=-1, last_call=-1) for b in image.buffers]
        changes = {"buffers": tuple(still), **changes}
    with pytest.raises(ImageError, match=message):
        write(replace(image, **changes))


@pytest.mark.parametrize(
    ("buffer", "message"),
    [
        (replace(BUFFER, shape=(4, -1)), "has a negative size"),
        (replace(BUFFER, dims=(0, 1)), "does not count the sticks of dimension 1"),
        (replace(BUFFER, dims=(1, 0, 1, 1)), "repeats a dimension"),
        (replace(BUFFER, bytes=384), "has 384 bytes, its layout 512"),
        (replace(BUFFER, offset=64), "starts at byte 64, not at a stick"),
        (replace(BUFFER, offset=-128), "ends at byte 384 of 16640"),
        (replace(BUFFER, kind="argument", offset=128), "has an address of its own"),
        (replace(BUFFER, last_call=3), "lives from call 0 to 3"),
        (replace(BUFFER, first_call=2, last_call=1), "lives from call 2 to 1"),
    ],
)
def test_a_buffer_that_cannot_be(image: Image, buffer: Buffer, message: str) -> None:
    with pytest.raises(ImageError, match=f'buffer 7 "b"(:.*)? ?{message}'):
        write(replace(image, buffers=(*image.buffers, buffer)))


def test_a_temporary_used_after_its_life(image: Image) -> None:
    short = replace(image.buffers[2], last_call=0)
    changed = (*image.buffers[:2], short, *image.buffers[3:])
    with pytest.raises(ImageError, match='call 1 uses "t", which lives from call 0'):
        write(replace(image, buffers=changed))


def test_a_program_that_does_not_verify(image: Image) -> None:
    program = image.programs[0]
    program.attributes["symbols"] = IntegerAttr(1, 64)
    with pytest.raises(ImageError, match=r'program "k0" is invalid: .*symbol 1 of 1'):
        write(image)


def test_a_choice_outside_its_list(image: Image) -> None:
    first = replace(image.results[0], dtype="bf8")
    changed = replace(image, results=(first, *image.results[1:]))
    with pytest.raises(ImageError, match='"bf8" is not one of f16, bf16'):
        write(changed)
