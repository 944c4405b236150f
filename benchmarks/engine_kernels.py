# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportPrivateUsage=false
"""
CPU seconds of the machine on hand-built programs, against NumPy in fp32.

    python benchmarks/engine_kernels.py [name...]

Both sides run interleaved in this process on one thread; the figure is the ratio of
the medians of five.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np
import torch

from spyre_mlir.algebra.access import Access, Axis, Step
from spyre_mlir.dialects import dev
from spyre_runtime.engine import Engine
from tests.engine.builders import Buffer, access, buffer, chain, synced, tile

MEBI = 1 << 20


@dataclass
class Case:
    program: dev.ProgramOp
    symbols: tuple[int, ...]
    engine: Engine
    baseline: Callable[[], object]
    check: Callable[[], float]


def place(engine: Engine, address: int, raw: torch.Tensor) -> None:
    engine.machine.memory[address : address + raw.numel()] = raw


def matmul_program(
    whole: list[Any], axes: list[Axis], grid: tuple[int, int], trips: int
) -> dev.ProgramOp:
    """A double-buffered product whose contraction runs in `trips` trips."""
    left, right = tile("f16", axes, (0, 2)), tile("f16", axes, (2, 1))
    stages = min(2, trips)

    def staged(held: Buffer, base: int, places: tuple[int, ...]) -> Access:
        return access(
            held,
            axes,
            places,
            base,
            depth=stages,
            stage_bytes=held.bytes,
            stage_levels=1,
        )

    a = staged(left, 0, (0, 2))
    b = staged(right, stages * left.bytes, (2, 1))
    top = stages * (left.bytes + right.bytes)
    partial = tile("f32", axes, (0, 1), (0, 1, 1))
    acc = access(partial, axes, (0, 1), top)
    out = tile("f16", axes, (0, 1))
    result = access(out, axes, (0, 1), top + partial.bytes)
    assert top + partial.bytes + out.bytes <= 2 * MEBI
    # Semaphores: 0 free stages, 1 full A, 2 full B, 3 sums ready, 4 result ready.
    loads = [
        synced(
            dev.TransferOp(axes, access(whole[0], axes, (0, 2), 0, 0), a),
            [(0, 1, 1)],
            [(1, 1, 1)],
        ),
        synced(
            dev.TransferOp(axes, access(whole[1], axes, (2, 1), 0, 1), b),
            [],
            [(2, 1, 1)],
        ),
    ]
    product = synced(
        dev.MatmulOp(axes, "mnk", a, b, acc, 0),
        [(1, 1, 1), (2, 1, 1)],
        [(0, 1, 1), (3, 1, 0)],
    )
    flat = axes[:2]
    rounded = synced(
        dev.VectorOp(
            flat,
            [replace(acc, strides=acc.strides[:2], stick=acc.stick[:2])],
            [Step("cast", (0,), "f16")],
            access(out, flat, (0, 1), result.base),
        ),
        [(3, 1, 0)],
        [(4, 1, 0)],
    )
    store = synced(
        dev.TransferOp(
            flat,
            access(out, flat, (0, 1), result.base),
            access(whole[2], flat, (0, 1), 0, 2),
        ),
        [(4, 1, 0)],
    )
    return dev.ProgramOp(
        "matmul",
        grid,
        3,
        0,
        [stages, 0, 0, 0, 0],
        [
            dev.StreamOp("load", [dev.LoopOp(trips, loads)]),
            dev.StreamOp("pt", [dev.LoopOp(trips, [product])]),
            dev.StreamOp("sfp", [rounded]),
            dev.StreamOp("store", [store]),
        ],
    )


def matmul(m: int, n: int, k: int, grid: tuple[int, int], tile_k: int) -> Case:
    axes = [
        Axis(m, 0, -(-m // grid[0]), -1, -(-m // grid[0])),
        Axis(n, 1, -(-n // grid[1] // 64) * 64, -1, -(-n // grid[1] // 64) * 64),
        Axis(k, -1, k, 0, tile_k),
    ]
    whole = [buffer("f16", s) for s in ((m, k), (k, n), (m, n))]
    program = matmul_program(whole, axes, grid, -(-k // tile_k))
    program.verify()
    engine = Engine(torch.zeros(128 * MEBI, dtype=torch.uint8))
    symbols = (0, whole[0].bytes, whole[0].bytes + whole[1].bytes)
    x, y = torch.randn(m, k).half(), torch.randn(k, n).half() / k**0.5
    place(engine, symbols[0], whole[0].pack(x))
    place(engine, symbols[1], whole[1].pack(y))
    p, q, r = x.float().numpy(), y.float().numpy(), np.empty((m, n), np.float32)

    def check() -> float:
        got = whole[2].unpack(engine.machine.memory[symbols[2] :])
        return float((got.float() - x.float() @ y.float()).abs().max())

    return Case(program, symbols, engine, lambda: np.matmul(p, q, out=r), check)


def rows_case(
    rows: int,
    columns: int,
    per_trip: int,
    records: Callable[[list[Axis], int, int], list[dev.RecordOp]],
    baseline: Callable[[np.ndarray], Callable[[], object]],
    expected: Callable[[torch.Tensor], torch.Tensor],
) -> Case:
    """Rows over 32 cores, `per_trip` at a time; x lies at 0, the result behind it."""
    grid = (32,)
    chunk = rows // 32
    axes = [Axis(rows, 0, chunk, 0, per_trip), Axis.whole(columns)]
    whole = buffer("f16", (rows, columns))
    held = tile("f16", axes, (0, 1))
    x = access(held, axes, (0, 1), 0)
    y = access(held, axes, (0, 1), held.bytes)
    body = records(axes, held.bytes, 2 * held.bytes)
    load = dev.TransferOp(axes, access(whole, axes, (0, 1), 0, 0), x)
    store = dev.TransferOp(axes, y, access(whole, axes, (0, 1), 0, 1))
    program = chain(
        grid,
        2,
        [("load", load), *(("sfp", r) for r in body), ("store", store)],
        (chunk // per_trip,),
    )
    engine = Engine(torch.zeros(128 * MEBI, dtype=torch.uint8))
    data = torch.randn(rows, columns).half()
    place(engine, 0, whole.pack(data))

    def check() -> float:
        got = whole.unpack(engine.machine.memory[whole.bytes :])
        return float((got.float() - expected(data.float())).abs().max())

    return Case(
        program, (0, whole.bytes), engine, baseline(data.float().numpy()), check
    )


def sparse(dtype: str, axes: list[Axis], base: int) -> Access:
    return access(tile(dtype, axes, (0,), (0, -1)), axes, (0,), base)


def softmax(rows: int, columns: int, per_trip: int) -> Case:
    def records(axes: list[Axis], out: int, free: int) -> list[dev.RecordOp]:
        x = access(tile("f16", axes, (0, 1)), axes, (0, 1), 0)
        y = access(tile("f16", axes, (0, 1)), axes, (0, 1), out)
        top, total = sparse("f16", axes, free), sparse("f16", axes, free + 65536)
        return [
            dev.VectorOp(axes, [x], [], top, "max", (1,)),
            dev.VectorOp(
                axes,
                [x, top],
                [Step("sub", (0, 1), "f16"), Step("exp", (2,), "f16")],
                y,
            ),
            dev.VectorOp(axes, [y], [], total, "sum", (1,)),
            dev.VectorOp(axes, [y, total], [Step("div", (0, 1), "f16")], y),
        ]

    def baseline(x: np.ndarray) -> Callable[[], object]:
        e = np.empty_like(x)

        def run() -> None:
            np.subtract(x, x.max(1, keepdims=True), out=e)
            np.exp(e, out=e)
            np.divide(e, e.sum(1, keepdims=True), out=e)

        return run

    return rows_case(
        rows, columns, per_trip, records, baseline, lambda x: x.softmax(-1)
    )


def layernorm(rows: int, columns: int, per_trip: int) -> Case:
    def records(axes: list[Axis], out: int, free: int) -> list[dev.RecordOp]:
        x = access(tile("f16", axes, (0, 1)), axes, (0, 1), 0)
        y = access(tile("f16", axes, (0, 1)), axes, (0, 1), out)
        total, square = sparse("f32", axes, free), sparse("f32", axes, free + 65536)
        mean = [
            Step("constant", (), "f32", (1 / columns,)),
            Step("mul", (1, 2), "f32"),
            Step("sub", (0, 3), "f32"),
        ]
        return [
            dev.VectorOp(axes, [x], [], total, "sum", (1,)),
            dev.VectorOp(
                axes,
                [x, total],
                [*mean, Step("mul", (4, 4), "f32")],
                square,
                "sum",
                (1,),
            ),
            dev.VectorOp(
                axes,
                [x, total, square],
                [
                    Step("constant", (), "f32", (1 / columns,)),
                    Step("mul", (1, 3), "f32"),
                    Step("sub", (0, 4), "f32"),
                    Step("mul", (2, 3), "f32"),
                    Step("rsqrt", (6,), "f32"),
                    Step("mul", (5, 7), "f16"),
                ],
                y,
            ),
        ]

    def baseline(x: np.ndarray) -> Callable[[], object]:
        e, s = np.empty_like(x), np.empty_like(x)

        def run() -> None:
            np.subtract(x, x.mean(1, keepdims=True), out=e)
            np.multiply(e, e, out=s)
            np.multiply(e, 1 / np.sqrt(s.mean(1, keepdims=True)), out=e)

        return run

    return rows_case(
        rows,
        columns,
        per_trip,
        records,
        baseline,
        lambda x: torch.nn.functional.layer_norm(x, x.shape[1:], eps=0),
    )


CASES: dict[str, Callable[[], Case]] = {
    "matmul 1024^3, 8x4, kt 512": lambda: matmul(1024, 1024, 1024, (8, 4), 512),
    "matmul 1024^3, 8x4, kt 64": lambda: matmul(1024, 1024, 1024, (8, 4), 64),
    "matmul 1003x1000x1000": lambda: matmul(1003, 1000, 1000, (8, 4), 512),
    "gemv 1x4096x4096": lambda: matmul(1, 4096, 4096, (1, 32), 2048),
    "decode 16x4096x4096": lambda: matmul(16, 4096, 4096, (1, 32), 2048),
    "softmax 4096^2, 2 rows": lambda: softmax(4096, 4096, 2),
    "softmax 4096^2, 16 rows": lambda: softmax(4096, 4096, 16),
    "layernorm 2048x4096, 2 rows": lambda: layernorm(2048, 4096, 2),
    "layernorm 2048x4096, 16 rows": lambda: layernorm(2048, 4096, 16),
}


def seconds(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def main(names: list[str]) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    for name, make in CASES.items():
        if names and not any(n in name for n in names):
            continue
        case = make()
        engine = case.engine

        def launch(case: Case = case) -> None:
            case.engine.run(case.program, case.symbols)

        bind = seconds(launch)
        times: list[tuple[float, float]] = []
        for _ in range(5):
            times.append((seconds(case.baseline), seconds(launch)))
        numpy, card = (median(t[k] for t in times) for k in (0, 1))
        actions = sum(engine.kept_actions)
        print(
            f"{name:32} {card / numpy:5.2f}x  numpy {numpy * 1e3:6.1f} ms  "
            f"card {card * 1e3:6.1f} ms  first {bind * 1e3:6.1f} ms  "
            f"{actions} actions  error {case.check():.1e}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
