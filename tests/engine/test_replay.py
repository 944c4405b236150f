# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches repeat their bits, whatever the scratchpads held and the caller set."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from spyre_mlir.algebra.access import Axis, Step
from spyre_mlir.dialects import dev
from spyre_runtime.engine import Engine
from spyre_runtime.engine.matmul import digit_roles

from .builders import access, buffer, chain, tile

M, N, K = 70, 200, 130


def matmul_program(multicast: bool = True) -> dev.ProgramOp:
    """
    gelu(A @ B + bias) over 4 x 2 cores, k in three trips; A, B and bias are loaded
    into every core that needs them.
    """
    axes = [Axis(M, 0, 18, -1, 18), Axis(N, 1, 128, -1, 128), Axis(K, -1, K, 0, 64)]
    flat = axes[:2]
    a = access(tile("f16", axes, (0, 2)), axes, (0, 2), 0)
    b = access(tile("f16", axes, (2, 1)), axes, (2, 1), 1 << 15)
    bias = access(tile("f16", flat, (1,)), flat, (1,), 1 << 16)
    sums = tile("f32", axes, (0, 1))
    acc = access(sums, axes, (0, 1), 1 << 17)
    out = access(tile("f16", flat, (0, 1)), flat, (0, 1), 1 << 18)
    load = [
        dev.TransferOp(axes, access(buffer("f16", (M, K)), axes, (0, 2), 0, 0), a),
        dev.TransferOp(axes, access(buffer("f16", (K, N)), axes, (2, 1), 0, 1), b),
        dev.TransferOp(flat, access(buffer("f16", (N,)), flat, (1,), 0, 2), bias),
    ]
    steps = [
        Step("cast", (0,), "f16"),
        Step("add", (2, 1), "f16"),
        Step("gelu_tanh", (3,), "f16"),
    ]
    records = [
        *(("load", r) for r in load),
        ("pt", dev.MatmulOp(axes, "mnk", a, b, acc, 0)),
        (
            "sfp",
            dev.VectorOp(flat, [access(sums, flat, (0, 1), 1 << 17), bias], steps, out),
        ),
        (
            "store",
            dev.TransferOp(
                flat, out, access(buffer("f16", (M, N)), flat, (0, 1), 0, 3)
            ),
        ),
    ]
    return chain((4, 2), 4, records, (3,))


SYMBOLS = (0, 1 << 15, 1 << 17, 1 << 18)


def prepared() -> tuple[Engine, torch.Tensor]:
    """An engine with inputs in memory, and what the program is to compute."""
    generator = torch.Generator().manual_seed(0)
    a, b, bias = (
        torch.randn(*s, generator=generator).half() for s in ((M, K), (K, N), (N,))
    )
    memory = torch.full((1 << 19,), 255, dtype=torch.uint8)
    for address, value in zip(SYMBOLS, (a, b, bias), strict=False):
        raw = buffer("f16", value.shape).pack(value)
        memory[address : address + raw.numel()] = raw
    wide = (a.float() @ b.float()).half() + bias
    return Engine(memory), torch.nn.functional.gelu(wide, approximate="tanh")


def result(engine: Engine) -> torch.Tensor:
    raw = engine.machine.memory[SYMBOLS[3] :].clone()
    engine.machine.memory[SYMBOLS[3] :] = 255
    return raw


def test_a_second_launch_and_one_after_nan_give_the_same_bits() -> None:
    engine, expected = prepared()
    program = matmul_program()
    results: list[torch.Tensor] = []
    for poisoned in (False, False, True):
        if poisoned:
            engine.lx.fill_(255)
        engine.run(program, SYMBOLS)
        # Padding lanes of a stick carry what the scratchpad held.
        results.append(buffer("f16", (M, N)).unpack(result(engine)))
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])
    torch.testing.assert_close(results[0], expected, rtol=1e-2, atol=1e-2)


def test_other_addresses_bind_again() -> None:
    engine, _ = prepared()
    program = matmul_program()
    engine.run(program, SYMBOLS)
    first = result(engine)
    moved = (*SYMBOLS[:3], SYMBOLS[3] + 4096)
    engine.run(program, moved)
    second = result(engine)
    size = buffer("f16", (M, N)).bytes
    assert torch.equal(first[:size], second[4096 : 4096 + size])


def test_merged_copies_give_what_each_core_computes() -> None:
    engine, _ = prepared()
    program = matmul_program()
    engine.run(program, SYMBOLS)
    merged = result(engine)
    apart = Engine(engine.machine.memory)
    apart.binder.starts_defined = True
    apart.run(program, SYMBOLS)
    size = buffer("f16", (M, N)).bytes
    values = [
        r[:size].view(torch.float16).nan_to_num() for r in (merged, result(apart))
    ]
    torch.testing.assert_close(values[0], values[1], rtol=1e-2, atol=1e-2)


def test_digits_take_roles() -> None:
    assert digit_roles((2, 2, 2, 2), 0b1010, 0b1100) == "bnm1"


class Refuses(TorchDispatchMode):
    def __torch_dispatch__(
        self, func: object, types: object, args: object = (), kwargs: object = None
    ) -> object:
        raise AssertionError(f"{func} was seen")


@pytest.mark.parametrize(
    "mode",
    [
        FakeTensorMode,
        Refuses,
        torch.inference_mode,
        lambda: torch.autocast("cpu", torch.bfloat16),
        lambda: torch.device("meta"),
        torch.enable_grad,
    ],
)
def test_the_callers_modes_do_not_reach_the_machine(
    mode: Callable[[], AbstractContextManager[object]],
) -> None:
    engine, _ = prepared()
    program = matmul_program()
    engine.run(program, SYMBOLS)
    plain = result(engine)
    fresh, _ = prepared()
    threads = torch.get_num_threads()
    with mode():
        fresh.run(program, SYMBOLS)
        fresh.run(program, SYMBOLS)
    assert torch.get_num_threads() == threads
    assert torch.equal(plain, result(fresh))
