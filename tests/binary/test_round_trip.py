# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is written is what is read, and the bytes depend on nothing else."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
)

from spyre_mlir.algebra.access import Access, Axis, Space, Step, Sync
from spyre_mlir.algebra.layout import DeviceLayout
from spyre_mlir.binary import Buffer, Call, HostValue, Image, ImageError, read, write
from spyre_mlir.binary.image import BufferKind
from spyre_mlir.dialects import dev
from spyre_mlir.target.opfuncs import OPFUNCS, REDUCTIONS, mistyped

INT64 = st.integers(-(2**63), 2**63 - 1)
NATURAL = st.integers(0, 2**63 - 1)
DTYPES = st.sampled_from(["f16", "bf16", "f32", "i32", "i64", "i1"])
# Surrogates stand for bytes of file names that are no UTF-8.
WORDS = st.text(st.characters(exclude_categories=()), max_size=5)
GRID = (3, 2)
SEMAPHORES = 2


def locations() -> st.SearchStrategy[Any]:
    lines = st.builds(
        FileLineColLoc,
        WORDS.map(StringAttr),
        st.integers(0, 10**6).map(IntAttr),
        st.integers(0, 200).map(IntAttr),
    )

    def larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        notes = st.one_of(st.just(NoneAttr()), WORDS.map(StringAttr))
        return st.one_of(
            st.builds(NameLoc, WORDS.map(StringAttr), inner | st.just(NoneAttr())),
            st.builds(FusedLoc, st.lists(inner, max_size=3).map(ArrayAttr), notes),
            st.builds(CallSiteLoc, inner, inner),
        )

    return st.recursive(st.just(UNKNOWN_LOC) | lines, larger, max_leaves=6)


def tuples(values: st.SearchStrategy[Any], size: int) -> st.SearchStrategy[Any]:
    return st.lists(values, min_size=size, max_size=size).map(tuple)


@st.composite
def axes(draw: st.DrawFn, depth: int) -> tuple[Axis, ...]:
    one = st.builds(
        Axis,
        size=NATURAL,
        digit=st.integers(-1, len(GRID) - 1),
        chunk=NATURAL,
        loop=st.integers(-1, depth - 1),
        tile=NATURAL,
        halo=NATURAL,
    )
    return tuple(draw(st.lists(one, max_size=3)))


@st.composite
def accesses(draw: st.DrawFn, rank: int, depth: int) -> Access:
    spaces: tuple[Space, ...] = ("dram", "lx")
    space = draw(st.sampled_from(spaces))
    return Access(
        space=space,
        dtype=draw(DTYPES),
        base=draw(INT64),
        strides=draw(tuples(INT64, rank)),
        stick=draw(tuples(INT64, rank)),
        stick_stride=draw(INT64),
        stick_offset=draw(INT64),
        symbol=draw(st.integers(0, 1)) if space == "dram" else -1,
        digit_strides=draw(tuples(INT64, draw(st.integers(0, 2)))),
        loop_strides=draw(tuples(INT64, draw(st.integers(0, depth)))),
        depth=draw(st.integers(1, 4)),
        stage_bytes=draw(NATURAL),
        stage_levels=draw(st.integers(0, depth)),
    )


@st.composite
def steps(draw: st.DrawFn, rank: int, inputs: list[str]) -> list[Step]:
    """Well typed ones, after inputs of these types."""
    made = [Step("constant", (), draw(DTYPES), (draw(st.floats() | INT64),))]
    if rank:
        made.append(Step("index", (), "i64", (draw(st.integers(0, rank - 1)),)))
    for name in draw(st.lists(st.sampled_from(sorted(OPFUNCS)), max_size=3)):
        known = [*inputs, *(step.dtype for step in made)]
        earlier = st.integers(0, len(known) - 1)
        operands = draw(tuples(earlier, OPFUNCS[name].arity))
        step = Step(name, operands, draw(DTYPES))
        if not mistyped(name, tuple(known[o] for o in operands), step.dtype):
            made.append(step)
    return made


@st.composite
def vectors(draw: st.DrawFn, depth: int) -> dev.RecordOp:
    own = draw(axes(depth))
    rank = len(own)
    inputs = draw(st.lists(accesses(rank, depth), max_size=2))
    out = draw(accesses(rank, depth))
    fold = draw(st.lists(st.sampled_from(range(rank)), unique=True)) if rank else []
    body = draw(steps(rank, [a.dtype for a in inputs]))
    takes = [n for n, row in REDUCTIONS.items() if body[-1].dtype in row["dtypes"]]
    combine = draw(st.sampled_from(["", *takes]))
    op = dev.VectorOp(own, inputs, body, out, combine, fold)
    semaphore = st.integers(0, SEMAPHORES - 1)
    sync = st.builds(Sync, semaphore, st.integers(1, 9), st.integers(0, depth))
    waits, signals = draw(st.lists(sync, max_size=2)), draw(st.lists(sync, max_size=2))
    op.attributes.update(dev.record_attributes(own, waits, signals))
    op.location = draw(locations())
    return op


@st.composite
def bodies(draw: st.DrawFn, depth: int = 0) -> list[Any]:
    ops: list[Any] = []
    for _ in range(draw(st.integers(0, 2))):
        if depth < 2 and draw(st.booleans()):
            ops.append(dev.LoopOp(draw(st.integers(1, 65535)), draw(bodies(depth + 1))))
            ops[-1].location = draw(locations())
        else:
            ops.append(draw(vectors(depth)))
    return ops


@st.composite
def programs(draw: st.DrawFn) -> dev.ProgramOp:
    streams = [dev.StreamOp("sfp", draw(bodies()))]
    return dev.ProgramOp(draw(WORDS), GRID, 2, draw(NATURAL), (0, 5), streams)


@st.composite
def buffers(draw: st.DrawFn) -> Buffer:
    shape = tuple(draw(st.lists(st.integers(0, 200), max_size=4)))
    layout = DeviceLayout.default(len(shape))
    size = layout.bytes(shape, 8) + draw(st.integers(0, 1000))
    kinds: tuple[BufferKind, ...] = ("argument", "result")
    kind = draw(st.sampled_from(kinds))
    return Buffer(draw(WORDS), kind, draw(DTYPES), shape, layout.dims, size)


@st.composite
def images(draw: st.DrawFn) -> Image:
    made = draw(st.lists(programs(), max_size=2))
    table = draw(st.lists(buffers(), min_size=1, max_size=3))
    index = st.integers(0, len(table) - 1)
    symbol = index.flatmap(
        lambda i: st.tuples(st.just(i), st.integers(0, table[i].bytes))
    )
    calls = st.builds(
        Call,
        st.integers(0, max(0, len(made) - 1)),
        st.tuples(symbol, symbol),
        locations(),
    )
    host = [
        HostValue(i, b.dtype, b.shape, draw(tuples(INT64, len(b.shape))))
        for i, b in enumerate(table)
    ]
    return Image(
        programs=tuple(made),
        calls=tuple(draw(st.lists(calls, max_size=3))) if made else (),
        buffers=tuple(table),
        arguments=tuple(h for h in host if table[h.buffer].kind == "argument"),
        results=tuple(h for h in host if table[h.buffer].kind == "result"),
        chip=draw(WORDS),
        fingerprint=draw(WORDS),
        constants=draw(st.binary(max_size=200)),
        pool_bytes=draw(NATURAL),
        metadata=draw(st.dictionaries(WORDS, WORDS, max_size=3)),
    )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(images())
def test_any_image_comes_back_equal(image: Image) -> None:
    data = write(image)
    again = read(data)
    assert again == image
    assert write(again) == data


def test_image_with_everything_comes_back_equal(image: Image) -> None:
    again = read(write(image))
    assert again == image
    assert [op.name for op in again.programs[0].walk()] == [
        op.name for op in image.programs[0].walk()
    ]


def test_equality_sees_a_changed_record_and_a_changed_location(image: Image) -> None:
    changed = read(write(image))
    record, _ = next(dev.walk_records(changed.programs[0]))
    kept = record.location
    record.location = UNKNOWN_LOC
    assert changed != image
    record.location = kept
    assert changed == image
    record.attributes["waits"] = record.attributes["signals"]
    assert changed != image


def constant_after_a_trip(value: float | int) -> float | int:
    """A vector record's immediate, as the file brings it back."""
    step = Step("constant", (), "f32", (value,))
    out = Access("lx", "f32", 0, (), ())
    stream = dev.StreamOp("sfp", [dev.VectorOp((), [], [step], out)])
    program = dev.ProgramOp("k", (1,), 0, 128, (), [stream])
    again = read(write(Image((program,), (), (), (), (), "spyre", "0")))
    record, _ = next(dev.walk_records(again.programs[0]))
    assert isinstance(record, dev.VectorOp)
    return record.steps_data[0].values[0]


def test_floats_keep_their_bits() -> None:
    odd = struct.unpack("<d", b"\x01" * 8)[0]
    for value in (-0.0, 5e-324, float("inf"), odd):
        found = constant_after_a_trip(value)
        assert struct.pack("<d", found) == struct.pack("<d", value)


def test_integers_stay_integers() -> None:
    assert type(constant_after_a_trip(1)) is int
    assert type(constant_after_a_trip(1.0)) is float


def test_provenance_joins_the_record_and_the_call(image: Image) -> None:
    again = read(write(image))
    assert str(again.location(0, 0)) == (
        'loc(callsite("linear"("model.py":12:4) at "main.py":40:4))'
    )
    assert str(again.location(1, 2)) == (
        'loc(callsite("layer.py":32:4 at "main.py":41:4))'
    )


def test_two_processes_write_the_same_bytes(image: Image) -> None:
    sample = Path(__file__).with_name("conftest.py")
    script = (
        "import runpy, sys; from spyre_mlir.binary import write; "
        f"sample = runpy.run_path({str(sample)!r})['sample_image']; "
        "sys.stdout.buffer.write(write(sample()))"
    )
    for seed in ("1", "2"):
        made = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        )
        assert made.stdout == write(image)


def test_metadata_order_does_not_matter(image: Image) -> None:
    turned = dict(reversed(list(image.metadata.items())))
    assert write(replace(image, metadata=turned)) == write(image)


def test_an_attribute_without_a_field_is_refused(image: Image) -> None:
    record, _ = next(dev.walk_records(image.programs[0]))
    record.attributes["note"] = StringAttr("mine")
    with pytest.raises(ImageError, match=r"dev\.transfer has attributes .* note"):
        write(image)


def test_a_location_without_a_form_is_refused(image: Image) -> None:
    image.programs[0].location = FusedLoc(ArrayAttr([UNKNOWN_LOC]), IntAttr(3))
    with pytest.raises(ImageError, match="an image cannot hold the location"):
        write(image)


def test_a_location_chain_has_a_limit(image: Image) -> None:
    location: Any = UNKNOWN_LOC
    for _ in range(300):
        location = NameLoc(StringAttr("f"), location)
    image.programs[0].location = location
    with pytest.raises(ImageError, match="shorten the chain"):
        write(image)
