# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fusion groups of a function, and what goes into and out of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.ir import SSAValue

from spyre_mlir.dialects import spyre


@dataclass(frozen=True)
class Group:
    """Consecutive operations that become one kernel."""

    ops: tuple[spyre.SpyreOp, ...]

    def inputs(self) -> list[SSAValue]:
        """Values from outside, in order of first use."""
        made = {op.results[0] for op in self.ops}
        found: dict[SSAValue, None] = {}
        for op in self.ops:
            for operand in op.operands:
                if operand not in made:
                    found[operand] = None
        return list(found)

    def outputs(self) -> list[SSAValue]:
        """Results that something outside uses."""
        own = set(self.ops)
        return [
            op.results[0]
            for op in self.ops
            if any(use.operation not in own for use in op.results[0].uses)
        ]


def group_number(op: spyre.SpyreOp) -> int | None:
    """The number of an operation's group; None while that is undecided."""
    return None if op.group is None else op.group.value.data


def groups_of(function: func.FuncOp) -> list[Group]:
    """The groups that the `group` attributes say; an op without one is alone."""
    groups: list[Group] = []
    run: list[spyre.SpyreOp] = []
    for op in function.body.block.ops:
        own = group_number(op) if isinstance(op, spyre.SpyreOp) else None
        if run and (own is None or own != group_number(run[0])):
            groups.append(Group(tuple(run)))
            run = []
        if isinstance(op, spyre.SpyreOp):
            run.append(op)
            if own is None:
                groups.append(Group(tuple(run)))
                run = []
    if run:
        groups.append(Group(tuple(run)))
    return groups


def with_tiles(
    ops: Sequence[spyre.SpyreOp], tiles: Sequence[spyre.TileAttr | None]
) -> None:
    """Sets the tiles of a group's operations."""
    for op, tile in zip(ops, tiles, strict=True):
        op.tile = tile
