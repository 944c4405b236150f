# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small programs by hand, and a chip with round numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Operation

from spyre_mlir.algebra.access import Access, Axis, Step, Sync
from spyre_mlir.dialects import dev
from spyre_mlir.target.chip import Chip
from spyre_mlir.target.chips import load_chip

NS = 1000
US = 1_000_000
MB = 1_000_000


def round_chip(**values: float) -> Chip:
    """1 GHz, DRAM one byte per ps, no start costs: times can be read off."""
    numbers: dict[str, float] = {
        "core_clock_hz": 10**9,
        "ring_clock_hz": 10**9,
        "record_start_cycles": 0,
        "pt_fill_cycles": 0,
        "pt_rows_exponent": 0.0,
        "dram_bytes_per_second": 10**12,
        "dram_bytes_per_second_per_core": 10**13,
        "dram_turnaround_femtoseconds_per_byte": 0,
        "dram_request_picoseconds": 0,
    }
    return load_chip().replace(**(numbers | values))


def rows(count: int, width: int = 64, loop: int = -1, trips: int = 1) -> list[Axis]:
    """Axes of `count` rows (in `trips` tiles along `loop`) and `width` columns."""
    tile = -(-count // trips)
    return [Axis(count, -1, count, loop, tile), Axis.whole(width)]


def dram(symbol: int = 0, dtype: str = "f16") -> Access:
    """A matrix in DRAM, one stick wide."""
    return Access("dram", dtype, 0, (64, 0), (0, 1), 0, symbol=symbol)


def lx(base: int = 0, dtype: str = "f16") -> Access:
    """A matrix in the scratchpad, one stick wide."""
    return Access("lx", dtype, base, (64, 0), (0, 1), 0)


def synced(
    record: dev.RecordOp, waits: Sequence[Sync] = (), signals: Sequence[Sync] = ()
) -> dev.RecordOp:
    record.waits = ArrayAttr([dev.SyncAttr.of(s) for s in waits])
    record.signals = ArrayAttr([dev.SyncAttr.of(s) for s in signals])
    return record


def load(
    axes: Sequence[Axis], waits: Sequence[Sync] = (), signals: Sequence[Sync] = ()
) -> dev.RecordOp:
    return synced(dev.TransferOp(axes, dram(), lx()), waits, signals)


def store(
    axes: Sequence[Axis], waits: Sequence[Sync] = (), signals: Sequence[Sync] = ()
) -> dev.RecordOp:
    return synced(dev.TransferOp(axes, lx(), dram(1)), waits, signals)


def vector(
    axes: Sequence[Axis],
    waits: Sequence[Sync] = (),
    signals: Sequence[Sync] = (),
    function: str = "neg",
) -> dev.RecordOp:
    step = Step(function, (0,), "f16")
    return synced(dev.VectorOp(axes, [lx()], [step], lx(65536)), waits, signals)


def matmul(
    m: int,
    n: int,
    k: int,
    waits: Sequence[Sync] = (),
    signals: Sequence[Sync] = (),
) -> dev.RecordOp:
    axes = [Axis.whole(m), Axis.whole(n), Axis.whole(k)]
    lhs = Access("lx", "f16", 0, (64, 0, 0), (0, 0, 1), m * 64)
    rhs = Access("lx", "f16", 65536, (0, 0, 64), (0, 1, 0), k * 64)
    out = Access("lx", "f16", 131072, (64, 0, 0), (0, 1, 0), m * 64)
    return synced(dev.MatmulOp(axes, "mnk", lhs, rhs, out), waits, signals)


def loop(trips: int, *body: Operation) -> dev.LoopOp:
    return dev.LoopOp(trips, body)


def program(
    streams: Mapping[str, Sequence[Operation]],
    semaphores: Sequence[int] = (),
    grid: Sequence[int] = (1,),
    name: str = "k0",
) -> dev.ProgramOp:
    made = dev.ProgramOp(
        name,
        grid,
        2,
        0,
        semaphores,
        [dev.StreamOp(unit, body) for unit, body in streams.items()],
    )
    made.verify()
    return made


def pipeline(
    trips: int, height: int, depth: int = 2, functions: Sequence[str] = ("neg",)
) -> dev.ProgramOp:
    """Load, compute and store `trips` tiles of `height` rows, `depth` stages each."""
    full_in, free_in, full_out, free_out = range(4)
    axes = rows(trips * height, loop=0, trips=trips)

    def sync(semaphore: int) -> Sync:
        return Sync(semaphore, 1, 1)

    compute = [
        vector(
            axes,
            [sync(full_in), sync(free_out)] if k == 0 else [],
            [sync(free_in), sync(full_out)] if k == len(functions) - 1 else [],
            function,
        )
        for k, function in enumerate(functions)
    ]
    return program(
        {
            "load": [loop(trips, load(axes, [sync(free_in)], [sync(full_in)]))],
            "sfp": [loop(trips, *compute)],
            "store": [loop(trips, store(axes, [sync(full_out)], [sync(free_out)]))],
        },
        [0, depth, 0, depth],
        name="pipeline",
    )
