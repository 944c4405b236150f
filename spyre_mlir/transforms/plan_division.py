# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Divides each operation's iteration space over the cores.

    %2 = spyre.matmul %0, %1 ...
becomes
    %2 = spyre.matmul %0, %1 {division = #spyre.division<8, 4, 1; 0, 1, 2>, ...}

Operations that may be fused get the same division, as do those of a group that is
decided. Runs on decided layouts; leaves decisions that are there alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.passes import ModulePass

from spyre_mlir.analysis.clusters import Cluster, clusters_of
from spyre_mlir.analysis.division import NoDivision, divide, divide_like
from spyre_mlir.analysis.legality import checked_groups
from spyre_mlir.dialects import spyre
from spyre_mlir.target.chip import Chip
from spyre_mlir.transforms._errors import PassError, refusals
from spyre_mlir.transforms._functions import chip_of, laid_out_functions


@dataclass(frozen=True)
class PlanDivisionPass(ModulePass):
    name = "spyre-plan-division"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        chip = chip_of(op)
        for function in laid_out_functions(op):
            with refusals():
                checked_groups(function, chip, is_complete=False)
                for cluster in clusters_of(function, chip.cores):
                    _divide(cluster, chip)


def _divide(cluster: Cluster, chip: Chip) -> None:
    if all(op.division is not None for op in cluster.ops):
        return
    given = [p for p, op in enumerate(cluster.ops) if op.division is not None]
    if given and cluster.ops[0].group is None:
        # A decision inside the cluster: each operation on its own around it.
        for op in cluster.ops:
            _divide(Cluster().joined(op), chip)
        return
    try:
        divisions = divide_like(cluster, given[0]) if given else divide(cluster, chip)
    except NoDivision as error:
        raise PassError(str(error), cluster.ops[0].location) from error
    for op, division in zip(cluster.ops, divisions, strict=True):
        if op.division is None:
            op.division = spyre.DivisionAttr.of(division.parts, division.order)
