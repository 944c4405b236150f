# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`torch.spyre.amp`: PyTorch's own mixed precision with the device filled in."""

from __future__ import annotations

from functools import partial

import torch

autocast = partial(torch.autocast, "spyre")
GradScaler = partial(torch.amp.GradScaler, "spyre")
custom_fwd = partial(torch.amp.custom_fwd, device_type="spyre")
custom_bwd = partial(torch.amp.custom_bwd, device_type="spyre")
