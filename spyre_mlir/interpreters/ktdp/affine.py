# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Affine expressions on ints and on tensors of coordinates alike."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)
from xdsl.utils.exceptions import InterpretationError


def evaluate(
    expression: AffineExpr,
    dims: Sequence[int | Tensor],
    symbols: Sequence[int | Tensor] = (),
) -> int | Tensor:
    match expression:
        case AffineConstantExpr(value):
            return value
        case AffineDimExpr(position):
            return dims[position]
        case AffineSymExpr(position):
            return symbols[position]
        case AffineBinaryOpExpr(kind, lhs, rhs):
            left = evaluate(lhs, dims, symbols)
            right = evaluate(rhs, dims, symbols)
            return _binary(kind, left, right)
        case _:
            raise InterpretationError(f"unknown affine expression {expression}")


def _binary(
    kind: AffineBinaryOpKind, left: int | Tensor, right: int | Tensor
) -> int | Tensor:
    match kind:
        case AffineBinaryOpKind.Add:
            return left + right
        case AffineBinaryOpKind.Mul:
            return left * right
        case AffineBinaryOpKind.Mod:
            return left % right
        case AffineBinaryOpKind.FloorDiv:
            return _floor(left, right)
        case AffineBinaryOpKind.CeilDiv:
            return -_floor(-left, right)


def _floor(left: int | Tensor, right: int | Tensor) -> int | Tensor:
    if isinstance(left, int) and isinstance(right, int):
        return left // right
    return torch.div(left, right, rounding_mode="floor")
