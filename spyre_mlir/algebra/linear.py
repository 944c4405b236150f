# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear functions of iterators: coefficients and an offset, as plain integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.ir.affine import AffineExpr, AffineMap


@dataclass(frozen=True)
class Linear:
    """offset + sum(coefficients[k] * iterator k)."""

    coefficients: tuple[int, ...]
    offset: int = 0

    @staticmethod
    def iterator(position: int, rank: int) -> Linear:
        return Linear(tuple(int(k == position) for k in range(rank)))

    @staticmethod
    def constant(value: int, rank: int) -> Linear:
        return Linear((0,) * rank, value)

    def __add__(self, other: Linear) -> Linear:
        pairs = zip(self.coefficients, other.coefficients, strict=True)
        return Linear(tuple(a + b for a, b in pairs), self.offset + other.offset)

    def __mul__(self, factor: int) -> Linear:
        return Linear(
            tuple(factor * c for c in self.coefficients), factor * self.offset
        )

    @property
    def used(self) -> tuple[int, ...]:
        """Iterators with a coefficient that is not zero."""
        return tuple(k for k, c in enumerate(self.coefficients) if c)

    @property
    def single(self) -> int | None:
        """The iterator that this is, exactly, or None."""
        used = self.used
        if self.offset == 0 and len(used) == 1 and self.coefficients[used[0]] == 1:
            return used[0]
        return None

    def at(self, values: Sequence[int]) -> int:
        pairs = zip(self.coefficients, values, strict=True)
        return self.offset + sum(c * v for c, v in pairs)

    def bounds(self, sizes: Sequence[int]) -> tuple[int, int]:
        """Least and greatest value over iterators of these (positive) sizes."""
        spans = [c * (n - 1) for c, n in zip(self.coefficients, sizes, strict=True)]
        low = self.offset + sum(s for s in spans if s < 0)
        return low, self.offset + sum(s for s in spans if s > 0)

    def restrict(self, rank: int) -> Linear:
        """Of the first `rank` iterators alone."""
        return Linear(self.coefficients[:rank], self.offset)

    def widen(self, rank: int) -> Linear:
        """The same over more iterators."""
        return Linear(
            self.coefficients + (0,) * (rank - len(self.coefficients)), self.offset
        )

    def substitute(self, values: Sequence[Linear], rank: int) -> Linear:
        """With each iterator replaced by a linear function of `rank` others."""
        total = Linear.constant(self.offset, rank)
        for c, value in zip(self.coefficients, values, strict=True):
            if c:
                total = total + value * c
        return total

    def affine(self) -> AffineExpr:
        from xdsl.ir.affine import AffineExpr

        total: AffineExpr | None = None
        for k, c in enumerate(self.coefficients):
            if c:
                term = AffineExpr.dimension(k)
                term = term if c == 1 else term * c
                total = term if total is None else total + term
        if total is None:
            return AffineExpr.constant(self.offset)
        return total + self.offset if self.offset else total


def affine_map(coordinates: Sequence[Linear], rank: int) -> AffineMap:
    """The affine map of these coordinates over `rank` iterators."""
    from xdsl.ir.affine import AffineMap

    return AffineMap(rank, 0, tuple(c.affine() for c in coordinates))


@cache
def linear_map(map_: AffineMap) -> tuple[Linear, ...]:
    """The coordinates of an affine map; ValueError if one is not linear."""
    return tuple(_linear(expr, map_.num_dims) for expr in map_.results)


def _linear(expr: AffineExpr, rank: int) -> Linear:
    from xdsl.ir.affine import (
        AffineBinaryOpExpr,
        AffineBinaryOpKind,
        AffineConstantExpr,
        AffineDimExpr,
    )

    if isinstance(expr, AffineDimExpr):
        return Linear.iterator(expr.position, rank)
    if isinstance(expr, AffineConstantExpr):
        return Linear.constant(expr.value, rank)
    if isinstance(expr, AffineBinaryOpExpr):
        if expr.kind is AffineBinaryOpKind.Add:
            return _linear(expr.lhs, rank) + _linear(expr.rhs, rank)
        if expr.kind is AffineBinaryOpKind.Mul:
            lhs, rhs = _linear(expr.lhs, rank), _linear(expr.rhs, rank)
            if not rhs.used:
                return lhs * rhs.offset
            if not lhs.used:
                return rhs * lhs.offset
    raise ValueError(f"{expr} is not linear in the iterators")
