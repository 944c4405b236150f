# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Buffers that are in use together never share a byte."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from spyre_mlir.algebra.layout import STICK_BYTES
from spyre_mlir.analysis.placement import Life, first_fit, place_buffers
from spyre_mlir.analysis.statements import LxBuffer

LIVES = st.lists(
    st.builds(
        lambda size, first, length: Life(size, first, first + length),
        st.integers(0, 1000),
        st.integers(0, 8),
        st.integers(0, 4),
    ),
    max_size=12,
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(LIVES)
def test_lives_that_overlap_lie_apart(lives: list[Life]) -> None:
    addresses = first_fit(lives)
    assert all(a >= 0 and a % STICK_BYTES == 0 for a in addresses)
    for (a, x), (b, y) in combinations(zip(lives, addresses, strict=True), 2):
        if a.first <= b.last and b.first <= a.last:
            assert x + a.bytes <= y or y + b.bytes <= x


def test_a_buffer_takes_the_place_of_one_that_is_done() -> None:
    lives = [Life(256, 0, 1), Life(256, 2, 3), Life(128, 1, 2)]
    assert first_fit(lives) == [0, 0, 256]


def test_stages_lie_behind_each_other() -> None:
    buffers = [
        LxBuffer(0, "stage", 256, 2, 0, 1),
        LxBuffer(0, "result", 128, 1, 0, 0),
    ]
    assert place_buffers(buffers) == 640
    assert [b.address for b in buffers] == [0, 512]
