# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Chooses each group's loops and buffer depth.

    %2 = spyre.matmul ...
becomes
    %2 = spyre.matmul ... {tile = #spyre.tile<[array<i64: 2, 4>], 2 : i64>}

Runs after `plan-groups`. A tile that is decided says the shared loops of its group.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.passes import ModulePass

from spyre_mlir.analysis.groups import Group, with_tiles
from spyre_mlir.analysis.legality import checked_groups
from spyre_mlir.analysis.tiles import DoesNotFit, TilePlanner
from spyre_mlir.dialects import spyre
from spyre_mlir.target.chip import Chip
from spyre_mlir.transforms._errors import PassError, refusals
from spyre_mlir.transforms._functions import chip_of, laid_out_functions


@dataclass(frozen=True)
class PlanTilesPass(ModulePass):
    name = "spyre-plan-tiles"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        chip = chip_of(op)
        for function in laid_out_functions(op):
            with refusals():
                for group in checked_groups(function, chip, is_complete=False):
                    if any(o.tile is None for o in group.ops):
                        with_tiles(group.ops, _tiles(group, chip))


def _tiles(group: Group, chip: Chip) -> list[spyre.TileAttr | None]:
    try:
        return TilePlanner(group, chip).plan()
    except DoesNotFit as error:
        raise PassError(str(error), group.ops[0].location) from error
