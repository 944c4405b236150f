# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One rule of the clock per test, at exact picoseconds."""

import pytest
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from spyre_mlir.algebra.access import Access, Axis, Sync
from spyre_mlir.dialects import dev
from spyre_runtime.clock import DeadlockError, Timing, time_program

from .build import (
    NS,
    dram,
    load,
    loop,
    lx,
    matmul,
    pipeline,
    program,
    round_chip,
    rows,
    store,
    vector,
)

ROWS = 80
TILE = ROWS * 128
"""Bytes of a tile, and picoseconds of its transfer."""


def unit(timing: Timing, name: str):
    return next(u for u in timing.units if u.unit == name)


def test_an_empty_program_takes_its_start_time():
    chip = round_chip(program_start_picoseconds=7)
    assert time_program(program({}), chip).total_ps == 7


def test_a_transfer_takes_its_bytes_over_the_channel_s_rate():
    timing = time_program(program({"load": [load(rows(ROWS))]}), round_chip())
    assert timing.total_ps == TILE
    assert timing.dram_read_bytes == TILE


def test_records_of_one_unit_run_one_after_the_other():
    made = program({"load": [load(rows(ROWS)), load(rows(ROWS))]})
    assert time_program(made, round_chip()).total_ps == 2 * TILE


def test_units_without_a_common_semaphore_run_side_by_side():
    made = program({"pt": [matmul(64, 64, 64)], "sfp": [vector(rows(640))]})
    timing = time_program(made, round_chip())
    assert unit(timing, "pt").busy_ps == 256 * NS
    assert unit(timing, "sfp").busy_ps == 640 * NS
    assert timing.total_ps == 640 * NS


def test_second_transfer_waits_for_the_channel_for_its_whole_length():
    made = program({"load": [load(rows(ROWS))], "store": [store(rows(ROWS))]})
    timing = time_program(made, round_chip())
    assert timing.total_ps == 2 * TILE
    assert unit(timing, "store").stalled_ps == {"dram channel": TILE}
    assert unit(timing, "store").busy_ps == TILE


def test_the_channel_is_free_while_one_core_still_takes_its_bytes():
    chip = round_chip(dram_bytes_per_second_per_core=10**11)
    made = program({"load": [load(rows(ROWS))], "store": [store(rows(ROWS))]})
    timing = time_program(made, chip)
    assert unit(timing, "load").busy_ps == 10 * TILE
    assert unit(timing, "store").stalled_ps == {"dram channel": TILE}
    assert timing.total_ps == 11 * TILE
    assert timing.dram_busy_ps == 2 * TILE


def test_a_store_after_a_load_pays_a_turnaround_for_each_paired_byte():
    chip = round_chip(dram_turnaround_femtoseconds_per_byte=3000)
    loads = [load(rows(3 * ROWS))]
    timing = time_program(program({"load": loads, "store": [store(rows(ROWS))]}), chip)
    assert timing.total_ps == 4 * TILE + 3 * TILE


def test_a_byte_pays_one_turnaround_only():
    chip = round_chip(dram_turnaround_femtoseconds_per_byte=1000)
    stores = [store(rows(2 * ROWS)), store(rows(2 * ROWS))]
    timing = time_program(program({"load": [load(rows(ROWS))], "store": stores}), chip)
    assert timing.total_ps == 5 * TILE + TILE


def test_a_wait_holds_until_the_signal_and_names_its_unit():
    made = program(
        {
            "load": [load(rows(ROWS), signals=[Sync(0, 1, 0)])],
            "sfp": [vector(rows(128), waits=[Sync(0, 1, 0)])],
        },
        [0],
    )
    timing = time_program(made, round_chip())
    assert timing.total_ps == TILE + 128 * NS
    assert unit(timing, "sfp").stalled_ps == {"load": TILE}
    assert unit(timing, "load").idle_ps == 128 * NS


def test_a_semaphore_s_initial_value_lets_records_go():
    made = program({"sfp": [vector(rows(128), waits=[Sync(0, 2, 0)])]}, [2])
    assert time_program(made, round_chip()).total_ps == 128 * NS


def test_a_wait_is_made_at_the_first_trip_of_deeper_loops_only():
    made = program({"sfp": [loop(5, vector(rows(128), waits=[Sync(0, 1, 0)]))]}, [1])
    assert time_program(made, round_chip()).total_ps == 5 * 128 * NS


def test_a_signal_is_made_at_the_last_trip_of_deeper_loops_only():
    made = program(
        {
            "sfp": [loop(5, vector(rows(128), signals=[Sync(0, 1, 0)]))],
            "store": [store(rows(ROWS), waits=[Sync(0, 1, 0)])],
        },
        [0],
    )
    timing = time_program(made, round_chip())
    assert unit(timing, "store").stalled_ps == {"sfp": 5 * 128 * NS}


def test_one_stage_runs_load_and_compute_in_turn():
    trips, time = 10, 128 * NS
    made = pipeline(trips, 128, depth=1)
    chip = round_chip(sfp_lanes_per_core=64)
    timing = time_program(made, chip)
    transfer = 128 * 128
    # the next load waits for the end of the computation, the store runs beside it
    assert timing.total_ps == trips * (transfer + time) + transfer * (trips)


def test_double_buffering_overlaps_load_and_compute():
    trips, time, transfer = 10, 128 * NS, 128 * 128
    timing = time_program(pipeline(trips, 128, depth=2), round_chip())
    assert timing.total_ps == transfer + trips * time + transfer
    assert unit(timing, "sfp").stalled_ps == {"load": transfer}


def test_the_last_tile_costs_what_is_left_of_it():
    axes = [Axis(100, -1, 100, 0, 64), Axis.whole(64)]
    made = program({"load": [loop(2, load(axes))]})
    timing = time_program(made, round_chip())
    assert timing.total_ps == 100 * 128
    assert timing.dram_read_bytes == 100 * 128


def test_idle_cores_move_no_bytes():
    # 5 of 8 cores own 2 of 10 rows each
    axes = [Axis(10, 0, 2, -1, 2), Axis.whole(64)]
    source = Access("dram", "f16", 0, (64, 0), (0, 1), 0, 0, 0, (256,))
    made = program({"load": [dev.TransferOp(axes, source, lx())]}, grid=[8])
    timing = time_program(made, round_chip())
    assert timing.dram_read_bytes == 10 * 128
    assert timing.total_ps == 10 * 128


def test_one_fetch_for_all_cores_is_moved_once():
    made = program({"load": [load(rows(ROWS))]}, grid=[8])
    timing = time_program(made, round_chip())
    assert timing.dram_read_bytes == TILE
    assert timing.total_ps == 80 * NS  # a core takes 128 bytes per ns from the ring
    assert timing.dram_busy_ps == TILE


def test_a_record_whose_cores_are_all_idle_still_signals():
    axes = [Axis(64, -1, 64, 0, 64), Axis.whole(64)]
    made = program(
        {
            "load": [loop(3, load(axes, signals=[Sync(0, 1, 1)]))],
            "sfp": [loop(3, vector(rows(128), waits=[Sync(0, 1, 1)]))],
        },
        [0],
    )
    timing = time_program(made, round_chip())
    assert timing.total_ps == 64 * 128 + 3 * 128 * NS


def test_waiting_units_are_served_in_the_order_they_came():
    made = program(
        {
            "load": [load(rows(4 * ROWS), signals=[Sync(0, 1, 0)])],
            "pt": [
                matmul(64, 64, 64),
                matmul(64, 64, 64, waits=[Sync(1, 1, 0)], signals=[Sync(1, 1, 0)]),
            ],
            "sfp": [
                vector(
                    rows(128),
                    waits=[Sync(0, 1, 0), Sync(1, 1, 0)],
                    signals=[Sync(1, 1, 0)],
                )
            ],
        },
        [0, 1],
    )
    timing = time_program(made, round_chip())
    # sfp asks for semaphore 1 at 40.96 ns, pt at 256 ns while sfp has let it go
    assert unit(timing, "sfp").stalled_ps == {"load": 4 * TILE}
    assert timing.total_ps == 512 * NS


def test_a_deadlock_says_who_waits_for_whom_and_the_user_s_line():
    first = vector(rows(8), waits=[Sync(0, 1, 0)], signals=[Sync(1, 1, 0)])
    second = matmul(8, 8, 8, waits=[Sync(1, 1, 0)], signals=[Sync(0, 1, 0)])
    first.location = FileLineColLoc(StringAttr("model.py"), IntAttr(41), IntAttr(0))
    made = program({"pt": [second], "sfp": [first]}, [0, 0])
    with pytest.raises(DeadlockError) as caught:
        time_program(made, round_chip())
    text = str(caught.value)
    assert "pt: dev.matmul (record 0) at trips [] waits for 1 of semaphore 1" in text
    assert "sfp: dev.vector (record 1)" in text
    assert "signalled by pt; from model.py:41" in text


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("functions", [("neg",), ("exp", "neg", "exp")])
def test_busy_stalled_and_idle_add_up_to_the_total(
    depth: int, functions: tuple[str, ...]
):
    timing = time_program(pipeline(50, 100, depth, functions), round_chip())
    for part in timing.units:
        spent = part.busy_ps + sum(part.stalled_ps.values()) + part.idle_ps
        assert spent == timing.total_ps
        assert min(part.busy_ps, part.idle_ps, *part.stalled_ps.values()) >= 0


def test_shares_of_the_records_add_up_to_the_total():
    timing = time_program(pipeline(50, 100, 2, ("exp", "neg")), round_chip())
    assert sum(record.share_ps for record in timing.records) == timing.total_ps


def test_the_busiest_unit_has_the_time_that_units_share():
    made = program({"pt": [matmul(64, 64, 64)], "sfp": [vector(rows(640))]})
    timing = time_program(made, round_chip())
    assert [record.share_ps for record in timing.records] == [0, 640 * NS]


def test_matrix_utilisation_is_macs_over_the_peak_of_all_cores():
    timing = time_program(program({"pt": [matmul(64, 64, 64)]}), round_chip(cores=2))
    assert timing.macs == 64**3
    assert timing.pt_utilisation == pytest.approx(0.5)


@pytest.mark.parametrize("factor", [2, 3, 10])
def test_more_dram_never_slows_a_straight_line_program(factor: int):
    made = program(
        {
            "load": [load(rows(8 * k + 1)) for k in range(20)],
            "store": [store(rows(ROWS))],
        }
    )
    slow = time_program(made, round_chip()).total_ps
    fast_chip = round_chip(dram_bytes_per_second=factor * 10**12)
    assert time_program(made, fast_chip).total_ps <= slow


def test_the_same_program_takes_the_same_time_again():
    made = pipeline(30, 77, 2, ("exp", "neg"))
    assert time_program(made, round_chip()) == time_program(made, round_chip())


def test_dram_symbols_do_not_matter():
    one = program({"load": [dev.TransferOp(rows(8), dram(0), lx())]})
    two = program({"load": [dev.TransferOp(rows(8), dram(1), lx(4096))]})
    chip = round_chip()
    assert time_program(one, chip).total_ps == time_program(two, chip).total_ps
