# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Changed images with a right checksum: each is refused, or ends within the budget and
changes no byte outside of its own buffers.

    benchmarks/hostile_images.py --count 10000
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

from _common import ROOT, Bars

sys.path.append(str(ROOT / "tests" / "support"))

from hostile.corpus import corpus
from hostile.mutate import mutated
from hostile.trial import tried


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--save", type=Path, help="folder for the bad ones")
    flags = parser.parse_args(arguments)
    images = corpus()

    def changed(number: int) -> bytes:
        random = Random(f"hostile {number}")
        return mutated(random.choice(images), random)

    kinds: Counter[str] = Counter()
    slowest = largest = 0.0
    for number, verdict in tried(lambda k: images[k], range(len(images))):
        if verdict.kind != "ran":
            kinds["bad"] += 1
            sys.stdout.write(f"unchanged image {number}: {verdict.text}\n")
    last = flags.first + flags.count
    for number, verdict in tried(changed, range(flags.first, last)):
        kinds[verdict.kind] += 1
        slowest = max(slowest, verdict.seconds)
        largest = max(largest, verdict.bytes)
        if verdict.kind == "bad":
            sys.stdout.write(f"{number}: {verdict.text}\n")
            if flags.save:
                flags.save.mkdir(parents=True, exist_ok=True)
                (flags.save / f"{number}.spyre").write_bytes(changed(number))
    bars = Bars("changed images", ("what", "count"))
    for kind in ("refused", "error", "ran"):
        bars.add(kind, str(kinds[kind]))
    bars.add("bad", str(kinds["bad"]), ok=not kinds["bad"])
    bars.add("most processor time", f"{slowest:.2f} s")
    bars.add("most memory", f"{largest / 2**20:.0f} MiB")
    return bars.finish()


if __name__ == "__main__":
    sys.exit(main())
