# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic on one of several equal copies gives what each core would compute."""

from __future__ import annotations

import random

import pytest
import torch

from spyre_mlir.algebra.access import Access, Step
from spyre_mlir.dialects import dev
from spyre_runtime.engine import Engine
from spyre_runtime.engine.pieces import Block
from spyre_runtime.engine.records import Record
from spyre_runtime.engine.uniform import Uniform

from .builders import Chip, access, buffer, chain, tile
from .reference import Reference
from .test_records import divided, fill

LX_BYTES = 5 << 16
CHIP = Chip(8, LX_BYTES)
GRIDS = ((2, 2, 2), (4, 2), (3, 2), (2,))
SIZES = (1, 3, 5, 64, 65, 70)


def random_program(rng: random.Random) -> dev.ProgramOp:
    """Loads into some or all cores, then every kind of arithmetic on what they hold."""
    grid = rng.choice(GRIDS)
    free = [*range(len(grid)), -1, -1]
    m, n, k = rng.sample(free, 3)
    axes = [
        divided(rng, rng.choice(SIZES), m, grid, 1),
        divided(rng, rng.choice(SIZES), n, grid, 64),
        divided(rng, rng.choice(SIZES), k, grid, 64),
    ]
    flat = axes[:2]
    places = {name: k << 16 for k, name in enumerate("abecd")}
    a = access(tile("f16", axes, (0, 2)), axes, (0, 2), places["a"])
    b = access(tile("f16", axes, (2, 1)), axes, (2, 1), places["b"])
    c = access(tile("f32", axes, (0, 1)), axes, (0, 1), places["c"])
    whole_a = buffer("f16", (axes[0].size, axes[2].size))
    whole_b = buffer("f16", (axes[2].size, axes[1].size))
    inner = [axes[0], axes[2]]
    own = access(tile("f16", inner, (0, 1)), inner, (0, 1), places["a"])
    cross = [axes[1], axes[2]]
    other = access(tile("f16", cross, (1, 0)), cross, (1, 0), places["b"])
    sums = access(tile("f32", inner, (0,), (0, -1)), inner, (0,), places["d"])
    held = access(tile("f32", flat, (0, 1)), flat, (0, 1), places["c"])
    row = access(tile("f32", flat, (0,), (0, -1)), flat, (0,), places["d"])
    out = access(tile("f16", flat, (0, 1)), flat, (0, 1), places["e"])
    square = [Step("mul", (0, 0), "f16")]
    join = [Step("add", (0, 1), "f32"), Step("cast", (2,), "f16")]
    records: list[tuple[str, dev.RecordOp]] = [
        ("load", dev.TransferOp(inner, access(whole_a, inner, (0, 1), 0, 0), own)),
        ("load", dev.TransferOp(cross, access(whole_b, cross, (1, 0), 0, 1), other)),
        ("sfp", dev.VectorOp(inner, [own], [Step("abs", (0,), "f16")], own)),
        ("sfp", dev.VectorOp(inner, [own], square, sums, "sum", (1,))),
        ("pt", dev.MatmulOp(axes, "mnk", a, b, c)),
    ]
    if k >= 0:
        records.append(("ring", dev.RingReduceOp(flat, held, held, "sum", (k,))))
    records.append(("sfp", dev.VectorOp(flat, [held, row], join, out)))
    rng.shuffle(head := records[:2])
    return chain(grid, 2, head + records[2:])


@pytest.mark.parametrize("seed", range(18))
def test_merged_copies(seed: int) -> None:
    program = random_program(random.Random(seed))
    memory = torch.zeros(1 << 18, dtype=torch.uint8)
    fill(memory, "f16", seed)
    engine = Engine(memory, CHIP)
    # Whatever lies in the scratchpads differs from core to core.
    fill(engine.lx, "f16", seed + 1)
    reference = Reference(memory.clone(), engine.lx.clone())
    engine.run(program, (0, 1 << 17))
    reference.run(program, (0, 1 << 17))
    for begin, end, dtype in (
        (0, 3 << 16, torch.float16),
        (3 << 16, 5 << 16, torch.float32),
    ):
        mine, theirs = (
            x[:, begin:end].view(dtype).float() for x in (engine.lx, reference.lx)
        )
        torch.testing.assert_close(mine, theirs, rtol=4e-3, atol=4e-3, equal_nan=True)


def test_most_random_programs_have_equal_copies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The test above would prove nothing if nothing were merged."""
    seen: list[int] = []
    original = Uniform.read

    def read(
        self: Uniform,
        record: Record,
        access: Access,
        trips: tuple[int, ...],
        pieces: list[Block],
    ) -> int:
        bits = original(self, record, access, trips, pieces)
        if isinstance(record.op, dev.MatmulOp):
            seen.append(bits)
        return bits

    monkeypatch.setattr(Uniform, "read", read)
    memory = torch.zeros(1 << 18, dtype=torch.uint8)
    for seed in range(18):
        engine = Engine(memory, CHIP)
        engine.run(random_program(random.Random(seed)), (0, 1 << 17))
    assert sum(bool(b) for b in seen) > len(seen) // 4
