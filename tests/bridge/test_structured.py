# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products, attention, indexing and creation against eager, on the oracle."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from .checking import check, compiled, values

FLOATS = [torch.float16, torch.bfloat16, torch.float32]
MATMULS = [
    ((5,), (5,)),
    ((5,), (5, 7)),
    ((3, 5), (5,)),
    ((65, 63), (63, 129)),
    ((2, 3, 5), (5, 7)),
    ((5,), (4, 5, 7)),
    ((2, 1, 3, 5), (4, 5, 7)),
    ((2, 4, 1, 5), (2, 4, 5, 1)),
    ((1, 1), (1, 1)),
    ((3, 1), (1, 4)),
    ((2, 3, 2, 4, 5), (3, 1, 5, 7)),
]


def test_attention_without_keys():
    sdpa = functional.scaled_dot_product_attention
    query, nothing = values((2, 7, 33), torch.float32), torch.zeros(2, 0, 33)
    check(lambda q, k: sdpa(q, k, k), query, nothing)


@pytest.mark.parametrize("shapes", MATMULS, ids=str)
def test_matmul(shapes: tuple[tuple[int, ...], tuple[int, ...]]):
    for dtype in FLOATS:
        check(torch.matmul, values(shapes[0], dtype, 1), values(shapes[1], dtype, 2))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_products(dtype: torch.dtype):
    def run(x: torch.Tensor, y: torch.Tensor, w: torch.Tensor, b: torch.Tensor):
        return {
            "linear": functional.linear(x, w, b),
            "linear_plain": functional.linear(x, w),
            "linear_vector": functional.linear(x, w[0]),
            "addmm": torch.addmm(b, x[0], w.t()),
            "addmm_scaled": torch.addmm(b, x[0], w.t(), beta=0.5, alpha=2),
            "addmm_beta0": torch.addmm(b * torch.nan, x[0], w.t(), beta=0),
            "baddbmm": torch.baddbmm(y @ x.mT, y, x.mT),
            "bmm": torch.bmm(x, x.mT),
            "mv": torch.mv(w, x[0, 0]),
            "dot": torch.dot(x[0, 0], w[0]),
            "outer": torch.outer(b, b),
            "einsum": torch.einsum("bij,bkj->bik", x, y),
            "tn": x[0].t() @ y[0],
            "column": x[0, :, :1] @ y[0, :1],
            "unsqueezed": x[0, 0][:, None] @ y[0, 0][None, :],
            "bilinear": x @ w.t().unsqueeze(0),
        }

    shapes = [(2, 3, 65), (2, 3, 65), (7, 65), (7,)]
    check(run, *(values(shape, dtype, k) for k, shape in enumerate(shapes)))


def _attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    mask: torch.Tensor,
    floats: torch.Tensor,
):
    sdpa = functional.scaled_dot_product_attention
    causal: dict[str, Any] = {"is_causal": True}
    return {
        "plain": sdpa(q, k, v),
        "scale": sdpa(q, k, v, scale=0.5),
        "mask": sdpa(q, k, v, mask),
        "float_mask": sdpa(q, k, v, floats),
        "causal": sdpa(q, q, q, **causal),
        "causal_wide": sdpa(q, k, v, **causal),
        "row": sdpa(q[:, :, :1], k, v),
        "gqa": sdpa(q, k[:, :2], v[:, :2], enable_gqa=True),
        "gqa_mask": sdpa(q, k[:, :1], v[:, :1], mask, enable_gqa=True),
        "rank3": sdpa(q[0], k[0], v[0]),
        "rank2": sdpa(q[0, 0], k[0, 0], v[0, 0]),
        "broadcast": sdpa(q, k[:1], v[:1]),
        "value_width": sdpa(q, k, torch.cat([v, v], -1)),
    }


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_attention(dtype: torch.dtype):
    q = values((2, 4, 5, 16), dtype, 1)
    k, v = values((2, 4, 7, 16), dtype, 2), values((2, 4, 7, 16), dtype, 3)
    mask = values((2, 1, 5, 7), torch.bool, 4)
    mask[0, :, 1] = False
    floats = torch.zeros(5, 7, dtype=dtype).masked_fill(mask[1, 0], -torch.inf)
    floats[2] = -torch.inf
    check(_attention, q, k, v, mask, floats)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_encoder_layer(activation: str, norm_first: bool):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(
        16, 4, 32, activation=activation, batch_first=True, norm_first=norm_first
    ).eval()
    padding = torch.tensor([[False] * 5, [False, False, True, True, True]])
    check(
        lambda x, p: layer(x, src_key_padding_mask=p),
        values((2, 5, 16), torch.float32),
        padding,
    )
    causal = nn.Transformer.generate_square_subsequent_mask(5)
    check(lambda x, m: layer(x, src_mask=m), values((2, 5, 16), torch.float32), causal)
    check(layer.forward, values((2, 5, 16), torch.float32))


def test_multihead_attention():
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(16, 4, batch_first=True).eval()
    x = values((2, 5, 16), torch.float32)
    padding = torch.tensor([[False] * 5, [False, False, True, True, True]])
    check(lambda x: attention(x, x, x), x)
    check(lambda x, p: attention(x, x, x, key_padding_mask=p), x, padding)
    check(lambda x: attention(x, x[:, :3], x[:, :3], need_weights=False), x)
    sequence_first = nn.MultiheadAttention(16, 4).eval()
    check(lambda x: sequence_first(x, x, x, average_attn_weights=False), x)


@pytest.mark.parametrize("index_type", [torch.int32, torch.int64], ids=str)
def test_indexing(index_type: torch.dtype):
    def run(
        table: torch.Tensor, ids: torch.Tensor, rows: torch.Tensor, x: torch.Tensor
    ):
        return {
            "embedding": functional.embedding(ids, table, padding_idx=0),
            "embedding_rank1": functional.embedding(rows, table),
            "embedding_scalar": functional.embedding(rows[0], table),
            "index_select": x.index_select(2, rows),
            "index": x[:, rows],
            "index_negative": x[:, -rows - 1],
            "index_two": x[rows[:, None], rows],
            "index_apart": x[rows, :, rows],
            "index_all": x[rows, rows, rows],
            "index_last": x[..., rows],
            "index_rank2": x[0, :][ids % 5],
            "take_along": torch.gather(x, 2, ids.long()[:, :, None] % 9),
        }

    table = values((9, 65), torch.float16)
    ids = torch.tensor([[0, 8, 3, 0], [5, 5, 1, 2], [4, 0, 0, 7]], dtype=index_type)
    rows = torch.tensor([2, 0, 4], dtype=index_type)
    check(run, table, ids, rows, values((5, 5, 9), torch.float32, 1), exact=True)


def test_gather_of_scalars():
    check(
        lambda x, i: (x.gather(0, i), x[i]),
        values((7,), torch.float32),
        torch.tensor([3]),
    )


def test_bad_index_is_an_error():
    def run(table: torch.Tensor, ids: torch.Tensor):
        return functional.embedding(ids, table) + 1

    with pytest.raises(IndexError, match=r"index 9 is outside \[0, 9\)"):
        compiled(run)(values((9, 4), torch.float32), torch.tensor([9]))


def test_creation():
    def run(x: torch.Tensor):
        return {
            "arange": torch.arange(5),
            "arange_range": torch.arange(2, 11, 3),
            "arange_float": torch.arange(0, 1, 0.25),
            "arange_half": torch.arange(5, dtype=torch.float16),
            "arange_back": torch.arange(5, 0, -2, dtype=torch.int32),
            "full": torch.full((2, 3), 1.5),
            "full_bool": torch.full((), True),
            "zeros": torch.zeros(3, dtype=torch.float16),
            "ones": torch.ones(2, 2, dtype=torch.int64),
            "like": (torch.zeros_like(x), torch.ones_like(x), torch.full_like(x, 2)),
            "new": (x.new_zeros(2), x.new_ones(2), x.new_full((2,), 7)),
            "scalar": torch.scalar_tensor(3.0),
            "eye": torch.eye(3),
            "linspace": torch.linspace(0, 1, 5),
            "literal": torch.tensor([1, 2, 3]) + 1,
            "fill": x.clone().fill_(3),
            "tri": torch.ones(4, 4, dtype=torch.bool).tril(),
        }

    check(run, values((2, 65), torch.float16), exact=True)
