# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles segments to images and runs them on a card."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from spyre_mlir.binary.bounds import UNLIMITED
from spyre_mlir.binary.image import HostValue
from spyre_mlir.config import Options
from spyre_mlir.diagnostics import OptionError
from spyre_mlir.pipelines import phase, run_pipeline
from spyre_mlir.target.chips import chip_names
from spyre_runtime.card import Card, card
from spyre_runtime.engine.guard import plain_torch
from spyre_runtime.loader import Executable as Loaded
from spyre_runtime.loader import load

from .dtypes import TORCH
from .execute import Input, Output, SegmentCode, Traffic
from .operands import Argument, Lease, Result
from .residents import residents_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


class CardExecutor:
    """Runs what the compiler wrote on a card."""

    def __init__(self, options: Options, index: int):
        if options.chip not in chip_names():
            listed = ", ".join(repr(name) for name in chip_names())
            raise OptionError(f"option 'chip' takes {listed}, not {options.chip!r}")
        self.options = options
        self.card = card(index)
        self.traffic = Traffic()
        self.loaded: list[Loaded] = []

    def compile(self, code: SegmentCode) -> CardSegment:
        data = compile_segment(code.module, self.options)
        with phase("load"):
            loaded = load(self.card, data, self.options.timing, UNLIMITED)
        with phase("bind"):
            loaded.prepare()
        self.loaded.append(loaded)
        mode = self.options.cpu_weights
        return CardSegment(loaded, code.inputs, code.outputs, mode, self.traffic)


def compile_segment(module: ModuleOp, options: Options) -> bytes:
    """The image of an imported segment."""
    from xdsl.context import Context
    from xdsl.dialects.builtin import StringAttr

    from spyre_mlir.binary.writer import write
    from spyre_mlir.compiler import encode
    from spyre_mlir.transforms._functions import CHIP

    module.attributes[CHIP] = StringAttr(options.chip)
    run_pipeline(module, Context(), verify="each" if options.verify else "off")
    with phase("encode"):
        return write(encode(module, numerics=options.numerics))


class CardSegment:
    """A loaded image as a function of tensors."""

    def __init__(
        self,
        loaded: Loaded,
        inputs: Sequence[Input] | None = None,
        outputs: Sequence[Output] | None = None,
        cpu_weights: str = "verify",
        traffic: Traffic | None = None,
    ):
        """Without `inputs` and `outputs`, a function of and to plain host tensors."""
        image = loaded.image
        inputs = [Input()] * len(image.arguments) if inputs is None else inputs
        outputs = [_on_host(v) for v in image.results] if outputs is None else outputs
        traffic = traffic or Traffic()
        self.executable = loaded
        self.card: Card = loaded.card
        self.residents = residents_of(self.card)
        self.arguments = [
            Argument(buffer, given.is_static, cpu_weights, traffic)
            for buffer, given in zip(loaded.arguments, inputs, strict=True)
        ]
        self.results = [
            Result(buffer, output, traffic)
            for buffer, output in zip(loaded.results, outputs, strict=True)
        ]

    def __call__(self, arguments: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        return self.card.submit(lambda: self._run(arguments))

    def _run(self, arguments: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        with plain_torch(), Lease(self.card, self.residents) as lease:
            given = [
                argument.address(tensor, lease)
                for argument, tensor in zip(self.arguments, arguments, strict=True)
            ]
            targets = [result.target(lease) for result in self.results]
            self.executable.launch(given, [address for address, _ in targets])
            return [finish() for _, finish in targets]


def _on_host(value: HostValue) -> Output:
    dtype = TORCH[value.dtype]
    return Output(value.shape, value.strides, dtype, torch.device("cpu"))
