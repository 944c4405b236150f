# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the clock found out: times by unit and by record, of programs and images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, cast

from xdsl.dialects.builtin import UNKNOWN_LOC, CallSiteLoc, LocationAttr

from spyre_mlir.binary.image import Image
from spyre_mlir.target.chip import PICOSECONDS_PER_SECOND, Chip

if TYPE_CHECKING:
    from .machine import Machine
    from .streams import RecordNode

DRAM_CHANNEL = "dram channel"
"""Cause of a stall: another record has the shared channel."""
TOGETHER = "together"
"""Counts the time in which just these records run."""


class Tracer(Protocol):
    """Listens to the walk."""

    def ran(
        self, record: RecordNode, trips: tuple[int, ...], start: int, end: int
    ) -> None: ...

    def stalled(self, record: RecordNode, cause: str, start: int, end: int) -> None: ...

    def leapt(self, start: int, end: int, periods: int) -> None: ...


@dataclass(frozen=True)
class UnitTime:
    """How a unit spent a program; the parts add up to the program's time."""

    unit: str
    busy_ps: int
    stalled_ps: Mapping[str, int]
    """By cause: the units whose signal it waited for, or the DRAM channel."""
    idle_ps: int
    """Before its first record was let go, and after its last."""


@dataclass(frozen=True)
class RecordTime:
    """One record over all its executions. Scratchpad bytes are of the fullest core."""

    index: int
    """In the order of `dev.walk_records`."""
    name: str
    unit: str
    location: LocationAttr
    executions: int
    busy_ps: int
    stalled_ps: Mapping[str, int]
    share_ps: int
    """
    Its part of the program's time; the shares add up to it. Of records that run at
    the same time, the one on the busiest unit has that time.
    """
    dram_read_bytes: int = 0
    dram_write_bytes: int = 0
    lx_read_bytes: int = 0
    lx_write_bytes: int = 0
    ring_bytes: int = 0
    macs: int = 0

    @property
    def dram_bytes(self) -> int:
        return self.dram_read_bytes + self.dram_write_bytes


@dataclass(frozen=True)
class Timing:
    """The time of one program."""

    program: str
    chip: str
    total_ps: int
    units: tuple[UnitTime, ...]
    records: tuple[RecordTime, ...]
    dram_busy_ps: int
    """How long the DRAM channel moved something."""
    peak_macs_per_second: int
    """Of the whole chip, in 16-bit floats."""
    walked: int
    """Executions that the clock walked; it leapt over the others."""

    @property
    def macs(self) -> int:
        return sum(record.macs for record in self.records)

    @property
    def executions(self) -> int:
        return sum(record.executions for record in self.records)

    @property
    def dram_read_bytes(self) -> int:
        return sum(record.dram_read_bytes for record in self.records)

    @property
    def dram_write_bytes(self) -> int:
        return sum(record.dram_write_bytes for record in self.records)

    @property
    def dram_bytes(self) -> int:
        return self.dram_read_bytes + self.dram_write_bytes

    @property
    def pt_utilisation(self) -> float:
        """Multiply-adds done over what the chip could do in the time."""
        peak = self.peak_macs_per_second * self.total_ps / PICOSECONDS_PER_SECOND
        return self.macs / peak if peak else 0.0

    @property
    def dram_utilisation(self) -> float:
        """Part of the time in which the DRAM channel was taken."""
        return self.dram_busy_ps / self.total_ps if self.total_ps else 0.0


def collect(machine: Machine, total: int) -> Timing:
    """The timing of a finished walk."""
    chip = machine.chip
    shares = _shares(machine)
    records = tuple(
        _record_time(machine, node, shares.get(node.index, 0))
        for node in sorted(machine.records, key=lambda node: node.index)
    )
    by_unit = [
        (u.name, [r for r in records if r.unit == u.name]) for u in machine.units
    ]
    peak = chip.pt_macs_per_cycle_per_core("f16") * chip.core_clock_hz * chip.cores
    return Timing(
        program=machine.program.sym_name.data,
        chip=chip.name,
        total_ps=total,
        units=tuple(_unit_time(unit, own, total) for unit, own in by_unit),
        records=records,
        dram_busy_ps=_count(machine, (DRAM_CHANNEL,)),
        peak_macs_per_second=peak,
        walked=machine.walked,
    )


def _count(machine: Machine, key: tuple[object, ...]) -> int:
    slot = machine.slots.get(key)
    return 0 if slot is None else machine.counts[slot]


def _shares(machine: Machine) -> dict[int, int]:
    """By record: the time in which it is on the busiest of the units that run."""
    unit_of = {node.index: node.unit for node in machine.records}
    busy: dict[str, int] = {}
    for node in machine.records:
        time = _count(machine, ("busy", node.index))
        busy[node.unit] = busy.get(node.unit, 0) + time
    for unit in ("load", "store"):
        busy[unit] = max(busy.get(unit, 0), _count(machine, (DRAM_CHANNEL,)))
    shares: dict[int, int] = {}
    for key, slot in machine.slots.items():
        if key[0] == TOGETHER and key[1]:
            running = cast(tuple[int, ...], key[1])
            first = max(running, key=lambda index: busy[unit_of[index]])
            shares[first] = shares.get(first, 0) + machine.counts[slot]
    return shares


def _record_time(machine: Machine, node: RecordNode, share: int) -> RecordTime:
    runs = [
        (price.work, _count(machine, ("runs", node.index, price.number)))
        for price in node.prices.values()
    ]
    stalls = {
        str(key[2]): machine.counts[slot]
        for key, slot in machine.slots.items()
        if key[0] == "stall" and key[1] == node.index
    }
    return RecordTime(
        index=node.index,
        name=node.op.name,
        unit=node.unit,
        location=node.op.location,
        executions=sum(times for _, times in runs),
        busy_ps=_count(machine, ("busy", node.index)),
        stalled_ps=stalls,
        share_ps=share,
        dram_read_bytes=sum(w.dram_read_bytes * n for w, n in runs),
        dram_write_bytes=sum(w.dram_write_bytes * n for w, n in runs),
        lx_read_bytes=sum(w.lx_read_bytes * n for w, n in runs),
        lx_write_bytes=sum(w.lx_write_bytes * n for w, n in runs),
        ring_bytes=sum(w.ring_bytes * n for w, n in runs),
        macs=sum(w.macs * n for w, n in runs),
    )


def _unit_time(unit: str, records: list[RecordTime], total: int) -> UnitTime:
    busy = sum(record.busy_ps for record in records)
    stalled: dict[str, int] = {}
    for record in records:
        for cause, time in record.stalled_ps.items():
            stalled[cause] = stalled.get(cause, 0) + time
    return UnitTime(unit, busy, stalled, total - busy - sum(stalled.values()))


@dataclass(frozen=True)
class ImageTiming:
    """The time of a compiled graph: its calls one after the other."""

    image: Image
    programs: tuple[Timing | None, ...]
    """By program; None for one that is never called."""
    host_launch_ps: int
    """Host time of one launch of the whole graph; not part of the total."""

    @property
    def calls(self) -> tuple[Timing, ...]:
        """The timing of every call, with the locations of that call."""
        return tuple(self._call(k) for k in range(len(self.image.calls)))

    def _call(self, number: int) -> Timing:
        call = self.image.calls[number]
        timing = self.programs[call.program]
        assert timing is not None
        records: list[RecordTime] = []
        for record in timing.records:
            found = call.locations[record.index] if call.locations else record.location
            if call.location != UNKNOWN_LOC:
                found = CallSiteLoc(found, call.location)
            records.append(replace(record, location=found))
        return replace(timing, records=tuple(records))

    @property
    def total_ps(self) -> int:
        """Device time."""
        return sum(self._program_time(call.program) for call in self.image.calls)

    def _program_time(self, program: int) -> int:
        timing = self.programs[program]
        assert timing is not None
        return timing.total_ps


def time_image(image: Image, chip: Chip, *, skip: bool = True) -> ImageTiming:
    """How long a compiled graph takes; each program is walked once."""
    from .machine import time_program

    called = {call.program for call in image.calls}
    programs = tuple(
        time_program(program, chip, skip=skip) if number in called else None
        for number, program in enumerate(image.programs)
    )
    return ImageTiming(image, programs, chip.host_launch_picoseconds)
