# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""DLFloat16 against a table of all its codes, and in a program."""

from __future__ import annotations

import math

import pytest
import torch

from spyre_mlir.algebra.access import Axis, Step
from spyre_mlir.dialects import dev
from spyre_runtime.engine import CardError, Engine
from spyre_runtime.engine.dl16 import decode, encode

from .builders import access, buffer, chain, tile

CODES = torch.arange(1 << 15, dtype=torch.int32)
VALUES = torch.ldexp(1 + (CODES & 511) / 512, (CODES >> 9) - 31).masked_fill(
    CODES == 0, 0
)


def test_every_code_decodes_to_its_value_and_back() -> None:
    positive = CODES.to(torch.int16)
    assert torch.equal(decode(positive), VALUES)
    assert torch.equal(decode(positive | -(1 << 15)), -VALUES)
    kept = CODES[:-1].to(torch.int16)
    assert torch.equal(encode(VALUES[:-1]), kept)


def test_rounding_is_to_nearest_and_ties_go_away_from_zero() -> None:
    low, high = VALUES[1:-2], VALUES[2:-1]
    middle = (low.double() + high.double()) / 2
    for sign in (1, -1):
        assert torch.equal(decode(encode((sign * middle).float())), sign * high)
        below = torch.nextafter(middle.float(), torch.tensor(0.0))
        assert torch.equal(decode(encode(sign * below)), sign * low)


@pytest.mark.parametrize(
    ("value", "becomes"),
    [
        (0.59033203125, 0.5908203125),  # 0.5903 of issue 1938
        (18.09375, 18.09375),
        (-0.0, 0.0),
        (1e-12, 0.0),
        (math.inf, float(VALUES[0x7FFE])),
        (-1e30, -float(VALUES[0x7FFE])),
        (math.nan, 98304.0),
    ],
)
def test_single_values(value: float, becomes: float) -> None:
    got = decode(encode(torch.tensor([value])))
    assert got.item() == becomes
    assert not got.signbit().item() or becomes < 0


def test_infinity_and_nan_of_the_host_are_numbers() -> None:
    host = torch.tensor([math.inf, -math.inf, math.nan], dtype=torch.float16)
    assert decode(encode(host)).tolist() == [65536.0, -65536.0, 98304.0]


def test_a_program_rounds_each_step() -> None:
    axes = [Axis(5, 0, 2, -1, 2), Axis.whole(70)]
    whole = buffer("f16", (5, 70))
    held = tile("f16", axes, (0, 1))
    x, y = (access(held, axes, (0, 1), k * held.bytes) for k in range(2))
    total = access(tile("f16", axes, (0,), (0, -1)), axes, (0,), 1 << 14)
    steps = [Step("exp", (0,), "f16"), Step("mul", (1, 0), "f16")]
    records = [
        ("load", dev.TransferOp(axes, access(whole, axes, (0, 1), 0, 0), x)),
        ("sfp", dev.VectorOp(axes, [x], steps, y)),
        ("sfp", dev.VectorOp(axes, [y], [], total, "max", (1,))),
        ("store", dev.TransferOp(axes, y, access(whole, axes, (0, 1), 0, 1))),
    ]
    generator = torch.Generator().manual_seed(0)
    codes = encode(torch.randn(5, 70, generator=generator))
    memory = torch.zeros(1 << 14, dtype=torch.uint8)
    memory[: whole.bytes] = whole.pack(codes.view(torch.float16))
    engine = Engine(memory, numerics="dl16")
    engine.run(chain((3,), 2, records), (0, 1 << 13))
    wide = decode(codes)
    expected = encode(decode(encode(wide.exp())) * wide)
    got = whole.unpack(memory[1 << 13 :]).view(torch.int16)
    assert torch.equal(got, expected)
    top = engine.lx[0, 1 << 14 : (1 << 14) + 2].view(torch.int16)
    assert decode(top).item() == decode(expected)[0].max().item()


def test_numerics_have_names() -> None:
    with pytest.raises(CardError, match='"fp8" is neither'):
        Engine(torch.zeros(128, dtype=torch.uint8), numerics="fp8")
