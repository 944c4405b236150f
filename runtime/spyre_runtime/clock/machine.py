# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The event heap over the units' streams.

A unit takes up its next record when it is free; the record waits for its semaphores,
one after the other, then for the DRAM channel, then keeps the unit busy. The channel
serves in the order of asking, whole records at a time; a byte written after a byte
read, or read after a byte written, costs a turnaround, once for each pair. Ties in
time go by unit, in the order of `dev.UNITS`.
"""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop, heappush

from spyre_mlir.binary.disassemble import show_location
from spyre_mlir.dialects import dev
from spyre_mlir.target.chip import Chip
from spyre_mlir.target.cost import turnaround_time

from .repeat import Repeats, State
from .streams import Cursor, RecordNode, build_stream, stream_records
from .timing import DRAM_CHANNEL, TOGETHER, Timing, Tracer, collect

READY, QUEUED, RUNNING, BLOCKED, DONE = range(5)
"""Queued: it has its semaphores, and waits for the DRAM channel."""


class DeadlockError(RuntimeError):
    """Units wait for signals that never come; says which, and for whom."""


class Unit:
    """One unit of the representative core."""

    def __init__(self, number: int, name: str, cursor: Cursor, start: int):
        self.number = number
        self.name = name
        self.cursor = cursor
        self.status = READY if cursor.record else DONE
        self.since = start
        """When it became free, or began its present wait."""
        self.begin = start
        self.end = start
        """When its record begins and ends, once that is known."""
        self.next_wait = 0

    def state(self, now: int, depth: int) -> State:
        """What it does next, relative to `now`, but for its trip at `depth`."""
        if self.status == DONE:
            return ()
        trips = self.cursor.trips
        ahead = self.status in (QUEUED, RUNNING)
        return (
            self.status,
            self.begin - now if self.status == QUEUED else 0,
            self.end - now if ahead else self.since - now,
            self.next_wait,
            tuple(self.cursor.places),
            tuple(trips[:depth]),
            tuple(trips[depth + 1 :]),
        )


class Machine:
    """State of the walk: units, semaphores, the DRAM channel, what was counted."""

    def __init__(
        self, program: dev.ProgramOp, chip: Chip, skip: bool, tracer: Tracer | None
    ):
        self.program = program
        self.chip = chip
        self.tracer = tracer
        self.now = 0
        self.channel_free = 0
        self.balance = 0
        self.walked = 0
        self.values = list(program.semaphores_data)
        self.queues: list[deque[Unit]] = [deque() for _ in self.values]
        self.counts: list[int] = []
        self.slots: dict[tuple[object, ...], int] = {}
        numbers = {op: k for k, (op, _) in enumerate(dev.walk_records(program))}
        self.units: list[Unit] = []
        self.records: list[RecordNode] = []
        for name in dev.UNITS:
            self._add_unit(name, numbers)
        self._partners = self._signallers()
        self._heap = [
            (unit.since, unit.number) for unit in self.units if unit.status != DONE
        ]
        self._repeats = Repeats(self) if skip else None

    def _add_unit(self, name: str, numbers: dict[dev.RecordOp, int]) -> None:
        grid = self.program.grid_data
        for stream in self.program.streams:
            if stream.unit.data == name:
                nodes = build_stream(stream, grid, numbers)
                start = self.chip.program_start_picoseconds
                number = len(self.units)
                self.units.append(Unit(number, name, Cursor(nodes), start))
                self.records.extend(stream_records(nodes))

    def _signallers(self) -> list[str]:
        """By semaphore: the units that signal it."""
        units: list[dict[str, None]] = [{} for _ in self.values]
        for record in self.records:
            for sync in record.signals:
                units[sync.semaphore][record.unit] = None
        return ["+".join(names) or "nobody" for names in units]

    def add(self, key: tuple[object, ...], amount: int) -> None:
        """Counts something; what is counted repeats with the machine's state."""
        slot = self.slots.get(key)
        if slot is None:
            slot = self.slots[key] = len(self.counts)
            self.counts.append(0)
        self.counts[slot] += amount

    def run(self) -> None:
        while self._heap:
            at, number = heappop(self._heap)
            if at > self.now:
                self._count_running(at - self.now)
                self.now = at
            unit = self.units[number]
            if unit.status == QUEUED:
                self._begin(unit)
                continue
            if unit.status == RUNNING:
                self._finish(unit)
            self._try_start(unit)
        stuck = [unit for unit in self.units if unit.status == BLOCKED]
        if stuck:
            raise DeadlockError(self._deadlock(stuck))

    def _count_running(self, time: int) -> None:
        running = tuple(
            unit.cursor.record.index
            for unit in self.units
            if unit.status == RUNNING and unit.cursor.record is not None
        )
        self.add((TOGETHER, running), time)

    # one record --------------------------------------------------------------

    def _try_start(self, unit: Unit) -> None:
        record = unit.cursor.record
        if record is None:
            unit.status = DONE
            return
        while unit.next_wait < len(record.waits):
            sync = record.waits[unit.next_wait]
            if unit.cursor.waits_here(sync):
                queue = self.queues[sync.semaphore]
                if queue or self.values[sync.semaphore] < sync.count:
                    unit.status = BLOCKED
                    queue.append(unit)
                    return
                self.values[sync.semaphore] -= sync.count
            unit.next_wait += 1
        self._start(unit, record)

    def _start(self, unit: Unit, record: RecordNode) -> None:
        price = record.price(self.chip, unit.cursor)
        work, cost = price.work, price.charge
        start, time = self.now, cost.unit_ps
        if cost.channel_ps:
            start = max(start, self.channel_free)
            extra = turnaround_time(
                self.chip, self._pair(work.dram_read_bytes, work.dram_write_bytes)
            )
            time += extra
            self.channel_free = start + cost.channel_ps + extra
            self.add((DRAM_CHANNEL,), cost.channel_ps + extra)
            if start > self.now:
                self._count_stall(unit, record, DRAM_CHANNEL, start)
        self.walked += 1
        self.add(("runs", record.index, price.number), 1)
        self.add(("busy", record.index), time)
        unit.begin, unit.end = start, start + time
        if self.tracer is not None:
            self.tracer.ran(record, tuple(unit.cursor.trips), start, unit.end)
        if start > self.now:
            unit.status = QUEUED
            heappush(self._heap, (start, unit.number))
        else:
            self._begin(unit)

    def _begin(self, unit: Unit) -> None:
        unit.status = RUNNING
        heappush(self._heap, (unit.end, unit.number))

    def _pair(self, read: int, written: int) -> int:
        """Bytes of this access that find a partner going the other way."""
        paired = min(read, max(0, -self.balance)) + min(written, max(0, self.balance))
        self.balance += read - written
        if self._repeats is not None:
            self._repeats.see_balance(self.balance)
        return paired

    def _finish(self, unit: Unit) -> None:
        record = unit.cursor.record
        assert record is not None
        for sync in record.signals:
            if unit.cursor.signals_here(sync):
                self._signal(sync.semaphore, sync.count)
        unit.status, unit.since, unit.next_wait = READY, self.now, 0
        depth = unit.cursor.advance()
        if depth >= 0 and self._repeats is not None:
            self._repeats.began_trip(unit, depth)

    def _signal(self, semaphore: int, count: int) -> None:
        self.values[semaphore] += count
        queue = self.queues[semaphore]
        while queue:
            unit = queue[0]
            record = unit.cursor.record
            assert record is not None
            need = record.waits[unit.next_wait].count
            if self.values[semaphore] < need:
                return
            queue.popleft()
            self.values[semaphore] -= need
            if self.now > unit.since:
                self._count_stall(unit, record, self._partners[semaphore], self.now)
            unit.next_wait += 1
            unit.status = READY
            heappush(self._heap, (self.now, unit.number))

    def _count_stall(
        self, unit: Unit, record: RecordNode, cause: str, until: int
    ) -> None:
        self.add(("stall", record.index, cause), until - unit.since)
        if self.tracer is not None:
            self.tracer.stalled(record, cause, unit.since, until)
        unit.since = until

    # whole machine -----------------------------------------------------------

    def shift(self, periods: int, time: int) -> None:
        """Moves every time ahead: what lies between was counted, not walked."""
        if self.tracer is not None:
            self.tracer.leapt(self.now, self.now + time, periods)
        self.now += time
        self.channel_free += time
        for unit in self.units:
            unit.since += time
            unit.begin += time
            unit.end += time
        self._heap = [(at + time, number) for at, number in self._heap]
        heapify(self._heap)

    def _deadlock(self, stuck: list[Unit]) -> str:
        lines = [f"deadlock in {self.program.sym_name.data} at {self.now} ps"]
        for unit in stuck:
            record = unit.cursor.record
            assert record is not None
            sync = record.waits[unit.next_wait]
            where = show_location(record.op.location)
            lines.append(
                f"{unit.name}: {record.op.name} (record {record.index}) at trips "
                f"{unit.cursor.trips} waits for {sync.count} of semaphore "
                f"{sync.semaphore}, which has {self.values[sync.semaphore]} and is "
                f"signalled by {self._partners[sync.semaphore]}"
                + (f"; from {where}" if where else "")
            )
        return "\n".join(lines)


def time_program(
    program: dev.ProgramOp,
    chip: Chip,
    *,
    skip: bool = True,
    tracer: Tracer | None = None,
) -> Timing:
    """
    How long a program takes, and what its units do meanwhile.

    `skip` leaps over repetitions; the result is the same without, only later.
    """
    machine = Machine(program, chip, skip, tracer)
    machine.run()
    return collect(machine, max(machine.now, chip.program_start_picoseconds))
