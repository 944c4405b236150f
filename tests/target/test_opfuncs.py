# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Every scalar function keeps its bound, and gives an element the same value wherever it
lies.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import mpmath  # pyright: ignore[reportMissingTypeStubs]
import pytest
import torch
from scalar_reference import (
    DTYPES,
    REFERENCES,
    WRONG,
    arguments_for,
    card,
    exact,
    steps,
)
from sources import ROOT

from spyre_mlir.target.opfuncs import OPFUNCS

NUMERIC = sorted(REFERENCES)
LIMITS = {torch.int32: 1 << 31, torch.int64: 1 << 63}


def test_the_references_cover_the_table() -> None:
    floats = {
        name
        for name, row in OPFUNCS.items()
        if "f32" in row.dtypes and not row.predicate
    }
    assert floats - set(REFERENCES) == {"where", "identity", "cast"}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NUMERIC)
def test_the_bound_holds(name: str, dtype: str) -> None:
    arguments = arguments_for(name, DTYPES[dtype], 1 << 12)
    off = steps(card(name, arguments), exact(name, arguments))
    at = int(off.argmax())
    message = f"{name}({', '.join(str(a[at].item()) for a in arguments)})"
    assert int(off[at]) <= OPFUNCS[name].bound(dtype), message


HIGH: dict[str, Callable[[Any], Any]] = {
    "expm1": mpmath.expm1,
    "log1p": mpmath.log1p,
    "erf": mpmath.erf,
    "tanh": mpmath.tanh,
    "tan": mpmath.tan,
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "silu": lambda x: x / (1 + mpmath.exp(-x)),
    "gelu": lambda x: x * mpmath.ncdf(x),
    "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
    "exp2": lambda x: mpmath.mpf(2) ** x,
}


@pytest.mark.parametrize("name", HIGH)
def test_the_references_are_right(name: str) -> None:
    points = torch.cat([torch.linspace(-20, 20, 81), torch.tensor([1e-30, -1e-9])])
    if name == "log1p":
        points = points[points > -1]
    with mpmath.workdps(60):
        values = [float(HIGH[name](mpmath.mpf(float(p)))) for p in points]
    expected = torch.tensor(values, dtype=torch.float64).float()
    assert int(steps(exact(name, [points]), expected).max()) == 0


# ------------------------------------------------------------------ where it lies


def _spread(name: str) -> list[torch.Tensor]:
    """Arguments with all kinds of values, 65 rows of 67."""
    row = OPFUNCS[name]
    if "f32" not in row.dtypes:
        bits = torch.arange(65 * 67).view(65, 67) % 3 == 0
        return [bits, bits.flip(1)][: row.arity]
    if name in REFERENCES:
        found = [a[: 65 * 67] for a in arguments_for(name, torch.float32, 1 << 10)]
    else:
        found = [arguments_for("add", torch.float32, 1 << 10)[0][: 65 * 67]]
        found = [found[0], found[0].flip(0), found[0].flip(0)][: row.arity]
    if name == "where":
        found[0] = found[1] > 0
    return [a.reshape(65, 67).clone() for a in found]


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal bits; any NaN equals any other."""
    if not a.is_floating_point():
        return torch.equal(a, b)
    bits = a.contiguous().view(torch.int32) == b.contiguous().view(torch.int32)
    return bool((bits | (a.isnan() & b.isnan())).all())


LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "columns": lambda a: a.t().contiguous().t(),
    "padded": lambda a: a.new_zeros((65, 80))[:, :67].copy_(a),
    "apart": lambda a: a.new_zeros((65, 67, 2))[..., 0].copy_(a),
    "shifted": lambda a: a.new_zeros(1 + a.numel())[1:].view(65, 67).copy_(a),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", sorted(OPFUNCS))
def test_a_value_does_not_depend_on_strides(name: str, layout: str) -> None:
    evaluate, lie = OPFUNCS[name].evaluate, LAYOUTS[layout]
    arguments = _spread(name)
    expected = evaluate(torch, *arguments)
    assert _same(evaluate(torch, *map(lie, arguments)), expected)
    out = lie(torch.zeros_like(expected))
    evaluate(torch, *arguments, out=out)
    assert _same(out, expected)


@pytest.mark.parametrize("name", sorted(OPFUNCS))
def test_a_value_does_not_depend_on_the_size(name: str) -> None:
    evaluate, arguments = OPFUNCS[name].evaluate, _spread(name)
    expected = evaluate(torch, *arguments)
    rows = [evaluate(torch, *(a[r] for a in arguments)) for r in range(65)]
    assert _same(torch.stack(rows), expected)
    flat = [a.reshape(-1) for a in arguments]
    for size in (1, 7):
        parts = [
            evaluate(torch, *p)
            for p in zip(*(a[: 100 * size].split(size) for a in flat), strict=True)
        ]
        assert _same(torch.cat(parts), expected.reshape(-1)[: 100 * size])


@pytest.mark.parametrize("name", sorted(OPFUNCS))
def test_the_result_may_overwrite_an_argument(name: str) -> None:
    evaluate, arguments = OPFUNCS[name].evaluate, _spread(name)
    expected = evaluate(torch, *arguments)
    for number, argument in enumerate(arguments):
        if argument.dtype is expected.dtype:
            own = [a.clone() for a in arguments]
            evaluate(torch, *own, out=own[number])
            assert _same(own[number], expected)


# ---------------------------------------------------------------------- integers


@pytest.mark.parametrize("dtype", LIMITS, ids=str)
@pytest.mark.parametrize("name", ["floor_divide", "trunc_divide", "remainder", "fmod"])
def test_integer_division(name: str, dtype: torch.dtype) -> None:
    edge = LIMITS[dtype]
    numbers = [-edge, -edge + 1, -7, -1, 0, 1, 2, 7, edge - 1]
    pairs = [(a, b) for a in numbers for b in numbers if b]
    a, b = (torch.tensor(v, dtype=dtype) for v in zip(*pairs, strict=True))
    got = OPFUNCS[name].evaluate(torch, a, b).tolist()
    assert got == [_wrapped(_divided(name, *p), edge) for p in pairs]


def _divided(name: str, a: int, b: int) -> int:
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return {
        "floor_divide": a // b,
        "trunc_divide": quotient,
        "remainder": a % b,
        "fmod": a - b * quotient,
    }[name]


def _wrapped(value: int, edge: int) -> int:
    return (value + edge) % (2 * edge) - edge


@pytest.mark.parametrize("name", ["floor_divide", "trunc_divide", "remainder", "fmod"])
def test_integer_division_by_zero_is_an_error(name: str) -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        OPFUNCS[name].evaluate(torch, torch.tensor([1, 2]), torch.tensor([1, 0]))


# ------------------------------------------------------------------------- pow


def _c_pow(a: float, b: float) -> float:
    """C's, from Python's, which raises where C gives an infinity or NaN."""
    odd = math.isfinite(b) and b % 2 == 1
    try:
        return math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and odd else math.inf
    except ValueError:
        return math.copysign(math.inf, a if odd else 1) if a == 0 else math.nan


def test_special_powers() -> None:
    numbers = [0.0, 0.5, 1.0, 2.0, 3.0, 2.5, 1e30, 1e-30, math.inf]
    numbers = [s * v for v in numbers for s in (1, -1)] + [math.nan]
    pairs = [(a, b) for a in numbers for b in numbers]
    a, b = (torch.tensor(v) for v in zip(*pairs, strict=True))
    got = OPFUNCS["pow"].evaluate(torch, a, b)
    expected = torch.tensor(
        [_c_pow(*p) for p in zip(a.tolist(), b.tolist(), strict=True)]
    )
    assert int(steps(got, expected).max()) <= OPFUNCS["pow"].bound("f32")


def test_a_wrong_special_value_is_told() -> None:
    got = torch.tensor([0.0, math.nan, math.inf, 1e-45])
    expected = torch.tensor([-0.0, 1.0, 1.0, 0.0])
    assert steps(got, expected).tolist() == [WRONG, WRONG, WRONG, 1]


# ------------------------------------------------------------------ other settings


OTHER = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"}
"""Libraries take other paths under these than they take as they are."""


@pytest.mark.skipif(OTHER.items() <= os.environ.items(), reason="as it is")
def test_the_bounds_hold_on_other_paths() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    selected = "(test_the_bound_holds and f32) or depend"
    done = subprocess.run(
        [*command, "-n", "0", __file__, "-k", selected],
        env={**os.environ, **OTHER},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
