# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportPrivateUsage=false
# pyright: reportUnknownMemberType=false
# pyright: reportUntypedFunctionDecorator=false
"""
Recurrent layers as one operation, which the host runs.

PyTorch decomposes them into one step after another, so that compiling would take as
long as the sequence is. Here a layer stays whole, in inference and in training: its
gradients come from running it again under PyTorch's own autograd.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch._C import DispatchKey

aten = torch.ops.aten
_KINDS: dict[str, Any] = {
    "lstm": aten.lstm.input,
    "gru": aten.gru.input,
    "rnn_tanh": aten.rnn_tanh.input,
    "rnn_relu": aten.rnn_relu.input,
}
Settings = Sequence[float]
"""has_biases, num_layers, dropout, train, bidirectional, batch_first."""


def _run(
    kind: str, states: int, tensors: Sequence[torch.Tensor], settings: Settings
) -> Sequence[torch.Tensor]:
    x, *first = tensors[: 1 + states]
    biased, layers, dropout, *flags = settings
    return _KINDS[kind](
        x,
        first if kind == "lstm" else first[0],
        list(tensors[1 + states :]),
        bool(biased),
        int(layers),
        float(dropout),
        *map(bool, flags),
    )


def layer(
    kind: str, states: int, tensors: Sequence[torch.Tensor], settings: Settings
) -> list[torch.Tensor]:
    """
    Output and last states of a layer whose input, `states` first states and weights
    are `tensors`, computed on the host.
    """
    results = _run(kind, states, [t.cpu() for t in tensors], settings)
    return [r.contiguous().to(tensors[0].device) for r in results]


def layer_backward(
    kind: str,
    states: int,
    tensors: Sequence[torch.Tensor],
    settings: Settings,
    gradients: Sequence[torch.Tensor],
) -> list[torch.Tensor]:
    """Gradients of the tensors of a layer, from those of its results."""
    with torch.enable_grad():
        leaves = [t.detach().cpu().requires_grad_() for t in tensors]
        results = _run(kind, states, leaves, settings)
    found = torch.autograd.grad(results, leaves, [g.cpu() for g in gradients])
    return [g.contiguous().to(tensors[0].device) for g in found]


@torch.library.custom_op("spyre_mlir::recurrent", mutates_args=())
def recurrent(
    kind: str, states: int, tensors: Sequence[torch.Tensor], settings: Sequence[float]
) -> list[torch.Tensor]:
    """`layer`, as an operation of a graph."""
    return layer(kind, states, tensors, settings)


@torch.library.custom_op("spyre_mlir::recurrent_backward", mutates_args=())
def recurrent_backward(
    kind: str,
    states: int,
    tensors: Sequence[torch.Tensor],
    settings: Sequence[float],
    gradients: Sequence[torch.Tensor],
) -> list[torch.Tensor]:
    """`layer_backward`, as an operation of a graph."""
    return layer_backward(kind, states, tensors, settings, gradients)


@recurrent.register_fake
def _(
    kind: str, states: int, tensors: Sequence[torch.Tensor], settings: Settings
) -> list[torch.Tensor]:
    x, *first = tensors[: 1 + states]
    width = first[0].shape[-1] * (2 if settings[4] else 1)
    return [x.new_empty((*x.shape[:-1], width)), *(s.new_empty(s.shape) for s in first)]


@recurrent_backward.register_fake
def _(
    kind: str,
    states: int,
    tensors: Sequence[torch.Tensor],
    settings: Settings,
    gradients: Sequence[torch.Tensor],
) -> list[torch.Tensor]:
    return [t.new_empty(t.shape) for t in tensors]


def _save(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.kind, ctx.states, tensors, ctx.settings = inputs
    ctx.save_for_backward(*tensors)


def _backward(ctx: Any, gradients: Sequence[torch.Tensor]) -> tuple[Any, ...]:
    tensors = list(ctx.saved_tensors)
    found = recurrent_backward(
        ctx.kind, ctx.states, tensors, ctx.settings, list(gradients)
    )
    return None, None, found, None


recurrent.register_autograd(_backward, setup_context=_save)

IMPLEMENTATIONS: dict[Any, Callable[..., list[torch.Tensor]]] = {
    torch.ops.spyre_mlir.recurrent.default: layer,
    torch.ops.spyre_mlir.recurrent_backward.default: layer_backward,
}
"""What the host calls: within an operation, autograd does not work."""


def _whole(
    kind: str, decomposed: Callable[..., Any], x: Any, hx: Any, *rest: Any
) -> Any:
    params, settings = rest[0], [float(setting) for setting in rest[1:]]
    _, _, dropout, train, *_ = settings
    if train and dropout:
        return decomposed(x, hx, *rest)  # the masks of a second run would be others
    first = list(hx) if kind == "lstm" else [hx]
    return tuple(recurrent(kind, len(first), [x, *first, *params], settings))


@contextmanager
def layers_kept() -> Generator[None]:
    """Keeps recurrent layers whole while a graph is traced."""
    keys = DispatchKey.CompositeImplicitAutograd, DispatchKey.Autograd
    saved = [(op, dict(op.py_kernels)) for op in _KINDS.values()]
    for kind, op in _KINDS.items():
        whole = partial(_whole, kind, op.py_kernels[DispatchKey.Autograd])
        op.py_kernels.update(dict.fromkeys(keys, whole))
        op._dispatch_cache.clear()
    try:
        yield
    finally:
        for op, kernels in saved:
            op.py_kernels.clear()
            op.py_kernels.update(kernels)
            op._dispatch_cache.clear()
