# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products of any ranks. Transposes of operands go into the operands' maps."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from spyre_mlir.dialects import spyre

from ..emit import Body, Emitter, Empty, NotOnCard, Number, dtype_of, shape_of, wide
from .movement import expand, reshape
from .promotion import is_float

Tensor = SSAValue
Names = Sequence[int | None]


def peel(value: Tensor, names: Names, kept: set[int]) -> tuple[Tensor, Names]:
    """
    The source of a move that only permutes, adds or takes unit dimensions, with the
    iterators by its dimensions. What repeats elements stays, and so does a move that
    takes away one of the iterators `kept`.
    """
    op = value.owner
    while isinstance(op, spyre.ReindexOp) and len(op.sources) == 1:
        rank = len(op.sizes())
        identity = AffineMap.identity(rank)
        if op.target_maps.data[0].data != identity or len(op.piece_sizes(0)) != rank:
            break
        source, _ = op.piece_maps(0)
        used = [c.single for c in source]
        shape = shape_of(op.sources[0])
        # a slice reads less than the whole dimension: no plain move
        plain = all(
            n == 1 if k is None else n == op.sizes()[k]
            for k, n in zip(used, shape, strict=True)
        ) and not any(c.used for c, k in zip(source, used, strict=True) if k is None)
        lost = [
            k
            for k, n in enumerate(op.sizes())
            if k not in used and (n > 1 or names[k] in kept)
        ]
        if not plain or lost:
            break
        names = [None if k is None else names[k] for k in used]
        value, op = op.sources[0], op.sources[0].owner
    return value, names


def contract(
    e: Emitter,
    lhs: tuple[Tensor, Names],
    rhs: tuple[Tensor, Names],
    out: Names,
    dtype: str,
) -> Tensor:
    """A contraction by named iterators; every name is free to be any integer."""
    contracted = {n for n in (*lhs[1], *rhs[1]) if n is not None} - {*out}
    lhs, rhs = peel(*lhs, contracted), peel(*rhs, contracted)
    out = _only_read(e, lhs, rhs, out)
    order: dict[int, int] = {}
    for name in (*out, *lhs[1], *rhs[1]):
        if name is not None:
            order.setdefault(name, len(order))
    left, right, result = (
        [None if n is None else order[n] for n in names]
        for names in (lhs[1], rhs[1], out)
    )
    if not is_float(dtype_of(lhs[0])):
        raise NotOnCard(f"a matrix product of {dtype_of(lhs[0])}")
    return e.matmul((lhs[0], left), (rhs[0], right), result, len(order), dtype)


def _only_read(
    e: Emitter, lhs: tuple[Tensor, Names], rhs: tuple[Tensor, Names], out: Names
) -> Names:
    """Names of the result that an operand has; unit dimensions may have lost theirs."""
    known = {n for n in (*lhs[1], *rhs[1]) if n is not None}
    return [n if n in known else None for n in out]


def product(e: Emitter, a: Tensor, b: Tensor, dtype: str) -> Tensor:
    """[..., M, K] times [..., K, N] with broadcast batch dimensions."""
    shape_a, shape_b = shape_of(a), shape_of(b)
    rank = max(len(shape_a), len(shape_b)) - 2
    names = count()
    batch = [next(names) for _ in range(rank)]
    m, n, k = next(names), next(names), next(names)
    left = _batch_names(shape_a[:-2], batch)
    right = _batch_names(shape_b[:-2], batch)
    return contract(e, (a, [*left, m, k]), (b, [*right, k, n]), [*batch, m, n], dtype)


def _batch_names(shape: Sequence[int], batch: Sequence[int]) -> list[int | None]:
    """Iterators of batch dimensions; a unit dimension is read at 0."""
    own = batch[len(batch) - len(shape) :]
    return [None if size == 1 else name for name, size in zip(own, shape, strict=True)]


def matmul(e: Emitter, a: Tensor | Empty, b: Tensor | Empty) -> Tensor:
    if isinstance(a, Empty) or isinstance(b, Empty):
        return e.full(0, e.result.shape, e.result.dtype)
    shape_a, shape_b = shape_of(a), shape_of(b)
    left = reshape(e, a, (1, *shape_a)) if len(shape_a) == 1 else a
    right = reshape(e, b, (*shape_b, 1)) if len(shape_b) == 1 else b
    value = product(e, left, right, e.result.dtype)
    return reshape(e, value, e.result.shape)


def linear(
    e: Emitter, x: Tensor | Empty, weight: Tensor | Empty, bias: Tensor | None = None
) -> Tensor:
    dtype = e.result.dtype
    if isinstance(x, Empty) or isinstance(weight, Empty):
        return _biased_zeros(e, bias)
    rank = len(shape_of(x))
    rows, n, k = list(range(rank - 1)), rank, rank + 1
    vector = len(shape_of(weight)) == 1
    right = (weight, [k] if vector else [n, k])
    out = rows if vector else [*rows, n]
    if bias is None:
        return contract(e, (x, [*rows, k]), right, out, dtype)
    total = contract(e, (x, [*rows, k]), right, out, wide(dtype))
    return _add(e, total, bias, dtype)


def _biased_zeros(e: Emitter, bias: Tensor | None) -> Tensor:
    if bias is None:
        return e.full(0, e.result.shape, e.result.dtype)
    return expand(e, e.cast(bias, e.result.dtype), e.result.shape)


def _add(e: Emitter, total: Tensor, bias: Tensor, dtype: str) -> Tensor:
    compute = dtype_of(total)

    def body(b: Body, v: SSAValue, w: SSAValue) -> SSAValue:
        return b("add", v, b.cast(w, compute))

    return e.map([total, bias], dtype, body)


def scaled_add(
    e: Emitter,
    bias: Tensor,
    a: Tensor | Empty,
    b: Tensor | Empty,
    beta: Number = 1,
    alpha: Number = 1,
) -> Tensor:
    """beta * bias + alpha * (a @ b): addmm, baddbmm, addmv."""
    dtype = e.result.dtype
    if not is_float(dtype):
        raise NotOnCard(f"a matrix product of {dtype}")
    if isinstance(a, Empty) or isinstance(b, Empty):
        total = e.full(0, e.result.shape, wide(dtype))
    elif len(shape_of(b)) == 1:
        column = reshape(e, b, (*shape_of(b), 1))
        total = reshape(e, product(e, a, column, wide(dtype)), e.result.shape)
    else:
        total = product(e, a, b, wide(dtype))
    compute = wide(dtype)

    def body(bld: Body, v: SSAValue, *rest: SSAValue) -> SSAValue:
        if alpha != 1:
            v = bld("mul", v, bld.like(v, alpha))
        for w in rest:
            w = bld.cast(w, compute)
            w = bld("mul", w, bld.like(w, beta)) if beta != 1 else w
            v = bld("add", v, w)
        return v

    # beta 0 ignores the bias, NaN included
    return e.map([total, *([bias] if beta else [])], dtype, body, e.result.shape)


def dot(e: Emitter, a: Tensor | Empty, b: Tensor | Empty) -> Tensor:
    return matmul(e, a, b)
