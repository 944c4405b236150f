# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
DLFloat16: 1 sign, 6 exponent and 9 fraction bits, bias 31.

Every code is a finite number and there is one zero (public: the format; torch-spyre
issues 1851 and 2478). Assumed, as nothing is published: rounding is to nearest, ties
away from zero; what is too small becomes zero, what is too large the largest number
below the code of all ones, which is left unused; NaN becomes 98304, as the host's
does.
"""

from __future__ import annotations

from functools import partial

import torch

from .codec import STORAGE, Run
from .scratch import Scratch

BIAS_STEP = (127 - 31) << 9
"""Between the exponents of f32 and DLFloat16, above 9 fraction bits."""

DROPPED = 23 - 9
LARGEST = 0x7FFE
NAN = 0x5F00
SIGN = 0x8000
SHORT = ("f16", "bf16")


class DlFloat:
    """All 16-bit floats of the card are DLFloat16; the rest is as PyTorch has it."""

    def __init__(self, scratch: Scratch):
        self._scratch = scratch

    def storage(self, dtype: str) -> torch.dtype:
        return torch.int16 if dtype in SHORT else STORAGE[dtype]

    def computes_stored(self, function: str) -> bool:
        return False

    def load(self, target: torch.Tensor, source: torch.Tensor, dtype: str) -> list[Run]:
        if dtype not in SHORT:
            return [partial(target.copy_, source)]
        shape = tuple(source.shape)
        sign = self._scratch.take("dl16 sign", torch.int32, shape)
        code = self._scratch.take("dl16 code", torch.int32, shape)
        empty = self._scratch.take("dl16 flag", torch.bool, shape)
        return [
            partial(code.copy_, source),
            partial(torch.bitwise_and, code, SIGN, out=sign),
            partial(sign.bitwise_left_shift_, 16),
            partial(code.bitwise_and_, SIGN - 1),
            partial(torch.eq, code, 0, out=empty),
            partial(code.add_, BIAS_STEP),
            partial(code.bitwise_left_shift_, DROPPED),
            partial(code.bitwise_or_, sign),
            partial(code.masked_fill_, empty, 0),
            partial(target.view(torch.int32).copy_, code),
        ]

    def store(
        self, target: torch.Tensor, source: torch.Tensor, dtype: str
    ) -> list[Run]:
        if dtype not in SHORT:
            return [partial(target.copy_, source)]
        shape = tuple(source.shape)
        sign = self._scratch.take("dl16 sign", torch.int32, shape)
        code = self._scratch.take("dl16 code", torch.int32, shape)
        flag = self._scratch.take("dl16 flag", torch.bool, shape)
        return [
            partial(torch.ne, source, source, out=flag),
            partial(code.copy_, source.view(torch.int32)),
            partial(torch.bitwise_and, code, -1 << 31, out=sign),
            partial(sign.bitwise_right_shift_, 16),
            partial(code.bitwise_and_, (1 << 31) - 1),
            # Half of the last place that stays; away from zero, as the sign is apart.
            # Infinity and NaN do not come near the end of the integers.
            partial(code.add_, 1 << (DROPPED - 1)),
            partial(code.bitwise_right_shift_, DROPPED),
            partial(code.sub_, BIAS_STEP),
            partial(code.clamp_, 0, LARGEST),
            partial(code.masked_fill_, flag, NAN),
            partial(torch.eq, code, 0, out=flag),
            partial(code.bitwise_or_, sign),
            partial(code.masked_fill_, flag, 0),
            partial(target.copy_, code),
        ]


def encode(values: torch.Tensor) -> torch.Tensor:
    """
    Codes of host values.

    The host's conversion takes f16's exponent of all ones for an ordinary one: its
    infinity is 65536 and its NaN 98304 (public: torch-spyre issue 1851).
    """
    wide = values.float()
    if values.dtype is torch.float16:
        infinite = torch.full_like(wide, 65536.0).copysign(wide)
        wide = torch.where(wide.isinf(), infinite, wide)
    codes = torch.empty(wide.shape, dtype=torch.int16)
    for run in DlFloat(Scratch()).store(codes, wide, "f16"):
        run()
    return codes


def decode(codes: torch.Tensor) -> torch.Tensor:
    """The f32 values of codes; exact."""
    values = torch.empty(codes.shape, dtype=torch.float32)
    for run in DlFloat(Scratch()).load(values, codes, "f16"):
        run()
    return values
