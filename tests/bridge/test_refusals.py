# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What eager refuses, a compiled function refuses; storages are eager's too."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

from .checking import backend, check, compiled, values

X, H = torch.ones(3, 4), torch.ones(3, 4, dtype=torch.float16)
C, C16 = torch.ones(4), torch.ones(2, 4, 6, dtype=torch.float16)
INTEGERS = torch.ones(3, 4, dtype=torch.int64)
Q, K = torch.ones(1, 2, 3, 4), torch.ones(1, 2, 3, 4, dtype=torch.float16)

REFUSED: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "linear": (functional.linear, (H, X)),
    "matmul": (torch.matmul, (H, X.t())),
    "mv": (torch.mv, (X, H[0])),
    "addmm": (torch.addmm, (X[:, :3], X, H.t())),
    "bmm": (torch.bmm, (Q[0], K[0].transpose(1, 2))),
    "baddbmm": (torch.baddbmm, (Q[0, :, :, :3], Q[0], K[0].transpose(1, 2))),
    "attention": (functional.scaled_dot_product_attention, (Q, K, K)),
    "layer_norm": (lambda x, w: functional.layer_norm(x, (4,), w), (X, H[0])),
    "group_norm": (
        lambda x, w, b: functional.group_norm(x, 2, w, b),
        (C16, C, C.half()),
    ),
    "batch_norm": (
        lambda x, r, w: functional.batch_norm(x, r, r, w),
        (C16, C.half(), C),
    ),
    "batch_norm in training": (
        lambda x, w: functional.batch_norm(x, None, None, w, w, training=True),
        (C16.float(), C.half()),
    ),
    "instance_norm": (
        lambda x, w: functional.instance_norm(x, weight=w, bias=w),
        (C16.float(), C.half()),
    ),
    "rms_norm": (lambda x, w: functional.rms_norm(x, (5,), w), (X, C[:3])),
    "embedding of floats": (functional.embedding, (C, X)),
    "shapes of bmm": (torch.bmm, (Q[0], Q[0])),
    "shapes of attention": (
        functional.scaled_dot_product_attention,
        (Q, Q[..., :3], Q),
    ),
    "softmax of integers": (lambda x: torch.softmax(x, 0), (INTEGERS,)),
    "log_softmax of integers": (lambda x: torch.log_softmax(x, 0), (INTEGERS,)),
    "softmax of no dimension": (lambda x: torch.softmax(x, 3), (X,)),
    "silu of integers": (functional.silu, (INTEGERS,)),
    "gelu of integers": (functional.gelu, (INTEGERS,)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_eager_refuses(name: str):
    function, operands = REFUSED[name]
    with pytest.raises((RuntimeError, IndexError)):
        function(*operands)
    with pytest.raises((RuntimeError, IndexError)):
        compiled(function, fallback="silent")(*operands)


def test_wider_weights_of_a_norm_are_taken():
    def run(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return functional.layer_norm(x, (4,), w, w)

    check(run, values((3, 4), torch.float16), values((4,), torch.float32))


def test_as_strided_counts_from_the_storage():
    def run(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x * 2 + 1
        part, turned, flat = y[1:, 2:5], y.t(), y.flatten()
        return (
            torch.as_strided(part, (2, 3), (6, 1), 0) + 0,
            torch.as_strided(part, (2, 2), (1, 6)) * 1,
            torch.as_strided(turned, (3, 4), (2, 5), 1) * 1,
            torch.as_strided(flat[2:], (4, 4), (1, 1)).sum(1),
        )

    check(run, values((4, 6), torch.float32), fallback="silent")


def test_inputs_are_views_of_their_storages():
    def run(x: torch.Tensor) -> torch.Tensor:
        return torch.as_strided(x, (2, 3), (6, 1), 0) + 0

    base = torch.arange(24.0).reshape(4, 6)
    function = compiled(run, fallback="silent")
    for start in (1, 0, 2):
        assert torch.equal(function(base[start:][:2]), base[:2, :3])


@pytest.mark.parametrize("device", ["cpu", "spyre"])
@pytest.mark.parametrize("dynamic", [None, True])
def test_views_of_inputs_begin_where_the_call_says(device: str, dynamic: bool | None):
    def run(x: torch.Tensor, s: torch.Tensor) -> tuple[torch.Tensor, ...]:
        part, turned = x[1:], x.t()[1:]
        return (
            torch.as_strided(part, (2, 2), (8, 1)) * 1,
            torch.as_strided(turned, (2, 2), (1, 8), None) + part[:2, :2],
            torch.as_strided_scatter(part, s, (2, 2), (8, 1), 6),
            torch.as_strided_scatter(x, s, (2, 2), (8, 1)),
        )

    base, s = torch.arange(48.0).reshape(6, 8), -torch.ones(2, 2)
    torch._dynamo.reset()
    function = torch.compile(run, backend=backend(fallback="silent"), dynamic=dynamic)
    for start in (1, 0, 2):
        got = function(base.to(device)[start:][:3], s.to(device))
        for one, want in zip(got, run(base[start:][:3], s), strict=True):
            assert torch.equal(one.cpu(), want)


def test_scatters_into_a_view_count_from_the_storage():
    def run(x: torch.Tensor, s: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x * 2
        return (
            torch.as_strided_scatter(y[1:], s, (2, 2), (8, 1), 1),
            torch.as_strided_scatter(y[1:, 2:], s, (2, 2), (8, 1)) + 1,
            torch.as_strided_scatter(y.t()[2:], s, (2, 2), (1, 8), 3),
        )

    x, s = values((3, 8), torch.float32), values((2, 2), torch.float32)
    check(run, x, s, fallback="silent")
