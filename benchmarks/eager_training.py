# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Eager training on card tensors beside the CPU's: losses and states.

    python benchmarks/eager_training.py [--steps 20] [--model NAME ...]

Each model is trained twice from one seed, so with the same dropout masks, in fp32 by
SGD and AdamW. The table shows the worst relative difference of a loss, and of a
parameter or buffer relative to its largest element. Parameters whose exact gradient is
zero, a bias before a batch norm, are left out: theirs is noise on either side.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import partial

import torch
from _common import Bars
from torch import nn
from torch.nn import functional as F

MOST_DIFFERENCE = 1e-5

Step = Callable[[], torch.Tensor]
Model = tuple[nn.Module, Step]


class Recurrent(nn.Module):
    """Two layers of LSTM with dropout between, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.LSTM(12, 16, num_layers=2, dropout=0.3, batch_first=True)
        self.head = nn.Linear(16, 4)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(values)[0][:, -1])


def make_mlp() -> nn.Module:
    return nn.Sequential(
        nn.Linear(20, 64), nn.GELU(), nn.Dropout(0.2), nn.Linear(64, 4)
    )


def make_cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.25),
        nn.Conv2d(8, 16, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(144, 4),
    )


def make_llama() -> nn.Module:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        attention_dropout=0.1,
        use_cache=False,
    )
    model = LlamaForCausalLM(config)
    model.gradient_checkpointing_enable({"use_reentrant": False})
    return model.train()


def batch_of(*shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(*shape), torch.randint(0, 4, shape[:1])


def classify(
    model: nn.Module, values: torch.Tensor, labels: torch.Tensor
) -> torch.Tensor:
    return F.cross_entropy(model(values), labels)


def predict(model: nn.Module, tokens: torch.Tensor) -> torch.Tensor:
    return model(input_ids=tokens, labels=tokens).loss


def mlp(device: str) -> Model:
    return _classifier(make_mlp, (16, 20), device)


def cnn(device: str) -> Model:
    return _classifier(make_cnn, (8, 3, 10, 10), device)


def lstm(device: str) -> Model:
    return _classifier(Recurrent, (8, 6, 12), device)


def llama(device: str) -> Model:
    model, tokens = make_llama(), torch.randint(0, 64, (2, 16))
    return model.to(device), partial(predict, model, tokens.to(device))


def _classifier(
    make: Callable[[], nn.Module], shape: tuple[int, ...], device: str
) -> Model:
    model, batch = make(), batch_of(*shape)
    return model.to(device), partial(classify, model, *(b.to(device) for b in batch))


MODELS: dict[str, Callable[[str], Model]] = {
    "mlp": mlp,
    "cnn": cnn,
    "lstm": lstm,
    "llama": llama,
}
OPTIMIZERS: dict[str, Callable[[Iterator[nn.Parameter]], torch.optim.Optimizer]] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, 0.05, momentum=0.9),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, 1e-3),
}
WITHOUT_GRADIENT = {"cnn": {"0.bias"}}
"""Parameters whose exact gradient is zero."""

Trained = tuple[list[float], dict[str, torch.Tensor]]


def train(model: str, optimizer: str, steps: int, device: str) -> Trained:
    """The loss of each step, and what the model holds at the end, on the CPU."""
    torch.manual_seed(0)
    module, step = MODELS[model](device)
    updates = OPTIMIZERS[optimizer](module.parameters())
    torch.manual_seed(1)
    losses: list[float] = []
    for _ in range(steps):
        updates.zero_grad()
        loss = step()
        loss.backward()
        updates.step()
        losses.append(loss.item())
    return losses, {name: each.cpu() for name, each in module.state_dict().items()}


def differences(model: str, optimizer: str, steps: int) -> tuple[float, float]:
    """The worst relative difference of a loss and of a state, card against CPU."""
    losses, state = train(model, optimizer, steps, "spyre")
    expected, reference = train(model, optimizer, steps, "cpu")
    of_losses = (abs(a - b) / abs(b) for a, b in zip(losses, expected, strict=True))
    of_states = (
        _difference(state[name], value)
        for name, value in reference.items()
        if name not in WITHOUT_GRADIENT.get(model, ())
    )
    return max(of_losses), max(of_states)


def _difference(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    scale = theirs.double().abs().max().clamp(min=1e-30)
    return float((ours.double() - theirs.double()).abs().max() / scale)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--model", nargs="+", default=list(MODELS), choices=MODELS)
    flags = parser.parse_args()
    bars = Bars(
        f"{flags.steps} steps on the card against the CPU, worst relative difference",
        ("model", "optimizer", "of losses", "of states", "bar"),
    )
    for model in flags.model:
        for optimizer in OPTIMIZERS:
            found = differences(model, optimizer, flags.steps)
            cells = [model, optimizer, *(f"{worst:.1e}" for worst in found)]
            ok = max(found) <= MOST_DIFFERENCE
            bars.add(*cells, f"{MOST_DIFFERENCE:.0e}", ok=ok)
    return bars.finish()


if __name__ == "__main__":
    sys.exit(main())
