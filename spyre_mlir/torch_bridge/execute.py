# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The plug between an imported segment and what runs it.

An `Executor` turns the code of a segment into a callable on tensors. The callable gets
the tensors of the function's arguments, in order, as the caller has them (any strides,
on the host or on the card), and gives fresh tensors for its results, each with the
sizes, strides, dtype and device that its `Output` promises. It changes no argument.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import torch
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from spyre_mlir.algebra.layout import DeviceLayout
from spyre_mlir.analysis.layouts import LAYOUT, STATIC
from spyre_mlir.config import Options
from spyre_mlir.dialects.spyre import LayoutAttr

if TYPE_CHECKING:
    from spyre_runtime.loader import Executable as Loaded

Executable = Callable[[Sequence[torch.Tensor]], list[torch.Tensor]]


@dataclass(frozen=True)
class Input:
    """What is known of an argument when its segment is compiled."""

    is_static: bool = False
    """The same from call to call, so that its layout may be chosen."""
    layout: DeviceLayout | None = None
    """How it lies on the card already; None: in the default layout, or not yet."""


@dataclass(frozen=True)
class Output:
    """What a result must be."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device
    layout: DeviceLayout | None = None
    """How it must lie on the card; None: in the default layout."""


@dataclass(frozen=True)
class SegmentCode:
    """A segment, ready to be compiled."""

    module: ModuleOp
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]

    def annotate(self) -> None:
        """Writes what is known of arguments and results at the function `main`."""
        (main,) = (op for op in self.module.ops if isinstance(op, FuncOp))
        arguments = [_marks(i.is_static, i.layout) for i in self.inputs]
        results = [_marks(False, o.layout) for o in self.outputs]
        if any(arguments):
            main.arg_attrs = ArrayAttr([DictionaryAttr(m) for m in arguments])
        if any(results):
            main.res_attrs = ArrayAttr([DictionaryAttr(m) for m in results])


def _marks(is_static: bool, layout: DeviceLayout | None) -> dict[str, Attribute]:
    marks: dict[str, Attribute] = {STATIC: UnitAttr()} if is_static else {}
    if layout is not None:
        marks[LAYOUT] = LayoutAttr.of(layout)
    return marks


@dataclass
class Traffic:
    """What moved beside the programs in one call, as (times, bytes)."""

    uploads: list[int] = field(default_factory=lambda: [0, 0])
    """From host tensors to the card."""
    downloads: list[int] = field(default_factory=lambda: [0, 0])
    """From the card to host tensors."""
    gathers: list[int] = field(default_factory=lambda: [0, 0])
    """Card tensors that programs could not read where they lie."""
    scatters: list[int] = field(default_factory=lambda: [0, 0])
    """Results that programs could not write where they shall lie."""

    def clear(self) -> None:
        for counts in vars(self).values():
            counts[:] = (0, 0)

    def add(self, other: Traffic) -> None:
        for name, counts in vars(self).items():
            for k, number in enumerate(getattr(other, name)):
                counts[k] += number

    def __str__(self) -> str:
        parts = [
            f"{times} {name} of {nbytes} bytes"
            for name, (times, nbytes) in vars(self).items()
            if times
        ]
        return ", ".join(parts) or "nothing"


def count(counter: list[int], nbytes: int) -> None:
    """Counts one movement."""
    counter[0] += 1
    counter[1] += nbytes


class Executor(Protocol):
    """Compiles the segments of one program."""

    traffic: Traffic
    loaded: list[Loaded]
    """Images of the segments so far, in order."""

    def compile(self, code: SegmentCode) -> Executable: ...


class OracleExecutor:
    """Runs the interpreter of the `spyre` dialect, on the host."""

    def __init__(self, options: Options, card: int):
        self.options = options
        self.traffic = Traffic()
        self.loaded: list[Loaded] = []

    def compile(self, code: SegmentCode) -> Executable:
        from spyre_mlir.interpreters.spyre import interpret

        def run(arguments: Sequence[torch.Tensor]) -> list[torch.Tensor]:
            results = interpret(code.module, [a.cpu() for a in arguments])
            return [
                restride(value.to(output.device), output.strides)
                for value, output in zip(results, code.outputs, strict=True)
            ]

        return run


def _card(options: Options, card: int) -> Executor:
    from .card_executor import CardExecutor

    return CardExecutor(options, card)


EXECUTORS: dict[str, Callable[[Options, int], Executor]] = {
    "card": _card,
    "oracle": OracleExecutor,
}


def executor(options: Options, card: int) -> Executor:
    """The executor that the options name, for the card of an index."""
    return EXECUTORS[options.executor](options, card)


def restride(value: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    """The tensor with these strides, copied if it has others."""
    pairs = zip(value.shape, value.stride(), strides, strict=True)
    if value.numel() == 0 or all(n == 1 or a == b for n, a, b in pairs):
        return value
    result = torch.empty_strided(
        value.shape, strides, dtype=value.dtype, device=value.device
    )
    target, source = written(result, value)
    target.copy_(source)
    return result


def written(
    target: torch.Tensor, source: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Of elements that repeat in the target, which are equal, one is written."""
    for dim, stride in enumerate(target.stride()):
        if stride == 0:
            target, source = target.narrow(dim, 0, 1), source.narrow(dim, 0, 1)
    return target, source
