# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportPrivateUsage=false
# pyright: reportUnknownVariableType=false
"""
What AOTAutograd rewrites before a graph reaches us.

PyTorch's core ATen decompositions, less what the table imports, plus our own for the
fused fast paths of PyTorch's transformer modules.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import sqrt
from typing import Any

import torch

from .aten_table import BATCH_NORMS, DECOMPOSED, operation, row_of

Decompositions = dict[Any, Callable[..., Any]]
aten = torch.ops.aten
functional = torch.nn.functional


@cache
def decomposition_table() -> Decompositions:
    """What AOTAutograd rewrites: forward, backward and inference graphs alike."""
    from torch._decomp import _core_aten_decompositions_post_autograd

    core = _core_aten_decompositions_post_autograd()
    rules = {op: rule for op, rule in core.items() if not _imported(op)}
    return rules | _named() | _own()


def _imported(op: Any) -> bool:
    row = row_of(op)
    return row is not None and row.how != "decompose"


def _named() -> Decompositions:
    """PyTorch's rules for what the table decomposes beyond the core set."""
    from torch._decomp import global_decomposition_table

    known: Decompositions = global_decomposition_table["post_autograd"]
    wanted = {operation(name) for name in DECOMPOSED}
    norms = {operation(name) for name in BATCH_NORMS}
    return {
        op: _of_known_types(op, rule) if op in norms else rule
        for op, rule in known.items()
        if op in wanted
    }


def _of_known_types(op: Any, rule: Callable[..., Any]) -> Callable[..., Any]:
    """PyTorch's rule for a batch norm, with the check of types of its kernels."""

    def checked(x: torch.Tensor, *arguments: Any, **named: Any) -> Any:
        given = (*arguments, *named.values())
        types = {a.dtype for a in given if isinstance(a, torch.Tensor)}
        if len(types) > 1 or not types <= {x.dtype, torch.float32}:
            found = ", ".join(sorted(map(str, types)))
            either = " or ".join(map(str, dict.fromkeys((x.dtype, torch.float32))))
            raise RuntimeError(
                f"{op}: mixed dtype: parameters of {found} for an input of {x.dtype}; "
                f"all must be of {either}"
            )
        return rule(x, *arguments, **named)

    return checked


def _own() -> Decompositions:
    return {
        aten._transformer_encoder_layer_fwd.default: encoder_layer,
        aten._native_multi_head_attention.default: multi_head_attention,
        aten.diagonal_scatter.default: diagonal_scatter,
        aten._new_zeros_with_same_feature_meta.default: zero_tangents,
    }


def zero_tangents(
    x: torch.Tensor, other: torch.Tensor, *, self_num_batch_dims: int = 0
) -> torch.Tensor:
    """aten._new_zeros_with_same_feature_meta: of `other`, with the batch of `x`."""
    return other.new_zeros((*x.shape[:self_num_batch_dims], *other.shape))


def diagonal_scatter(
    x: torch.Tensor, source: torch.Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> torch.Tensor:
    """aten.diagonal_scatter; PyTorch's own rule writes into a copy of `x`."""
    rows, columns = x.shape[dim1], x.shape[dim2]
    above = max(-offset, 0)
    column = functional.pad(source, (above, rows - above - source.shape[-1]))
    column = column.unsqueeze(-1).movedim((-2, -1), (dim1, dim2))
    row, place = (torch.arange(n, device=x.device) for n in (rows, columns))
    on_diagonal = place - row.unsqueeze(1) == offset
    shape = (1,) * (x.ndim - 2) + (rows, columns)
    on_diagonal = on_diagonal.reshape(shape).movedim((-2, -1), (dim1, dim2))
    return torch.where(on_diagonal, column.to(x.dtype), x)


# ------------------------------------------------------- fused transformer paths


def _heads(x: torch.Tensor, count: int) -> torch.Tensor:
    batch, rows, width = x.shape
    return x.reshape(batch, rows, count, width // count).transpose(1, 2)


def _blocked(
    mask: torch.Tensor, mask_type: int | None, batch: int, rows: int
) -> torch.Tensor:
    """The keys that a query must not see, against [batch, heads, rows, keys]."""
    blocked = mask.to(torch.bool)
    if mask_type == 1:
        return blocked.reshape(batch, 1, 1, -1)
    if mask_type == 0:
        return blocked.reshape(1, 1, rows, -1)
    return blocked


def multi_head_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: torch.Tensor,
    qkv_bias: torch.Tensor,
    proj_weight: torch.Tensor,
    proj_bias: torch.Tensor,
    mask: torch.Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """aten._native_multi_head_attention, on [batch, rows, embed]."""
    weights, biases = qkv_weight.chunk(3), qkv_bias.chunk(3)
    q, k, v = (
        _heads(functional.linear(x, w, b), num_head)
        for x, w, b in zip((query, key, value), weights, biases, strict=True)
    )
    scores = torch.matmul(q * (1 / sqrt(q.shape[-1])), k.transpose(-2, -1))
    if mask is not None:
        batch, _, rows, _ = scores.shape
        blocked = _blocked(mask, mask_type, batch, rows)
        scores = scores.masked_fill(blocked, float("-inf"))
    attention = torch.softmax(scores, -1)
    mixed = torch.matmul(attention, v).transpose(1, 2).reshape(query.shape)
    result = functional.linear(mixed, proj_weight, proj_bias)
    if not need_weights:
        return result, query.new_empty(())
    return result, attention.mean(1) if average_attn_weights else attention


def encoder_layer(
    src: torch.Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: torch.Tensor,
    qkv_bias: torch.Tensor,
    proj_weight: torch.Tensor,
    proj_bias: torch.Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: torch.Tensor,
    norm_bias_1: torch.Tensor,
    norm_weight_2: torch.Tensor,
    norm_bias_2: torch.Tensor,
    ffn_weight_1: torch.Tensor,
    ffn_bias_1: torch.Tensor,
    ffn_weight_2: torch.Tensor,
    ffn_bias_2: torch.Tensor,
    mask: torch.Tensor | None = None,
    mask_type: int | None = None,
) -> torch.Tensor:
    """aten._transformer_encoder_layer_fwd."""

    def norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor):
        return functional.layer_norm(x, (embed_dim,), weight, bias, eps)

    def attend(x: torch.Tensor) -> torch.Tensor:
        projections = (qkv_weight, qkv_bias, proj_weight, proj_bias)
        settings = (mask, False, True, mask_type)
        return multi_head_attention(
            x, x, x, embed_dim, num_heads, *projections, *settings
        )[0]

    def feed(x: torch.Tensor) -> torch.Tensor:
        hidden = functional.linear(x, ffn_weight_1, ffn_bias_1)
        hidden = functional.gelu(hidden) if use_gelu else functional.relu(hidden)
        return functional.linear(hidden, ffn_weight_2, ffn_bias_2)

    first, second = (norm_weight_1, norm_bias_1), (norm_weight_2, norm_bias_2)
    if norm_first:
        src = src + attend(norm(src, *first))
        return src + feed(norm(src, *second))
    src = norm(src + attend(src), *first)
    return norm(src + feed(src), *second)
