# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Images that were changed on purpose, under a right checksum: refused, or within bounds.

`benchmarks/hostile_images.py` tries any number of them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from random import Random
from types import SimpleNamespace

import pytest
from hostile.corpus import corpus
from hostile.mutate import mutated
from hostile.trial import tried

from spyre_mlir.algebra.access import Access, Axis
from spyre_mlir.binary import Image, ImageError
from spyre_mlir.binary.bounds import Budget, check_bounds
from spyre_mlir.binary.reader import read
from spyre_mlir.dialects import dev
from spyre_mlir.target.chips import load_chip
from spyre_runtime.card import Card
from spyre_runtime.engine import CardError
from spyre_runtime.engine.deadline import Deadline
from spyre_runtime.loader import load

ROW = Axis.whole(128)
DRAM = Access("dram", "f16", 0, (0,), (1,), 64, symbol=0)
LX = Access("lx", "f16", 0, (0,), (1,), 64)


@cache
def images() -> list[bytes]:
    return corpus(every=4)


def changed(number: int) -> bytes:
    random = Random(f"test {number}")
    return mutated(random.choice(images()), random)


def test_unchanged_images_run() -> None:
    verdicts = [v for _, v in tried(images().__getitem__, range(len(images())))]
    assert [v.kind for v in verdicts] == ["ran"] * len(images())


def test_changed_images_are_refused_or_stay_within_their_bounds() -> None:
    found = dict(tried(changed, range(60)))
    assert {n: v.text for n, v in found.items() if v.kind == "bad"} == {}
    kinds = Counter(v.kind for v in found.values())
    assert kinds["refused"] > 20 and kinds["ran"] > 2


def loading(axis: Axis = ROW, **changes: object) -> dev.ProgramOp:
    """A program that loads 128 elements of its only symbol."""
    fields = {
        "trips": 0,
        "grid": (1,),
        "lx_bytes": 256,
        "lx": {},
        "dram": {},
        **changes,
    }
    own = SimpleNamespace(**fields)
    op = dev.TransferOp([axis], replace(DRAM, **own.dram), replace(LX, **own.lx))
    body = dev.LoopOp(own.trips, [op]) if own.trips else op
    streams = [dev.StreamOp("load", [body])]
    return dev.ProgramOp("k", own.grid, 1, own.lx_bytes, (), streams)


def image_of(program: dev.ProgramOp) -> Image:
    """An image whose only call gives the program a buffer of 256 bytes."""
    one = next(image for image in map(read, images()) if image.calls)
    buffer = replace(one.buffers[0], kind="temporary", bytes=256, offset=0)
    call = replace(one.calls[0], program=0, symbols=((0, 0),), locations=())
    return replace(
        one,
        programs=(program,),
        calls=(call,),
        buffers=(buffer,),
        arguments=(),
        results=(),
        pool_bytes=256,
    )


def test_a_program_within_its_bounds_is_taken() -> None:
    check_bounds(image_of(loading()), load_chip(), Budget())


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (loading(dram={"base": 128}), r"reaches bytes \[128, 384\) of the 256"),
        (loading(dram={"base": -128}), r"reaches bytes \[-128, 128\)"),
        (loading(dram={"stick_stride": 128}), r"reaches bytes \[0, 384\)"),
        (loading(grid=(2,), dram={"digit_strides": (128,)}), r"bytes \[0, 384\)"),
        (loading(trips=2, dram={"loop_strides": (128,)}), r"bytes \[0, 384\)"),
        (loading(lx={"base": 128}), r"\[128, 384\) of a scratchpad of 256"),
        (loading(lx_bytes=1 << 30), "1073741824 bytes of a scratchpad of 2097152"),
        (loading(grid=(64,)), "64 cores of 32"),
        (loading(dram={"base": 2}), "steps that are no whole 128 bytes"),
        (loading(Axis(64, halo=1 << 31, chunk=64, tile=64)), "neighbours of an axis"),
        (loading(trips=65535), "executes 65535 records"),
    ],
)
def test_what_reaches_too_far_or_costs_too_much_is_refused(
    program: dev.ProgramOp, message: str
) -> None:
    with pytest.raises(ImageError, match=message):
        check_bounds(image_of(program), load_chip(), Budget())


def test_a_larger_budget_takes_what_a_smaller_refuses() -> None:
    image = image_of(loading(trips=65535))
    check_bounds(image, load_chip(), Budget(seconds=10.0))
    with pytest.raises(ImageError, match="needs 256 bytes, over the budget of 100"):
        check_bounds(image_of(loading()), load_chip(), Budget(bytes=100))


def test_a_launch_ends_with_its_time() -> None:
    deadline = Deadline()
    with (
        deadline.within(0.0),
        pytest.raises(CardError, match="more than its budget of 0 s"),
    ):
        list(deadline.watched(range(10**9)))
    assert list(deadline.watched(range(3))) == [0, 1, 2]


def test_addresses_outside_of_the_card_are_refused() -> None:
    card = Card(0, 64 << 20)
    executable = load(card, images()[0])
    far = [card.memory.nbytes - 128] * len(executable.arguments)
    results = [0] * len(executable.results)
    with pytest.raises(ImageError, match="are no sticks of a card of"):
        executable.launch(far, results)
