# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Checks that the units of every program can run to the end of their streams, and that
each semaphore ends as it began. It changes nothing.

    deadlock in program "k0"
    load waits at dev.transfer (model.py:3) for semaphore 1, which dev.matmul signals
    pt waits at dev.matmul (model.py:3) for semaphore 0, which dev.transfer signals

Runs on the `dev` level, last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.passes import ModulePass

from spyre_mlir.analysis.progress import Imbalance, Progress, Waiting
from spyre_mlir.dialects import dev
from spyre_mlir.transforms._errors import PassError, user_location


@dataclass(frozen=True)
class CheckDeadlockPass(ModulePass):
    name = "spyre-check-deadlock"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        for program in op.ops:
            if isinstance(program, dev.ProgramOp):
                _check(program)


def _check(program: dev.ProgramOp) -> None:
    name = program.sym_name.data
    progress = Progress(program)
    try:
        waiting = progress.deadlock()
    except ValueError as error:
        raise PassError(str(error), program.location) from error
    if waiting:
        lines = [f'deadlock in program "{name}"', *map(_wait_line, waiting)]
        raise PassError("\n".join(lines), waiting[0].record.location)
    wrong = progress.imbalances()
    if wrong:
        lines = [f'semaphores of program "{name}" are out of balance']
        lines += map(_balance_line, wrong)
        raise PassError("\n".join(lines), wrong[0].records[0].location)


def _wait_line(waiting: Waiting) -> str:
    what = f"for semaphore {waiting.wait.semaphore}"
    by = _named(waiting.signallers)
    signals = f"which {by} signals" if by else "which nothing signals"
    return f"{waiting.unit} waits at {_named([waiting.record])} {what}, {signals}"


def _balance_line(wrong: Imbalance) -> str:
    return (
        f"semaphore {wrong.semaphore} is signalled {wrong.signals} times and waited "
        f"for {wrong.waits} times, by {_named(wrong.records)}"
    )


def _named(records: Sequence[dev.RecordOp]) -> str:
    """`dev.matmul (model.py:3)`, joined by commas."""
    names: list[str] = []
    for record in records:
        where = user_location(record.location)
        names.append(f"{record.name} ({where})" if where else record.name)
    return ", ".join(names)
