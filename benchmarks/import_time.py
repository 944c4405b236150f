# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
What the installed project adds to `import torch`.

    python benchmarks/import_time.py [--runs 9]

Fresh interpreters import torch in turn with the project's entry point and with it
hidden, as if the project were not there; medians of their CPU seconds are compared.
The project must be installed, or there is nothing to measure.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from importlib.metadata import entry_points
from statistics import median

from _common import Bars

MOST_MILLISECONDS = 50.0
HIDE = """\
import importlib.metadata as metadata
found = metadata.entry_points
def entry_points(**selection):
    return metadata.EntryPoints(e for e in found(**selection) if e.name != "spyre")
metadata.entry_points = entry_points
"""
IMPORT = """\
import time, importlib.metadata
begin = time.perf_counter(), time.process_time()
import torch
print(time.perf_counter() - begin[0], time.process_time() - begin[1])
print(hasattr(torch, "spyre"))
"""


def import_once(is_hidden: bool) -> tuple[float, float, bool]:
    """Wall and CPU seconds of `import torch`, and whether the device is known."""
    code = HIDE + IMPORT if is_hidden else IMPORT
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    wall, cpu, known = done.stdout.split()
    return float(wall), float(cpu), known == "True"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=9)
    flags = parser.parse_args()
    if not entry_points(group="torch.backends", name="spyre"):
        sys.stderr.write("the project is not installed: pip install -e .\n")
        return 1
    for is_hidden in (True, False):  # files into the cache
        import_once(is_hidden)
    runs = [(import_once(False), import_once(True)) for _ in range(flags.runs)]
    if not all(with_[2] and not without[2] for with_, without in runs):
        sys.stderr.write("the device was not loaded: SPYRE_AUTOLOAD=verbose says why\n")
        return 1
    bars = Bars(
        f"import torch, medians of {flags.runs}, milliseconds",
        ("time", "with", "without", "difference", "bar"),
    )
    for name, place in (("wall", 0), ("CPU", 1)):
        with_, without = (1e3 * median(run[s][place] for run in runs) for s in (0, 1))
        more = with_ - without
        is_judged = name == "CPU"
        bars.add(
            name,
            f"{with_:.0f}",
            f"{without:.0f}",
            f"{more:+.1f}",
            f"{MOST_MILLISECONDS:.0f}" if is_judged else "",
            ok=more <= MOST_MILLISECONDS if is_judged else None,
        )
    return bars.finish()


if __name__ == "__main__":
    sys.exit(main())
