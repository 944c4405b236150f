# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can be watched of a running pipeline: IR by pass, and time, all on stderr."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags that watch, spelled as `mlir-opt` spells them."""
    for moment in ("before", "after"):
        parser.add_argument(
            f"--mlir-print-ir-{moment}",
            default="",
            metavar="PASS[,PASS]",
            help=f"print the IR {moment} these passes, on stderr",
        )
        parser.add_argument(
            f"--mlir-print-ir-{moment}-all",
            action="store_true",
            help=f"print the IR {moment} each pass, on stderr",
        )
    parser.add_argument(
        "--mlir-print-ir-after-change",
        action="store_true",
        help="print the IR only after passes that change it, on stderr",
    )
    parser.add_argument(
        "--mlir-print-ir-after-failure",
        action="store_true",
        help="print the IR that a failing pass leaves, on stderr",
    )
    parser.add_argument(
        "--mlir-print-ir-tree-dir",
        default="",
        metavar="DIR",
        help="write the IR after each pass to DIR/NN_pass.mlir, and DIR/index.json",
    )
    parser.add_argument(
        "--mlir-pass-pipeline-crash-reproducer",
        default="",
        metavar="FILE",
        help="write the IR and the passes that fail on it",
    )
    parser.add_argument(
        "--mlir-pass-pipeline-local-reproducer",
        action="store_true",
        help="write the IR before the failing pass, and that pass alone",
    )
    parser.add_argument(
        "--mlir-timing", action="store_true", help="print time by pass, on stderr"
    )
    parser.add_argument(
        "--mlir-timing-display",
        choices=("table", "json"),
        default="table",
        help="how to print it",
    )


def named_passes(flags: argparse.Namespace) -> list[str]:
    """Passes that the flags name."""
    texts = (flags.mlir_print_ir_before, flags.mlir_print_ir_after)
    return [name for text in texts for name in text.split(",") if name]


@dataclass(frozen=True)
class Print:
    """How IR is printed."""

    generic: bool = False
    debuginfo: bool = False

    def __call__(self, module: ModuleOp) -> str:
        text = StringIO()
        Printer(
            stream=text,
            print_generic_format=self.generic,
            print_debuginfo=self.debuginfo,
        ).print_op(module)
        return text.getvalue() + "\n"


@dataclass
class Watch:
    """Prints and times the passes of one module, as the flags ask."""

    flags: argparse.Namespace
    print_ir: Print
    folder: Path | None = None
    seconds: list[tuple[str, float, float]] = field(default_factory=list)
    """Pass, its own time, time of the verifier after it."""
    _last: str = ""
    _index: list[dict[str, str | float]] = field(default_factory=list)

    def start(self, module: ModuleOp) -> None:
        if self.flags.mlir_print_ir_after_change:
            self._last = self.print_ir(module)
        self._write("input", module, 0.0)

    def before(self, name: str, module: ModuleOp) -> None:
        if self._asked("before", name):
            self._dump("before", name, self.print_ir(module))

    def after(self, name: str, module: ModuleOp) -> None:
        flags = self.flags
        self._write(name, module, self.seconds[-1][1])
        wanted = self._asked("after", name)
        if not flags.mlir_print_ir_after_change:
            if wanted:
                self._dump("after", name, self.print_ir(module))
            return
        text = self.print_ir(module)
        chosen = wanted or not (flags.mlir_print_ir_after or self._all("after"))
        if chosen and text != self._last:
            self._dump("after", name, text)
        self._last = text

    def failed(self, name: str, module: ModuleOp) -> None:
        if self.flags.mlir_print_ir_after_failure:
            self._dump("after failed", name, self.print_ir(module))

    @contextmanager
    def timed(self, name: str) -> Generator[None]:
        start = time.perf_counter()
        yield
        self.seconds.append((name, time.perf_counter() - start, 0.0))

    @contextmanager
    def timed_verifier(self) -> Generator[None]:
        start = time.perf_counter()
        yield
        name, own, _ = self.seconds[-1]
        self.seconds[-1] = (name, own, time.perf_counter() - start)

    def _all(self, moment: str) -> bool:
        return getattr(self.flags, f"mlir_print_ir_{moment}_all")

    def _asked(self, moment: str, name: str) -> bool:
        names = getattr(self.flags, f"mlir_print_ir_{moment}").split(",")
        return self._all(moment) or name in names

    def _dump(self, moment: str, name: str, text: str) -> None:
        sys.stderr.write(f"// ----- IR {moment} {name} -----\n{text}\n")

    def _write(self, name: str, module: ModuleOp, seconds: float) -> None:
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        file = f"{len(self._index):02}_{name}.mlir"
        (self.folder / file).write_text(self.print_ir(module), encoding="utf-8")
        self._index.append({"pass": name, "file": file, "seconds": seconds})
        text = json.dumps(self._index, indent=1)
        (self.folder / "index.json").write_text(text + "\n", encoding="utf-8")


def report_time(seconds: list[tuple[str, float, float]], display: str) -> None:
    """Prints time by pass on stderr."""
    total = sum(own + verifier for _, own, verifier in seconds)
    if display == "json":
        rows = [
            {"pass": name, "seconds": own, "verifier_seconds": verifier}
            for name, own, verifier in seconds
        ]
        json.dump({"passes": rows, "total_seconds": total}, sys.stderr, indent=1)
        sys.stderr.write("\n")
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("pass", title="time by pass", title_justify="left")
    for heading in ("ms", "verifier ms", "share"):
        table.add_column(heading, justify="right")
    for name, own, verifier in seconds:
        share = (own + verifier) / total if total else 0.0
        table.add_row(name, f"{1e3 * own:.2f}", f"{1e3 * verifier:.2f}", f"{share:.0%}")
    table.add_section()
    table.add_row("total", f"{1e3 * total:.2f}", "", "")
    Console(file=sys.stderr, width=None if sys.stderr.isatty() else 100).print(table)
