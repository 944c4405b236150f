# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Runs random programs on all levels until the time is over or two of them disagree.

    python benchmarks/random_graphs.py --minutes 5 --seed 1

Half of the time goes to modules of the `spyre` dialect: interpreter, `ktdp` and card
must give the same bits. The other half goes to torch functions, compiled and eager.
The first failure is shrunk and printed; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import torch
from agreement import checks, function_checks
from agreement.choices import Choices, Recorded, shrunk

Make = Callable[[Choices], Any]
Check = Callable[[Any], None]
KINDS: dict[str, tuple[Make, Check]] = {
    "card": (checks.make_case, checks.check_card),
    "functions": (function_checks.make_function, function_checks.check_function),
    "ktdp": (checks.make_case, checks.check_ktdp),
    "passes": (checks.make_case, checks.check_passes),
}
SHRINK_SECONDS = 120


def failure(kind: str, choices: Recorded) -> tuple[str, BaseException | None]:
    """What a row of choices makes, and what is wrong with it."""
    make, check = KINDS[kind]
    case = make(choices)
    try:
        check(case)
    # Any error at all is a finding.
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return repr(case), error
    return repr(case), None


def report(kind: str, row: list[int], seconds: float) -> None:
    """Prints the simplest program that fails in the same way."""
    _, first = failure(kind, Recorded(row))

    def fails(choices: Recorded) -> bool:
        return type(failure(kind, choices)[1]) is type(first)

    smaller = shrunk(row, fails, seconds)
    case, error = failure(kind, Recorded(smaller))
    print(f"{kind} disagree:\n{case}")
    if error is not None:
        traceback.print_exception(error, limit=-4, file=sys.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").strip().splitlines()[0]
    )
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=KINDS, action="append")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    faulthandler.register(signal.SIGUSR1)
    kinds = arguments.kind or [*KINDS]
    end = time.monotonic() + 60 * arguments.minutes
    spent = dict.fromkeys(kinds, 0.0)
    count = 0
    while (begin := time.monotonic()) < end:
        kind = min(spent, key=lambda k: spent[k])
        choices = Recorded(random=Random(f"{arguments.seed}/{count}"))
        _, error = failure(kind, choices)
        if error is not None:
            print(f"program {count} of seed {arguments.seed} fails; shrinking it")
            report(kind, choices.made, SHRINK_SECONDS)
            return 1
        spent[kind] += time.monotonic() - begin
        count += 1
    for name, number in (checks.COUNTS + function_checks.COUNTS).items():
        print(f"{number:8d}  {name}")
    print(f"{count:8d}  programs in {arguments.minutes:g} minutes, all agree")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
