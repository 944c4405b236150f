# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Draws random plans until so many were accepted; each must compute the right values.

    python benchmarks/random_plans.py --count 5000 --seed 1

Planners' own decisions, legal plans, and parts and edits of them. A legal plan or a
planner's may be refused for want of scratchpad or span alone. Prints how many plans
were accepted and why others were not; the exit code is 1 after the first wrong one.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from pathlib import Path
from random import Random

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import torch
from agreement import plans
from agreement.choices import Recorded
from random_graphs import FINDINGS

PLANS_PER_MODULE = 3
"""Of each kind but the planners' own, of which there is one."""


def check_module(seed: str) -> str | None:
    """Checks plans of one random module; what failed, or None."""
    case = plans.make_unplanned(Recorded(random=Random(seed)))
    for mode in plans.MODES:
        for turn in range(1 if mode == "planner" else PLANS_PER_MODULE):
            choices = Recorded(random=Random(f"{seed}/{mode}/{turn}"))
            try:
                plans.check_plan(case, choices, mode)
            except FINDINGS:
                return f"{seed}, {mode} {turn}:\n{traceback.format_exc()}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").strip().splitlines()[0]
    )
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of a module")
    parser.add_argument("--all", action="store_true", help="go on after a failure")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    begin = time.monotonic()
    number, failed = arguments.first, 0
    while plans.COUNTS["accepted and right"] < arguments.count:
        failure = check_module(f"{arguments.seed}/{number}")
        if failure is not None:
            print(f"module {failure}", flush=True)
            failed += 1
            if not arguments.all:
                break
        number += 1
    for name, count in sorted(plans.REFUSED.items(), key=lambda item: -item[1]):
        print(f"{count:8d}  refused, {name}")
    for name, count in sorted(plans.COUNTS.items()):
        print(f"{count:8d}  {name}")
    seconds = time.monotonic() - begin
    print(f"{failed:8d}  wrong or crashed, {number} modules in {seconds:.0f} s")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
