# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportPrivateUsage=false
"""
PyTorch's rules for fake tensors that tell the CPU from accelerators.

Eager operators on card tensors are the CPU's own, so that compiled ones have to promise
what the CPU gives: statistics of the input's type, and none where nobody takes them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import torch
from torch._decomp import decompositions
from torch._subclasses import fake_impls

Rule = Callable[..., Any]


@cache
def follow_the_host() -> None:
    """Has the rules treat card tensors as they do CPU tensors."""
    module: Any = decompositions
    module.native_batch_norm_helper = _batch_norm(module.native_batch_norm_helper)
    rules: dict[Any, Rule] = fake_impls.op_implementations_dict
    layer_norm = torch.ops.aten.native_layer_norm.default
    rules[layer_norm] = _layer_norm(rules[layer_norm])


def _batch_norm(rule: Rule) -> Rule:
    @wraps(rule)
    def on_card(
        x: torch.Tensor, weight: Any, bias: Any, mean: Any, var: Any, training: bool,
        *rest: Any, **named: Any,
    ) -> Any:  # fmt: skip
        found = rule(x, weight, bias, mean, var, training, *rest, **named)
        if x.device.type != "spyre":
            return found
        result, *stats = found[:3]
        if not training:
            stats = [x.new_zeros((0,)) for _ in stats]
        return (result, *(s.to(x.dtype) for s in stats), *found[3:])

    return on_card


def _layer_norm(rule: Rule) -> Rule:
    @wraps(rule)
    def on_card(mode: Any, op: Any, x: torch.Tensor, *rest: Any, **named: Any) -> Any:
        result, *stats = rule(mode, op, x, *rest, **named)
        if x.device.type == "spyre":
            stats = [s.to(x.dtype) for s in stats]
        return (result, *stats)

    return on_card
