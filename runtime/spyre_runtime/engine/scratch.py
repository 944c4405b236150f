# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Named working arrays that all records of a machine share.

Nothing in them outlives a record; sharing keeps them in the host's cache. An array
that has grown leaves the old one to the plans that were bound to it.
"""

from __future__ import annotations

from math import prod

import torch


class Scratch:
    def __init__(self) -> None:
        self._arrays: dict[tuple[str, torch.dtype], torch.Tensor] = {}

    def take(
        self, name: str, dtype: torch.dtype, shape: tuple[int, ...]
    ) -> torch.Tensor:
        """A dense array of `shape`; the next record may overwrite it."""
        needed = prod(shape)
        array = self._arrays.get((name, dtype))
        if array is None or array.numel() < needed:
            # Whole powers of two, so that growing is rare.
            size = 1 << max(needed - 1, 1023).bit_length()
            array = torch.empty(size, dtype=dtype, device="cpu")
            self._arrays[name, dtype] = array
        return array[:needed].view(shape)
