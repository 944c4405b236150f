# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Random modules of the `spyre` level mean the same on every level.

`benchmarks/random_graphs.py` runs them for minutes.
"""

from __future__ import annotations

import torch
from agreement import checks
from agreement.checks import Case
from agreement.choices import strategy
from hypothesis import HealthCheck, Phase, given, settings

from spyre_mlir.algebra import regions
from spyre_mlir.transforms import split_movements

torch.set_num_threads(1)
CASES = strategy(checks.make_case)
MOVEMENTS = strategy(checks.make_movement)


def profile(examples: int) -> settings:
    """The same few programs in every run."""
    return settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.filter_too_much,
        ],
    )


@profile(30)
@given(CASES)
def test_the_card_computes_what_a_module_means(case: Case) -> None:
    checks.check_card(case)


@profile(10)
@given(CASES)
def test_staged_kernels_mean_what_a_module_means(case: Case) -> None:
    checks.check_ktdp(case)


@profile(12)
@given(CASES)
def test_passes_keep_every_bit(case: Case) -> None:
    checks.check_passes(case)


@profile(15)
@given(MOVEMENTS)
def test_movements_in_regions_keep_every_element(case: Case) -> None:
    """Even the smallest ones, that nothing would be gained by cutting."""
    before = split_movements.SMALL_BYTES, regions.SMALL_UNITS
    split_movements.SMALL_BYTES, regions.SMALL_UNITS = 0, 1
    try:
        checks.check_card(case)
    finally:
        split_movements.SMALL_BYTES, regions.SMALL_UNITS = before
