# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Checks the decisions of each group together against the chip's limits, and changes
nothing: cores, uneven digits, spans, trips, scratchpad bytes, buffers that overlap
while both are in use.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import prod

from xdsl.context import Context
from xdsl.dialects import builtin
from xdsl.passes import ModulePass

from spyre_mlir.analysis.decisions import division_digits, op_axes
from spyre_mlir.analysis.division import MAX_UNEVEN, span_bytes
from spyre_mlir.analysis.groups import Group, groups_of
from spyre_mlir.analysis.kernel import build_kernel
from spyre_mlir.analysis.space import IterRange, iteration_space
from spyre_mlir.analysis.statements import Kernel
from spyre_mlir.dialects import spyre
from spyre_mlir.target.chip import Chip
from spyre_mlir.transforms._errors import PassError
from spyre_mlir.transforms._functions import chip_of, laid_out_functions


@dataclass(frozen=True)
class CheckPlanPass(ModulePass):
    name = "spyre-check-plan"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        chip = chip_of(op)
        for function in laid_out_functions(op):
            for group in groups_of(function):
                grid = division_digits(group.ops[0])[0]
                for member in group.ops:
                    for problem in (
                        *_cut_problems(member, chip),
                        *_group_problems(member, grid),
                    ):
                        raise PassError(f"{member.name}: {problem}", member.location)
                kernel = build_kernel(group.ops, group.inputs(), group.outputs())
                _check_buffers(group, kernel, chip)


def _group_problems(op: spyre.SpyreOp, grid: tuple[int, ...]) -> Iterator[str]:
    own = division_digits(op)[0]
    if own != grid:
        yield f"divided over {list(own)}, its group over {list(grid)}"


def _cut_problems(op: spyre.SpyreOp, chip: Chip) -> Iterator[str]:
    grid = division_digits(op)[0]
    if prod(grid) > chip.cores:
        yield f"divided over {prod(grid)} cores, the chip has {chip.cores}"
    space = iteration_space(op)
    parts = op.division.parts_data if op.division else (1,) * len(space)
    uneven = 0
    for k, (it, count) in enumerate(zip(space, parts, strict=True)):
        uneven += it.chunk(count) * count != it.size and count > 1
        yield from _iterator_problems(k, it, count)
    if uneven > MAX_UNEVEN:
        yield f"{uneven} uneven digits, at most {MAX_UNEVEN}"
    for iterator, trips in op.tile.levels_data if op.tile else ():
        if trips > chip.max_loop_trips:
            yield f"a loop of {trips} trips, at most {chip.max_loop_trips}"
        if iterator >= 0:
            it = space[iterator]
            own = it.chunk(parts[iterator]) if parts[iterator] > 1 else it.size
            if not it.allows(trips, own):
                yield (
                    f"iterator {iterator} has {own} elements on a core in cuts of "
                    f"{it.granule}, not {trips} trips"
                )
    axes = op_axes(op, space)
    span = span_bytes(op, axes)
    if span > chip.max_span_bytes:
        yield (
            f"a core reaches over {span} bytes of one tensor, at most "
            f"{chip.max_span_bytes}"
        )


def _iterator_problems(k: int, it: IterRange, count: int) -> Iterator[str]:
    if count > 1 and not it.parallel:
        yield f"iterator {k} is a reduction and cannot be divided"
    if not it.allows(count):
        yield (
            f"iterator {k} of {it.size} elements in cuts of {it.granule} cannot be "
            f"divided in {count} parts"
        )


def _check_buffers(group: Group, kernel: Kernel, chip: Chip) -> None:
    limit = chip.scratchpad_usable_bytes_per_core
    for buffer in kernel.buffers:
        end = buffer.address + buffer.total_bytes
        if end > limit:
            op = group.ops[buffer.owner]
            raise PassError(
                f"{op.name}: its {buffer.role} buffer ends at byte {end} of the "
                f"scratchpad, which has {limit}",
                op.location,
            )
    for a, b in combinations(kernel.buffers, 2):
        apart = a.last < b.first or b.last < a.first
        separate = (
            a.address + a.total_bytes <= b.address
            or b.address + b.total_bytes <= a.address
        )
        if not apart and not separate:
            op = group.ops[b.owner]
            raise PassError(
                f"{op.name}: its {b.role} buffer at byte {b.address} overlaps the "
                f"{a.role} buffer of {group.ops[a.owner].name} at byte {a.address} "
                "while both are in use",
                op.location,
            )
