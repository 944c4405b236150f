# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs and occurrences in sequences of numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spyre_mlir.algebra.repeats import Run, occurrences, periods, runs


def test_a_run_goes_on_to_its_last_equal_token() -> None:
    assert runs([9, 1, 2, 3, 1, 2, 3, 1, 8], 3) == [Run(1, 8, 3)]


def test_less_than_two_periods_are_no_run() -> None:
    assert runs([1, 2, 3, 1, 2], 3) == []


def test_the_period_of_rare_tokens_is_found() -> None:
    layer = [1, 1, 2, 1, 1, 3, 1]
    assert 7 in periods(layer * 4)


def test_occurrences_do_not_overlap() -> None:
    assert occurrences([1, 1, 1, 1, 1], 0, 2) == [0, 2]


@given(st.lists(st.integers(0, 2), max_size=30), st.integers(1, 8))
def test_runs_repeat(tokens: list[int], period: int) -> None:
    for run in runs(tokens, period):
        assert run.copies >= 2
        for k in range(run.start, run.stop - period):
            assert tokens[k] == tokens[k + period]
