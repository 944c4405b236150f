# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The plug between an imported segment and what runs it.

An `Executor` turns a module into a callable on tensors. The callable gets the tensors
of the function's arguments, in order, as the caller has them (any strides), and gives
fresh tensors for its results. It neither keeps nor changes its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from xdsl.dialects.builtin import ModuleOp

from spyre_mlir.config import Options

Executable = Callable[[Sequence[torch.Tensor]], list[torch.Tensor]]


class Executor(Protocol):
    """Compiles modules of the `spyre` dialect."""

    def compile(self, module: ModuleOp) -> Executable: ...


class OracleExecutor:
    """Runs the interpreter of the `spyre` dialect."""

    def __init__(self, options: Options):
        self.options = options

    def compile(self, module: ModuleOp) -> Executable:
        from spyre_mlir.interpreters.spyre import interpret

        def run(arguments: Sequence[torch.Tensor]) -> list[torch.Tensor]:
            return interpret(module, arguments)

        return run


def _card(options: Options) -> Executor:
    from .card_executor import CardExecutor

    return CardExecutor(options)


EXECUTORS: dict[str, Callable[[Options], Executor]] = {
    "card": _card,
    "oracle": OracleExecutor,
}


def executor(options: Options) -> Executor:
    """The executor that the options name."""
    return EXECUTORS[options.executor](options)
