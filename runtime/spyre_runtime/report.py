# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Where the time of a compiled graph goes, by the user's operations.

An operation is what a location names. Its time is its share of the programs' time
(`RecordTime.share_ps`), so that the operations add up to the whole; the unit that it
keeps busy longest is what it is bound by.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from io import StringIO

from rich import box
from rich.console import Console
from rich.table import Table
from xdsl.dialects.builtin import LocationAttr

from spyre_mlir.binary.disassemble import show_location
from spyre_mlir.target.chip import PICOSECONDS_PER_SECOND, Chip

from .clock.timing import DRAM_CHANNEL, ImageTiming, RecordTime, Timing

Naming = Callable[[LocationAttr], str]

WAITING = 0.5
"""Below this part of its time on any one unit, an operation is bound by waiting."""


@dataclass
class OperationReport:
    """One operation of the user, over all programs and calls."""

    name: str
    time_ps: int = 0
    busy_ps: dict[str, int] = field(default_factory=dict[str, int])
    """By unit."""
    stalled_ps: dict[str, int] = field(default_factory=dict[str, int])
    """By cause."""
    executions: int = 0
    dram_read_bytes: int = 0
    dram_write_bytes: int = 0
    macs: int = 0
    share: float = 0.0
    """Of the total time."""
    pt_utilisation: float = 0.0
    """Multiply-adds over what the chip could do in its time."""
    dram_bytes_per_second: float = 0.0
    bound_by: str = ""

    def add(self, record: RecordTime, times: int) -> None:
        self.time_ps += times * record.share_ps
        _add(self.busy_ps, record.unit, times * record.busy_ps)
        for cause, time in record.stalled_ps.items():
            _add(self.stalled_ps, cause, times * time)
        self.executions += times * record.executions
        self.dram_read_bytes += times * record.dram_read_bytes
        self.dram_write_bytes += times * record.dram_write_bytes
        self.macs += times * record.macs

    def finish(self, total_ps: int, peak_macs_per_second: int) -> None:
        """Fills in what follows from the sums."""
        self.share = self.time_ps / total_ps if total_ps else 0.0
        if self.time_ps:
            seconds = self.time_ps / PICOSECONDS_PER_SECOND
            moved = self.dram_read_bytes + self.dram_write_bytes
            self.pt_utilisation = self.macs / (peak_macs_per_second * seconds)
            self.dram_bytes_per_second = moved / seconds
        self.bound_by = _bound_by(self.busy_ps, self.time_ps)


def _add(sums: dict[str, int], key: str, amount: int) -> None:
    sums[key] = sums.get(key, 0) + amount


def _bound_by(busy: dict[str, int], time_ps: int) -> str:
    """The unit that is busy longest; loads and stores share the DRAM."""
    named: dict[str, int] = {}
    for unit, time in busy.items():
        _add(named, "dram" if unit in ("load", "store") else unit, time)
    if not named:
        return ""
    unit = max(named, key=lambda name: named[name])
    return unit if named[unit] >= WAITING * time_ps else "waiting"


@dataclass
class Report:
    """A compiled graph, or one program, in numbers."""

    chip: str
    total_ps: int
    host_launch_ps: int
    programs: int
    calls: int
    operations: list[OperationReport]
    units: dict[str, dict[str, int]]
    """By unit: busy, idle and stalled by cause, picoseconds."""
    dram_read_bytes: int
    dram_write_bytes: int
    dram_busy_ps: int
    macs: int
    pt_utilisation: float
    provenance: dict[str, int]
    """Numbers of the chip, by kind of source."""

    def as_dict(self) -> dict[str, object]:
        return asdict(self)

    def as_json(self) -> str:
        return json.dumps(self.as_dict(), indent=2)

    @property
    def footer(self) -> str:
        """How much of the report rests on guesses."""
        total = sum(self.provenance.values())
        text = f"{self.provenance.get('assumed', 0)} of {total} numbers assumed"
        overridden = self.provenance.get("override", 0)
        return f"{text}, {overridden} overridden" if overridden else text

    def as_text(self, width: int = 120) -> str:
        """Tables of operations and units, as `rich` sets them."""
        console = Console(width=width, file=StringIO())
        with console.capture() as capture:
            console.print(operation_table(self))
            console.print(unit_table(self))
        lines = [
            capture.get().rstrip(),
            f"device {show_time(self.total_ps)} in {self.calls} calls of "
            f"{self.programs} programs, DRAM {show_bytes(self.dram_read_bytes)} read "
            f"and {show_bytes(self.dram_write_bytes)} written",
            f"host {show_time(self.host_launch_ps)} per launch, not counted above",
            f"{self.chip}: {self.footer}",
        ]
        return "\n".join(lines) + "\n"


def report_image(timing: ImageTiming, chip: Chip) -> Report:
    """The report of a compiled graph."""
    return report_images([timing], chip)


def report_images(
    timings: Sequence[ImageTiming], chip: Chip, naming: Naming = show_location
) -> Report:
    """
    The report of compiled graphs that run one after the other. What has one name by
    `naming` is one operation.
    """
    calls = [(call, 1) for timing in timings for call in timing.calls]
    host_launch_ps = sum(t.host_launch_ps for t in timings)
    return _report(calls, chip, host_launch_ps, naming)


def report_program(timing: Timing, chip: Chip) -> Report:
    """The report of one program."""
    return _report([(timing, 1)], chip, chip.host_launch_picoseconds)


def _report(
    timings: Sequence[tuple[Timing, int]],
    chip: Chip,
    host_launch_ps: int,
    naming: Naming = show_location,
) -> Report:
    total = sum(times * timing.total_ps for timing, times in timings)
    peak = chip.pt_macs_per_cycle_per_core("f16") * chip.core_clock_hz * chip.cores
    operations = _operations(timings, naming)
    for operation in operations:
        operation.finish(total, peak)
    macs = sum(operation.macs for operation in operations)
    seconds = total / PICOSECONDS_PER_SECOND
    return Report(
        chip=chip.name,
        total_ps=total,
        host_launch_ps=host_launch_ps,
        programs=len({timing.program for timing, _ in timings}),
        calls=sum(times for _, times in timings),
        operations=sorted(operations, key=lambda o: (-o.time_ps, o.name)),
        units=_units(timings),
        dram_read_bytes=sum(o.dram_read_bytes for o in operations),
        dram_write_bytes=sum(o.dram_write_bytes for o in operations),
        dram_busy_ps=sum(times * t.dram_busy_ps for t, times in timings),
        macs=macs,
        pt_utilisation=macs / (peak * seconds) if total else 0.0,
        provenance=chip.provenance(),
    )


def _operations(
    timings: Iterable[tuple[Timing, int]], naming: Naming
) -> list[OperationReport]:
    found: dict[str, OperationReport] = {}
    for timing, times in timings:
        for record in timing.records:
            name = naming(record.location) or f"({timing.program})"
            if name not in found:
                found[name] = OperationReport(name)
            found[name].add(record, times)
    return list(found.values())


def _units(timings: Iterable[tuple[Timing, int]]) -> dict[str, dict[str, int]]:
    """Units that a program has no stream for are idle in it."""
    found: dict[str, dict[str, int]] = {}
    total = 0
    for timing, times in timings:
        for unit in timing.units:
            sums = found.setdefault(unit.unit, {"busy": 0, "idle": total})
            _add(sums, "busy", times * unit.busy_ps)
            _add(sums, "idle", times * unit.idle_ps)
            for cause, time in unit.stalled_ps.items():
                _add(sums, f"waits for {cause}", times * time)
        present = {unit.unit for unit in timing.units}
        for name, sums in found.items():
            if name not in present:
                _add(sums, "idle", times * timing.total_ps)
        total += times * timing.total_ps
    return found


# text -----------------------------------------------------------------------


def operation_table(report: Report, most: int = 0) -> Table:
    """The operations, or the `most` longest ones and a line for the others."""
    table = Table(title="operations", box=box.SIMPLE_HEAD, padding=(0, 1))
    table.add_column("operation", overflow="fold", min_width=18)
    for name in ("time", "share", "bound by", "DRAM", "GB/s", "PT", "busiest units"):
        table.add_column(name, justify="right", no_wrap=True)
    rows = report.operations[:most] if most else report.operations
    for row in rows:
        moved = row.dram_read_bytes + row.dram_write_bytes
        busy = sorted(row.busy_ps.items(), key=lambda item: -item[1])[:2]
        table.add_row(
            row.name,
            show_time(row.time_ps),
            f"{row.share:.1%}",
            row.bound_by,
            show_bytes(moved),
            f"{row.dram_bytes_per_second / 1e9:.1f}",
            f"{row.pt_utilisation:.1%}" if row.macs else "",
            ", ".join(f"{unit} {show_time(time)}" for unit, time in busy),
        )
    others = report.operations[len(rows) :]
    if others:
        time = sum(row.time_ps for row in others)
        table.add_row(
            f"{len(others)} others", show_time(time), f"{time / report.total_ps:.1%}"
        )
    return table


def unit_table(report: Report) -> Table:
    """How much of the time each unit is busy, idle and stalled by what."""
    table = Table(title="units", box=box.SIMPLE_HEAD, padding=(0, 1))
    for name in ("unit", "busy", "idle", "stalled"):
        table.add_column(name, justify="left" if name == "unit" else "right")
    for unit, sums in report.units.items():
        stalls = sorted(
            (item for item in sums.items() if item[0] not in ("busy", "idle")),
            key=lambda item: -item[1],
        )
        table.add_row(
            unit,
            _part(sums["busy"], report.total_ps),
            _part(sums["idle"], report.total_ps),
            ", ".join(f"{cause} {_part(t, report.total_ps)}" for cause, t in stalls),
        )
    table.add_row(DRAM_CHANNEL, _part(report.dram_busy_ps, report.total_ps), "", "")
    return table


def _part(time: int, total: int) -> str:
    return f"{time / total:.1%}" if total else "0.0%"


def show_time(picoseconds: int) -> str:
    """`12.3 us`: three figures and a unit."""
    return _scaled(picoseconds, 1000, ("ps", "ns", "us", "ms", "s"))


def show_bytes(count: int) -> str:
    """`1.5 MB`, in decimal units, as rates are."""
    return _scaled(count, 1000, ("B", "kB", "MB", "GB", "TB"))


def _scaled(value: int, step: int, units: Sequence[str]) -> str:
    amount, place = float(value), 0
    while amount >= step and place < len(units) - 1:
        amount, place = amount / step, place + 1
    return (
        f"{amount:.3g} {units[place]}"
        if amount < 100
        else (f"{amount:.0f} {units[place]}")
    )
