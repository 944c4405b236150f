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
from typing import TYPE_CHECKING, Any, cast

import torch
from torch.multiprocessing import reductions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Reduced = tuple[Callable[..., Any], tuple[Any, ...]]


def register(device: str) -> None:
    """Has queues and new processes take storages of this device."""

    def reduce(storage: torch.UntypedStorage) -> Reduced:
        if storage.device.type != device:
            return cast(Any, reductions).reduce_storage(storage)
        try:
            return _rebuild, (_bytes_of(storage), storage.device)
        except RuntimeError as error:
            return _refuse, (str(error),)

    ForkingPickler.register(torch.UntypedStorage, reduce)


def _bytes_of(storage: torch.UntypedStorage) -> NDArray[np.uint8]:
    """As an array: shared memory would have to outlive its sender's copy."""
    return torch.empty(0, dtype=torch.uint8, device="cpu").set_(storage.cpu()).numpy()


def _rebuild(values: NDArray[np.uint8], device: torch.device) -> torch.UntypedStorage:
    host = torch.from_numpy(values).untyped_storage()
    return torch.UntypedStorage(host.nbytes(), device=device).copy_(host, False)


def _refuse(reason: str) -> torch.UntypedStorage:
    raise RuntimeError(f"a tensor of another process did not arrive: {reason}")
