# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Gives every scratchpad buffer its address.

    %2 = spyre.map ...
becomes
    %2 = spyre.map ... {places = [#spyre.place<"lx", 0>, #spyre.place<"lx", 8192>]}

An operation's places are its result's tile, then the operands that it loads and its
partial sums, in the order of `analysis.kernel`. Runs after `plan-tiles`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.dialects.builtin import ArrayAttr
from xdsl.passes import ModulePass

from spyre_mlir.analysis.groups import groups_of
from spyre_mlir.analysis.kernel import build_kernel
from spyre_mlir.analysis.placement import place_buffers
from spyre_mlir.dialects import spyre
from spyre_mlir.transforms._functions import laid_out_functions


@dataclass(frozen=True)
class PlanPlacesPass(ModulePass):
    name = "spyre-plan-places"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        for function in laid_out_functions(op):
            for group in groups_of(function):
                if any(o.places is not None for o in group.ops):
                    continue
                kernel = build_kernel(group.ops, group.inputs(), group.outputs())
                place_buffers(kernel.buffers)
                for position, member in enumerate(group.ops):
                    own = [b for b in kernel.buffers if b.owner == position]
                    member.places = ArrayAttr(
                        [spyre.PlaceAttr.of("lx", b.address) for b in own]
                    )
