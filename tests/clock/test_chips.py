# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chips: sources, what-ifs, the generated table."""

from math import inf, nan
from pathlib import Path

import pytest

from spyre_mlir.target.chip import Chip, assumed, number_names
from spyre_mlir.target.chip_table import chip_table_markdown, field_docs
from spyre_mlir.target.chips import chip_names, load_chip

CHIPS_TABLE = Path(__file__).parents[2] / "docs" / "generated" / "chips.md"


@pytest.mark.parametrize("name", chip_names())
def test_every_number_has_a_source_and_a_reason(name: str):
    chip = load_chip(name)
    assert chip.name == name
    assert set(chip.sources) == set(number_names())
    for source in chip.sources.values():
        assert source.kind in ("public", "measured", "assumed")
        assert source.note


def test_a_number_without_a_source_is_an_error():
    numbers = {name: assumed(1, "a test") for name in number_names()}
    with pytest.raises(ValueError, match="x: cores = 32 has no source"):
        Chip(name="x", **(numbers | {"cores": 32}))


def test_numbers_come_out_plain():
    chip = load_chip()
    assert type(chip.cores) is int
    assert type(chip.pt_rows_exponent) is float


def test_an_unknown_chip_is_refused_with_a_list():
    with pytest.raises(ValueError, match=r'no chip "none"; there are: .*spyre'):
        load_chip("none")


def test_an_unknown_override_is_refused_with_a_list():
    with pytest.raises(ValueError, match="no number dram_byte; it has: dram_bytes"):
        load_chip().with_overrides({"dram_byte": "1"})


def test_an_override_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="cores: 'many' is not a number"):
        load_chip().with_overrides({"cores": "many"})
    with pytest.raises(ValueError, match=r"cores is a whole number, not 1\.5"):
        load_chip().with_overrides({"cores": "1.5"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cores", 0),
        ("dram_bytes_per_second", -1),
        ("record_start_cycles", -1),
        ("pt_rows_exponent", nan),
        ("multicast_exponent", inf),
        ("core_clock_hz", 10**16),
    ],
)
def test_an_impossible_number_is_refused(name: str, value: float):
    with pytest.raises(ValueError, match=f"spyre: {name} is {value}; it must be"):
        load_chip().replace(**{name: value})


def test_memory_is_whole_sticks():
    with pytest.raises(ValueError, match="dram_bytes is 200, no whole sticks of 128"):
        load_chip().replace(dram_bytes=200)


def test_a_derived_chip_says_where_its_numbers_come_from():
    half = load_chip().derive(
        "half", cores=assumed(16, "half of them"), dram_bytes=1024
    )
    assert (half.name, half.cores, half.dram_bytes) == ("half", 16, 1024)
    assert half.sources["cores"].kind == "assumed"
    assert half.sources["dram_bytes"].kind == "override"
    assert half.sources["core_clock_hz"] == load_chip().sources["core_clock_hz"]
    assert half.fingerprint() != load_chip().fingerprint()


def test_an_override_changes_value_source_and_fingerprint_alone():
    chip = load_chip()
    other = chip.with_overrides({"dram_bytes_per_second": "300_000_000_000"})
    assert other.dram_bytes_per_second == 300_000_000_000
    assert other.sources["dram_bytes_per_second"].kind == "override"
    assert other.fingerprint() != chip.fingerprint()
    back = other.replace(dram_bytes_per_second=chip.dram_bytes_per_second)
    assert back.fingerprint() == chip.fingerprint()


def test_every_field_is_documented():
    assert set(number_names()) <= set(field_docs())


def test_the_generated_chip_table_is_current():
    assert CHIPS_TABLE.read_text(encoding="utf-8") == chip_table_markdown(), (
        f"write spyre_mlir.target.chip_table.chip_table_markdown() to {CHIPS_TABLE}"
    )
