# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Gives every scratchpad buffer its address.

    %2 = spyre.map ...
becomes
    %2 = spyre.map ... {places = [#spyre.place<"lx", 0>, #spyre.place<"lx", 8192>]}

An operation's places are its result's tile, then the operands that it loads and its
partial sums, in the order of `analysis.kernel`. Runs after `plan-tiles`;
places that are decided stay, and the others go around them.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.dialects.builtin import ArrayAttr
from xdsl.passes import ModulePass

from spyre_mlir.analysis.groups import Group
from spyre_mlir.analysis.kernel import build_kernel
from spyre_mlir.analysis.legality import check_places, checked_groups
from spyre_mlir.analysis.placement import place_buffers
from spyre_mlir.dialects import spyre
from spyre_mlir.transforms._errors import refusals
from spyre_mlir.transforms._functions import chip_of, laid_out_functions


@dataclass(frozen=True)
class PlanPlacesPass(ModulePass):
    name = "spyre-plan-places"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        chip = chip_of(op)
        for function in laid_out_functions(op):
            with refusals():
                for group in checked_groups(function, chip, is_complete=False):
                    if any(o.places is None for o in group.ops):
                        _place(group)


def _place(group: Group) -> None:
    kernel = build_kernel(group.ops, group.inputs(), group.outputs())
    check_places(group, kernel)
    place_buffers(kernel.buffers)
    for position, member in enumerate(group.ops):
        own = [b for b in kernel.buffers if b.owner == position]
        if member.places is None:
            member.places = ArrayAttr(
                [spyre.PlaceAttr.of("lx", b.address) for b in own]
            )
