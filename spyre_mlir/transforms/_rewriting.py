# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What rewrites of the `spyre` level share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    FusedLoc,
    LocationAttr,
    NoneAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from spyre_mlir.dialects.spyre import SpyreOp

MAX_FUSED_LOCATIONS = 8
"""Lines that one operation remembers after fusions; the first come first."""


def is_undecided(op: SpyreOp) -> bool:
    """No decision is on the operation; one that is there is a constraint to keep."""
    decisions = (op.division, op.group, op.tile, op.places, op.via)
    return all(decision is None for decision in decisions)


def fused_location(locations: Iterable[LocationAttr]) -> LocationAttr:
    """One location for operations that became one, most important first."""
    parts: dict[Attribute, None] = {}
    for location in locations:
        if isinstance(location, FusedLoc) and isinstance(location.metadata, NoneAttr):
            parts.update(
                dict.fromkeys(cast(ArrayAttr[Attribute], location.locations).data)
            )
        elif location != UNKNOWN_LOC:
            parts[location] = None
    kept = list(parts)[:MAX_FUSED_LOCATIONS]
    if not kept:
        return UNKNOWN_LOC
    if len(kept) == 1:
        return cast(LocationAttr, kept[0])
    return FusedLoc(ArrayAttr(kept), NoneAttr())


def insert_before(new: Operation, old: Operation) -> SSAValue:
    """Inserts an operation that helps another; gives its result."""
    new.location = old.location
    Rewriter.insert_op(new, InsertPoint.before(old))
    return new.results[0]


def replace_op(old: Operation, new: Operation | SSAValue) -> None:
    """Puts an operation, or a value that is there already, in the place of another."""
    if isinstance(new, Operation):
        Rewriter.insert_op(new, InsertPoint.before(old))
        if new.results and old.results:
            new.results[0].name_hint = old.results[0].name_hint
        new = new.results[0]
    old.results[0].replace_all_uses_with(new)
    parent = old.parent
    assert parent is not None
    parent.erase_op(old)
