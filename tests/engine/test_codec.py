# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that run on the stored form give the bits of f32, then rounded."""

from __future__ import annotations

import pytest
import torch

from spyre_mlir.target.opfuncs import OPFUNCS
from spyre_runtime.engine.codec import STORED_FUNCTIONS

EVERY = torch.arange(65536, dtype=torch.int32).to(torch.int16)


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal bits; any NaN equals any other."""
    bits = a.view(torch.int16) == b.view(torch.int16)
    return bool((bits | (a.isnan() & b.isnan())).all())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", sorted(STORED_FUNCTIONS))
def test_stored_function(name: str, dtype: torch.dtype) -> None:
    function = OPFUNCS[name]
    x = EVERY.view(dtype)
    generator = torch.Generator().manual_seed(0)
    others = [
        EVERY[torch.randperm(65536, generator=generator)].view(dtype) for _ in range(8)
    ]
    others += [torch.tensor(v, dtype=dtype) for v in (0.3, 3.0, -1e-5)]
    for y in others if function.arity > 1 else others[:1]:
        arguments = {1: (x,), 2: (x, y), 3: (x > 0, x, y)}[function.arity]
        wide = [a.float() if a.is_floating_point() else a for a in arguments]
        got = function.evaluate(torch, *arguments, out=torch.empty_like(x))
        expected = function.evaluate(torch, *wide, out=torch.empty(x.shape)).to(dtype)
        assert same(got, expected)
