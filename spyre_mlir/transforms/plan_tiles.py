# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Chooses each group's loops and buffer depth.

    %2 = spyre.matmul ...
becomes
    %2 = spyre.matmul ... {tile = #spyre.tile<[array<i64: 2, 4>], 2 : i64>}

Runs after `plan-groups`; a group in which some tile is decided is left alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.passes import ModulePass

from spyre_mlir.analysis.groups import groups_of, with_tiles
from spyre_mlir.analysis.tiles import DoesNotFit, TilePlanner
from spyre_mlir.transforms._errors import PassError
from spyre_mlir.transforms._functions import chip_of, laid_out_functions


@dataclass(frozen=True)
class PlanTilesPass(ModulePass):
    name = "spyre-plan-tiles"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        chip = chip_of(op)
        for function in laid_out_functions(op):
            for group in groups_of(function):
                if any(o.tile is not None for o in group.ops):
                    continue
                try:
                    tiles = TilePlanner(group, chip).plan()
                except DoesNotFit as error:
                    raise PassError(str(error), group.ops[0].location) from error
                with_tiles(group.ops, tiles)
