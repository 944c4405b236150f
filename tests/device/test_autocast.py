# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`torch.autocast("spyre")`: CUDA's lists of operators, eager and compiled."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from spyre_runtime import torch_spyre as spyre

HALF = torch.float16
Case = tuple[Callable[[torch.Tensor, torch.Tensor], torch.Tensor], torch.dtype]


def _values(dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.linspace(0.1, 1, 12).view(3, 4).to("spyre", dtype)


def test_the_operators_are_those_of_cuda() -> None:
    def rules(key: str) -> set[str]:
        names = torch._C._dispatch_get_registrations_for_dispatch_key(key)
        return {name for name in names if "cudnn" not in name}

    assert rules("AutocastPrivateUse1") == rules("AutocastCUDA")
    assert len(rules("AutocastCUDA")) > 100


# One operator of each rule, with an argument in float and one in half.
CASES: dict[str, Case] = {
    "narrow: linear": (F.linear, HALF),
    "narrow: matmul": (lambda wide, half: wide @ half.t(), HALF),
    "narrow: convolution": (lambda wide, half: F.conv1d(wide[None], half[None]), HALF),
    "float: exp": (lambda wide, half: half.exp(), torch.float32),
    "float: layer norm": (lambda wide, half: F.layer_norm(half, (4,)), torch.float32),
    "float by dtype: sum": (lambda wide, half: half.sum(), torch.float32),
    "float by dtype: softmax": (lambda wide, half: half.softmax(-1), torch.float32),
    "float by overload: norm": (lambda wide, half: half.norm(), torch.float32),
    "float by overload: norm of rows": (
        lambda wide, half: half.norm(2, 1),
        torch.float32,
    ),
    "widest": (lambda wide, half: torch.addcmul(half, wide, wide), torch.float32),
    "widest of one": (lambda wide, half: torch.atan2(half, half), HALF),
    "a given dtype stays": (lambda wide, half: half.sum(dtype=HALF), HALF),
    "no rule": (lambda wide, half: half + 1, HALF),
    "doubles stay": (
        lambda wide, half: wide.double() @ wide.double().t(),
        torch.float64,
    ),
    "recurrent": (lambda wide, half: nn.GRU(4, 4).to("spyre")(wide[None])[0], HALF),
}


@pytest.mark.parametrize("name", CASES)
def test_the_type_that_an_operator_runs_in(name: str) -> None:
    run, dtype = CASES[name]
    with torch.autocast("spyre", HALF):
        assert run(_values(), _values(HALF)).dtype == dtype


def test_the_default_type_and_turning_it_off() -> None:
    wide = _values()
    with torch.autocast("spyre"):
        assert (wide @ wide.t()).dtype == torch.get_autocast_dtype("spyre")
        with torch.autocast("spyre", enabled=False):
            assert (wide @ wide.t()).dtype == torch.float32
    with torch.autocast("cpu", torch.bfloat16):
        assert (wide @ wide.t()).dtype == torch.float32


def test_a_loss_that_narrow_types_break_is_refused() -> None:
    with (
        torch.autocast("spyre", HALF),
        pytest.raises(RuntimeError, match="binary_cross_entropy_with_logits"),
    ):
        F.binary_cross_entropy(_values(), _values())


def _mixed(wide: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, ...]:
    with torch.autocast("spyre", torch.bfloat16):
        scores = F.linear(wide, weight)
        return scores, scores.softmax(-1), scores.sum()


@pytest.mark.parametrize("is_inside", [False, True])
def test_compiled_code_casts_as_eager_code_does(is_inside: bool) -> None:
    def outside(wide: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, ...]:
        scores = F.linear(wide, weight)
        return scores, scores.softmax(-1), scores.sum()

    wide, weight = _values(), _values().flip(0)
    expected = _mixed(wide, weight)
    if is_inside:
        found = torch.compile(_mixed, backend="spyre_mlir")(wide, weight)
    else:
        compiled = torch.compile(outside, backend="spyre_mlir")
        with torch.autocast("spyre", torch.bfloat16):
            found = compiled(wide, weight)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype
        torch.testing.assert_close(ours, theirs, rtol=1e-2, atol=1e-2)


def test_gradients_and_the_scaler() -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 2).to("spyre")
    updates = torch.optim.SGD(model.parameters(), 0.1)
    scaler = spyre.amp.GradScaler(init_scale=2.0**24)
    before = model.weight.detach().cpu()
    for _ in range(12):
        updates.zero_grad()
        with spyre.amp.autocast(dtype=HALF):
            loss = model(_values()).square().mean()
        scaler.scale(loss).backward()
        scaler.step(updates)
        scaler.update()
    assert scaler.get_scale() < 2.0**24  # the first gradients overflowed
    after = model.weight.detach().cpu()
    assert after.isfinite().all()
    assert not torch.equal(after, before)


def test_functions_of_ones_own() -> None:
    seen: list[tuple[torch.dtype, bool]] = []

    class Double(torch.autograd.Function):
        @staticmethod
        @spyre.amp.custom_fwd(cast_inputs=torch.float32)
        def forward(ctx: object, values: torch.Tensor) -> torch.Tensor:
            seen.append((values.dtype, torch.is_autocast_enabled("spyre")))
            return values * 2

        @staticmethod
        @spyre.amp.custom_bwd
        def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
            ctx: object, gradient: torch.Tensor
        ) -> torch.Tensor:
            return gradient * 2

    half = _values(HALF).requires_grad_()
    with torch.autocast("spyre", HALF):
        Double.apply(half).sum().backward()
    assert seen == [(torch.float32, False)]
    assert half.grad is not None
    assert half.grad.dtype == HALF
    assert half.grad.cpu().unique().tolist() == [2.0]
