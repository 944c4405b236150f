# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random torch functions: compiled for the card they give what eager gives."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch import Tensor

from spyre_mlir.torch_bridge.backend import spyre_mlir

from .choices import Choices
from .function_ops import LINES
from .functions import Builder, Case

COUNTS: Counter[str] = Counter()
ROUNDINGS = 64
"""How many roundings of the coarsest type a result may be off by, of the largest."""


def make_function(choices: Choices, most: int = 6) -> Case:
    builder = Builder(choices)
    for _ in range(choices.integer(1, most)):
        choices.pick(LINES)(builder)
    return builder.finish()


def check_function(case: Case, fallback: str = "error") -> None:
    """Same shapes, types, strides and numbers; arguments keep what eager leaves."""
    COUNTS["functions"] += 1
    COUNTS["exact functions"] += case.exact
    torch._dynamo.reset()
    function = case.function()
    compiled = torch.compile(
        function,
        backend=spyre_mlir,
        options={"fallback": fallback},
        dynamic=False,
    )
    eager, own = case.arguments(), case.arguments()
    wanted = _results(function(*eager))
    found = _results(compiled(*own))
    assert len(found) == len(wanted)
    names = [*(f"result {k}" for k in range(len(wanted))), *map(str, range(len(own)))]
    for name, a, b in zip(names, [*found, *own], [*wanted, *eager], strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape, f"{name}: {a.dtype} {a.shape}"
        assert a.stride() == b.stride() or 1 in a.shape or not a.numel(), (
            f"{name}: strides {a.stride()} instead of {b.stride()}"
        )
        _compare(case, name, a, b)


def _results(made: Any) -> list[Tensor]:
    return list(made) if isinstance(made, tuple) else [made]


def _compare(case: Case, name: str, a: Tensor, b: Tensor) -> None:
    if case.exact or not b.is_floating_point():
        wrong = a != b
    else:
        coarsest = max(torch.finfo(d).eps for d in case.dtypes if d.is_floating_point)
        wrong = (a.double() - b.double()).abs() > ROUNDINGS * coarsest * case.scale
    assert not bool(wrong.any()), (
        f"{name}: {int(wrong.sum())} of {b.numel()} elements differ, first "
        f"{a[wrong][0].item()} instead of {b[wrong][0].item()}"
    )
