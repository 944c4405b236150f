# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Integer sets as ktdp uses them: boxes of coordinates, and tiles of a group.

Only products of one-dimensional sets can be listed: bounds and congruences that each
name one dimension. That covers every rectangular or strided tile and every group
that the dialect's own lowering writes; a skewed set is an error here, not a guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstraintExpr,
    AffineConstraintKind,
    AffineExpr,
    AffineSet,
)

MAX_VALUES = 1 << 26
"""More values in one dimension than this is taken for a mistake."""


class SetError(ValueError):
    """A set that cannot be listed: unbounded, or not a product."""


def box_set(extents: Sequence[int | None]) -> AffineSet:
    """
    All points from zero up to `extents`; each None takes the next symbol.

        box_set([16, None])  is  (d0, d1)[s0] : (d0 >= 0, -d0 + 15 >= 0, d1 >= 0,
                                                 -d1 + s0 - 1 >= 0)
    """
    constraints: list[AffineConstraintExpr] = []
    zero = AffineExpr.constant(0)
    symbols = 0
    for position, extent in enumerate(extents):
        dim = AffineExpr.dimension(position)
        if extent is None:
            last = AffineExpr.symbol(symbols) - 1
            symbols += 1
        else:
            last = AffineExpr.constant(extent - 1)
        constraints.append(AffineConstraintExpr(AffineConstraintKind.ge, dim, zero))
        constraints.append(
            AffineConstraintExpr(AffineConstraintKind.ge, -dim + last, zero)
        )
    return AffineSet(len(extents), symbols, tuple(constraints))


def holds(
    constraint: AffineConstraintExpr, dims: Sequence[int], symbols: Sequence[int]
) -> bool:
    value = constraint.lhs.eval(dims, symbols) - constraint.rhs.eval(dims, symbols)
    match constraint.kind:
        case AffineConstraintKind.ge:
            return value >= 0
        case AffineConstraintKind.le:
            return value <= 0
        case AffineConstraintKind.eq:
            return value == 0


def contains(
    affine_set: AffineSet, point: Sequence[int], symbols: Sequence[int] = ()
) -> bool:
    return all(holds(c, point, symbols) for c in affine_set.constraints)


def set_values(
    affine_set: AffineSet, symbols: Sequence[int] = ()
) -> tuple[Sequence[int], ...]:
    """
    The values of each dimension, ascending; the set is their product.

    Raises SetError if the set is not a product or not bounded.
    """
    return _set_values(affine_set, tuple(symbols))


@lru_cache(maxsize=4096)
def _set_values(
    affine_set: AffineSet, symbols: tuple[int, ...]
) -> tuple[Sequence[int], ...]:
    if len(symbols) != affine_set.num_symbols:
        raise SetError(
            f"expected {affine_set.num_symbols} symbols for {affine_set}, "
            f"got {len(symbols)}"
        )
    by_dim: list[list[AffineConstraintExpr]] = [[] for _ in range(affine_set.num_dims)]
    for constraint in affine_set.constraints:
        used = constraint.lhs.used_dims() | constraint.rhs.used_dims()
        if len(used) > 1:
            raise SetError(
                f"{constraint} of {affine_set} ties several dimensions together"
            )
        if used:
            by_dim[next(iter(used))].append(constraint)
        elif not holds(constraint, (0,) * affine_set.num_dims, symbols):
            return tuple(() for _ in range(affine_set.num_dims))
    return tuple(
        _dim_values(affine_set, position, constraints, symbols)
        for position, constraints in enumerate(by_dim)
    )


def set_extents(affine_set: AffineSet, symbols: Sequence[int] = ()) -> tuple[int, ...]:
    """How many values each dimension takes."""
    return tuple(len(values) for values in set_values(affine_set, symbols))


def set_size(affine_set: AffineSet, symbols: Sequence[int] = ()) -> int:
    return prod(set_extents(affine_set, symbols))


@lru_cache(maxsize=4096)
def tiles_of_group(affine_set: AffineSet, group: int) -> tuple[int, ...]:
    """Tile ids of one group of `(i)[g]`, ascending; without g all groups are alike."""
    symbols = (group,) * affine_set.num_symbols
    return tuple(set_values(affine_set, symbols)[0])


def _dim_values(
    affine_set: AffineSet,
    position: int,
    constraints: Sequence[AffineConstraintExpr],
    symbols: Sequence[int],
) -> Sequence[int]:
    point = [0] * affine_set.num_dims

    def satisfied(constraint: AffineConstraintExpr, value: int) -> bool:
        point[position] = value
        return holds(constraint, point, symbols)

    low, high = _bounds(affine_set, position, constraints, symbols)
    if high - low >= MAX_VALUES:
        raise SetError(f"dimension {position} of {affine_set} is too large to list")
    inner = [c for c in constraints if _line(c, position, symbols, len(point)) is None]
    if not inner:
        return range(low, high + 1)
    return tuple(
        value
        for value in range(low, high + 1)
        if all(satisfied(c, value) for c in inner)
    )


def _bounds(
    affine_set: AffineSet,
    position: int,
    constraints: Sequence[AffineConstraintExpr],
    symbols: Sequence[int],
) -> tuple[int, int]:
    lows: list[int] = []
    highs: list[int] = []
    for constraint in constraints:
        line = _line(constraint, position, symbols, affine_set.num_dims)
        if line is None:
            continue
        slope, offset = line
        if constraint.kind == AffineConstraintKind.eq and offset % slope:
            return 1, 0
        least = constraint.kind != AffineConstraintKind.le
        most = constraint.kind != AffineConstraintKind.ge
        # slope * x + offset is at least, at most, or both: zero.
        if (slope > 0 and least) or (slope < 0 and most):
            lows.append(-(offset // slope))
        if (slope > 0 and most) or (slope < 0 and least):
            highs.append(-offset // slope if slope > 0 else offset // -slope)
    if not lows or not highs:
        raise SetError(f"dimension {position} of {affine_set} is not bounded")
    return max(lows), min(highs)


def _line(
    constraint: AffineConstraintExpr,
    position: int,
    symbols: Sequence[int],
    num_dims: int,
) -> tuple[int, int] | None:
    """
    Slope and offset of a constraint that is a line in its one dimension.

    None for one with a division or remainder, which is no bound.
    """
    expression = constraint.lhs - constraint.rhs
    if any(_divides(part) for part in expression.dfs()):
        return None
    point = [0] * num_dims
    offset = expression.eval(point, symbols)
    point[position] = 1
    slope = expression.eval(point, symbols) - offset
    return (slope, offset) if slope else None


def _divides(expression: AffineExpr) -> bool:
    return isinstance(expression, AffineBinaryOpExpr) and expression.kind in (
        AffineBinaryOpKind.Mod,
        AffineBinaryOpKind.FloorDiv,
        AffineBinaryOpKind.CeilDiv,
    )
