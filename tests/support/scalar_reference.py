# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Scalar functions in f64 by NumPy and C, and how far a result is from them.

One step of a type's numbers is one ulp here, also among subnormals. A NaN, an infinity
or a sign of zero that is wrong is `WRONG` steps off.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import torch
import torch.nn.functional as F

from spyre_mlir.target.opfuncs import OPFUNCS

Array: TypeAlias = Any

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
WRONG = 1 << 40

SPECIALS = [
    *(0.0, 1.4e-45, 1e-44, 1e-40, 1.1754942e-38, 1.1754944e-38, 6e-8, 6.1e-5, 1e-3),
    *(0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 13.0, 20.0, 20.1, 88.7),
    *(89.0, 103.9, 126.0, 127.0, 149.0, 65504.0, 16777215.0, 16777216.0, 33554432.0),
    *(1e10, 1e30, 3.4028235e38, math.inf),
]


def _erfc(x: Array) -> Array:
    return np.array([math.erfc(v) for v in x.tolist()])


def _gelu_tanh(x: Array) -> Array:
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
    return x / (1 + np.exp(-2 * inner))


def _remainder(a: Array, b: Array) -> Array:
    rest = np.fmod(a, b)
    return np.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


def _extreme(choose: Callable[[Array, Array], Array], sign: int) -> Any:
    def function(a: Array, b: Array) -> Array:
        zeros = (a == 0) & (b == 0)
        return np.where(zeros, sign * (sign * a + sign * b), choose(a, b))

    return function


REFERENCES: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "floor_divide": np.floor_divide,
    # The quotient is rounded before it is truncated, as it is by PyTorch.
    "trunc_divide": lambda a, b: np.trunc((a / b).astype(np.float32).astype(float)),
    "remainder": _remainder,
    "fmod": np.fmod,
    "pow": np.power,
    "atan2": np.arctan2,
    "maximum": _extreme(np.maximum, 1),
    "minimum": _extreme(np.minimum, -1),
    "abs": np.abs,
    "neg": np.negative,
    "sign": lambda x: np.where(np.isnan(x), 0, np.sign(x)),
    "relu": lambda x: np.where(x < 0, 0, x),
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "trunc": np.trunc,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "erf": lambda x: np.array([math.erf(v) for v in x.tolist()]),
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: 0.5 * x * _erfc(-x * math.sqrt(0.5)),
    "gelu_tanh": _gelu_tanh,
    "softplus": lambda x: np.where(x > 20, x, np.log1p(np.exp(x))),
}
"""The functions of floats that give floats, on f64 arrays."""

EAGER: dict[str, Callable[..., torch.Tensor]] = {
    "floor_divide": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "trunc_divide": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "softplus": F.softplus,
}
"""PyTorch's own function where it is not `torch.<name>`."""


def eager(name: str, arguments: list[torch.Tensor]) -> torch.Tensor:
    """What this host's PyTorch gives in the arguments' own type."""
    function = EAGER.get(name) or getattr(torch, name)
    return function(*arguments)


def card(name: str, arguments: list[torch.Tensor]) -> torch.Tensor:
    """What the card gives: computed in f32, rounded to the arguments' type."""
    value = OPFUNCS[name].evaluate(torch, *(a.float() for a in arguments))
    return value.to(arguments[0].dtype)


def exact(name: str, arguments: list[torch.Tensor]) -> torch.Tensor:
    """The correctly rounded values."""
    with np.errstate(all="ignore"):
        wide = REFERENCES[name](*(a.double().numpy() for a in arguments))
        return _rounded(wide, arguments[0].dtype)


def _rounded(wide: Array, dtype: torch.dtype) -> torch.Tensor:
    if dtype is torch.float32:
        return torch.from_numpy(wide.astype(np.float32))
    if dtype is torch.float16:
        return torch.from_numpy(wide.astype(np.float16))
    # To odd first: rounding twice is then rounding once.
    single = wide.astype(np.float32)
    bits = single.view(np.int32).copy()
    bits -= (np.abs(single) > np.abs(wide)).astype(np.int32)
    bits |= ((single != wide) & ~np.isnan(wide)).astype(np.int32)
    return torch.from_numpy(bits.view(np.float32)).to(dtype)


def steps(got: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """How many numbers of the type lie between two results, element by element."""
    off = (_place(got) - _place(expected)).abs()
    kinds = (torch.isnan(got) != torch.isnan(expected)) | (
        (torch.isinf(got) | torch.isinf(expected)) & (off > 1)
    )
    signs = (got == 0) & (expected == 0) & (got.signbit() != expected.signbit())
    off[torch.isnan(got) & torch.isnan(expected)] = 0
    off[kinds | signs] = WRONG
    return off


def _place(values: torch.Tensor) -> torch.Tensor:
    """Numbers of a type in order, as integers."""
    integer = torch.int32 if values.element_size() == 4 else torch.int16
    bits = values.contiguous().view(integer).long()
    sign = -(1 << (8 * values.element_size() - 1))
    return torch.where(bits < 0, sign - bits, bits)


def arguments_for(
    name: str, dtype: torch.dtype, samples: int = 1 << 16
) -> list[torch.Tensor]:
    """
    Arguments that cover a function: each 16-bit number, or, in f32, numbers with any
    bits, numbers of usual sizes and the special ones; of two arguments, each pair of
    special ones and random pairs.
    """
    generator = torch.Generator().manual_seed(0)
    special = torch.tensor([s * v for v in SPECIALS for s in (1, -1)] + [math.nan])
    special = special.to(dtype)
    first = _line(dtype, samples, generator)
    if OPFUNCS[name].arity == 1:
        return [torch.cat([special, first])]
    second = first[torch.randperm(len(first), generator=generator)]
    near = torch.randn(2, len(first), generator=generator) * 8
    a = [special.repeat_interleave(len(special)), first, near[0].to(dtype)]
    b = [special.repeat(len(special)), second, near[1].to(dtype)]
    return [torch.cat(a), torch.cat(b)]


def _line(dtype: torch.dtype, samples: int, generator: torch.Generator) -> torch.Tensor:
    if dtype is not torch.float32:
        return torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(dtype)
    stride = (1 << 32) // samples + 1
    bits = torch.arange(-(1 << 31), 1 << 31, stride).to(torch.int32)
    usual = [torch.randn(samples, generator=generator) * s for s in (0.01, 1, 8, 100)]
    return torch.cat([bits.view(torch.float32), *usual])
