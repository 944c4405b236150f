# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Checks the decisions of each group together, and changes nothing.

Against the chip: cores, uneven digits, spans, trips, scratchpad bytes, buffers that
overlap while both are in use. Against each other: a group is one run of operations
with one grid and one nest of shared loops, and what a member reads in the scratchpad
is what the same core made in the same trip. What passes computes the same as the
module without a plan, but for the order of sums.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.passes import ModulePass

from spyre_mlir.analysis.kernel import build_kernel
from spyre_mlir.analysis.legality import (
    check_buffers,
    check_places,
    check_ways,
    checked_groups,
)
from spyre_mlir.transforms._errors import refusals
from spyre_mlir.transforms._functions import chip_of, laid_out_functions


@dataclass(frozen=True)
class CheckPlanPass(ModulePass):
    name = "spyre-check-plan"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        chip = chip_of(op)
        for function in laid_out_functions(op):
            with refusals():
                for group in checked_groups(function, chip):
                    check_ways(group)
                    kernel = build_kernel(group.ops, group.inputs(), group.outputs())
                    check_places(group, kernel)
                    check_buffers(group, kernel, chip)
