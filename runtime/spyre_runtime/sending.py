# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportPrivateUsage=false
"""
Card tensors between processes, as `DataLoader` workers send them: by value.

Each process has cards of its own, so a storage arrives as a copy. A failure to pickle
in a queue's own thread would leave the reader waiting for ever; what cannot be sent is
sent as the error, which the reader then raises.
"""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
from torch.multiprocessing.reductions import reduce_storage

Reduced = tuple[Callable[..., Any], tuple[Any, ...]]


def register(device: str) -> None:
    """Has queues and new processes take storages of this device."""

    def reduce(storage: torch.UntypedStorage) -> Reduced:
        if storage.device.type != device:
            return reduce_storage(storage)
        try:
            return _rebuild, (storage.cpu(), storage.device)
        except RuntimeError as error:
            return _refuse, (str(error),)

    ForkingPickler.register(torch.UntypedStorage, reduce)


def _rebuild(host: torch.UntypedStorage, device: torch.device) -> torch.UntypedStorage:
    return torch.UntypedStorage(host.nbytes(), device=device).copy_(host, False)


def _refuse(reason: str) -> torch.UntypedStorage:
    raise RuntimeError(f"a tensor of another process did not arrive: {reason}")
