# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scaled dot-product attention: scores and softmax in f32, masked rows give zeros."""

from __future__ import annotations

from math import inf, sqrt

from xdsl.ir import SSAValue

from ..emit import Body, Emitter, Empty, NotOnCard, broadcast, dtype_of, shape_of
from .contractions import contract
from .movement import reshape
from .reductions import softmax_f32

Tensor = SSAValue


def attention(
    e: Emitter,
    query: Tensor | Empty,
    key: Tensor | Empty,
    value: Tensor | Empty,
    attn_mask: Tensor | Empty | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """aten.scaled_dot_product_attention; without keys every row is zeros."""
    if isinstance(value, Empty):
        return e.full(0.0, e.result.shape, e.result.dtype)
    if isinstance(query, Empty) or isinstance(key, Empty):
        raise NotOnCard("attention over vectors without elements")
    assert not isinstance(attn_mask, Empty), "queries and keys have elements"
    if dropout_p:
        raise NotOnCard("attention with dropout")
    dtype = e.result.dtype
    factor = scale if scale is not None else 1 / sqrt(shape_of(query)[-1])
    groups = _groups(query, key) if enable_gqa else 1
    if enable_gqa and groups != _groups(query, value):
        raise NotOnCard("keys and values of different head counts")
    scores = _scores(e, _split_heads(e, query, groups), key, groups)
    masked = _masked(e, scores, attn_mask, is_causal, factor, groups)
    weights = e.cast(softmax_f32(e, masked, -1, safe=True), dtype)
    result = _mix(e, weights, value, groups, dtype)
    return reshape(e, result, e.result.shape)


def flash_attention(
    e: Emitter,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """The CPU's fused attention under autograd: also log(sum(exp)) of each row."""
    dtype = e.result.dtype
    factor = scale if scale is not None else 1 / sqrt(shape_of(query)[-1])
    scores = _scores(e, query, key, 1)
    masked = _masked(e, scores, attn_mask, is_causal, factor, 1)
    result = attention(e, query, key, value, attn_mask, dropout_p, is_causal, scale)
    top = e.reduce("max", masked, [len(shape_of(masked)) - 1])

    def exponent(b: Body, v: SSAValue, m: SSAValue) -> SSAValue:
        finite = b("where", b("eq", m, b.like(m, -inf)), b.like(m, 0), m)
        return b("exp", b("sub", v, finite))

    powers = e.map([masked, top], "f32", exponent)
    total = e.reduce("sum", powers, [len(shape_of(powers)) - 1])

    def logarithm(b: Body, m: SSAValue, s: SSAValue) -> SSAValue:
        return b("where", b("eq", m, b.like(m, -inf)), m, b("add", m, b("log", s)))

    rows = e.map([top, total], "f32", logarithm)
    return e.cast(result, dtype), reshape(e, rows, e.results[1].shape)


def flash_attention_backward(
    e: Emitter,
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of query, key and value on [batch, heads, rows, width]."""
    if dropout_p:
        raise NotOnCard("attention with dropout")
    dtype = dtype_of(query)
    factor = scale if scale is not None else 1 / sqrt(shape_of(query)[-1])
    masked = _masked(e, _scores(e, query, key, 1), attn_mask, is_causal, factor, 1)
    rows = reshape(e, logsumexp, (*shape_of(masked)[:-1], 1))

    def weight(b: Body, v: SSAValue, r: SSAValue) -> SSAValue:
        nothing = b("eq", r, b.like(r, -inf))
        return b("where", nothing, b.like(v, 0), b("exp", b("sub", v, r)))

    weights = e.map([masked, rows], "f32", weight)

    def product(b: Body, g: SSAValue, o: SSAValue) -> SSAValue:
        return b("mul", b.cast(g, "f32"), b.cast(o, "f32"))

    overlap = e.reduce("sum", e.map([grad, out], "f32", product), [3])
    by_weight = contract(e, (grad, [0, 1, 2, 4]), (value, [0, 1, 3, 4]), _ROWS, "f32")

    def score(b: Body, w: SSAValue, g: SSAValue, d: SSAValue) -> SSAValue:
        slope = b("mul", w, b("sub", g, d))
        return b("mul", slope, b.like(slope, factor))

    slopes = e.map([weights, by_weight, overlap], dtype, score)
    weights = e.cast(weights, dtype)
    for_query = contract(e, (slopes, _ROWS), (key, [0, 1, 3, 4]), [0, 1, 2, 4], dtype)
    for_key = contract(e, (slopes, _ROWS), (query, [0, 1, 2, 4]), [0, 1, 3, 4], dtype)
    for_value = contract(e, (weights, _ROWS), (grad, [0, 1, 2, 4]), [0, 1, 3, 4], dtype)
    return for_query, for_key, for_value


_ROWS = [0, 1, 2, 3]
"""Batch, head, query, key; 4 is the width."""


def _groups(query: Tensor, key: Tensor) -> int:
    heads, kept = shape_of(query)[-3], shape_of(key)[-3]
    if heads % kept:
        raise NotOnCard(f"{heads} query heads over {kept} key heads")
    return heads // kept


def _split_heads(e: Emitter, x: Tensor, groups: int) -> Tensor:
    """[..., H, S, D] to [..., H / groups, groups, S, D]."""
    if groups == 1:
        return x
    *batch, heads, rows, width = shape_of(x)
    if len(batch) > 2:
        raise NotOnCard("grouped attention of rank above 5")
    return reshape(e, x, (*batch, heads // groups, groups, rows, width))


def _names(shape: tuple[int, ...], lead: list[int], rank: int) -> list[int | None]:
    """Iterators of an operand's batch dimensions, right-aligned."""
    own = lead[rank - len(shape) :]
    return [None if n == 1 else name for n, name in zip(shape, own, strict=True)]


def _operands(
    left: Tensor, right: Tensor, groups: int
) -> tuple[list[int | None], list[int | None], list[int]]:
    """Batch iterators of both operands and of the result."""
    batch_left, batch_right = shape_of(left)[:-2], shape_of(right)[:-2]
    if groups > 1:
        # the group belongs to the left alone: as further rows
        batch_right = (*batch_right, 1)
    rank = max(len(batch_left), len(batch_right))
    lead = list(range(rank))
    names_right = _names(batch_right, lead, rank)
    if groups > 1:
        names_right = names_right[:-1]
    return _names(batch_left, lead, rank), names_right, lead


def _scores(e: Emitter, query: Tensor, key: Tensor, groups: int) -> Tensor:
    left, right, lead = _operands(query, key, groups)
    s, t, d = len(lead), len(lead) + 1, len(lead) + 2
    pair = (query, [*left, s, d]), (key, [*right, t, d])
    return contract(e, *pair, [*lead, s, t], "f32")


def _mix(e: Emitter, weights: Tensor, value: Tensor, groups: int, dtype: str) -> Tensor:
    left, right, lead = _operands(weights, value, groups)
    s, t, d = len(lead), len(lead) + 1, len(lead) + 2
    pair = (weights, [*left, s, t]), (value, [*right, t, d])
    return contract(e, *pair, [*lead, s, d], dtype)


def _masked(
    e: Emitter,
    scores: Tensor,
    mask: Tensor | None,
    is_causal: bool,
    factor: float,
    groups: int,
) -> Tensor:
    inputs = [scores]
    rows, columns = shape_of(scores)[-2:]
    if is_causal:
        inputs.append(e.iota((rows, 1), 0, "i32", 0, 1))
        inputs.append(e.iota((1, columns), 1, "i32", 0, 1))
    if mask is not None:
        inputs.append(_split_mask(e, mask, groups))

    def body(b: Body, v: SSAValue, *rest: SSAValue) -> SSAValue:
        v = b("mul", v, b.like(v, factor))
        if is_causal:
            v = b("where", b("le", rest[1], rest[0]), v, b.like(v, -inf))
        if mask is None:
            return v
        if dtype_of(mask) == "i1":
            return b("where", rest[-1], v, b.like(v, -inf))
        return b("add", v, b.cast(rest[-1], "f32"))

    shape = broadcast([shape_of(x) for x in inputs])
    return e.map(inputs, "f32", body, shape)


def _split_mask(e: Emitter, mask: Tensor, groups: int) -> Tensor:
    shape = shape_of(mask)
    if groups == 1 or len(shape) < 3:
        return mask
    *batch, heads, rows, columns = shape
    split = (1, 1) if heads == 1 else (heads // groups, groups)
    return reshape(e, mask, (*batch, *split, rows, columns))
