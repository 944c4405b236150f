# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operations against eager, on the oracle."""

from collections.abc import Callable, Mapping
from math import inf, nan
from typing import Any

import pytest
import torch
from scalar_reference import steps

from .checking import check, compiled, values

FLOATS = [torch.float16, torch.bfloat16, torch.float32]
INTEGERS = [torch.int32, torch.int64]
SHAPES = [(), (1,), (63,), (2, 64), (3, 1, 65), (2, 1, 2, 1, 3, 5)]
CASES = [
    *((dtype, (3, 65)) for dtype in FLOATS + INTEGERS),
    *((torch.float16, shape) for shape in SHAPES),
]

Unary = dict[str, Callable[[torch.Tensor], Any]]
Binary = dict[str, Callable[[torch.Tensor, torch.Tensor], Any]]

EXACT: Binary = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "eq": torch.eq,
    "ne": torch.ne,
    "lt": torch.lt,
    "le": torch.le,
    "gt": torch.gt,
    "ge": torch.ge,
    "where": lambda a, b: torch.where(a > b, a, b),
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor,
    "logical_not": lambda a, b: torch.logical_not(a),
    "abs": lambda a, b: a.abs(),
    "neg": lambda a, b: -a,
    "sign": lambda a, b: a.sign(),
    "relu": lambda a, b: torch.relu(a),
    "square": lambda a, b: a.square(),
    "pow2": lambda a, b: a**2,
    "clamp": lambda a, b: a.clamp(-1, 1),
    "clamp_min": lambda a, b: a.clamp(min=0),
    "clamp_max": lambda a, b: a.clamp(max=0),
    "clamp_tensor": lambda a, b: torch.clamp(a, b, None),
    "masked_fill": lambda a, b: a.masked_fill(b > 0, 3),
    "add_alpha": lambda a, b: torch.add(a, b, alpha=2),
    "floor_divide": lambda a, b: a // (b.abs() + 1),
    "trunc_divide": lambda a, b: torch.div(a, b.abs() + 1, rounding_mode="trunc"),
    "remainder": lambda a, b: a % (b.abs() + 1),
    "fmod": lambda a, b: torch.fmod(a, b.abs() + 1),
    "isnan": lambda a, b: torch.isnan(a),
    "isinf": lambda a, b: torch.isinf(a),
    "isfinite": lambda a, b: torch.isfinite(a),
    "floor": lambda a, b: a.floor(),
    "ceil": lambda a, b: a.ceil(),
    "trunc": lambda a, b: a.trunc(),
    "round": lambda a, b: a.round(),
}


def _all(table: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    return lambda *args: {name: function(*args) for name, function in table.items()}


@pytest.mark.parametrize(("dtype", "shape"), CASES, ids=str)
def test_arithmetic_is_exact(dtype: torch.dtype, shape: tuple[int, ...]):
    a, b = values(shape, dtype, 1), values(shape, dtype, 2)
    check(_all(EXACT), a, b, exact=True)


FUNCTIONS: Unary = {
    "exp": torch.exp,
    "exp2": torch.exp2,
    "expm1": torch.expm1,
    "log": torch.log,
    "log2": torch.log2,
    "log10": torch.log10,
    "log1p": torch.log1p,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal,
    "sin": torch.sin,
    "cos": torch.cos,
    "tan": torch.tan,
    "erf": torch.erf,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "div": lambda x: x / 3,
    "rdiv": lambda x: 3 / x,
    "atan2": lambda x: torch.atan2(x, x + 1),
}
ACTIVATIONS: Unary = {
    "silu": torch.nn.functional.silu,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "softplus": torch.nn.functional.softplus,
    "softplus_beta": lambda x: torch.nn.functional.softplus(x, 2.0, 1.0),
    "relu6": torch.nn.functional.relu6,
    "elu": torch.nn.functional.elu,
    "leaky_relu": torch.nn.functional.leaky_relu,
    "hardswish": torch.nn.functional.hardswish,
    "hardsigmoid": torch.nn.functional.hardsigmoid,
    "mish": torch.nn.functional.mish,
    "logsigmoid": torch.nn.functional.logsigmoid,
    "softsign": torch.nn.functional.softsign,
    "pow_half": lambda x: x.abs() ** 0.5,
    "pow_minus_half": lambda x: (x.abs() + 1) ** -0.5,
    "pow3": lambda x: x**3,
    "pow_minus_2": lambda x: (x.abs() + 1) ** -2,
    "pow5": lambda x: x**5,
    "pow_float": lambda x: x.abs() ** 1.7,
    "pow_tensor": lambda x: x.abs() ** x,
    "rpow": lambda x: 2.5**x,
    "scaled": lambda x: x * 0.1 + 0.3 - 1.7 / (x + 5),
    "rsub": lambda x: 1 - x,
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_functions(dtype: torch.dtype):
    x = torch.cat(
        [values((3, 65), dtype).flatten(), torch.tensor([0.0, -0.0, 20, -20])]
    )
    check(_all(FUNCTIONS | ACTIVATIONS), x.to(dtype))


@pytest.mark.parametrize("dtype", [*INTEGERS, torch.bool], ids=str)
def test_float_functions_of_integers(dtype: torch.dtype):
    check(_all(FUNCTIONS), values((3, 5), dtype))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_nan_and_infinity(dtype: torch.dtype):
    x = torch.tensor([inf, -inf, nan, 0.0, -0.0, 1.0, 65504.0, -3e38], dtype=dtype)
    y = x.flip(0).clone()
    pointwise = {k: v for k, v in EXACT.items() if "divide" not in k}
    for name in ("remainder", "fmod", "add_alpha"):
        pointwise.pop(name)
    check(_all(pointwise), x, y, exact=True)
    check(_all(FUNCTIONS | ACTIVATIONS), x)


def test_bools():
    a, b = values((3, 67), torch.bool, 1), values((3, 67), torch.bool, 2)
    names = "eq ne lt le gt ge where logical_and logical_or logical_xor logical_not"
    table = {name: EXACT[name] for name in names.split()}
    table |= {
        "add": lambda a, b: a + b,
        "mul": lambda a, b: a * b,
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
        "not": lambda a, b: ~a,
        "maximum": torch.maximum,
        "minimum": torch.minimum,
        "plus_int": lambda a, b: a + 1,
        "plus_float": lambda a, b: a + 1.5,
        "masked_fill": lambda a, b: a.masked_fill(b, True),
    }
    check(_all(table), a, b, exact=True)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_bits_of_integers(dtype: torch.dtype):
    a, b = values((67,), dtype, 1), values((67,), dtype, 2)
    table: Binary = {
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | 5,
        "xor": lambda a, b: a ^ b,
        "not": lambda a, b: ~a,
        "true_div": lambda a, b: a / 7,
        "pow3": lambda a, b: a**3,
        "large": lambda a, b: a * 1000003 + 7,
    }
    check(_all(table), a, b, exact=True)


EVERY = [*FLOATS, *INTEGERS, torch.bool]


@pytest.mark.parametrize("left", EVERY, ids=str)
def test_types_are_promoted(left: torch.dtype):
    a = values((2, 3), left, 1)
    others = [values((2, 3), right, 2) for right in EVERY]
    table: Binary = {
        "add": lambda a, b: a + b,
        "mul": lambda a, b: a * b,
        "lt": lambda a, b: a < b,
        "eq": lambda a, b: a == b,
        "where": lambda a, b: torch.where(a > 0, a, b),
        "div": lambda a, b: a / (b * b + 1),
        "scalar": lambda a, b: (a + b[0, 0], a[0, 0] * b, a[1, 1] + b[1, 1]),
    }

    def run(a: torch.Tensor, *others: torch.Tensor) -> list[Any]:
        return [_all(table)(a, b) for b in others]

    check(run, a, *others)


@pytest.mark.parametrize("source", EVERY, ids=str)
def test_casts(source: torch.dtype):
    x = values((3, 66), source) * (3 if source != torch.bool else True)
    check(lambda x: [x.to(target) for target in EVERY], x, exact=True)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_scalars_keep_their_precision(dtype: torch.dtype):
    x = values((1000,), dtype)
    table: Unary = {
        "mul": lambda x: x * 0.1,
        "add": lambda x: x + 0.1,
        "sub": lambda x: x - 1e-3,
        "div": lambda x: x / 0.3,
        "compare": lambda x: (x == 0.1, x < 0.1),
        "add_int": lambda x: x + 2049,
        "huge": lambda x: x - 3.4e38,
    }
    check(_all(table), x, exact=True)


def test_broadcasting():
    a, b = values((4, 1, 65), torch.float16, 1), values((3, 1), torch.float16, 2)
    table: Binary = {
        "add": lambda a, b: a + b,
        "where": lambda a, b: torch.where(a > 0, b, 1.0),
        "scalar_condition": lambda a, b: torch.where(a[0, 0, 0] > 0, a, b),
        "clamp": lambda a, b: torch.clamp(a, b - 1, b + 1),
    }
    check(_all(table), a, b, exact=True)


EXPONENTS = [0, 1, 2, 3, 4, 65, -1, -2, -3, 0.5, -0.5, 2.5, -1.7, inf, -inf, nan]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_special_powers(dtype: torch.dtype) -> None:
    bases = torch.tensor([inf, nan, 0.0, 1.0, 0.5, 3.0])
    bases = torch.cat([bases, -bases]).to(dtype)

    def powers(x: torch.Tensor) -> list[torch.Tensor]:
        return [x**e for e in EXPONENTS]

    for exponent, got, want in zip(
        EXPONENTS, compiled(powers)(bases), powers(bases), strict=True
    ):
        assert int(steps(got, want).max()) <= 2, f"{bases} ** {exponent}: {got}"
