# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
A program's walk as a Chrome trace, which Perfetto and chrome://tracing open.

Process: the class of cores that the clock walks. Thread: a unit. Times are in
microseconds, as the format wants; `args` hold exact picoseconds.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from spyre_mlir.binary.disassemble import show_location
from spyre_mlir.dialects import dev
from spyre_mlir.target.chip import Chip

from .clock.machine import time_program
from .clock.streams import RecordNode
from .clock.timing import Timing

CORE_CLASS = 0
PICOSECONDS_PER_MICROSECOND = 1_000_000


class ChromeTrace:
    """
    Collects the events of a walk, from `origin_ps` on.

    After `limit` events it takes no more and says so in the trace.
    """

    def __init__(self, origin_ps: int = 0, limit: int = 200_000):
        self.origin_ps = origin_ps
        self.limit = limit
        self.dropped = 0
        self.events: list[dict[str, Any]] = []

    def ran(
        self, record: RecordNode, trips: tuple[int, ...], start: int, end: int
    ) -> None:
        name = record.op.name.removeprefix("dev.")
        self._complete(record, name, start, end, {"trips": list(trips)})

    def stalled(self, record: RecordNode, cause: str, start: int, end: int) -> None:
        self._complete(record, f"wait: {cause}", start, end, {})

    def leapt(self, start: int, end: int, periods: int) -> None:
        """Marks what the clock leapt over: the last period, so many times again."""
        self._add(
            {
                "name": f"the same {periods} times",
                "ph": "X",
                "ts": self._time(start),
                "dur": (end - start) / PICOSECONDS_PER_MICROSECOND,
                "pid": CORE_CLASS,
                "tid": len(dev.UNITS),
                "args": {"periods": periods},
            }
        )

    def _time(self, picoseconds: int) -> float:
        return (self.origin_ps + picoseconds) / PICOSECONDS_PER_MICROSECOND

    def _complete(
        self, record: RecordNode, name: str, start: int, end: int, args: dict[str, Any]
    ) -> None:
        self._add(
            {
                "name": name,
                "cat": "stall" if name.startswith("wait") else "record",
                "ph": "X",
                "ts": self._time(start),
                "dur": (end - start) / PICOSECONDS_PER_MICROSECOND,
                "pid": CORE_CLASS,
                "tid": dev.UNITS.index(record.unit),
                "args": {
                    "record": record.index,
                    "start_ps": start,
                    "end_ps": end,
                    "loc": show_location(record.op.location),
                    **args,
                },
            }
        )

    def _add(self, event: dict[str, Any]) -> None:
        if len(self.events) < self.limit:
            self.events.append(event)
        else:
            self.dropped += 1

    def as_dict(self) -> dict[str, Any]:
        names = [_name("process_name", 0, "all cores (the fullest core's view)")]
        threads = (*dev.UNITS, "repeated")
        names += [_name("thread_name", k, unit) for k, unit in enumerate(threads)]
        other = {"dropped_events": self.dropped} if self.dropped else {}
        return {
            "traceEvents": names + self.events,
            "displayTimeUnit": "ns",
            "otherData": other,
        }

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(self.as_dict()), encoding="utf-8")


def _name(kind: str, thread: int, name: str) -> dict[str, Any]:
    return {
        "name": kind,
        "ph": "M",
        "pid": CORE_CLASS,
        "tid": thread,
        "args": {"name": name},
    }


def trace_program(
    program: dev.ProgramOp, chip: Chip, *, skip: bool = True
) -> tuple[Timing, ChromeTrace]:
    """Times a program and keeps what its units did when."""
    trace = ChromeTrace()
    return time_program(program, chip, skip=skip, tracer=trace), trace
