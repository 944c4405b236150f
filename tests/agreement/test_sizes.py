# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Odd and large sizes: more than fits a scratchpad, and nothing to divide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from agreement.functions import data

from spyre_mlir.torch_bridge.backend import spyre_mlir

torch.set_num_threads(1)
f16, f32, i64 = torch.float16, torch.float32, torch.int64


def check(function: Callable[..., Any], *inputs: torch.Tensor, tol: float = 0) -> None:
    """The card alone runs the function, and gives what eager gives."""
    torch._dynamo.reset()
    options = {"fallback": "error"}
    compiled = torch.compile(
        function, backend=spyre_mlir, options=options, dynamic=False
    )
    found, wanted = compiled(*inputs), function(*inputs)
    assert found.dtype == wanted.dtype
    torch.testing.assert_close(found, wanted, rtol=tol, atol=tol)


MOVES: dict[str, tuple[Callable[..., torch.Tensor], list[torch.Tensor]]] = {
    "cat": (lambda a, b: torch.cat([a, b]), [data(0, f16, 1000003), data(1, f16, 7)]),
    "cat of two": (
        lambda a, b: torch.cat([a, b]),
        [data(0, f32, 300007), data(1, f32, 299999)],
    ),
    "cat of one-element tensors": (
        lambda *a: torch.cat(a),
        [data(k, f16, 1) for k in range(40)],
    ),
    "pad": (lambda a: F.pad(a, (1, 70), value=2.5), [data(0, f16, 3, 500003)]),
    "pad all round": (lambda a: F.pad(a, (1, 2, 3, 4)), [data(0, f16, 603, 605)]),
    "flip": (lambda a: a.flip(0), [data(0, f16, 1000003)]),
    "flip rows": (lambda a: a.flip(0, 1), [data(0, f16, 503, 505)]),
    "roll": (lambda a: a.roll(1), [data(0, f16, 500003)]),
    "slice": (lambda a: a[1:].clone(), [data(0, i64, 300007)]),
    "steps": (lambda a: a[3::7].clone(), [data(0, f16, 1000003)]),
    "rows of one row": (
        lambda a: (a * 1).reshape(3, 333337),
        [data(0, f16, 1000011)],
    ),
    "repeat": (lambda a: a.repeat(3), [data(0, f16, 300007)]),
    "windows": (lambda a: a.unfold(0, 5, 1).clone(), [data(0, f16, 100007)]),
    "thin transpose": (lambda a: a.t().contiguous(), [data(0, f16, 100007, 3)]),
    "six dimensions": (
        lambda a: a.permute(5, 3, 1, 0, 2, 4).contiguous(),
        [data(0, f16, 3, 4, 5, 6, 7, 33)],
    ),
    "six times one": (lambda a: a.sum(2) + 1, [data(0, f32, 1, 1, 1, 1, 1, 1)]),
    "update": (
        lambda a, b: torch.slice_scatter(a, b, 0, 100001, 200002),
        [data(0, f16, 500003), data(1, f16, 100001)],
    ),
    "one column": (lambda a: a * 2, [data(0, f16, 100003, 1)]),
}


@pytest.mark.parametrize("name", MOVES)
def test_movement(name: str) -> None:
    function, inputs = MOVES[name]
    check(function, *inputs)


@pytest.mark.parametrize(
    ("m", "k", "n"),
    [
        (1, 1, 1),
        (1, 500, 1),
        (700, 1, 300),
        (1, 300, 700),
        (700, 300, 1),
        (65, 9973, 3),
    ],
)
def test_products_of_one_row_column_or_term(m: int, k: int, n: int) -> None:
    check(lambda a, b: a @ b, data(0, f32, m, k), data(1, f32, k, n))


@pytest.mark.parametrize("shape", [(1000003,), (100003, 7), (3, 200003), (7, 5, 9973)])
def test_reductions_over_long_dimensions(shape: tuple[int, ...]) -> None:
    for dim in range(len(shape)):
        check(lambda a, d=dim: a.sum(d), data(0, f32, *shape))
    check(lambda a: a.amax(), data(0, f16, *shape))
    check(lambda a: a.softmax(0), data(0, f32, *shape), tol=1e-6)


@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0), (1, 0, 3)])
def test_nothing_at_all(shape: tuple[int, ...]) -> None:
    check(lambda a: a + 1, data(0, f32, *shape))
    check(lambda a: a.sum(0), data(0, f32, *shape))
    check(lambda a: torch.cat([a, a]), data(0, f32, *shape))
