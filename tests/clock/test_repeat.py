# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Leaping over repetitions: exact, and worth it."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.ir import Operation

from spyre_mlir.algebra.access import Axis, Sync
from spyre_mlir.dialects import dev
from spyre_mlir.target.chip import Chip
from spyre_mlir.target.chips import load_chip
from spyre_runtime.clock import Timing, time_program
from spyre_runtime.trace import trace_program

from .build import load, loop, pipeline, program, round_chip, rows, store, vector

TURNING = round_chip(dram_turnaround_femtoseconds_per_byte=1234)


def both_ways(made: dev.ProgramOp, chip: Chip) -> tuple[Timing, int]:
    """The timing with skipping, checked against the full walk, and what it walked."""
    full = time_program(made, chip, skip=False)
    quick = time_program(made, chip)
    assert replace(quick, walked=full.walked) == full
    assert full.walked == full.executions
    return full, quick.walked


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("chip", [load_chip(), TURNING], ids=["spyre", "round"])
def test_steady_skip_equals_full_walk(depth: int, chip: Chip):
    full, walked = both_ways(pipeline(400, 100, depth, ("exp", "neg")), chip)
    assert walked < full.executions / 4


def test_a_huge_loop_is_walked_in_a_few_trips():
    timing = time_program(pipeline(65535, 8), load_chip())
    assert timing.executions == 3 * 65535
    assert timing.walked < 100


def test_huge_nested_loops_are_walked_in_a_few_trips():
    axes = rows(8)
    body = loop(60000, loop(50000, vector(axes)))
    timing = time_program(program({"sfp": [body]}), round_chip())
    assert timing.executions == 60000 * 50000
    assert timing.total_ps == 60000 * 50000 * 8 * 1000
    assert timing.walked < 100


@pytest.mark.parametrize("tiles", [(3, 1), (1, 3), (2, 2)])
def test_skip_is_exact_when_reads_and_writes_are_not_balanced(tiles: tuple[int, int]):
    """The balance of bytes never repeats, but what is paired in a period does."""
    reads, writes = tiles
    made = program(
        {
            "load": [
                loop(
                    300,
                    load(rows(10 * reads), [Sync(1, 1, 1)], [Sync(0, 1, 1)]),
                )
            ],
            "store": [
                loop(
                    300,
                    store(rows(10 * writes), [Sync(0, 1, 1)], [Sync(1, 1, 1)]),
                )
            ],
        },
        [0, 2],
    )
    full, walked = both_ways(made, TURNING)
    assert walked < full.executions / 4


def test_skip_stops_before_the_trips_that_are_clamped():
    axes = [Axis(1000, 0, 300, 0, 7), Axis.whole(64)]
    made = program({"load": [loop(50, load(axes))]}, grid=[4])
    full, walked = both_ways(made, TURNING)
    assert walked < full.executions
    # no digit moves the address: the fullest core's fetch serves the others
    assert full.dram_read_bytes == 300 * 128


def test_a_trace_is_the_full_walk_when_nothing_is_skipped():
    made = pipeline(20, 64)
    timing, trace = trace_program(made, round_chip(), skip=False)
    ran = [event for event in trace.events if event["cat"] == "record"]
    assert len(ran) == timing.executions
    assert max(event["args"]["end_ps"] for event in ran) == timing.total_ps


def test_a_trace_marks_what_was_leapt_over():
    _, trace = trace_program(pipeline(1000, 64), round_chip())
    leaps = [event for event in trace.events if "periods" in event["args"]]
    assert leaps


# any program ----------------------------------------------------------------

SEMAPHORES = 4


@st.composite
def nests(draw: st.DrawFn) -> tuple[list[int], int, int]:
    """Trips of a nest shared by all units, and two depths within it."""
    trips = draw(st.lists(st.integers(1, 12), min_size=1, max_size=2))
    return trips, draw(st.integers(0, len(trips))), draw(st.integers(0, len(trips)))


def nested(trips: Sequence[int], body: Sequence[Operation]) -> list[Operation]:
    for count in reversed(trips):
        body = [loop(count, *body)]
    return list(body)


@st.composite
def programs(draw: st.DrawFn) -> dev.ProgramOp:
    """Load, compute, store with stages, in two nests one after the other."""
    streams: dict[str, list[Operation]] = {"load": [], "store": [], "sfp": []}
    initial: list[int] = []
    for _ in range(draw(st.integers(1, 2))):
        trips, level_in, level_out = draw(nests())
        height = draw(st.integers(1, 40))
        inner = draw(st.lists(st.integers(1, 5), max_size=1))
        tiled = [Axis(draw(st.integers(1, 200)), -1, 200, 0, height), Axis.whole(64)]
        base = len(initial)
        depth = draw(st.integers(1, 3))
        initial += [0, depth, 0, depth]
        full_in, free_in = Sync(base, 1, level_in), Sync(base + 1, 1, level_in)
        full_out, free_out = Sync(base + 2, 1, level_out), Sync(base + 3, 1, level_out)
        streams["load"] += nested(
            trips[:level_in] + trips[level_in:], [load(tiled, [free_in], [full_in])]
        )
        first = vector(rows(height), [full_in, free_out], [free_in, full_out])
        streams["sfp"] += nested([*trips, *inner], [first, vector(rows(3))])
        streams["store"] += nested(trips, [store(tiled, [full_out], [free_out])])
    return program(streams, initial)


@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(programs(), st.sampled_from([load_chip(), TURNING, round_chip()]))
def test_skip_equals_full_walk_on_any_program(made: dev.ProgramOp, chip: Chip):
    full, walked = both_ways(made, chip)
    assert walked <= full.executions
    for unit in full.units:
        spent = unit.busy_ps + sum(unit.stalled_ps.values()) + unit.idle_ps
        assert spent == full.total_ps
    assert sum(record.share_ps for record in full.records) == full.total_ps
