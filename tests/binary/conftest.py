# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small image that has one of everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
)

from spyre_mlir.algebra.access import Access, Axis, Step, Sync
from spyre_mlir.binary import Buffer, Call, HostValue, Image
from spyre_mlir.dialects import dev


def line(number: int, file: str = "model.py") -> LocationAttr:
    return FileLineColLoc(StringAttr(file), IntAttr(number), IntAttr(4))


def ordered(
    op: dev.RecordOp,
    location: LocationAttr,
    waits: Sequence[Sync] = (),
    signals: Sequence[Sync] = (),
) -> dev.RecordOp:
    """Gives a record its location and its place among the others."""
    order = dev.record_attributes(op.axes_data, waits, signals)
    op.attributes.update(order)
    op.location = location
    return op


ROWS = (Axis(64, 0, 32, 0, 8), Axis.whole(128))
ROW_MAJOR: dict[str, Any] = {
    "strides": (64, 0),
    "stick": (0, 1),
    "stick_stride": 4096,
}
DRAM = Access("dram", "f16", 0, **ROW_MAJOR, symbol=0, digit_strides=(4096, 0))
STAGE = Access("lx", "f16", 0, **ROW_MAJOR, depth=2, stage_bytes=8192, stage_levels=1)
FLAT = Access("lx", "f32", 16384, (0, 0), (1, 0), 32)
INDEX = Access("lx", "i64", 32768, (0, 0), (1, 0), 16)
CUBE = (Axis.whole(64), Axis.whole(64), Axis.whole(128))


def sample_program() -> dev.ProgramOp:
    """Every kind of record; for its form, not for its sense."""
    result = Access("dram", "f16", 128, **ROW_MAJOR, symbol=1, loop_strides=(1024,))
    left = Access("lx", "f16", 0, (64, 0, 0), (0, 0, 1), 4096)
    right = Access("lx", "f16", 8192, (0, 64, 0), (0, 0, 1), 4096)
    product = Access("lx", "f32", 32768, (32, 0, 0), (0, 1, 0), 2048)
    named = NameLoc(StringAttr("linear"), line(12))
    load = ordered(dev.TransferOp(ROWS, DRAM, STAGE), named, (Sync(1, 1, 1),))
    gather = ordered(dev.GatherOp(ROWS, DRAM, INDEX, STAGE, 64, 0, 1000), line(13))
    matmul = ordered(dev.MatmulOp(CUBE, "mnk", left, right, product, 0), line(14))
    vector = dev.VectorOp(
        ROWS,
        [STAGE],
        [
            Step("constant", (), "f16", (0.5,)),
            Step("mul", (0, 1), "f16"),
            Step("index", (), "i64", (1,)),
            Step("cast", (3,), "f16"),
            Step("add", (2, 4), "f16"),
        ],
        FLAT,
        combine="sum",
        fold=(1,),
    )
    fused = FusedLoc(ArrayAttr([line(15), line(16, "util.py")]), NoneAttr())
    called = CallSiteLoc(line(17, "norm.py"), line(18))
    shuffle = ordered(dev.ShuffleOp(ROWS, STAGE, STAGE), called)
    ring = ordered(
        dev.RingReduceOp((Axis.whole(64), Axis.whole(1)), FLAT, FLAT, "max", (0,)),
        FusedLoc(ArrayAttr([line(19)]), StringAttr("softmax")),
        signals=(Sync(0, 2, 0),),
    )
    store = ordered(dev.TransferOp(ROWS, STAGE, result), line(20), (Sync(0, 1, 1),))
    streams = [
        dev.StreamOp("load", [dev.LoopOp(4, [load, gather])]),
        dev.StreamOp("store", [dev.LoopOp(4, [store])]),
        dev.StreamOp("ring", [ring]),
        dev.StreamOp("pt", [dev.LoopOp(2, [dev.LoopOp(3, [matmul])])]),
        dev.StreamOp("sfp", [dev.LoopOp(4, [ordered(vector, fused), shuffle])]),
    ]
    program = dev.ProgramOp("k0", (2, 1), 2, 65536, (0, 2), streams)
    program.location = line(10)
    return program


def sample_image() -> Image:
    """Two calls of one program, over buffers of each kind."""
    empty = dev.ProgramOp("nothing", (), 0, 0, (), [])
    buffers = (
        Buffer("x", "argument", "f16", (64, 128), (1, 0, 1), 16384, 0, 0, 0),
        Buffer("y", "result", "f16", (64, 128), (1, 0, 1), 16640, 0, 1, 1),
        Buffer("t", "temporary", "f16", (64, 128), (1, 0, 1), 16512, 128, 0, 1),
        Buffer("c", "constant", "i64", (3,), (0, 0), 128),
        Buffer("none", "argument", "i1", (0, 5), (1, 0, 1), 0),
        Buffer("s", "argument", "f32", (), (-1, -1), 128),
        Buffer("z", "result", "f16", (64, 128), (0, 1, 1), 16384),
    )
    relocated = tuple(line(30 + i, "layer.py") for i in range(7))
    calls = (
        Call(0, ((0, 0), (2, 0)), line(40, "main.py")),
        Call(0, ((2, 128), (1, 256)), line(41, "main.py"), relocated),
        Call(1),
    )
    arguments = (
        HostValue(0, "f16", (64, 128), (128, 1)),
        HostValue(4, "i1", (0, 5), (5, 1)),
        HostValue(5, "f32", (), ()),
    )
    results = (
        HostValue(1, "f16", (64, 128), (1, 64)),
        HostValue(6, "f16", (64, 128), (128, 1), 0),
    )
    return Image(
        programs=(sample_program(), empty),
        calls=calls,
        buffers=buffers,
        arguments=arguments,
        results=results,
        chip="spyre",
        fingerprint="00112233",
        constants=bytes(range(128)),
        pool_bytes=16640,
        numerics="dl16",
        metadata={"compiler": "0.1.0", "torch": "2.13.0", "graph": "forward ∘ ü"},
    )


@pytest.fixture
def image() -> Image:
    return sample_image()
