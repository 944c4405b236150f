# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prices: exact rules on a chip with round numbers, and published times of the card."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from spyre_mlir.target.chips import load_chip
from spyre_mlir.target.cost import (
    KINDS,
    MatmulDivision,
    Work,
    channel_time,
    charge,
    estimate,
    matmul_compute_time,
    matmul_division_score,
    matmul_dram_time,
    matmul_sum_time,
    stream_time,
)

from .build import NS, round_chip

DATA = Path(__file__).parents[1] / "data" / "card_measurements.toml"
CARD: dict[str, Any] = tomllib.loads(DATA.read_text(encoding="utf-8"))
BURST = 4096


def matmul_work(**sizes: int) -> Work:
    shape = {"batches": 1, "rows": 64, "columns": 64, "depth": 64} | sizes
    return Work(kind="matmul", dtype="f16", cores=1, **shape)


# rules ----------------------------------------------------------------------


def test_an_unknown_kind_is_an_error_not_zero():
    with pytest.raises(ValueError, match='no price for "teleport"; priced: load'):
        charge(load_chip(), Work(kind="teleport", dtype="f16", cores=1))


def test_a_matmul_in_a_type_without_a_rate_is_an_error():
    work = Work(
        kind="matmul", dtype="i1", cores=1, batches=1, rows=8, columns=8, depth=8
    )
    with pytest.raises(ValueError, match="no rate of matrix products in i1"):
        charge(load_chip(), work)


@pytest.mark.parametrize("kind", KINDS)
def test_work_of_no_core_takes_no_time(kind: str):
    assert charge(load_chip(), Work(kind=kind, dtype="f16", cores=0)).unit_ps == 0


def test_a_product_takes_macs_over_the_rate():
    # 64^3 multiply-adds at 1024 per ns
    assert charge(round_chip(), matmul_work()).unit_ps == 256 * NS


def test_one_row_takes_the_array_as_long_as_eight():
    chip = round_chip()
    one, eight = (charge(chip, matmul_work(rows=r)) for r in (1, 8))
    assert one == eight
    assert one.unit_ps == 32 * NS


def test_f32_products_take_four_times_as_long():
    work = Work(
        kind="matmul", dtype="f32", cores=1, batches=1, rows=64, columns=64, depth=64
    )
    assert charge(round_chip(), work).unit_ps == 4 * 256 * NS


def test_each_weight_block_is_filled_once():
    chip = round_chip(pt_fill_cycles=64)
    one_block = matmul_work(columns=1024)
    two_blocks = matmul_work(columns=1088)
    assert charge(chip, one_block).unit_ps == (16 * 256 + 64) * NS
    assert charge(chip, two_blocks).unit_ps == (17 * 256 + 2 * 64) * NS


def test_a_matmul_is_no_faster_than_its_scratchpad():
    work = matmul_work(lx_read_bytes=128 * 1000)
    assert charge(round_chip(), work).unit_ps == 1000 * NS


def test_vector_time_is_lanes_over_the_unit_s_width():
    work = Work(kind="vector", dtype="f16", cores=1, lane_passes=128 * 10)
    assert charge(round_chip(), work).unit_ps == 10 * NS


def test_a_fold_of_lanes_costs_its_cycles():
    work = Work(kind="vector", dtype="f16", cores=1, lane_passes=128, lane_folds=5)
    assert charge(round_chip(), work).unit_ps == (1 + 5 * 6) * NS


def test_runs_shorter_than_a_burst_pay_for_their_requests():
    chip = round_chip(dram_request_picoseconds=100)
    assert channel_time(chip, 4 * BURST, BURST) == 4 * BURST
    assert channel_time(chip, 4 * BURST, 10 * BURST) == 4 * BURST
    assert channel_time(chip, 4 * BURST, BURST // 2) == 4 * BURST + 4 * 100
    assert channel_time(chip, 4 * BURST, 128) == 4 * BURST + (128 - 4) * 100


def test_one_fetch_serves_eight_cores_for_free_then_slows_down():
    chip = round_chip(multicast_exponent=1.0)
    assert channel_time(chip, 1000, BURST, 8) == 1000
    assert channel_time(chip, 1000, BURST, 32) == 4000


def test_a_core_alone_is_bound_by_its_own_rate():
    chip = round_chip(dram_bytes_per_second_per_core=10**11)
    work = Work(
        kind="load",
        dtype="f16",
        cores=1,
        dram_read_bytes=4096,
        core_dram_bytes=4096,
        run_bytes=4096,
    )
    cost = charge(chip, work)
    assert (cost.channel_ps, cost.unit_ps) == (4096, 40960)


def test_a_gather_waits_for_rounds_of_requests():
    chip = round_chip(dram_latency_picoseconds=1000)
    work = Work(
        kind="gather",
        dtype="f16",
        cores=1,
        dram_read_bytes=9 * 128,
        core_dram_bytes=9 * 128,
        run_bytes=128,
        requests=9,
    )
    assert charge(chip, work).unit_ps == 3 * 1000


def test_partial_sums_go_round_hop_by_hop():
    chip = round_chip()
    work = Work(
        kind="ring_reduce", dtype="f32", cores=4, elements=10, ring_bytes=128, parts=4
    )
    assert charge(chip, work).unit_ps == 3 * 10 * 100 + 1 * NS


def test_an_estimate_of_both_ways_includes_the_turnaround():
    chip = round_chip(dram_turnaround_femtoseconds_per_byte=2000)
    work = Work(
        kind="load",
        dtype="f16",
        cores=1,
        dram_read_bytes=4096,
        dram_write_bytes=4096,
        run_bytes=4096,
    )
    assert estimate(chip, work) == 8192 + 2 * 4096


# the card -------------------------------------------------------------------


def time_of(row: dict[str, Any]) -> float:
    """Model time over measured time: compute and DRAM overlap, sums do not."""
    chip, division = load_chip(), MatmulDivision(*row["sizes"], *row["split"])
    time = max(matmul_compute_time(chip, division), matmul_dram_time(chip, division))
    return (time + matmul_sum_time(chip, division)) / 1e6 / row["us"]


@pytest.mark.parametrize("row", CARD["matmul"]["rows"], ids=lambda row: row["op"])
def test_products_come_within_a_fifth_of_the_card(row: dict[str, Any]):
    assert time_of(row) == pytest.approx(1, abs=0.1 if row["fit"] else 0.2)


def test_products_beat_the_published_model_s_error():
    rows = [row for row in CARD["matmul"]["rows"] if not row["fit"]]
    errors = [(time_of(row) - 1) ** 2 for row in rows]
    assert (sum(errors) / len(errors)) ** 0.5 < 0.12


@pytest.mark.parametrize("row", CARD["matmul_split"]["rows"])
def test_a_good_division_beats_pure_rows_as_on_the_card(row: dict[str, Any]):
    chip = load_chip()
    m, n, k = row["sizes"]
    scores: list[int] = []
    for row_parts, column_parts, depth_parts in (row["from"], row["to"]):
        division = MatmulDivision(1, m, n, k, 1, row_parts, column_parts, depth_parts)
        scores.append(matmul_division_score(chip, division))
    slow, fast = scores
    assert slow / fast == pytest.approx(row["speedup"], rel=0.25)


@pytest.mark.parametrize("row", CARD["transpose"]["rows"])
def test_transposes_come_near_the_card(row: dict[str, Any]):
    moved = 2 * row["n"] ** 2
    ratio = stream_time(load_chip(), moved, moved) / 1e6 / row["us"]
    assert ratio == pytest.approx(1, abs=0.15 if row["n"] > 512 else 0.35)


@pytest.mark.parametrize("row", CARD["stream"]["rows"], ids=lambda row: row["access"])
def test_streams_run_at_the_published_rates(row: dict[str, Any]):
    read, written = row["read"] * 10**9, row["written"] * 10**9
    seconds = stream_time(load_chip(), read, written) / 1e12
    rate = (read + written) / seconds / 1e9
    assert rate == pytest.approx(row["gb_per_s"], rel=0.01 if row["fit"] else 0.15)


def test_more_parts_than_cores_are_refused():
    with pytest.raises(ValueError, match="64 parts for 32 cores"):
        matmul_division_score(load_chip(), MatmulDivision(1, 64, 64, 64, 1, 8, 8, 1))
