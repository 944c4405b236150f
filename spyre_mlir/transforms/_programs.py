# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds a `dev.program` from records in program order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Operation

from spyre_mlir.analysis.ordering import Placed, order_records
from spyre_mlir.analysis.statements import LoopLevel
from spyre_mlir.dialects import dev


@dataclass
class PlacedRecord:
    """A record with its unit and its loops, outermost first."""

    unit: str
    nest: tuple[LoopLevel, ...]
    record: dev.RecordOp


def assemble_program(
    name: str,
    grid: Sequence[int],
    symbols: int,
    lx_bytes: int,
    records: Sequence[PlacedRecord],
) -> dev.ProgramOp:
    """Orders the records by semaphores and deals them to the units' streams."""
    ordering = order_records([_placed(r) for r in records])
    for placed, waits, signals in zip(
        records, ordering.waits, ordering.signals, strict=True
    ):
        placed.record.waits = ArrayAttr([dev.SyncAttr.of(s) for s in waits])
        placed.record.signals = ArrayAttr([dev.SyncAttr.of(s) for s in signals])
    streams: list[dev.StreamOp] = []
    for unit in dev.UNITS:
        own = [r for r in records if r.unit == unit]
        if own:
            streams.append(dev.StreamOp(unit, _nested(own, 0)))
    return dev.ProgramOp(name, grid, symbols, lx_bytes, ordering.semaphores, streams)


def _placed(placed: PlacedRecord) -> Placed:
    record = placed.record
    return Placed(
        placed.unit,
        tuple(level.identity for level in placed.nest),
        tuple(level.trips for level in placed.nest),
        record.axes_data,
        record.reads(),
        record.writes(),
    )


def _nested(records: Sequence[PlacedRecord], depth: int) -> list[Operation]:
    """Records below `depth` loops, in order, with the loops that they share made."""
    ops: list[Operation] = []
    position = 0
    while position < len(records):
        placed = records[position]
        if len(placed.nest) == depth:
            ops.append(placed.record)
            position += 1
            continue
        loop = placed.nest[depth]
        end = position
        while end < len(records) and records[end].nest[depth : depth + 1] == (loop,):
            end += 1
        ops.append(dev.LoopOp(loop.trips, _nested(records[position:end], depth + 1)))
        position = end
    return ops
