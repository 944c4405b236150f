# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportPrivateUsage=false
"""
Compiled matmuls on the clock against published times of the real card.

    python benchmarks/card_times.py [--most-rms 0.15]

Each product goes through the whole compiler, which chooses division, tiles and layouts
by itself; the clock walks the programs that come out. Nothing is executed. The
published times are those of the best division that their author forced. The rows and
where they come from are in `tests/data/card_measurements.toml`; two of them were used
to choose parameters of the chip, and are left out of the second figure.
"""

from __future__ import annotations

import argparse
import math
import sys
import tomllib
from dataclasses import dataclass

import torch
from _common import ROOT, Bars, launches, one_thread
from rich.console import Console

from spyre_mlir.target.chips import load_chip

MEASUREMENTS = ROOT / "tests" / "data" / "card_measurements.toml"


@dataclass(frozen=True)
class Row:
    """A product, the published division and time, and what the model says."""

    op: str
    sizes: tuple[int, int, int, int]
    split: tuple[int, ...]
    card_us: float
    is_fit: bool
    grid: tuple[int, ...]
    model_us: float

    @property
    def ratio(self) -> float:
        return self.model_us / self.card_us


def compile_and_time(sizes: tuple[int, int, int, int]) -> tuple[float, tuple[int, ...]]:
    """Microseconds on the device, and the division of the (largest) program."""
    b, m, n, k = sizes
    shapes = [(m, k), (k, n)] if b == 1 else [(b, m, k), (b, k, n)]
    left, right = (torch.zeros(shape, dtype=torch.float16) for shape in shapes)
    torch._dynamo.reset()
    compiled = torch.compile(torch.matmul, backend="spyre_mlir", dynamic=False)
    with torch.no_grad(), launches(run=False) as made:
        compiled(left, right)
    (launch,) = made
    programs = launch.executable.timing.programs
    times = [timing.total_ps if timing else 0 for timing in programs]
    longest = times.index(max(times))
    grid = launch.executable.image.programs[longest].grid_data
    return launch.executable.total_picoseconds / 1e6, tuple(grid)


def rms(rows: list[Row]) -> float:
    """Root mean square of the relative errors."""
    return math.sqrt(sum((row.ratio - 1) ** 2 for row in rows) / len(rows))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--most-rms", type=float, default=0.15)
    flags = parser.parse_args()
    one_thread()
    data = tomllib.loads(MEASUREMENTS.read_text(encoding="utf-8"))["matmul"]
    rows: list[Row] = []
    for given in data["rows"]:
        sizes = tuple(given["sizes"])
        model_us, grid = compile_and_time(sizes)
        split = tuple(given["split"])
        row = Row(given["op"], sizes, split, given["us"], given["fit"], grid, model_us)
        rows.append(row)
    columns = ("product", "b m n k", "its split", "our grid", "card us", "model us")
    bars = Bars(
        "published times against the clock on compiled programs", (*columns, "ratio")
    )
    for row in rows:
        bars.add(
            row.op + (" (fit)" if row.is_fit else ""),
            " ".join(map(str, row.sizes)),
            " ".join(map(str, row.split)),
            " ".join(map(str, row.grid)),
            f"{row.card_us:.1f}",
            f"{row.model_us:.1f}",
            f"{row.ratio:.2f}",
        )
    total = rms(rows)
    blanks = [""] * 5
    bars.add("RMS error", *blanks, f"{total:.1%}", ok=total <= flags.most_rms)
    judged = [row for row in rows if not row.is_fit]
    bars.add("RMS without fit rows", *blanks, f"{rms(judged):.1%}")
    code = bars.finish()
    provenance = load_chip().provenance()
    Console().print(
        f"card: {data['source']}\n"
        f"model: chip numbers {', '.join(f'{n} {k}' for k, n in provenance.items())}"
    )
    return code


if __name__ == "__main__":
    sys.exit(main())
