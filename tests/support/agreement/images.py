# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a digest of each of some images: run with different hash seeds by a test."""

from __future__ import annotations

import hashlib
from random import Random
from unittest.mock import patch

import torch
from synthetic_bert import Encoder

from agreement.checks import make_case
from agreement.choices import Recorded
from agreement.levels import compile_image
from spyre_mlir.torch_bridge import card_executor
from spyre_mlir.torch_bridge.backend import spyre_mlir


def show(name: str, image: bytes) -> None:
    print(name, len(image), hashlib.sha256(image).hexdigest())


def transformer() -> list[bytes]:
    """Images of two layers of an encoder with padding, in fp16."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(
        32, 2, 64, 0.0, batch_first=True, dtype=torch.float16
    )
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    images: list[bytes] = []
    compile_ = card_executor.compile_segment

    def noting(*arguments: object) -> bytes:
        images.append(compile_(*arguments))
        return images[-1]

    x = torch.randn(3, 7, 32).half()
    padding = torch.arange(7)[None] >= torch.tensor([[7], [5], [2]])
    with patch.object(card_executor, "compile_segment", noting), torch.no_grad():
        compiled = torch.compile(model, backend=spyre_mlir, dynamic=False)
        compiled(x, src_key_padding_mask=padding)
    return images


def main() -> None:
    for number, image in enumerate(transformer()):
        show(f"transformer {number}", image)
    show("encoder", compile_image(Encoder(4).module()))
    for number in range(10):
        case = make_case(Recorded(random=Random(f"image {number}")))
        show(f"module {number}", compile_image(case.module))


if __name__ == "__main__":
    main()
