# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Numbers fusion groups: consecutive operations of which each core reads what it made,
whose values stay in the scratchpad, and which fit it together.

    %1 = spyre.reduce "max" %0 ...        {group = 0}
    %2 = spyre.map %0, %1 ...             {group = 0}

Runs after `plan-division`; leaves decisions that are there alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.passes import ModulePass

from spyre_mlir.analysis.clusters import clusters_of
from spyre_mlir.analysis.decisions import PlanFault
from spyre_mlir.analysis.groups import Group
from spyre_mlir.analysis.legality import checked_groups
from spyre_mlir.analysis.tiles import DoesNotFit, TilePlanner
from spyre_mlir.dialects import spyre
from spyre_mlir.target.chip import Chip
from spyre_mlir.transforms._errors import PassError, refusals
from spyre_mlir.transforms._functions import chip_of, laid_out_functions


@dataclass(frozen=True)
class PlanGroupsPass(ModulePass):
    name = "spyre-plan-groups"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        chip = chip_of(op)
        for function in laid_out_functions(op):
            taken = [
                o.group.value.data
                for o in function.walk()
                if isinstance(o, spyre.SpyreOp) and o.group is not None
            ]
            number = max(taken, default=-1) + 1
            with refusals():
                checked_groups(function, chip, is_complete=False)
                for cluster in clusters_of(function, chip.cores):
                    for run in _undecided(cluster.ops):
                        for ops in _fitting(run, chip):
                            for member in ops:
                                member.group = IntegerAttr(number, i64)
                            number += 1


def _undecided(ops: Sequence[spyre.SpyreOp]) -> Iterator[list[spyre.SpyreOp]]:
    """Runs without a group yet; what has loops or places already is alone."""
    run: list[spyre.SpyreOp] = []
    for op in ops:
        alone = op.tile is not None or op.places is not None
        if run and (alone or op.group is not None):
            yield run
            run = []
        if op.group is not None:
            continue
        if alone:
            yield [op]
        else:
            run.append(op)
    if run:
        yield run


def _fitting(
    ops: Sequence[spyre.SpyreOp], chip: Chip
) -> Iterator[Sequence[spyre.SpyreOp]]:
    """
    The run whole if each core reads what it made and it fits the scratchpad; else cut
    where it does not, or its halves.
    """
    try:
        TilePlanner(Group(tuple(ops)), chip).plan()
    except PlanFault as fault:
        start = list[spyre.SpyreOp | None](ops).index(fault.op)
        if not start:
            raise
        yield from _fitting(ops[:start], chip)
        yield from _fitting(ops[start:], chip)
        return
    except DoesNotFit as error:
        if len(ops) == 1:
            raise PassError(str(error), ops[0].location) from error
        middle = len(ops) // 2
        yield from _fitting(ops[:middle], chip)
        yield from _fitting(ops[middle:], chip)
        return
    yield ops
