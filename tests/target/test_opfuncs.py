# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every scalar function gives the same result wherever it is written to."""

from __future__ import annotations

import pytest
import torch

from spyre_mlir.target.opfuncs import OPFUNCS


@pytest.mark.parametrize("name", sorted(OPFUNCS))
@pytest.mark.parametrize("columns", [64, 63])
def test_result_does_not_depend_on_the_strides_of_out(name: str, columns: int) -> None:
    row = OPFUNCS[name]
    dtype = torch.float32 if "f32" in row.dtypes else torch.bool
    first = torch.linspace(-48, 48, 5 * columns).view(5, columns).to(dtype)
    arrays = [first, first.flip(0), first.flip(1)][: row.arity]
    if name == "where":
        arrays[0] = first > 0
    expected = row.evaluate(torch, *arrays)
    out = torch.zeros((5, 100), dtype=expected.dtype)[:, :columns]
    row.evaluate(torch, *arrays, out=out)
    torch.testing.assert_close(out, expected, equal_nan=True)
