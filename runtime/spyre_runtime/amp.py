# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`torch.spyre.amp`: PyTorch's own mixed precision with the device filled in."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import torch

autocast = partial(torch.autocast, "spyre")
GradScaler = partial(torch.amp.GradScaler, "spyre")
_amp = cast(Any, torch.amp)  # its decorators say too little of their types
custom_fwd: Callable[..., Any] = partial(_amp.custom_fwd, device_type="spyre")
custom_bwd: Callable[..., Any] = partial(_amp.custom_bwd, device_type="spyre")
