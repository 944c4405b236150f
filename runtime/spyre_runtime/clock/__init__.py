# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
How long a program takes on a chip.

The clock walks the streams that the engine executes and needs no data. One core, the
one with most to do, stands for all; the bytes of all cores go through the one DRAM
channel. Times are integer picoseconds, and the same in every run.
"""

from .machine import DeadlockError, time_program
from .timing import ImageTiming, RecordTime, Timing, UnitTime, time_image

__all__ = [
    "DeadlockError",
    "ImageTiming",
    "RecordTime",
    "Timing",
    "UnitTime",
    "time_image",
    "time_program",
]
