# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training with eager operators: the card's numbers are the CPU's."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    """The benchmark of the same, of which this is a shorter form."""
    sys.path.append(str(BENCHMARKS))
    path = BENCHMARKS / "eager_training.py"
    spec = importlib.util.spec_from_file_location("eager_training", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(BENCHMARKS))
    return module


@pytest.mark.parametrize(
    ("model", "optimizer"),
    [("mlp", "adamw"), ("cnn", "sgd"), ("lstm", "adamw"), ("llama", "sgd")],
)
def test_losses_and_states(benchmark: ModuleType, model: str, optimizer: str) -> None:
    losses, states = benchmark.differences(model, optimizer, 3)
    assert losses <= benchmark.MOST_DIFFERENCE
    assert states <= benchmark.MOST_DIFFERENCE


def _gradient(device: str, use_reentrant: bool | None) -> torch.Tensor:
    torch.manual_seed(3)
    layers = (nn.Linear(20, 20), nn.Dropout(0.4), nn.Linear(20, 5))
    model = nn.Sequential(*layers).to(device)
    values = torch.randn(30, 20).to(device).requires_grad_()
    torch.manual_seed(9)
    if use_reentrant is None:
        out = model(values)
    else:
        out = checkpoint(model, values, use_reentrant=use_reentrant)
    assert isinstance(out, torch.Tensor)
    out.square().sum().backward()
    assert values.grad is not None
    return values.grad.cpu()


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpointed_dropout_draws_its_mask_again(use_reentrant: bool) -> None:
    found = _gradient("spyre", use_reentrant)
    torch.testing.assert_close(found, _gradient("cpu", None))
    torch.testing.assert_close(found, _gradient("spyre", None))
