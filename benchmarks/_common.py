# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportUnusedImport=false
"""What the benchmarks share: bars, tables, and a look at what is launched."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import torch
from rich import box
from rich.console import Console
from rich.table import Table

import spyre_mlir.torch_bridge.register  # noqa: F401 - the backend, installed or not
from spyre_runtime.autoload import autoload
from spyre_runtime.loader import Executable

if not hasattr(torch, "spyre"):
    autoload()  # the device, where the project is not installed

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "examples"))


@dataclass
class Bars:
    """A table of figures, some of which must not pass a bar."""

    title: str
    columns: Sequence[str]
    rows: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    missed: list[str] = field(default_factory=list[str])

    def add(self, *cells: str, ok: bool | None = None) -> None:
        """A row; `ok` says whether its bar is reached, None that it has none."""
        verdict = {None: "", True: "[green]ok[/]", False: "[bold red]missed[/]"}[ok]
        self.rows.append((*cells, verdict))
        if ok is False:
            self.missed.append(cells[0])

    def finish(self) -> int:
        """Prints the table; the exit code of the benchmark."""
        table = Table(title=self.title, box=box.SIMPLE_HEAD)
        for number, name in enumerate((*self.columns, "")):
            table.add_column(name, justify="right" if number else "left")
        for row in self.rows:
            table.add_row(*row)
        Console().print(table)
        for name in self.missed:
            sys.stderr.write(f"missed: {name}\n")
        return 1 if self.missed else 0


@dataclass
class Launch:
    """An image and the card addresses that it ran on."""

    executable: Executable
    arguments: tuple[int, ...]
    results: tuple[int, ...]

    def again(self) -> None:
        self.executable.launch(self.arguments, self.results)


@contextmanager
def launches(run: bool = True) -> Generator[list[Launch]]:
    """The launches inside, in order; with `run` false none takes place."""
    found: list[Launch] = []
    original = Executable.launch

    def launch(
        self: Executable, arguments: Sequence[int], results: Sequence[int]
    ) -> None:
        found.append(Launch(self, tuple(arguments), tuple(results)))
        if run:
            original(self, arguments, results)

    Executable.launch = launch
    try:
        yield found
    finally:
        Executable.launch = original


class PhaseTimes(logging.Handler):
    """Milliseconds that the compiler says its phases took, by name."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.milliseconds: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        match record.args:
            case (str(name), float(milliseconds)):
                self.milliseconds[name] = (
                    self.milliseconds.get(name, 0.0) + milliseconds
                )
            case _:
                pass

    @contextmanager
    def listening(self) -> Generator[None]:
        logger = logging.getLogger("spyre_mlir")
        level = logger.level
        logger.addHandler(self)
        logger.setLevel(logging.DEBUG)
        try:
            yield
        finally:
            logger.removeHandler(self)
            logger.setLevel(level)


def interleaved(
    functions: Sequence[Callable[[], object]], runs: int = 5
) -> list[float]:
    """
    Median CPU seconds of each function. They take turns, after one run of each that
    does not count.
    """
    times: list[list[float]] = [[] for _ in functions]
    for turn in range(runs + 1):
        for function, own in zip(functions, times, strict=True):
            begin = time.process_time()
            function()
            if turn:
                own.append(time.process_time() - begin)
    return [median(own) for own in times]


def one_thread() -> None:
    """PyTorch, and NumPy where OMP_NUM_THREADS was heeded, on one thread."""
    torch.set_num_threads(1)
