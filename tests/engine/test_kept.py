# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an engine keeps of the programs that it ran, and what that costs."""

import time
from random import Random
from statistics import median

import pytest

from spyre_mlir.dialects import dev
from spyre_runtime.engine import Engine
from spyre_runtime.engine.kept import Kept

from .test_replay import SYMBOLS, matmul_program, prepared


def test_the_weight_is_that_of_what_is_there() -> None:
    kept: Kept[int, str] = Kept(50)
    lots = Random(0)
    expected: dict[int, tuple[str, int]] = {}
    for step in range(2000):
        key, weight = lots.randrange(40), lots.randrange(1, 9)
        if lots.random() < 0.3:
            kept.discard(key)
            expected.pop(key, None)
        else:
            expected.pop(key, None)
            for gone in kept.add(key, f"{key}:{step}", weight):
                del expected[int(gone.partition(":")[0])]
            expected[key] = (f"{key}:{step}", weight)
        assert kept.weight == sum(w for _, w in expected.values()) <= 50
        assert len(kept) == len(expected)
        assert all(kept.get(k) == v for k, (v, _) in expected.items())


def test_a_value_that_is_too_heavy_is_kept_alone() -> None:
    kept: Kept[str, int] = Kept(10)
    kept.add("a", 1, 5)
    assert kept.add("b", 2, 99) == [1]
    assert kept.get("b") == 2 and len(kept) == 1


@pytest.mark.parametrize(("length", "found"), [(110, 0.75), (150, 0.3)])
def test_part_of_a_circle_that_is_too_long_stays(length: int, found: float) -> None:
    kept: Kept[int, int] = Kept(100)
    hits = 0
    for step in range(40 * length):
        if kept.get(step % length) is None:
            kept.add(step % length, step, 1)
        elif step >= 10 * length:
            hits += 1
    assert hits / (30 * length) > found


def bound_by(engine: Engine, program: dev.ProgramOp, calls: int) -> None:
    out = SYMBOLS[3]
    for number in range(calls):
        engine.run(program, (*SYMBOLS[:3], out + 128 * number))


def test_calls_go_before_plans_and_new_addresses_are_still_bound() -> None:
    engine, _ = prepared()
    program = matmul_program()
    engine.run(program, SYMBOLS)
    plan, call = engine.kept_actions
    engine._calls.limit = 3 * call
    bound_by(engine, program, 20)
    assert engine.kept_actions[0] == plan
    assert engine.kept_actions[1] <= 3 * call
    assert sum(map(len, engine._calls_of.values())) == len(engine._calls)


def test_a_plan_that_went_is_made_again() -> None:
    engine, _ = prepared()
    first, second = matmul_program(), matmul_program()
    engine.run(first, SYMBOLS)
    engine._plans.limit = engine.kept_actions[0]
    engine.run(second, SYMBOLS)
    assert first not in engine._plans and second in engine._plans
    bound_by(engine, first, 2)
    assert first in engine._plans


def test_what_is_forgotten_is_gone() -> None:
    engine, _ = prepared()
    first, second = matmul_program(), matmul_program()
    bound_by(engine, first, 5)
    bound_by(engine, second, 1)
    before = engine.kept_actions
    engine.forget([first])
    assert engine.kept_actions[0] == before[0] // 2
    assert len(engine._calls) == 1 and list(engine._calls_of) == [second]


def test_forgetting_does_not_wait_for_an_engine_at_work() -> None:
    engine, _ = prepared()
    program = matmul_program()
    engine.run(program, SYMBOLS)
    with engine._lock:
        engine.forget([program])  # as a collection inside of the engine does
        assert program in engine._plans
    engine.run(matmul_program(), SYMBOLS)
    assert program not in engine._plans


def seconds_of_new_addresses(others: int) -> float:
    """Of a launch at an address that was not seen yet, where others are kept."""
    engine, _ = prepared()
    program, other = matmul_program(), matmul_program()
    engine.run(program, SYMBOLS)
    call = engine._calls.get((program, SYMBOLS))
    assert call is not None
    for number in range(others):
        engine._calls.add((other, (number,)), call, 1)
    times: list[float] = []
    for number in range(1, 10):
        begin = time.process_time()
        engine.run(program, (*SYMBOLS[:3], SYMBOLS[3] + 128 * number))
        times.append(time.process_time() - begin)
    return median(times)


def test_a_launch_costs_the_same_whatever_else_is_kept() -> None:
    few, many = seconds_of_new_addresses(10), seconds_of_new_addresses(150_000)
    assert many < 3 * few + 1e-3
