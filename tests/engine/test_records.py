# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every record kind against the plain reference, byte for byte in scratchpads."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
import torch

from spyre_mlir.algebra.access import Access, Axis, Step
from spyre_mlir.dialects import dev
from spyre_runtime.engine import Engine

from .builders import TORCH, Chip, access, buffer, chain, tile
from .reference import Reference

LX_BYTES = 1 << 16
CHIP = Chip(8, LX_BYTES)
SIZES = (1, 2, 5, 63, 64, 65, 128)


def fill(raw: torch.Tensor, dtype: str, seed: int) -> None:
    """Ordinary numbers of a type all over a memory."""
    generator = torch.Generator().manual_seed(seed)
    flat = raw.view(TORCH[dtype])
    if dtype == "i1":
        flat.copy_(torch.randint(0, 2, flat.shape, generator=generator))
    elif dtype in ("i32", "i64"):
        flat.copy_(torch.randint(-50, 50, flat.shape, generator=generator))
    else:
        flat.copy_(torch.randn(flat.shape, generator=generator))


@dataclass
class Pair:
    """The machine and the reference on equal bytes."""

    engine: Engine
    reference: Reference

    @staticmethod
    def of(dtype: str, seed: int, dram: int = 1 << 18) -> Pair:
        memory = torch.zeros(dram, dtype=torch.uint8)
        fill(memory, dtype, seed)
        engine = Engine(memory, CHIP)
        fill(engine.lx, dtype, seed + 1)
        engine.binder.starts_defined = True
        return Pair(engine, Reference(memory.clone(), engine.lx.clone()))

    def fill(self, first: int, count: int, dtype: str, seed: int) -> None:
        """Numbers of another type in a part of all scratchpads."""
        part = torch.zeros((CHIP.cores, count), dtype=torch.uint8)
        fill(part, dtype, seed)
        self.engine.lx[:, first : first + count] = part
        self.reference.lx[:, first : first + count] = part

    def check(
        self, program: dev.ProgramOp, symbols: Sequence[int] = (), exact: str = ""
    ) -> None:
        self.engine.run(program, symbols)
        self.reference.run(program, symbols)
        for mine, theirs in (
            (self.engine.lx, self.reference.lx),
            (self.engine.machine.memory, self.reference.memory),
        ):
            if not exact:
                assert torch.equal(mine, theirs)
                continue
            a, b = (m.view(TORCH[exact]).float() for m in (mine, theirs))
            torch.testing.assert_close(
                a, b, rtol=2e-3, atol=2e-3, equal_nan=True, check_dtype=False
            )


def divided(
    rng: random.Random, size: int, digit: int, grid: tuple[int, ...], grain: int
) -> Axis:
    """An axis cut into chunks of whole grains over a digit."""
    units = -(-size // grain)
    chunk = -(-units // grid[digit]) * grain if digit >= 0 else size
    return Axis(size, digit, chunk, -1, chunk)


def looped(axis: Axis, loop: int, trips: int, grain: int) -> Axis:
    units = -(-axis.chunk // grain)
    return Axis(axis.size, axis.digit, axis.chunk, loop, -(-units // trips) * grain)


@pytest.mark.parametrize("seed", range(16))
def test_transfers_through_a_scratchpad(seed: int) -> None:
    rng = random.Random(seed)
    dtype = rng.choice(["f16", "f32", "i64", "i1"])
    rows, columns = rng.choice(SIZES), rng.choice(SIZES)
    grid = rng.choice([(1,), (4, 2), (2, 3), (8,)])
    dims = rng.choice([(1, 0, 1), (0, 1, 0), (0, 1, 1)])
    whole = buffer(dtype, (rows, columns), dims)
    grains = [whole.eps if d == whole.layout.stick_dim else 1 for d in (0, 1)]
    digits = rng.sample([-1, *range(len(grid))], 2) if len(grid) > 1 else [0, -1]
    axes = [
        divided(rng, size, digit, grid, grain)
        for size, digit, grain in zip((rows, columns), digits, grains, strict=True)
    ]
    loops = rng.choice([(), (2,), (3,)])
    if loops:
        axes[0] = looped(axes[0], 0, loops[0], grains[0])
    held = tile(dtype, axes, (0, 1), dims)
    stage = dict(depth=2, stage_bytes=held.bytes, stage_levels=1) if loops else {}
    inside = access(held, axes, (0, 1), 256, **stage)
    load = dev.TransferOp(axes, access(whole, axes, (0, 1), 0, 0), inside)
    store = dev.TransferOp(axes, inside, access(whole, axes, (0, 1), 0, 1))
    program = chain(grid, 2, [("load", load), ("store", store)], loops)
    Pair.of(dtype, seed).check(program, (0, 1 << 17))


def test_a_transfer_of_sparse_sticks_moves_each_whole_stick() -> None:
    axes = [Axis(10, 0, 3, -1, 3)]
    whole = buffer("f16", (10,), (0, -1))
    held = buffer("f16", (3,), (0, -1))
    load = dev.TransferOp(
        axes, access(whole, axes, (0,), 0, 0), access(held, axes, (0,))
    )
    Pair.of("f16", 3).check(chain((4,), 1, [("load", load)]), (4096,))


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("seed", range(6))
def test_vector_bodies(dtype: str, seed: int) -> None:
    rng = random.Random(seed)
    grid = rng.choice([(2, 4), (3, 2), (1,)])
    eps = 32 if dtype == "f32" else 64
    digits = [0, 1] if len(grid) == 2 else [0, -1]
    axes = [
        divided(rng, rng.choice(SIZES), digits[0], grid, 1),
        divided(rng, rng.choice(SIZES), digits[1], grid, eps),
    ]
    full = access(tile(dtype, axes, (0, 1)), axes, (0, 1), 0)
    row = access(tile(dtype, axes, (1,)), axes, (1,), 1 << 15)
    sparse = access(tile(dtype, axes, (0,), (0, -1)), axes, (0,), 3 << 14)
    out = access(tile(dtype, axes, (0, 1)), axes, (0, 1), rng.choice([0, 1 << 14]))
    steps = [
        Step("mul", (0, 1), dtype),
        Step("constant", (), dtype, (0.3,)),
        Step("add", (3, 4), dtype),
        Step("maximum", (5, 2), "f32"),
        Step("tanh", (6,), dtype),
        Step("lt", (7, 0), "i1"),
        Step("where", (8, 7, 3), dtype),
    ]
    op = dev.VectorOp(axes, [full, row, sparse], steps, out)
    Pair.of(dtype, seed).check(chain(grid, 0, [("sfp", op)]))


@pytest.mark.parametrize("combine", ["sum", "max", "min"])
@pytest.mark.parametrize("seed", range(5))
def test_vector_folds_over_loop_trips(combine: str, seed: int) -> None:
    rng = random.Random(seed)
    dtype = rng.choice(["f16", "f32"])
    eps = 32 if dtype == "f32" else 64
    grid = (4, 2)
    axes = [
        divided(rng, rng.choice(SIZES), 0, grid, 1),
        looped(divided(rng, rng.choice(SIZES), 1, grid, eps), 0, 2, eps),
    ]
    source = access(tile(dtype, axes, (0, 1)), axes, (0, 1), 0)
    out = access(tile("f32", axes, (0,), (0, -1)), axes, (0,), 1 << 15)
    steps = [Step("mul", (0, 0), dtype)]
    op = dev.VectorOp(axes, [source], steps, out, combine, (1,), 0)
    pair = Pair.of(dtype, seed)
    pair.fill(1 << 15, 1 << 15, "f32", seed)
    pair.check(chain(grid, 0, [("sfp", op)], (2,)), exact="f32")


def test_vector_integers_booleans_and_indices() -> None:
    axes = [Axis(7, 0, 3, 0, 2), Axis(70, -1, 70, -1, 70)]
    a = access(tile("i32", axes, (0, 1)), axes, (0, 1), 0)
    out = access(tile("i64", axes, (0, 1)), axes, (0, 1), 1 << 14)
    flag = access(tile("i1", axes, (0, 1)), axes, (0, 1), 1 << 15)
    body = [
        Step("index", (), "i32", (0,)),
        Step("index", (), "i32", (1,)),
        Step("mul", (1, 2), "i32"),
        Step("add", (0, 3), "i32"),
        Step("cast", (4,), "i64"),
    ]
    first = dev.VectorOp(axes, [a], body, out)
    second = dev.VectorOp(
        axes,
        [out],
        [Step("constant", (), "i64", (9,)), Step("gt", (0, 1), "i1")],
        flag,
    )
    third = dev.VectorOp(axes, [flag], [Step("cast", (0,), "i32")], a, "", ())
    program = chain((3,), 0, [("sfp", first), ("sfp", second), ("sfp", third)], (2,))
    Pair.of("i32", 5).check(program)


def test_a_body_without_inputs_fills_its_tile_exactly() -> None:
    axes = [Axis(65, -1, 65, -1, 65)]
    out = access(tile("f16", axes, (0,)), axes, (0,), 128)
    op = dev.VectorOp(axes, [], [Step("constant", (), "f16", (2.5,))], out)
    Pair.of("f16", 1).check(chain((2,), 0, [("sfp", op)]))


@pytest.mark.filterwarnings("error")
def test_a_body_of_constants_alone() -> None:
    axes = [Axis(65, -1, 65, -1, 65)]
    out = access(tile("f16", axes, (0,)), axes, (0,), 128)
    steps = [
        Step("constant", (), "f16", (2.5,)),
        Step("constant", (), "f16", (0.3,)),
        Step("erf", (0,), "f16"),
        Step("mul", (2, 1), "f16"),
        Step("lt", (3, 1), "i1"),
        Step("where", (4, 3, 0), "f16"),
    ]
    for combine, fold in (("", ()), ("sum", (0,)), ("max", (0,))):
        into = out if not fold else access(tile("f16", axes, ()), axes, (), 128)
        op = dev.VectorOp(axes, [], steps, into, combine, fold)
        Pair.of("f16", 1).check(chain((2,), 0, [("sfp", op)]), exact="f16")


def test_a_scalar_has_no_axes() -> None:
    one = Access("lx", "f16", 0, (), ())
    op = dev.VectorOp(
        [], [one], [Step("exp", (0,), "f16")], Access("lx", "f16", 128, (), ())
    )
    Pair.of("f16", 1).check(chain((1,), 0, [("sfp", op)]))


def test_a_core_without_elements_to_fold_writes_the_identity() -> None:
    # Digit 0 has 4 parts of a fold axis of 2 elements: two cores have none.
    axes = [Axis(5, -1, 5, -1, 5), Axis(2, 0, 1, -1, 1)]
    source = access(tile("f32", axes, (1, 0)), axes, (1, 0), 0)
    for combine in ("sum", "max", "min"):
        out = access(tile("f32", axes, (0,)), axes, (0,), 1 << 12)
        op = dev.VectorOp(axes, [source], [], out, combine, (1,))
        Pair.of("f32", 2).check(chain((4,), 0, [("sfp", op)]))


@pytest.mark.parametrize("seed", range(24))
def test_matmul_roles_layouts_and_partial_sums(seed: int) -> None:
    rng = random.Random(seed)
    dtype = rng.choice(["f16", "bf16", "f32"])
    out_dtype = rng.choice(["f32", dtype])
    acc = 0 if out_dtype == "f32" and rng.random() < 0.6 else -1
    grid = rng.choice([(2, 2), (4, 2), (1,)])
    sizes = [rng.choice((1, 2, 3)), *(rng.choice((1, 5, 64, 65, 70)) for _ in range(3))]
    eps = 32 if dtype == "f32" else 64
    grain = 64
    digits = rng.sample(range(1, 4), 2) if len(grid) == 2 else [1]
    axes = []
    for place, size in enumerate(sizes):
        digit = digits.index(place) if place in digits else -1
        axes.append(divided(rng, size, digit, grid, grain))
    if acc >= 0:
        axes[3] = looped(axes[3], 0, 2, grain)
    assert eps <= grain
    left = rng.choice([(0, 2, 1, 2), (2, 0, 1, 1)])
    right = rng.choice([(0, 2, 1, 2), (0, 1, 2, 1)])
    out_dims = rng.choice([(0, 2, 1, 2), (0, 1, 2, 1), (0, 1, 2, 2)])
    lhs = access(tile(dtype, axes, (0, 1, 3), left), axes, (0, 1, 3), 0)
    rhs = access(tile(dtype, axes, (0, 3, 2), right), axes, (0, 3, 2), 20480 * 2)
    out = access(tile(out_dtype, axes, (0, 1, 2), out_dims), axes, (0, 1, 2), 0)
    wide = Chip(8, 1 << 18)
    out = replace(out, base=1 << 17)
    memory = torch.zeros(128, dtype=torch.uint8)
    engine = Engine(memory, wide)
    engine.binder.starts_defined = True
    fill(engine.lx[:, : 1 << 17].contiguous(), dtype, seed)
    part = torch.zeros((8, 1 << 17), dtype=torch.uint8)
    fill(part, dtype, seed)
    engine.lx[:, : 1 << 17] = part
    fill(part, out_dtype, seed + 1)
    engine.lx[:, 1 << 17 :] = part
    reference = Reference(memory.clone(), engine.lx.clone())
    op = dev.MatmulOp(axes, "bmnk", lhs, rhs, out, acc)
    program = chain(grid, 0, [("pt", op)], (2,) if acc >= 0 else ())
    engine.run(program)
    reference.run(program)
    a, b = (
        x[:, 1 << 17 :].contiguous().view(TORCH[out_dtype]).float()
        for x in (engine.lx, reference.lx)
    )
    torch.testing.assert_close(
        a, b, rtol=1e-2 if out_dtype != "f32" else 1e-4, atol=1e-4
    )


def test_matmul_with_two_axes_per_role() -> None:
    axes = [Axis.whole(n) for n in (2, 3, 4, 2, 5, 3)]
    roles = "bmmnkk"
    lhs = access(tile("f16", axes, (0, 1, 2, 4, 5)), axes, (0, 1, 2, 4, 5), 0)
    rhs = access(tile("f16", axes, (0, 4, 5, 3)), axes, (0, 4, 5, 3), 1 << 15)
    out = access(tile("f32", axes, (0, 1, 2, 3)), axes, (0, 1, 2, 3), 3 << 14)
    op = dev.MatmulOp(axes, roles, lhs, rhs, out)
    pair = Pair.of("f16", 0)
    pair.check(chain((2,), 0, [("pt", op)]), exact="f32")


def test_a_core_without_k_writes_zeros() -> None:
    axes = [Axis(3, -1, 3, -1, 3), Axis(64, -1, 64, -1, 64), Axis(128, 0, 64, -1, 64)]
    lhs = access(tile("f16", axes, (0, 2)), axes, (0, 2), 0)
    rhs = access(tile("f16", axes, (2, 1)), axes, (2, 1), 1 << 13)
    out = access(tile("f32", axes, (0, 1)), axes, (0, 1), 1 << 15)
    op = dev.MatmulOp(axes, "mnk", lhs, rhs, out)
    pair = Pair.of("f16", 0)
    pair.check(chain((4,), 0, [("pt", op)]), exact="f32")
    row = pair.engine.lx[3, 1 << 15 : (1 << 15) + 128].view(torch.float32)
    assert not row.any()


SHUFFLES = {
    "heads of half a stick": ((3, 32), (0, 0), (32, 1), (96, 64), (0, 1)),
    "slice from the middle": ((130,), (0,), (1,), (0,), (1,)),
    "flip": ((130,), (0,), (-1,), (0,), (1,)),
    "every third": ((60,), (0,), (3,), (0,), (1,)),
    "transpose": ((5, 70), (64, 0), (0, 1), (0, 64), (1, 0)),
    "both inside": ((7, 9, 5), (0, 0, 0), (45, 5, 1), (0, 0, 0), (5, 35, 1)),
}


@pytest.mark.parametrize("name", SHUFFLES)
@pytest.mark.parametrize("offsets", [(0, 0), (32, 0), (0, 40), (17, 3)])
@pytest.mark.parametrize("stride", [64, 192])
def test_shuffles_at_any_place_in_sticks(
    name: str, offsets: tuple[int, int], stride: int
) -> None:
    sizes, strides, stick, out_strides, out_stick = SHUFFLES[name]
    axes = [Axis.whole(n) for n in sizes]
    first = offsets[0] + (sum(sizes) if -1 in stick else 0)
    source = Access("lx", "f16", 0, strides, stick, stride, first)
    target = Access("lx", "f16", 1 << 15, out_strides, out_stick, 128, offsets[1])
    op = dev.ShuffleOp(axes, source, target)
    Pair.of("f16", 1).check(chain((3, 2), 0, [("sfp", op)]))


@pytest.mark.parametrize("combine", ["sum", "max"])
@pytest.mark.parametrize("digits", [(0,), (1,), (0, 1)])
def test_ring_reduce_folds_over_digits(combine: str, digits: tuple[int, ...]) -> None:
    axes = [Axis(65, -1, 65, -1, 65), Axis.whole(3)]
    source = access(tile("f32", axes, (1, 0)), axes, (1, 0), 0)
    target = access(tile("f16", axes, (1, 0)), axes, (1, 0), 1 << 14)
    op = dev.RingReduceOp(axes, source, target, combine, digits)
    Pair.of("f32", 1).check(chain((4, 2), 0, [("ring", op)]), exact="f32")


@pytest.mark.parametrize("index_dtype", ["i32", "i64"])
@pytest.mark.parametrize("inner", [5, 64, 65])
@pytest.mark.parametrize("sparse", [False, True])
def test_gather_of_rows(index_dtype: str, inner: int, sparse: bool) -> None:
    table = buffer("f16", (20, inner))
    axes = [Axis(11, 0, 3, -1, 3), Axis(inner, -1, inner, -1, inner)]
    index = access(
        tile(index_dtype, axes, (0,), (0, -1) if sparse else ()), axes, (0,), 0
    )
    target = access(tile("f16", axes, (0, 1)), axes, (0, 1), 1 << 14)
    source = access(table, axes, (-1, 1), 0, 0)
    step = table.layout.dim_strides(table.shape, 64)[0]
    op = dev.GatherOp(axes, source, index, target, step, 0, 20)
    pair = Pair.of("f16", 4)
    for lx in (pair.engine.lx, pair.reference.lx):
        flat = lx[:, : 1 << 14].contiguous().view(TORCH[index_dtype])
        flat.copy_(torch.arange(flat.numel()).view(flat.shape) * 7 % 20)
        lx[:, : 1 << 14] = flat.view(torch.uint8)
    pair.check(chain((4,), 1, [("load", op)]), (8192,))


def test_gather_along_the_sticks() -> None:
    table = buffer("f16", (3, 100))
    axes = [Axis.whole(3), Axis.whole(70)]
    index = access(tile("i64", axes, (0, 1)), axes, (0, 1), 0)
    target = access(tile("f16", axes, (0, 1)), axes, (0, 1), 1 << 14)
    full = access(table, axes, (0, 1), 0, 0)
    source = replace(full, stick=(0, 0))
    op = dev.GatherOp(axes, source, index, target, 0, 1, 100)
    pair = Pair.of("f16", 4)
    for lx in (pair.engine.lx, pair.reference.lx):
        flat = lx[:, : 1 << 14].contiguous().view(torch.int64)
        flat.copy_(torch.arange(flat.numel()).view(flat.shape) * 7 % 100)
        lx[:, : 1 << 14] = flat.view(torch.uint8)
    pair.check(chain((2,), 1, [("load", op)]), (0,))
