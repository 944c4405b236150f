# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportPrivateUsage=false
# pyright: reportUnknownVariableType=false
# pyright: reportAttributeAccessIssue=false
"""
Composite operations that reach the importer whole.

PyTorch defines `linear`, `layer_norm` or `scaled_dot_product_attention` by other
operations. Where nobody differentiates a call, tracing keeps it whole, and its importer
says what the card does. A derivative belongs to the parts, so that a call of which one
is taken decomposes: by autograd, or by a transform of `torch.func` inside the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.utils._pytree import arg_tree_leaves

from .aten_table import COMPOSITES, operation

Kernel = Callable[..., Any]
Keys = torch._C.DispatchKey


@cache
def _composites() -> tuple[Any, ...]:
    return tuple(operation(name) for name in COMPOSITES)


@contextmanager
def composites_kept() -> Generator[None]:
    """Keeps the table's composite operations whole while a graph is traced."""
    from torch.export.exported_program import (
        _AUTOGRAD_ALIAS_BACKEND_KEYS_TO_OVERRIDE as AUTOGRAD,
    )
    from torch.export.exported_program import _override_composite_implicit_decomp

    def keep(*_: Any, **__: Any) -> Any:
        return NotImplemented

    with _override_composite_implicit_decomp(dict.fromkeys(_composites(), keep)):
        for op in _composites():
            for key in AUTOGRAD:
                op.py_kernels[key] = _autograd_kernel(op)
        yield


def _autograd_kernel(op: Any) -> Kernel:
    """The operation above autograd: its parts, or whole below autograd."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        if _is_differentiated(arg_tree_leaves(*args, **kwargs)):
            return op._op_dk(Keys.CompositeImplicitAutograd, *args, **kwargs)
        with torch._C._AutoDispatchBelowAutograd():
            return op(*args, **kwargs)

    return kernel


def _is_differentiated(operands: list[Any]) -> bool:
    """Whether somebody takes a derivative of a call, at the level it runs on."""
    interpreter = torch._C._functorch.peek_interpreter_stack()
    transform = None if interpreter is None else interpreter.key()
    dual = transform == torch._C._functorch.TransformType.Jvp
    if dual or forward_ad._current_level >= 0:
        return True
    return torch.is_grad_enabled() and any(
        isinstance(x, torch.Tensor) and x.requires_grad for x in operands
    )
