# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs programs that take addresses: a `ktdp` kernel, or a `dev.program` alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, cast

import torch
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, TensorType, i64
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from spyre_mlir.algebra.access import ITEMSIZE
from spyre_mlir.algebra.layout import DeviceLayout
from spyre_mlir.analysis.calls import callees_first
from spyre_mlir.diagnostics import SpyreError
from spyre_mlir.dialects import dev
from spyre_mlir.dialects.ktdp import GRID
from spyre_mlir.dialects.spyre import LayoutAttr, SpyreTensor, dtype_name
from spyre_mlir.interpreters.spyre import torch_dtype
from spyre_mlir.tools.located_parser import full_context
from spyre_mlir.tools.run_levels import Outcome, Request, entry_of, finish
from spyre_mlir.tools.run_values import fit, function_arguments, load_array, seeded

if TYPE_CHECKING:
    from spyre_runtime.card import Card
    from spyre_runtime.memory import CardMemory


@dataclass(frozen=True)
class Region:
    """Bytes of DRAM that hold a tensor, in host order unless its type has a layout."""

    type: SpyreTensor
    file: str
    address: int = 0

    @property
    def layout(self) -> DeviceLayout | str:
        encoding = self.type.encoding
        return encoding.data if isinstance(encoding, LayoutAttr) else "linear"

    @property
    def itemsize(self) -> int:
        return ITEMSIZE[dtype_name(self.type)]

    @property
    def bytes(self) -> int:
        shape = self.type.get_shape()
        if isinstance(self.layout, DeviceLayout):
            return self.layout.bytes(shape, self.itemsize)
        return prod(shape) * self.itemsize

    def fill(self, memory: CardMemory, generator: torch.Generator | None) -> None:
        """Writes the file's or seeded numbers; else it stays at zero."""
        from spyre_runtime.formats import write_host

        if self.file:
            value = fit(load_array(self.file), self.type, self.file)
        elif generator is not None:
            value = seeded(self.type, generator)
        else:
            return
        write_host(memory, self.address, value, self.layout)

    def read(self, memory: CardMemory) -> torch.Tensor:
        from spyre_runtime.formats import read_host

        shape, dtype = self.type.get_shape(), torch_dtype(dtype_name(self.type))
        return read_host(memory, self.address, shape, dtype, self.layout)


def parse_region(text: str, memory: CardMemory) -> Region:
    """`TYPE` or `TYPE=FILE.npy`, allotted in memory."""
    type_text, _, file = text.partition("=")
    try:
        type_ = Parser(full_context(), type_text, "--memory").parse_type()
    except ParseError as error:
        raise SpyreError(f"--memory {text}: {error.msg}") from error
    if not isinstance(type_, TensorType):
        raise SpyreError(f"--memory {text}: {type_} is no tensor type")
    region = Region(cast(SpyreTensor, type_), file)
    address = memory.allocate(region.bytes).address
    return Region(region.type, file, address)


@dataclass(frozen=True)
class Operands:
    """What a kernel is launched on: regions in a card's memory, and numbers."""

    card: Card
    values: tuple[Region | int | float, ...]

    @staticmethod
    def of(request: Request) -> Operands:
        """Allots and fills what a request names."""
        from spyre_runtime.card import Card

        card = Card(0, chip=request.chip)
        seed = request.seed
        generator = None if seed is None else torch.Generator().manual_seed(seed)
        values = tuple(
            parse_region(given, card.memory) if isinstance(given, str) else given
            for given in request.operands
        )
        made = Operands(card, values)
        for region in made.regions:
            region.fill(card.memory, generator)
        return made

    @property
    def regions(self) -> list[Region]:
        return [value for value in self.values if isinstance(value, Region)]

    def results(self) -> tuple[tuple[str, torch.Tensor], ...]:
        read = (region.read(self.card.memory) for region in self.regions)
        return tuple((f"memory {k}", value) for k, value in enumerate(read))


def kernel_on(on: str, module: ModuleOp, request: Request) -> Outcome:
    """Runs a kernel on what `--memory` and `--scalar` name."""
    callees_first(module)
    kernel = entry_of(module, request.entry)
    if request.grid is not None:
        kernel.attributes[GRID] = DenseArrayBase.from_list(i64, list(request.grid))
    if on == "interpreter":
        operands = Operands.of(request)
        _run_kernel(module, operands.values, operands.card, kernel.sym_name.data)
        return Outcome(operands.results())
    finish(module, "ktdp")
    return _run_program(program_of(module, kernel.sym_name.data), request)


def program_on_card(module: ModuleOp, request: Request) -> Outcome:
    """Runs a program on the regions that `--memory` names."""
    return _run_program(program_of(module, request.entry), request)


def _run_program(program: dev.ProgramOp, request: Request) -> Outcome:
    operands = Operands.of(request)
    regions = operands.regions
    if len(regions) < len(operands.values):
        raise SpyreError("programs of the card take addresses: --memory, not --scalar")
    engine = operands.card.engine(request.numerics)
    engine.run(program, [region.address for region in regions])
    return Outcome(operands.results(), program=program, chip=request.chip)


def _run_kernel(
    module: ModuleOp,
    operands: Sequence[Region | int | float],
    card: Card,
    name: str,
) -> None:
    from spyre_mlir.interpreters.ktdp import run_kernel

    # The addresses of ktdp count elements.
    arguments = [
        value.address // value.itemsize if isinstance(value, Region) else value
        for value in operands
    ]
    lx_bytes = card.chip.scratchpad_bytes_per_core
    memory = card.memory.bytes_tensor
    run_kernel(module, arguments, memory, lx_bytes=lx_bytes, name=name)


def on_kernels(module: ModuleOp, request: Request) -> Outcome:
    """Runs a function that calls `ktdp` kernels, those by their interpreter."""
    callees_first(module)
    from spyre_runtime.card import Card
    from spyre_runtime.formats import write_host

    function = entry_of(module, request.entry)
    arguments = function_arguments(function, request.inputs, request.seed)
    card = Card(0, chip=request.chip)
    memory = card.memory
    regions = [_region(a, memory) for a in function.body.block.args]
    for region, value in zip(regions, arguments, strict=True):
        write_host(memory, region.address, value, region.layout)
    results = _run_function(module, function, regions, card)
    named = tuple((f"result {k}", r.read(memory)) for k, r in enumerate(results))
    return Outcome(named)


def _region(value: SSAValue, memory: CardMemory) -> Region:
    region = Region(cast(SpyreTensor, value.type), "")
    return Region(region.type, "", memory.allocate(region.bytes).address)


def _run_function(
    module: ModuleOp, function: FuncOp, arguments: Sequence[Region], card: Card
) -> list[Region]:
    """Where the results of a function lie after it ran."""
    functions = {f.sym_name.data: f for f in module.ops if isinstance(f, FuncOp)}
    known: dict[SSAValue, Region] = dict(
        zip(function.body.block.args, arguments, strict=True)
    )
    for op in function.body.block.ops:
        given = [known[v] for v in op.operands]
        if isinstance(op, ReturnOp):
            return given
        if isinstance(op, dev.CallOp):
            made = [_region(r, card.memory) for r in op.results]
            _run_kernel(module, [*given, *made], card, op.program_name)
        elif isinstance(op, CallOp):
            callee = functions[op.callee.root_reference.data]
            made = _run_function(module, callee, given, card)
        else:
            raise SpyreError(f"{op.name} beside calls of kernels")
        known.update(zip(op.results, made, strict=True))
    raise SpyreError(f"@{function.sym_name.data} does not return")


def program_of(module: ModuleOp, name: str) -> dev.ProgramOp:
    """The program to run: the named one, or the only one."""
    programs = [p for p in module.ops if isinstance(p, dev.ProgramOp)]
    chosen = [p for p in programs if name in ("", p.sym_name.data)]
    if len(chosen) != 1:
        known = ", ".join(p.sym_name.data for p in programs)
        raise SpyreError(f"--entry must name one program of {known}")
    return chosen[0]
