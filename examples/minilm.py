# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Embeds sentences with MiniLM on the simulated card, beside eager PyTorch on the CPU.

    python examples/minilm.py [--dtype f16|f32] [--sentences FILE]

FILE has one sentence per line. All of the compiler and the card is behind the one
call of `torch.compile`; what is here besides prints what happened.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch
from rich import box
from rich.columns import Columns
from rich.console import Console
from rich.status import Status
from rich.table import Table
from sentence_encoder import MissingPackageError, load_encoder, tokenize

from spyre_mlir.tools.output import write_in_any_encoding
from spyre_mlir.torch_bridge.report import Report, last_report
from spyre_runtime.report import (
    operation_table,
    report_images,
    show_bytes,
    show_time,
    unit_table,
)
from spyre_runtime.short_names import short_name

LOG_COLUMNS = 110

SENTENCES = (
    "A man is eating food.",
    "Someone is having a meal.",
    "A woman plays the violin.",
    "The orchestra rehearses a symphony in the old concert hall.",
    "Two men pushed carts through the woods.",
    "The compiler divides each operation over the cores of the accelerator.",
    "Every kernel is split into tiles that fit the scratchpad.",
)
DTYPES = {"f16": torch.float16, "f32": torch.float32}
LONGEST_OPERATIONS = 14
MATRIX_SENTENCES = 7
"""Most sentences in the matrices; all are embedded."""


@dataclass
class Run:
    """Embeddings from the card and from the CPU, and how long each took."""

    card: torch.Tensor
    cpu: torch.Tensor
    report: Report
    seconds: dict[str, float]


class _Progress(logging.Handler):
    """Shows what the compiler and the machine say that they do."""

    def __init__(self, status: Status):
        super().__init__()
        self.status = status

    def emit(self, record: logging.LogRecord) -> None:
        step = "compiling" if record.name.startswith("spyre_mlir") else "binding"
        self.status.update(f"{step}: {record.getMessage()}")


@contextmanager
def progress(console: Console, text: str) -> Generator[None]:
    """A line that says what is going on, then how long it took."""
    begin = time.perf_counter()
    with console.status(text) as status:
        handler = _Progress(status)
        loggers = [logging.getLogger(n) for n in ("spyre_mlir", "spyre_runtime")]
        for logger in loggers:
            logger.addHandler(handler)
            logger.setLevel(logging.DEBUG)
        try:
            yield
        finally:
            for logger in loggers:
                logger.removeHandler(handler)
                logger.setLevel(logging.NOTSET)
    console.print(f"[green]✓[/] {text} [dim]{time.perf_counter() - begin:.1f} s[/]")


def timed(
    seconds: dict[str, float], name: str, run: Callable[[], torch.Tensor]
) -> torch.Tensor:
    begin = time.perf_counter()
    result = run()
    seconds[name] = time.perf_counter() - begin
    return result


def embed(console: Console, sentences: Sequence[str], dtype: torch.dtype) -> Run:
    """Runs the model on the card, twice, and on the CPU in fp32."""
    seconds: dict[str, float] = {}
    with progress(console, "loading the model"):
        ids, mask = tokenize(sentences)
        model = load_encoder(dtype)
        reference = load_encoder(torch.float32)
    compiled = torch.compile(model, backend="spyre_mlir")
    with torch.inference_mode():
        with progress(console, "compiling, binding and running on the card"):
            timed(seconds, "first call", lambda: compiled(ids, mask))
        with progress(console, "running on the card again"):
            card = timed(seconds, "second call", lambda: compiled(ids, mask))
        with progress(console, "running on the CPU"):
            reference(ids, mask)
            cpu = timed(seconds, "eager", lambda: reference(ids, mask))
    return Run(card.float(), cpu, last_report(), seconds)


def similarity_table(title: str, embeddings: torch.Tensor) -> Table:
    """Cosine of each pair; the embeddings have unit length."""
    embeddings = embeddings[:MATRIX_SENTENCES]
    table = Table(title=title, box=None, padding=(0, 0, 0, 1))
    table.add_column("", no_wrap=True)
    for column in range(len(embeddings)):
        table.add_column(str(column), justify="right", no_wrap=True)
    rows = cast(list[list[float]], (embeddings @ embeddings.T).tolist())
    for number, row in enumerate(rows):
        table.add_row(f"[bold]{number}[/]", *(_shaded(cosine) for cosine in row))
    return table


def _shaded(cosine: float) -> str:
    style = "bold green" if cosine > 0.5 else "" if cosine > 0.2 else "dim"
    return f"[{style}]{cosine:.3f}[/]" if style else f"{cosine:.3f}"


def show_embeddings(console: Console, run: Run, sentences: Sequence[str]) -> None:
    console.print()
    for number, sentence in enumerate(sentences[:MATRIX_SENTENCES]):
        console.print(f"[bold]{number}[/] {sentence}")
    tables = [
        similarity_table("similarity, on the card", run.card),
        similarity_table("eager PyTorch, CPU, fp32", run.cpu),
    ]
    console.print(Columns(tables, padding=(1, 4)))
    cosines = torch.cosine_similarity(run.card, run.cpu)
    apart = (run.card @ run.card.T - run.cpu @ run.cpu.T).abs().max()
    console.print(
        f"worst cosine of an embedding with its CPU twin {cosines.min():.7f}, "
        f"similarities differ by at most {apart:.1e}\n"
    )


def show_places(console: Console, report: Report) -> None:
    """What ran where."""
    table = Table(title="what ran where", box=box.SIMPLE_HEAD)
    table.add_column("where")
    table.add_column("operations", justify="right")
    table.add_column("which")
    kinds = [
        f"{name.partition('.')[0]} x{count}"
        for name, count in report.card.most_common()
    ]
    table.add_row("card", str(report.card.total()), ", ".join(kinds))
    host = "\n".join(report.fallbacks()) or "none"
    table.add_row("host", str(len(report.host)), host)
    console.print(table)
    console.print(f"between host and card: {report.traffic}\n")


def show_device(console: Console, report: Report) -> None:
    """Simulated time, traffic and units, then what that rests on."""
    images = report.loaded
    device = report_images([i.timing for i in images], images[0].card.chip, short_name)
    console.print(operation_table(device, LONGEST_OPERATIONS))
    console.print(unit_table(device))
    console.print(
        f"device {show_time(device.total_ps)} in {device.calls} calls of "
        f"{device.programs} programs, DRAM {show_bytes(device.dram_read_bytes)} read, "
        f"{show_bytes(device.dram_write_bytes)} written, matrix array "
        f"{device.pt_utilisation:.1%} of its peak"
    )
    console.print(
        f"host {show_time(device.host_launch_ps)} per launch on a real machine, "
        "not counted above"
    )


def show_seconds(console: Console, run: Run) -> None:
    seconds = run.seconds
    console.print(
        f"wall time on this machine: first call {seconds['first call']:.1f} s, of it "
        f"{run.report.compile_seconds:.1f} s in our compiler; second call "
        f"{seconds['second call']:.2f} s; eager CPU fp32 {seconds['eager']:.2f} s"
    )


def show(console: Console, run: Run, sentences: Sequence[str]) -> None:
    show_embeddings(console, run, sentences)
    show_places(console, run.report)
    show_device(console, run.report)
    show_seconds(console, run)
    chip = run.report.loaded[0].card.chip
    console.print(
        f"[dim]{chip.name}: {run.report.device.footer} "
        "(docs/generated/chips.md has every one with its source)[/]"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    write_in_any_encoding()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dtype", choices=tuple(DTYPES), default="f16")
    parser.add_argument("--sentences", type=Path, metavar="FILE")
    flags = parser.parse_args(arguments)
    sentences: Sequence[str] = SENTENCES
    if flags.sentences is not None:
        lines = flags.sentences.read_text(encoding="utf-8").splitlines()
        sentences = [line.strip() for line in lines if line.strip()]
        if not sentences:
            parser.error(f"{flags.sentences} has no sentences")
    console = Console()
    if not console.is_terminal:  # a file or a pipe has no width of its own
        console = Console(width=LOG_COLUMNS)
    try:
        run = embed(console, sentences, DTYPES[flags.dtype])
    except MissingPackageError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    show(console, run, sentences)
    if run.report.host_floats:
        listed = ", ".join(op.op for op in run.report.host_floats)
        sys.stderr.write(f"error: floating-point operations on the host: {listed}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
