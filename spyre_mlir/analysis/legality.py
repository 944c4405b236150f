# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
What the decisions on one operation, and the numbers of a function's groups, must keep
to whatever else is decided. `analysis.kernel` finds what does not go together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from xdsl.dialects import func

from spyre_mlir.analysis.decisions import PlanFault, division_digits, op_axes
from spyre_mlir.analysis.division import MAX_UNEVEN, span_bytes
from spyre_mlir.analysis.groups import Group, groups_of
from spyre_mlir.analysis.space import IterRange, iteration_space
from spyre_mlir.analysis.statements import Kernel, LxBuffer
from spyre_mlir.dialects import spyre
from spyre_mlir.target.chip import Chip


def check_cuts(op: spyre.SpyreOp, chip: Chip) -> None:
    """PlanFault where a division or tile of an operation breaks a limit."""
    for problem in _cut_problems(op, chip):
        raise PlanFault(problem, op)


def check_span(op: spyre.SpyreOp, chip: Chip) -> None:
    """PlanFault where one core reaches over more DRAM than it can address."""
    span = span_bytes(op, op_axes(op, iteration_space(op)))
    if span > chip.max_span_bytes:
        raise PlanFault(
            f"a core reaches over {span} bytes of one tensor, at most "
            f"{chip.max_span_bytes}",
            op,
        )


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
            yield from _loop_problems(iterator, trips, space[iterator], parts[iterator])


def _iterator_problems(k: int, it: IterRange, count: int) -> Iterator[str]:
    if count > 1 and not it.parallel:
        yield f"iterator {k} is a reduction and cannot be divided"
    if not it.allows(count):
        yield (
            f"iterator {k} of {it.size} elements in cuts of {it.granule} cannot be "
            f"divided in {count} parts"
        )


def _loop_problems(k: int, trips: int, it: IterRange, parts: int) -> Iterator[str]:
    own = it.chunk(parts) if parts > 1 else it.size
    if not it.allows(trips, own):
        yield (
            f"iterator {k} has {own} elements on a core in cuts of {it.granule}, not "
            f"{trips} trips"
        )


def checked_groups(
    function: func.FuncOp, chip: Chip, is_complete: bool = True
) -> list[Group]:
    """
    The groups of a function; PlanFault where one or a decision breaks a limit. While
    a plan is not complete, what is undecided is not held against it.
    """
    groups = groups_of(function)
    seen: set[int] = set()
    for group in groups:
        first = group.ops[0]
        if first.group is not None:
            number = first.group.value.data
            if number in seen:
                raise PlanFault(
                    f"group {number} goes on after something that is not of it", first
                )
            seen.add(number)
        for op in group.ops:
            check_cuts(op, chip)
            if is_complete or op.division is not None:
                check_span(op, chip)
        if is_complete or all(op.tile is not None for op in group.ops):
            _check_loops(group.ops)
    return groups


def _check_loops(ops: Sequence[spyre.SpyreOp]) -> None:
    """Each loop goes over an iterator of some member."""
    used = {
        depth
        for op in ops
        for depth, (iterator, _) in enumerate(op.tile.levels_data if op.tile else ())
        if iterator >= 0
    }
    for op in ops:
        for depth, (_, trips) in enumerate(op.tile.levels_data if op.tile else ()):
            if depth not in used and trips > 1:
                raise PlanFault(
                    f"loop {depth} of {trips} trips is over no iterator of its group",
                    op,
                )


def check_places(group: Group, kernel: Kernel) -> None:
    """PlanFault unless given places are those of an operation's buffers."""
    for position, op in enumerate(group.ops):
        own = [b.role for b in kernel.buffers if b.owner == position]
        if op.places is None:
            continue
        for place in op.places.data:
            if place.space.data != "lx":
                raise PlanFault(
                    f'a place in "{place.space.data}": places are of scratchpad '
                    'buffers, in "lx"',
                    op,
                )
        if len(op.places.data) != len(own):
            raise PlanFault(
                f"{len(op.places.data)} places for {len(own)} buffers "
                f"({', '.join(own) or 'none'})",
                op,
            )


def check_ways(group: Group) -> None:
    """PlanFault where operands are to come by another way than they do."""
    made = {op.results[0] for op in group.ops}
    for op in group.ops:
        for index, way in enumerate(op.ways()):
            if way == "ring":
                raise PlanFault(
                    f'operand {index} via "ring": cores exchange through DRAM only', op
                )
            if op.operands[index] in made:
                raise PlanFault(
                    f'operand {index} via "dram": its group keeps it in the scratchpad',
                    op,
                )


def check_buffers(group: Group, kernel: Kernel, chip: Chip) -> None:
    """PlanFault where buffers lie outside the scratchpad or on each other."""
    limit = chip.scratchpad_usable_bytes_per_core
    for buffer in kernel.buffers:
        op = group.ops[buffer.owner]
        end = buffer.address + buffer.total_bytes
        if op.places is None:
            raise PlanFault(
                f"its {buffer.role} buffer has no place; run spyre-plan-places", op
            )
        if end > limit:
            raise PlanFault(
                f"its {buffer.role} buffer ends at byte {end} of the scratchpad, "
                f"which has {limit}",
                op,
            )
    for a, b in _overlapping(kernel.buffers):
        raise PlanFault(
            f"its {b.role} buffer at byte {b.address} overlaps the {a.role} buffer of "
            f"{group.ops[a.owner].name} at byte {a.address} while both are in use",
            group.ops[b.owner],
        )


def _overlapping(buffers: Sequence[LxBuffer]) -> Iterator[tuple[LxBuffer, LxBuffer]]:
    """Pairs that share bytes while both are in use."""
    for index, b in enumerate(buffers):
        for a in buffers[:index]:
            apart = a.last < b.first or b.last < a.first
            separate = (
                a.address + a.total_bytes <= b.address
                or b.address + b.total_bytes <= a.address
            )
            if not apart and not separate:
                yield a, b
