# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportPrivateUsage=false
"""
Seconds inside the compiler's callback: MiniLM, and BERT with 40 layers against 6.

    python benchmarks/compile_time.py [--only minilm|layers]

Dynamo's and AOTAutograd's own time is left out; CPU seconds are judged, since other
work on the machine would add to wall time. The BERTs have MiniLM's widths and random
weights. A model with more layers must not have more distinct programs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from _common import Bars, PhaseTimes, launches, one_thread
from rich.console import Console
from rich.table import Table
from sentence_encoder import SentenceEncoder, load_encoder, tokenize

from spyre_mlir.torch_bridge import backend
from spyre_mlir.torch_bridge.program import Program

MOST_SECONDS = 5.0
FEW, MANY = 6, 40
MOST_SECONDS_PER_LAYER = 0.030
TURNS = 3
"""Compiles of each BERT, in turn; the quickest counts, as other work only adds."""
SENTENCES = (
    "A man is eating food.",
    "A woman plays the violin.",
    "The compiler divides each operation over the cores of the accelerator.",
    "Every kernel is split into tiles that fit the scratchpad.",
)


@dataclass
class Compilation:
    """What one compile took."""

    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    programs: int = 0
    calls: int = 0
    phases: dict[str, float] = field(default_factory=dict[str, float])


def compile_once(make: Callable[[], SentenceEncoder]) -> Compilation:
    """Compiles a model for four sentences; nothing is launched."""
    found = Compilation()
    phases = PhaseTimes()

    class TimedProgram(Program):
        def __init__(self, *arguments: Any):
            cpu, wall = time.process_time(), time.perf_counter()
            super().__init__(*arguments)
            found.cpu_seconds += time.process_time() - cpu
            found.wall_seconds += time.perf_counter() - wall

    torch._dynamo.reset()
    model = make()
    ids, mask = tokenize(SENTENCES)
    backend.Program = TimedProgram
    try:
        with torch.inference_mode(), phases.listening(), launches(run=False) as made:
            torch.compile(model, backend="spyre_mlir")(ids, mask)
    finally:
        backend.Program = Program
    images = [launch.executable.image for launch in made]
    found.programs = sum(len(image.programs) for image in images)
    found.calls = sum(len(image.calls) for image in images)
    found.phases = phases.milliseconds
    return found


def random_bert(layers: int) -> SentenceEncoder:
    """A BERT of MiniLM's widths."""
    from transformers import BertConfig, BertModel

    config = BertConfig(
        hidden_size=384,
        intermediate_size=1536,
        num_attention_heads=12,
        num_hidden_layers=layers,
        vocab_size=30522,
    )
    torch.manual_seed(0)
    return SentenceEncoder(BertModel(config).half()).eval()


def minilm(bars: Bars) -> None:
    # The first compile of a process also imports the compiler: both are shown.
    measured: dict[str, Compilation] = {}
    for name in ("MiniLM, first in the process", "MiniLM, again"):
        found = compile_once(lambda: load_encoder(torch.float16))
        bars.add(
            *cells(name, found, MOST_SECONDS), ok=found.cpu_seconds <= MOST_SECONDS
        )
        measured[name] = found
    show_phases(measured)


def layers(bars: Bars) -> None:
    compile_once(lambda: random_bert(2))  # imports, and first uses of everything
    turns = [
        [compile_once(lambda n=n: random_bert(n)) for n in (FEW, MANY)]
        for _ in range(TURNS)
    ]
    few, many = (
        min((turn[k] for turn in turns), key=lambda c: c.cpu_seconds) for k in (0, 1)
    )
    bars.add(*cells(f"BERT, {FEW} layers", few))
    limit = few.cpu_seconds + MOST_SECONDS_PER_LAYER * (MANY - FEW)
    is_quick = many.cpu_seconds <= limit
    is_shared = many.programs == few.programs
    bars.add(*cells(f"BERT, {MANY} layers", many, limit), ok=is_quick and is_shared)
    show_phases({f"{FEW} layers": few, f"{MANY} layers": many})


def cells(name: str, found: Compilation, limit: float | None = None) -> tuple[str, ...]:
    return (
        name,
        f"{found.cpu_seconds:.2f}",
        f"{limit:.2f}" if limit else "",
        f"{found.wall_seconds:.2f}",
        str(found.programs),
        str(found.calls),
    )


def show_phases(measured: dict[str, Compilation]) -> None:
    """Wall time by phase, the longest of the last compile first."""
    table = Table(title="milliseconds by phase, wall time", box=None)
    table.add_column("phase")
    for name in measured:
        table.add_column(name, justify="right")
    *_, last = measured.values()
    for phase in sorted(last.phases, key=lambda name: -last.phases[name]):
        times = [found.phases.get(phase, 0.0) for found in measured.values()]
        table.add_row(phase, *(f"{time:.0f}" for time in times))
    Console().print(table)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=("minilm", "layers"))
    flags = parser.parse_args()
    one_thread()
    columns = ("model", "CPU s", "bar", "wall s", "programs", "calls")
    bars = Bars("seconds inside the compiler's callback", columns)
    for name, run in (("minilm", minilm), ("layers", layers)):
        if flags.only in (None, name):
            run(bars)
    return bars.finish()


if __name__ == "__main__":
    sys.exit(main())
