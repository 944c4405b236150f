# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Semaphores allow no order of units in which a conflict is turned round."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spyre_mlir.algebra.access import Access, Axis
from spyre_mlir.algebra.layout import STICK_BYTES
from spyre_mlir.analysis.ordering import Ordering, Placed, order_records

UNITS = ("load", "pt", "sfp", "store")
MOST_RUNS = 120
STICK = (Axis.whole(64),)


@dataclass(frozen=True)
class Run:
    """One execution of a record."""

    record: int
    trips: tuple[int, ...]


def stick(
    place: int, depth: int = 1, levels: int = 0, loops: tuple[int, ...] = ()
) -> Access:
    """One stick of the scratchpad, or a buffer of such stages."""
    return Access(
        "lx",
        "f16",
        place * STICK_BYTES,
        (0,),
        (1,),
        64,
        loop_strides=tuple(s * STICK_BYTES for s in loops),
        depth=depth,
        stage_bytes=STICK_BYTES if depth > 1 else 0,
        stage_levels=levels if depth > 1 else 0,
    )


@st.composite
def programs(draw: st.DrawFn) -> list[Placed]:
    """A few records in program order, in loops up to three deep."""
    records: list[Placed] = []
    identities = iter(range(1000))

    def access(nest: tuple[int, ...]) -> Access:
        depth = draw(st.sampled_from((1, 1, 2, 3)))
        loops = tuple(draw(st.sampled_from((0, 0, 1))) for _ in nest)
        levels = draw(st.integers(0, len(nest)))
        return stick(draw(st.integers(0, 4)), depth, levels, loops)

    def accesses(nest: tuple[int, ...], most: int) -> tuple[Access, ...]:
        return tuple(access(nest) for _ in range(draw(st.integers(0, most))))

    def block(loops: tuple[int, ...], trips: tuple[int, ...], most: int) -> None:
        for _ in range(draw(st.integers(1, most))):
            if len(loops) < 3 and draw(st.booleans()):
                more = draw(st.integers(1, 3))
                block((*loops, next(identities)), (*trips, more), 3)
                continue
            if len(records) < 8:
                unit = draw(st.sampled_from(UNITS))
                reads, writes = accesses(trips, 2), accesses(trips, 1)
                records.append(Placed(unit, loops, trips, STICK, reads, writes))

    block((), (), 4)
    return records


def runs_of(records: list[Placed], indices: list[int], depth: int) -> Iterator[Run]:
    """Executions of these records, in the order of the program."""
    position = 0
    while position < len(indices):
        record = records[indices[position]]
        if len(record.loops) == depth:
            yield Run(indices[position], ())
            position += 1
            continue
        loop, end = record.loops[depth], position
        while end < len(indices) and records[indices[end]].loops[depth : depth + 1] == (
            loop,
        ):
            end += 1
        inside = indices[position:end]
        for trip in range(record.trips[depth]):
            for run in runs_of(records, inside, depth + 1):
                yield Run(run.record, (trip, *run.trips))
        position = end


def starts(record: Placed, run: Run, level: int) -> bool:
    """All loops deeper than the level are at their first trip."""
    return not any(run.trips[level:])


def ends(record: Placed, run: Run, level: int) -> bool:
    counts = record.trips[level:]
    return all(t == n - 1 for t, n in zip(run.trips[level:], counts, strict=True))


def before_of(
    records: list[Placed], ordering: Ordering, runs: list[Run]
) -> list[set[int]]:
    """Per run, the runs that its unit's stream and its waits put before it."""
    signals: dict[int, list[int]] = defaultdict(list)
    for number, run in enumerate(runs):
        for sync in ordering.signals[run.record]:
            if ends(records[run.record], run, sync.level):
                signals[sync.semaphore] += [number] * sync.count
    waited: dict[int, int] = defaultdict(int)
    last: dict[str, int] = {}
    before: list[set[int]] = []
    for number, run in enumerate(runs):
        record = records[run.record]
        direct = {last[record.unit]} if record.unit in last else set[int]()
        for sync in ordering.waits[run.record]:
            if starts(record, run, sync.level):
                waited[sync.semaphore] += sync.count
                own = waited[sync.semaphore] - ordering.semaphores[sync.semaphore]
                if own > 0:
                    direct.add(signals[sync.semaphore][own - 1])
        # The program's own order must stay possible: nothing waits for the future.
        assert all(d < number for d in direct)
        before.append(direct.union(*(before[d] for d in direct)))
        last[record.unit] = number
    for semaphore, made in signals.items():
        assert len(made) == waited[semaphore], "a semaphore ends as it began"
    return before


def touched(record: Placed, run: Run, accesses: tuple[Access, ...]) -> set[int]:
    return {a.offset((), run.trips, record.trips) // STICK_BYTES for a in accesses}


def check(records: list[Placed]) -> int:
    """Every conflict is ordered; returns the number of semaphores that this takes."""
    ordering = order_records(records)
    runs = list(runs_of(records, list(range(len(records))), 0))
    before = before_of(records, ordering, runs)
    reads = [touched(records[r.record], r, records[r.record].reads) for r in runs]
    writes = [touched(records[r.record], r, records[r.record].writes) for r in runs]
    for later in range(len(runs)):
        for earlier in set(range(later)) - before[later]:
            clash = writes[later] & (reads[earlier] | writes[earlier])
            clash |= reads[later] & writes[earlier]
            assert not clash, (runs[earlier], runs[later], ordering)
    return len(ordering.semaphores)


@settings(
    max_examples=400,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(programs())
def test_conflicts_are_ordered(records: list[Placed]) -> None:
    runs = list(runs_of(records, list(range(len(records))), 0))
    if len(runs) <= MOST_RUNS:
        check(records)


def placed(
    unit: str,
    trips: tuple[int, ...],
    reads: tuple[Access, ...] = (),
    writes: tuple[Access, ...] = (),
) -> Placed:
    return Placed(unit, tuple(range(len(trips))), trips, STICK, reads, writes)


def test_a_pipeline_takes_a_full_and_a_free_semaphore_for_each_buffer() -> None:
    stage, result = stick(0, 2, 1), stick(2, 2, 1)
    records = [
        placed("load", (5,), (), (stage,)),
        placed("sfp", (5,), (stage,), (result,)),
        placed("store", (5,), (result,)),
    ]
    assert check(records) == 4
    assert sorted(order_records(records).semaphores) == [0, 0, 2, 2]


def test_readers_of_one_load_in_one_unit_share_its_semaphores() -> None:
    stage = stick(0, 2, 1)
    records = [
        placed("load", (4,), (), (stage,)),
        placed("sfp", (4,), (stage,), (stick(2),)),
        placed("sfp", (4,), (stage,), (stick(3),)),
    ]
    ordering = order_records(records)
    assert check(records) == 2
    assert [len(w) for w in ordering.waits] == [1, 1, 0]
    assert [len(s) for s in ordering.signals] == [1, 0, 1]


def test_units_that_share_no_bytes_are_not_ordered() -> None:
    records = [
        placed("load", (2,), (), (stick(0),)),
        placed("sfp", (2,), (stick(1),), (stick(2),)),
    ]
    assert check(records) == 0


def test_stages_that_overlap_others_are_one_buffer() -> None:
    # The second stage of one buffer is the first of the other.
    records = [
        placed("load", (4,), (), (stick(0, 2, 1),)),
        placed("sfp", (4,), (stick(1, 2, 1),), (stick(4),)),
    ]
    assert check(records) == 2
    assert sorted(order_records(records).semaphores) == [0, 1]


def test_a_looser_semaphore_does_not_stand_for_a_tighter_one() -> None:
    double, single = stick(0, 2, 1), stick(2)
    records = [
        placed("load", (4,), (), (double,)),
        placed("load", (4,), (), (single,)),
        placed("sfp", (4,), (single,), (stick(3),)),
        placed("sfp", (4,), (double,), (stick(4),)),
    ]
    check(records)
    assert sorted(order_records(records).semaphores) == [0, 1, 2]
