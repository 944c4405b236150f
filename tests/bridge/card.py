# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The device for tests of compiled calls on card tensors, and what moved in a call."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Concatenate
from unittest.mock import patch

import torch

from spyre_mlir.torch_bridge import register
from spyre_mlir.torch_bridge.report import last_report
from spyre_runtime import build, device
from spyre_runtime.autoload import autoload

from . import checking
from .checking import assert_same

assert register  # imported for what it registers
build.build()
autoload()

__all__ = ["check_on_card", "compiled", "counted_copies", "moved", "on_card"]


Function = Callable[Concatenate[Any, ...], Any]


def compiled(function: Function, **options: Any) -> Callable[..., Any]:
    """`torch.compile` with our backend, for the card."""
    return checking.compiled(function, **{"executor": "card"} | options)


def on_card(value: Any) -> Any:
    """Tensors moved to the card with sizes, strides and offset, through containers."""
    if isinstance(value, (list, tuple)):
        return type(value)(on_card(item) for item in value)
    if not isinstance(value, torch.Tensor):
        return value
    moved = value.detach().to("spyre")
    return moved.requires_grad_(value.requires_grad)


def on_host(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: on_host(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(on_host(item) for item in value)
    return value.cpu() if isinstance(value, torch.Tensor) else value


def moved() -> dict[str, int]:
    """How often data moved beside the programs in the last call, by kind."""
    traffic = vars(last_report().traffic)
    return {name: times for name, (times, _) in traffic.items() if times}


@contextmanager
def counted_copies() -> Generator[list[str]]:
    """Notes each copy that a card tensor takes part in, and by what means."""
    copies: list[str] = []

    def noting(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            copies.append(name)
            return original(*arguments)

        return call

    with (
        patch.object(device, "_read", noting("read", device._read)),
        patch.object(device, "_write", noting("write", device._write)),
    ):
        yield copies


def check_on_card(
    function: Function, *inputs: Any, exact: bool = False, **options: Any
) -> Any:
    """On card tensors the compiled function gives what eager gives on the host."""
    expected = [x.clone() if isinstance(x, torch.Tensor) else x for x in inputs]
    given = [on_card(x) for x in inputs]
    with torch.no_grad():
        want = function(*expected)
        got = compiled(function, **options)(*given)
    assert_same("result", on_host(got), on_host(want), exact)
    assert_same("inputs", on_host(given), expected, exact)
    return got
