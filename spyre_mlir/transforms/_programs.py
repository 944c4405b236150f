# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds a `dev.program` from records in program order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, LocationAttr
from xdsl.ir import Operation

from spyre_mlir.analysis.kernel import Kernel, LoopLevel, Statement
from spyre_mlir.analysis.ordering import Placed, order_records
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
    streams = []
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


_UNITS = {
    "load": "load",
    "gather": "load",
    "store": "store",
    "matmul": "pt",
    "vector": "sfp",
    "shuffle": "sfp",
}


def record_of(statement: Statement) -> dev.RecordOp:
    """The record of a staged statement."""
    s = statement
    if s.kind in ("load", "store"):
        return dev.TransferOp(s.axes, s.reads[0], s.write)
    if s.kind == "gather":
        return dev.GatherOp(s.axes, s.reads[0], s.reads[1], s.write, *s.index)
    if s.kind == "matmul":
        return dev.MatmulOp(s.axes, s.roles, *s.reads, s.write, s.acc_level)
    if s.kind == "shuffle":
        return dev.ShuffleOp(s.axes, s.reads[0], s.write)
    return dev.VectorOp(
        s.axes, s.reads, s.steps, s.write, s.combine, s.fold, s.acc_level
    )


def kernel_program(
    name: str, kernel: Kernel, locations: Sequence[LocationAttr]
) -> dev.ProgramOp:
    """A kernel's program; `locations` by position of the operation."""
    records = []
    for statement in kernel.statements:
        record = record_of(statement)
        record.location = locations[statement.op]
        records.append(PlacedRecord(_UNITS[statement.kind], statement.nest, record))
    return assemble_program(
        name, kernel.grid, len(kernel.symbols), kernel.peak_bytes(), records
    )
