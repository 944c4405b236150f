# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of records is complete, and the documentation says what it says."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

from spyre_mlir.binary import Image, write
from spyre_mlir.binary.format_doc import format_markdown
from spyre_mlir.binary.records import LOOP_OPCODE, RECORDS, SECTIONS, VERSION
from spyre_mlir.dialects import dev

DOCUMENT = Path(__file__).parents[2] / "docs" / "image-format.md"

SAMPLE = {1: "85d8e6d9874be6c2"}
"""Version of the format, and the digest of the sample image in it."""


def test_every_record_has_an_opcode_of_its_own() -> None:
    assert {record.op for record in RECORDS} == set(dev.RECORDS)
    opcodes = [LOOP_OPCODE, *(record.opcode for record in RECORDS)]
    assert len(set(opcodes)) == len(opcodes)


def test_every_attribute_of_a_record_has_a_field() -> None:
    for record in RECORDS:
        defined = record.op.get_irdl_definition().attributes
        assert {field.name for field in record.fields} == set(defined), record.op.name


def test_section_names_fit_the_section_table() -> None:
    assert all(len(section.name.encode()) <= 16 for section in SECTIONS)


def test_document_is_current() -> None:
    assert DOCUMENT.read_text() == format_markdown(), (
        "run `python -m spyre_mlir.binary.format_doc > docs/image-format.md`"
    )


def test_document_names_every_section_and_record() -> None:
    text = format_markdown()
    for section in SECTIONS:
        assert f"`{section.name}`" in text
    for record in RECORDS:
        assert f"`{record.opcode:#04x}`" in text


def test_format_changes_only_with_its_version(image: Image) -> None:
    digest = blake2b(write(image), digest_size=8).hexdigest()
    assert digest == SAMPLE[VERSION], (
        "the bytes of an image changed: count records.VERSION up and note the digest"
    )
