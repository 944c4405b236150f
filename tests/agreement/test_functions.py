# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random torch functions give compiled for the card what they give in eager mode."""

from __future__ import annotations

import torch
from agreement.choices import strategy
from agreement.function_checks import check_function, make_function
from agreement.functions import Case
from hypothesis import HealthCheck, Phase, given, settings

torch.set_num_threads(1)


@settings(
    max_examples=12,
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
@given(strategy(make_function))
def test_compiled_functions_agree_with_eager(case: Case) -> None:
    check_function(case)
