# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
What is known about a chip, as plain numbers with their sources.

A chip file gives every number wrapped in `public(...)`, `measured(...)` or
`assumed(...)`; a number without a source is an error. `Chip` unwraps them, so that
readers see plain numbers, and keeps the sources beside them for reports.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from math import isfinite
from typing import Literal, TypeVar, cast

from spyre_mlir.algebra.layout import STICK_BYTES

Kind = Literal["public", "measured", "assumed", "override"]
Value = TypeVar("Value", int, float)

PICOSECONDS_PER_SECOND = 10**12


@dataclass(frozen=True)
class Source:
    """Where a number comes from: published, measured on a card, or our guess."""

    kind: Kind
    note: str


class _SourcedInt(int):
    source: Source


class _SourcedFloat(float):
    source: Source


def _sourced(value: Value, source: Source) -> Value:
    wrapped = _SourcedInt(value) if isinstance(value, int) else _SourcedFloat(value)
    wrapped.source = source
    return cast(Value, wrapped)


def public(value: Value, note: str) -> Value:
    """A number that a datasheet, paper, document or published source states."""
    return _sourced(value, Source("public", note))


def measured(value: Value, note: str) -> Value:
    """A number measured on a card, or fitted to such measurements, and published."""
    return _sourced(value, Source("measured", note))


def assumed(value: Value, note: str) -> Value:
    """A number that nobody has published: our guess, and why."""
    return _sourced(value, Source("assumed", note))


@dataclass(frozen=True, kw_only=True)
class Chip:
    """
    One chip. Units are in the names; docstrings say what a number means.

    Rates are of the whole chip unless the name says `per_core`.
    """

    name: str
    """Name of the chip, and of its file in `target/chips`."""

    cores: int
    """Cores that run one program together."""
    stick_bytes: int
    """Unit of data movement."""
    core_clock_hz: int
    """Sustained clock of the matrix array, the vector unit and the scratchpad."""
    ring_clock_hz: int
    """Clock of the rings between the cores."""

    scratchpad_bytes_per_core: int
    """Software-managed scratchpad (LX) of one core."""
    scratchpad_reserved_bytes_per_core: int
    """Part of the scratchpad that holds the program; never planned."""
    scratchpad_bytes_per_cycle_per_core: int
    """What one unit moves between itself and the scratchpad in a cycle."""

    max_span_bytes: int
    """Device memory of one tensor that one core can address in one program."""
    max_loop_trips: int
    """Largest count of a hardware loop."""
    record_start_cycles: int
    """Cycles between taking up a record and its first element."""

    pt_macs_per_cycle_per_core_f16: int
    """Multiply-adds of the matrix array in 16-bit floats."""
    pt_macs_per_cycle_per_core_f32: int
    """Multiply-adds in f32."""
    pt_macs_per_cycle_per_core_i32: int
    """Multiply-adds in i32."""
    pt_macs_per_cycle_per_core_i64: int
    """Multiply-adds in i64."""
    pt_rows_per_pass: int
    """Rows of the left operand that pass the array together; fewer cost as many."""
    pt_columns_per_pass: int
    """Columns of the right operand that the array holds side by side."""
    pt_depth_per_pass: int
    """Summed elements that one pass takes in."""
    pt_full_rate_rows: int
    """Rows from which on the array runs at its full rate."""
    pt_rows_exponent: float
    """Rate at fewer rows: (rows / full-rate rows) to this power."""
    pt_weight_block_bytes_per_core: int
    """Right operand that the array's register file holds at once."""
    pt_fill_cycles: int
    """Cycles in which the array stands while one weight block is loaded."""

    sfp_lanes_per_core: int
    """16-bit elements of the vector unit in a cycle; wider ones take more lanes."""
    sfp_lane_fold_cycles: int
    """Cycles to fold the lanes of one stick into one element."""
    sfp_shuffle_elements_per_cycle_per_core: int
    """Single elements moved inside the scratchpad in a cycle."""

    dram_bytes: int
    """Device memory."""
    dram_peak_bytes_per_second: int
    """Rate of the memory's pins; a bound, never reached."""
    dram_bytes_per_second: int
    """Rate reached by reads only or writes only."""
    dram_turnaround_femtoseconds_per_byte: int
    """Extra time for each byte read that has a byte written to go with it."""
    dram_bytes_per_second_per_core: int
    """Most that one core gets of reads and writes that it shares with no other."""
    dram_word_bytes: int
    """Smallest piece that the memory moves."""
    dram_burst_bytes: int
    """Largest piece that one request moves."""
    dram_request_picoseconds: int
    """Channel time of a request beyond those that full bursts would need."""
    dram_outstanding_requests_per_core: int
    """Requests that a core has under way at once."""
    dram_latency_picoseconds: int
    """From a request to its data."""

    multicast_free_cores: int
    """Cores that one fetch serves at no extra cost."""
    multicast_exponent: float
    """Slowdown beyond: (cores / free cores) to this power."""

    ring_bytes_per_cycle: int
    """One direction of the data ring, at any one place."""
    ring_descriptor_picoseconds: int
    """Set-up of each contiguous run that the ring moves."""
    partial_sum_picoseconds_per_element: int
    """One element of a core's tile added to the next core's, on the sum ring."""

    matmul_batch_exponent: float
    """Planning: price of dividing the batch into b parts, b to this power."""
    program_start_picoseconds: int
    """Device time of starting a program."""
    host_launch_picoseconds: int
    """Host time of one launch; reported apart from device time."""

    sources: Mapping[str, Source] = field(default_factory=dict[str, Source], init=False)
    """Source of every number, by field."""

    def __post_init__(self) -> None:
        sources: dict[str, Source] = {}
        for name in number_names():
            value = getattr(self, name)
            if not isinstance(value, _SourcedInt | _SourcedFloat):
                raise ValueError(f"{self.name}: {name} = {value} has no source")
            sources[name] = value.source
            plain = int(value) if isinstance(value, int) else float(value)
            object.__setattr__(self, name, plain)
        object.__setattr__(self, "sources", sources)
        self._check()

    def _check(self) -> None:
        for name in number_names():
            value = getattr(self, name)
            if name in _MAY_BE_ZERO:
                fits, range_ = 0 <= value <= _MOST, f"from 0 to {_MOST}"
            else:
                fits, range_ = 0 < value <= _MOST, f"above 0 and at most {_MOST}"
            if not fits:
                raise ValueError(f"{self.name}: {name} is {value}; it must be {range_}")
        if self.stick_bytes != STICK_BYTES:
            raise ValueError(f"{self.name}: sticks have {STICK_BYTES} bytes")
        for name in ("scratchpad_bytes_per_core", "dram_bytes"):
            if getattr(self, name) % self.stick_bytes:
                raise ValueError(
                    f"{self.name}: {name} is {getattr(self, name)}, no whole sticks of "
                    f"{self.stick_bytes} bytes"
                )
        if self.scratchpad_reserved_bytes_per_core >= self.scratchpad_bytes_per_core:
            raise ValueError(f"{self.name}: all of the scratchpad is reserved")

    # derived -----------------------------------------------------------------

    @property
    def scratchpad_usable_bytes_per_core(self) -> int:
        """Scratchpad that a plan may use."""
        return self.scratchpad_bytes_per_core - self.scratchpad_reserved_bytes_per_core

    @property
    def scratchpad_bytes_per_second_per_core(self) -> int:
        return self.scratchpad_bytes_per_cycle_per_core * self.core_clock_hz

    @property
    def ring_bytes_per_second(self) -> int:
        """One direction, at any one place of the ring."""
        return self.ring_bytes_per_cycle * self.ring_clock_hz

    def pt_macs_per_cycle_per_core(self, dtype: str) -> int:
        """Multiply-adds of the matrix array; an error for types it does not take."""
        rates = {
            "f16": self.pt_macs_per_cycle_per_core_f16,
            "bf16": self.pt_macs_per_cycle_per_core_f16,
            "f32": self.pt_macs_per_cycle_per_core_f32,
            "i32": self.pt_macs_per_cycle_per_core_i32,
            "i64": self.pt_macs_per_cycle_per_core_i64,
        }
        if dtype not in rates:
            raise ValueError(f"{self.name}: no rate of matrix products in {dtype}")
        return rates[dtype]

    def elements_per_stick(self, itemsize: int) -> int:
        return self.stick_bytes // itemsize

    # other chips -------------------------------------------------------------

    def derive(self, name: str, **values: int | float) -> Chip:
        """
        A chip of another name that differs in some numbers. Those come with a source,
        `public(...)`, `measured(...)` or `assumed(...)`; plain ones are an `override`.

            CHIP = spyre.CHIP.derive("half", cores=assumed(16, "half of the cores"))

        in `target/chips/half.py` is a chip that `--chip half` names.
        """
        known = number_names()
        numbers: dict[str, int | float] = {
            name: _sourced(getattr(self, name), self.sources[name]) for name in known
        }
        for field_, value in values.items():
            if field_ not in known:
                near = ", ".join(get_close_matches(field_, known)) or ", ".join(known)
                raise ValueError(f"{self.name} has no number {field_}; it has: {near}")
            numbers[field_] = _like(numbers[field_], field_, value)
        return Chip(name=name, **cast(dict[str, int], numbers))

    def replace(self, **values: int | float) -> Chip:
        """This chip with other numbers; their source becomes `override`."""
        return self.derive(self.name, **values)

    def with_overrides(self, settings: Mapping[str, str]) -> Chip:
        """`replace` from text, as `--set name=value` gives it."""
        values: dict[str, int | float] = {}
        for name, text in settings.items():
            try:
                values[name] = int(text.replace("_", ""))
            except ValueError:
                try:
                    values[name] = float(text)
                except ValueError:
                    raise ValueError(f"{name}: {text!r} is not a number") from None
        return self.replace(**values)

    def fingerprint(self) -> str:
        """16 hex digits that change with any number of the chip."""
        text = ";".join(f"{n}={getattr(self, n)!r}" for n in ("name", *number_names()))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def provenance(self) -> dict[str, int]:
        """How many numbers there are of each kind of source."""
        counts: dict[str, int] = {}
        for source in self.sources.values():
            counts[source.kind] = counts.get(source.kind, 0) + 1
        return counts


def _like(old: int | float, name: str, value: int | float) -> int | float:
    """The value in the type of what it replaces, with its source."""
    source = getattr(value, "source", Source("override", "set by the user"))
    if isinstance(old, float):
        return _sourced(float(value), source)
    if not isfinite(value) or value != int(value):
        raise ValueError(f"{name} is a whole number, not {value}")
    return _sourced(int(value), source)


_MOST = 10**15
"""More than any rate, size or time of a chip; a number above it is a slip."""

_MAY_BE_ZERO = frozenset(
    {
        "record_start_cycles",
        "scratchpad_reserved_bytes_per_core",
        "pt_fill_cycles",
        "sfp_lane_fold_cycles",
        "dram_turnaround_femtoseconds_per_byte",
        "dram_request_picoseconds",
        "dram_latency_picoseconds",
        "ring_descriptor_picoseconds",
        "partial_sum_picoseconds_per_element",
        "pt_rows_exponent",
        "multicast_exponent",
        "matmul_batch_exponent",
        "program_start_picoseconds",
        "host_launch_picoseconds",
    }
)


def number_names() -> tuple[str, ...]:
    """Names of the fields that are numbers, in order."""
    return tuple(f.name for f in fields(Chip) if f.name not in ("name", "sources"))
