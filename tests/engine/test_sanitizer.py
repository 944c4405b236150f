# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each error of the sanitizer, and that right programs pass it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from spyre_mlir.algebra.access import Access, Axis, Step
from spyre_mlir.binary.image import Buffer, Call, Image
from spyre_mlir.dialects import dev
from spyre_runtime.engine import DeadlockError, Engine, SanitizerError
from spyre_runtime.engine.sanitize_image import check_buffers

from .builders import access, buffer, chain, synced, tile
from .test_replay import SYMBOLS, matmul_program, prepared
from .test_walk import program

ROWS = buffer("f16", (8, 64))


def memory() -> torch.Tensor:
    return torch.zeros(1 << 14, dtype=torch.uint8)


def run(
    op: dev.ProgramOp,
    symbols: Sequence[int] = (0, 4096),
    bounds: Sequence[tuple[int, int]] | None = None,
) -> None:
    Engine(memory(), sanitize=True).run(op, symbols, bounds)


def axes(lanes: int = 64) -> list[Axis]:
    return [Axis(8, 0, 2, -1, 2), Axis.whole(lanes)]


def load(over: list[Axis], base: int = 0, **place: int) -> dev.TransferOp:
    held = access(tile("f16", over, (0, 1)), over, (0, 1), base)
    op = dev.TransferOp(over, access(ROWS, over, (0, 1), 0, 0), held)
    return synced(op, line=10)


def store(over: list[Axis], base: int = 0, symbol: int = 1) -> dev.TransferOp:
    held = access(tile("f16", over, (0, 1)), over, (0, 1), base)
    op = dev.TransferOp(over, held, access(ROWS, over, (0, 1), 0, symbol))
    return synced(op, line=11)


def double(over: list[Axis], lanes: list[Axis] | None = None) -> dev.VectorOp:
    wide = tile("f16", over, (0, 1))
    read = access(wide, lanes or over, (0, 1), 0)
    write = access(wide, lanes or over, (0, 1), 1024)
    op = dev.VectorOp(lanes or over, [read], [Step("add", (0, 0), "f16")], write)
    return synced(op, line=12)


def test_a_right_program_passes() -> None:
    over = axes()
    steps = [("load", load(over)), ("sfp", double(over)), ("store", store(over, 1024))]
    run(chain((4,), 2, steps), bounds=((0, 1024), (4096, 1024)))


def test_matmul_with_double_use_passes_and_keeps_its_bits() -> None:
    plain, _ = prepared()
    checked, _ = prepared()
    checked.sanitize = True
    op = matmul_program()
    plain.run(op, SYMBOLS)
    checked.run(op, SYMBOLS)
    out = buffer("f16", (70, 200))
    results = [out.unpack(e.machine.memory[SYMBOLS[3] :]) for e in (plain, checked)]
    assert torch.equal(*results)


def test_reading_before_writing() -> None:
    with pytest.raises(SanitizerError, match=r"read before it is written.*model.py:12"):
        run(chain((4,), 0, [("sfp", double(axes()))]), ())


def test_padding_lanes_are_not_written() -> None:
    narrow = axes(60)
    steps = [("load", load(narrow)), ("sfp", double(narrow, axes(64)))]
    with pytest.raises(SanitizerError, match=r"byte 120 of the scratchpad"):
        run(chain((4,), 1, steps), (0,))


def test_idle_cores_read_nothing() -> None:
    over = [Axis(3, 0, 1, -1, 1), Axis.whole(64)]
    steps = [("load", load(over)), ("sfp", double(over))]
    run(chain((4,), 1, steps), (0,))


def test_a_read_that_does_not_wait_for_its_load() -> None:
    over = axes()
    op = program({"load": [load(over)], "sfp": [double(over)]}, ())
    with pytest.raises(SanitizerError) as error:
        run(op, (0,))
    assert "dev.vector" in str(error.value)
    assert "nothing orders that after dev.transfer" in str(error.value)
    assert "model.py:10" in str(error.value)
    assert "model.py:12" in str(error.value)


def test_a_load_that_does_not_wait_until_its_stage_is_free() -> None:
    over = axes()
    first = synced(load(over), [], [(0, 1, 1)], 10)
    read = synced(double(over), [(0, 1, 1)], [], 12)
    streams = {
        "load": [dev.LoopOp(2, [first])],
        "sfp": [dev.LoopOp(2, [read])],
    }
    with pytest.raises(SanitizerError, match=r"stick 0 .*\n?.*"):
        run(program(streams, (0,)), (0,))


def test_a_store_that_overtakes_a_load_of_the_same_memory() -> None:
    over = axes()
    fill = dev.VectorOp(
        over,
        [],
        [Step("constant", (), "f16", (1.0,))],
        access(tile("f16", over, (0, 1)), over, (0, 1), 2048),
    )
    streams = {
        "load": [load(over)],
        "sfp": [synced(fill, [], [(0, 1, 0)])],
        "store": [synced(store(over, 2048, 0), [(0, 1, 0)], [], 11)],
    }
    with pytest.raises(SanitizerError, match="DRAM stick at address"):
        run(program(streams, (0,)), (0,))


def test_cores_that_share_a_stick() -> None:
    lanes = [Axis(64, 0, 32, -1, 32)]
    held = Access("lx", "f16", 0, (0,), (1,), 64)
    fill = dev.VectorOp(lanes, [], [Step("constant", (), "f16", (1.0,))], held)
    back = dev.TransferOp(lanes, held, Access("dram", "f16", 0, (0,), (1,), 64, 0, 0))
    with pytest.raises(SanitizerError, match="several cores write the stick"):
        run(chain((2,), 1, [("sfp", fill), ("store", back)]), (0,))


def test_a_core_that_reads_what_another_writes() -> None:
    over = axes()
    all_rows = [Axis.whole(8), Axis.whole(64)]
    again = dev.TransferOp(
        all_rows,
        access(ROWS, all_rows, (0, 1), 0, 1),
        access(tile("f16", all_rows, (0, 1)), all_rows, (0, 1), 4096),
    )
    steps = [("load", load(over)), ("store", store(over)), ("load", again)]
    with pytest.raises(SanitizerError, match="and another"):
        run(chain((4,), 2, steps))


def test_leaving_a_buffer() -> None:
    over = axes()
    op = chain((4,), 2, [("load", load(over)), ("store", store(over))])
    with pytest.raises(SanitizerError, match=r"outside of a buffer of 896 bytes"):
        run(op, bounds=((0, 1024), (4096, 896)))


def test_a_gather_may_reach_as_far_as_its_limit() -> None:
    over = [Axis.whole(3), Axis.whole(64)]
    picks = buffer("i32", (3,))
    index = access(picks, over, (0,), 0)
    first = dev.TransferOp(
        [over[0]],
        access(picks, [over[0]], (0,), 0, 1),
        access(picks, [over[0]], (0,), 0),
    )
    target = access(tile("f16", over, (0, 1)), over, (0, 1), 4096)
    source = access(ROWS, over, (-1, 1), 0, 0)

    def gather(limit: int) -> dev.ProgramOp:
        op = dev.GatherOp(over, source, index, target, 64, 0, limit)
        return chain((2,), 2, [("load", first.clone()), ("load", op)])

    run(gather(8), (0, 8192), ((0, 1024), (8192, 128)))
    with pytest.raises(SanitizerError, match="outside of a buffer of 1024"):
        run(gather(9), (0, 8192), ((0, 1024), (8192, 128)))


def test_a_deadlock_is_found_first() -> None:
    waits = synced(load(axes()), [(0, 1, 0)], [], 10)
    with pytest.raises(DeadlockError):
        run(program({"load": [waits]}, (0,)), (0,))


def test_scratchpads_start_as_nan() -> None:
    engine = Engine(memory(), sanitize=True)
    engine.run(chain((4,), 1, [("load", load(axes()))]), (0,))
    lx = engine.lx.view(torch.float16)
    assert lx[:, 1024:].isnan().all()
    assert not lx[:4, :128].isnan().any()


def image(*buffers: Buffer) -> Image:
    calls = tuple(Call(0) for _ in range(3))
    return Image((), calls, buffers, (), (), "spyre", "")


def temporary(name: str, offset: int, first: int, last: int) -> Buffer:
    return Buffer(name, "temporary", "f16", (64,), (0, 0), 128, offset, first, last)


def test_live_buffers_lie_apart() -> None:
    check_buffers(image(temporary("a", 0, -1, -1), temporary("b", 0, -1, -1)))
    check_buffers(image(temporary("a", 0, 0, 1), temporary("b", 0, 2, 2)))
    check_buffers(image(temporary("a", 0, 0, 1), temporary("b", 128, 1, 2)))
    with pytest.raises(SanitizerError, match=r"live buffers overlap: a at .* b at"):
        check_buffers(image(temporary("a", 0, 0, 1), temporary("b", 64, 1, 2)))
