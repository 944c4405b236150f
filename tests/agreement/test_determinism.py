# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same program gives the same bytes; the same image the same bits and time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
import torch
from agreement.checks import Case, make_case
from agreement.choices import Recorded
from agreement.levels import CHIPS, Bench, compile_image
from agreement.values import bits

ROOT = Path(__file__).parents[2]


def case(number: int) -> Case:
    """A random module that uses the card's own chip."""
    return make_case(Recorded(random=Random(f"determinism {number}")))


def test_two_processes_write_the_same_images() -> None:
    """A small transformer, an encoder with repeated layers, random modules."""
    paths = [ROOT, ROOT / "runtime", ROOT / "tests" / "support"]
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
    }
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "agreement.images"],
            env={**environment, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("1", "77")
    ]
    first, second = (process.communicate()[0] for process in processes)
    assert [process.returncode for process in processes] == [0, 0]
    assert len(first.splitlines()) >= 10
    assert first == second


@pytest.mark.parametrize("number", range(6))
def test_an_image_run_twice(number: int) -> None:
    """Also after another one, and with NaN wherever it does not write."""
    one, other = case(number), case(number + 100)
    image = compile_image(one.module, CHIPS[0])
    unrelated = compile_image(other.module, CHIPS[0])
    bench = Bench()
    first = bench.run(image, one.arguments, poison=False)
    time = bench.picoseconds
    again = bench.run(image, one.arguments, poison=False)
    assert bench.picoseconds == time > 0
    bench.run(unrelated, other.arguments, poison=True)
    late = bench.run(image, one.arguments, poison=False)
    assert bench.picoseconds == time
    for a, b, c in zip(first, again, late, strict=True):
        assert torch.equal(bits(a), bits(b))
        assert torch.equal(bits(a), bits(c))
