# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportPrivateUsage=false
"""
MiniLM on the card against eager PyTorch: cosines, host operations, seconds.

    python benchmarks/minilm.py [--batch 16] [--dtype f16] [--dtype f32]

Embeds 32 sentences of different lengths, in padded batches. Each embedding is compared
with that of eager fp32 on the CPU. A warm launch of all 32 in fp16 on card tensors,
copies to and from the host left out, is timed in turn with eager PyTorch (CPU seconds,
one thread, median of 5).
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import torch
from _common import Bars, interleaved, launches, one_thread
from rich.console import Console
from sentence_encoder import SentenceEncoder, load_encoder, tokenize

from spyre_mlir.torch_bridge.report import last_report

STORY = (
    "the old harbour was quiet before the storm came in from the north and the boats "
    "lay close together while a few gulls walked along the wall looking for fish that "
    "nobody had left there and far out a light blinked twice then went dark again so "
    "that the keeper climbed all of the stairs once more with a lamp in his hand"
)
OPENINGS = (
    "Rain.",
    "Prices rose again",
    "My sister plays chess because",
    "The new compiler",
    "Where is the station?",
    "In 1969 two people",
    "Nobody believed that",
    "Cats sleep",
)
COUNT = 32
DTYPES = {"f16": torch.float16, "f32": torch.float32}
LEAST_COSINE = {"f16": 0.9999, "f32": 0.999999}

Batch = tuple[torch.Tensor, torch.Tensor]


def sentences() -> list[str]:
    """32 sentences, from one token to several dozen."""
    made: list[str] = []
    for number in range(COUNT):
        start = (7 * number) % 40
        words = STORY.split()[
            start : start + 2 * (number // len(OPENINGS)) * (1 + number % 4)
        ]
        made.append(" ".join((OPENINGS[number % len(OPENINGS)], *words)))
    return made


@dataclass
class Accuracy:
    """One type on the card, compared with eager fp32."""

    cosines: torch.Tensor
    eager: torch.Tensor
    host_floats: list[str]
    host: int


def measure(dtype: torch.dtype, batches: list[Batch]) -> Accuracy:
    """Embeds all batches in `dtype`, on the card and eagerly, and in eager fp32."""
    model, exact = load_encoder(dtype), load_encoder(torch.float32)
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="spyre_mlir", options={"fallback": "warn"})
    cosines: list[torch.Tensor] = []
    eager: list[torch.Tensor] = []
    floats: list[str] = []
    host = 0
    with torch.inference_mode():
        for batch in batches:
            expected = exact(*batch)
            cosines.append(cosine(compiled(*batch), expected))
            eager.append(cosine(model(*batch), expected))
            floats += [op.op for op in last_report().host_floats]
            host += len(last_report().host)
    return Accuracy(torch.cat(cosines), torch.cat(eager), floats, host)


def cosine(found: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    return torch.cosine_similarity(found.double(), expected.double())


def time_launch(batch: Batch) -> tuple[list[float], float]:
    """
    CPU seconds of a warm launch in fp16, of eager fp32 and of eager fp16; seconds of
    the launch on the device.
    """
    half, exact = load_encoder(torch.float16), load_encoder(torch.float32)
    on_card: SentenceEncoder = load_encoder(torch.float16).to("spyre")
    compiled = torch.compile(on_card, backend="spyre_mlir")
    torch._dynamo.reset()
    ids, mask = (tensor.to("spyre") for tensor in batch)
    with torch.inference_mode(), launches() as made:
        kept = compiled(ids, mask)
        (launch,) = made
        seconds = interleaved(
            [launch.again, lambda: exact(*batch), lambda: half(*batch)]
        )
    assert bool(kept.cpu().isfinite().all())
    return seconds, launch.executable.total_picoseconds / 1e12


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--dtype", action="append", choices=tuple(DTYPES))
    flags = parser.parse_args()
    one_thread()
    texts = sentences()
    batches = [
        tokenize(texts[i : i + flags.batch]) for i in range(0, COUNT, flags.batch)
    ]
    lengths = torch.cat([mask.sum(1) for _, mask in batches])
    title = (
        f"MiniLM, {COUNT} sentences of {lengths.min()} to {lengths.max()} tokens, "
        f"batches of {flags.batch}, against eager fp32"
    )
    columns = (
        "dtype",
        "worst cosine",
        "bar",
        "eager's worst",
        "host ops",
        "host float",
    )
    bars = Bars(title, columns)
    for name in flags.dtype or DTYPES:
        found = measure(DTYPES[name], batches)
        worst = float(found.cosines.min())
        bars.add(
            name,
            f"{worst:.9f}",
            f"{LEAST_COSINE[name]}",
            f"{float(found.eager.min()):.9f}",
            str(found.host),
            str(len(found.host_floats)),
            ok=worst >= LEAST_COSINE[name] and not found.host_floats,
        )
    code = bars.finish()
    (launch, exact, half), device = time_launch(tokenize(texts))
    Console().print(
        f"warm launch of {COUNT} sentences in fp16: {launch:.3f} CPU s, eager fp32 "
        f"{exact:.3f} s, eager fp16 {half:.3f} s; {device * 1e3:.2f} ms on the device"
    )
    return code


if __name__ == "__main__":
    sys.exit(main())
