# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Order, deadlock and balance of semaphores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
import torch
from xdsl.ir import Operation

from spyre_mlir.algebra.access import Access, Axis
from spyre_mlir.dialects import dev
from spyre_runtime.engine import (
    AddressError,
    BalanceError,
    CardError,
    DeadlockError,
    Engine,
    GatherIndexError,
)
from spyre_runtime.engine.records import decode
from spyre_runtime.engine.walk import walk

from .builders import access, buffer, chain, synced, tile

AXES = [Axis.whole(64)]
Syncs = Sequence[tuple[int, int, int]]


def move(
    unit: str, waits: Syncs = (), signals: Syncs = (), line: int = 0
) -> dev.TransferOp:
    inside = Access("lx", "f16", 0, (0,), (1,), 64)
    outside = Access("dram", "f16", 0, (0,), (1,), 64, 0, 0)
    pair = (inside, outside) if unit == "store" else (outside, inside)
    return synced(dev.TransferOp(AXES, *pair), waits, signals, line)


def program(
    streams: Mapping[str, Sequence[Operation]], semaphores: Sequence[int]
) -> dev.ProgramOp:
    ops = [dev.StreamOp(unit, body) for unit, body in streams.items()]
    result = dev.ProgramOp("p", (1,), 1, 0, semaphores, ops)
    result.verify()
    return result


def order(op: dev.ProgramOp) -> list[str]:
    return [f"{r.unit}{''.join(map(str, t))}" for r, t in walk(decode(op))]


def test_loads_run_ahead_as_far_as_free_stages_allow() -> None:
    load = move("load", [(0, 1, 1)], [(1, 1, 1)])
    store = move("store", [(1, 1, 1)], [(0, 1, 1)])
    double = program(
        {"load": [dev.LoopOp(4, [load])], "store": [dev.LoopOp(4, [store])]}, (2, 0)
    )
    assert order(double) == [
        "load0",
        "load1",
        "store0",
        "store1",
        "load2",
        "load3",
        "store2",
        "store3",
    ]


def test_waits_and_signals_deeper_than_their_level_happen_once() -> None:
    load = move("load", [], [(0, 1, 1)])
    store = move("store", [(0, 1, 1)])
    nested = program(
        {
            "load": [dev.LoopOp(2, [dev.LoopOp(3, [load])])],
            "store": [dev.LoopOp(2, [dev.LoopOp(2, [store])])],
        },
        (0,),
    )
    assert len(order(nested)) == 10


def test_a_deadlock_names_who_waits_for_whom() -> None:
    load = move("load", [(0, 1, 0)], [(1, 1, 0)], 7)
    store = move("store", [(1, 1, 0)], [(0, 1, 0)], 8)
    with pytest.raises(DeadlockError) as error:
        Engine(torch.zeros(256, dtype=torch.uint8)).run(
            program({"load": [load], "store": [store]}, (0, 0)), (0,)
        )
    text = str(error.value)
    assert 'unit "load" waits for 1 of semaphore 0, which holds 0' in text
    assert "from model.py:7" in text
    assert 'signalled by dev.transfer of unit "store"' in text
    assert "from model.py:8" in text


def test_a_wait_that_nobody_answers_is_named() -> None:
    with pytest.raises(DeadlockError, match="nobody signals it"):
        order(program({"load": [move("load", [(0, 1, 0)])]}, (0,)))


def test_semaphores_end_where_they_began() -> None:
    with pytest.raises(BalanceError, match=r"semaphore 0 ends at 1, began at 0"):
        order(program({"load": [move("load", [], [(0, 1, 0)])]}, (0,)))


def test_a_scratchpad_has_an_end() -> None:
    axes = [Axis.whole(64)]
    held = access(tile("f16", axes, (0,)), axes, (0,), (2 << 20) - 64)
    load = dev.TransferOp(axes, access(buffer("f16", (64,)), axes, (0,), 0, 0), held)
    synced(load, line=12)
    with pytest.raises(AddressError, match=r"scratchpad of 2097152 .*model.py:12"):
        Engine(torch.zeros(256, dtype=torch.uint8)).run(
            chain((2,), 1, [("load", load)]), (0,)
        )


def test_memory_has_an_end() -> None:
    with pytest.raises(AddressError, match="memory of 256 bytes"):
        Engine(torch.zeros(256, dtype=torch.uint8)).run(
            program({"load": [move("load")]}, ()), (192,)
        )


def test_a_program_says_how_many_symbols_it_has() -> None:
    with pytest.raises(CardError, match="has 1 symbols, not 2"):
        Engine(torch.zeros(256, dtype=torch.uint8)).run(
            program({"load": [move("load")]}, ()), (0, 0)
        )


@pytest.mark.parametrize("bad", [-1, 20, 1 << 30])
def test_an_index_out_of_range_is_an_error_at_every_run(bad: int) -> None:
    table = buffer("f16", (20, 64))
    axes = [Axis.whole(3), Axis.whole(64)]
    picks = buffer("i32", (3,))
    index = access(picks, axes, (0,), 0)
    load = dev.TransferOp(
        [axes[0]],
        access(picks, [axes[0]], (0,), 0, 1),
        access(picks, [axes[0]], (0,), 0),
    )
    target = access(tile("f16", axes, (0, 1)), axes, (0, 1), 4096)
    op = dev.GatherOp(
        axes, access(table, axes, (-1, 1), 0, 0), index, target, 64, 0, 20
    )
    synced(op, line=3)
    both = chain((2,), 2, [("load", load), ("load", op)])
    memory = torch.zeros(1 << 14, dtype=torch.uint8)
    engine = Engine(memory)
    engine.run(both, (0, 8192))
    memory[8192 : 8192 + 12].view(torch.int32)[1] = bad
    for _ in range(2):
        with pytest.raises(GatherIndexError, match=rf"index {bad} .*model.py:3"):
            engine.run(both, (0, 8192))
    memory[8192 : 8192 + 12].view(torch.int32)[1] = 19
    engine.run(both, (0, 8192))
