# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The levels that run a `spyre` module: its interpreter, that of `ktdp`, the card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import torch
from torch import Tensor
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import Builtin, ModuleOp, StringAttr
from xdsl.dialects.func import Func, FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from spyre_mlir.algebra.access import ITEMSIZE
from spyre_mlir.algebra.layout import DeviceLayout, elements_per_stick
from spyre_mlir.analysis.space import bytes_of
from spyre_mlir.binary.image import Image
from spyre_mlir.binary.reader import read
from spyre_mlir.binary.writer import write
from spyre_mlir.compiler import encode
from spyre_mlir.dialects import dev
from spyre_mlir.dialects.spyre import Spyre, dtype_name, layout_of, tensor_of
from spyre_mlir.interpreters.ktdp import run_kernel
from spyre_mlir.interpreters.spyre import torch_dtype
from spyre_mlir.pipelines import load_passes
from spyre_mlir.target.chip import Chip
from spyre_mlir.target.chips import load_chip
from spyre_mlir.transforms import all_passes
from spyre_mlir.transforms._functions import CHIP
from spyre_runtime.card import Card
from spyre_runtime.formats import read_host, write_host
from spyre_runtime.loader import Executable

MEMORY_BYTES = 1 << 30
_POISON = 0xFF
"""Bytes of a NaN in every float type."""


def context() -> Context:
    made = Context()
    for dialect in (Builtin, Func, Spyre):
        made.load_dialect(dialect)
    return made


def main_of(module: ModuleOp) -> FuncOp:
    return next(
        f for f in module.ops if isinstance(f, FuncOp) and f.sym_name.data == "main"
    )


# ---- the card


CHIPS = (
    "spyre",
    "spyre,scratchpad_bytes_per_core=32768,scratchpad_reserved_bytes_per_core=128",
    "spyre,cores=5,scratchpad_bytes_per_core=12288,"
    "scratchpad_reserved_bytes_per_core=128",
    "spyre,cores=1,scratchpad_bytes_per_core=65536,"
    "scratchpad_reserved_bytes_per_core=128,max_loop_trips=7",
    "spyre,cores=12,max_span_bytes=65536",
)
"""The card, and smaller ones, on which small tensors take many tiles."""


def chip(description: str) -> Chip:
    """The chip that a module's attribute describes."""
    name, *settings = description.split(",")
    return load_chip(name).with_overrides(dict(s.split("=", 1) for s in settings))


def compile_image(module: ModuleOp, description: str = CHIPS[0]) -> bytes:
    """The image of a copy of a module."""
    module = module.clone()
    module.attributes[CHIP] = StringAttr(description)
    for pass_ in load_passes("compile"):
        pass_.apply(context(), module)
    module.verify()
    return write(encode(module))


class Bench:
    """A card of its own, whose memories are NaN before each launch."""

    def __init__(self, description: str = CHIPS[0]) -> None:
        self.card = Card(0, MEMORY_BYTES, chip(description))
        self.picoseconds = 0
        """Of the last launch."""

    def run(
        self, image: bytes, arguments: Sequence[Tensor], poison: bool = True
    ) -> list[Tensor]:
        """The results of an image; without `poison`, on memories as they are."""
        card = self.card
        executable = Executable(card, read(image))
        buffers = [*executable.arguments, *executable.results]
        blocks = [card.memory.allocate(b.bytes) for b in buffers]
        if poison:
            self.poison(executable.image)
        addresses = [block.address for block in blocks]
        inputs = addresses[: len(arguments)]
        outputs = addresses[len(arguments) :]
        for buffer, address, value in zip(
            executable.arguments, inputs, arguments, strict=True
        ):
            write_host(card.memory, address, value, DeviceLayout(buffer.dims))
        before = card.elapsed_picoseconds
        executable.launch(inputs, outputs)
        self.picoseconds = card.elapsed_picoseconds - before
        results = [
            read_host(
                card.memory,
                address,
                buffer.shape,
                torch_dtype(buffer.dtype),
                DeviceLayout(buffer.dims),
            )
            for buffer, address in zip(executable.results, outputs, strict=True)
        ]
        executable.release()
        for block in blocks:
            card.memory.free(block)
        return results

    def poison(self, image: Image) -> None:
        """Makes NaN of the scratchpads and of the DRAM that the image may use."""
        nbytes = sum(b.bytes for b in image.buffers) + image.pool_bytes + (1 << 20)
        self.card.memory.bytes_tensor[:nbytes].fill_(_POISON)
        engine = self.card.engine(image.numerics)
        engine.machine.lx.fill_(_POISON)


@cache
def bench(description: str = CHIPS[0]) -> Bench:
    """The card of this process's tests that has this chip."""
    return Bench(description)


# ---- ktdp


def ktdp_module(module: ModuleOp) -> ModuleOp:
    """A copy of a module whose kernels are staged `ktdp`."""
    module = module.clone()
    passes = [*load_passes("rewrite"), *load_passes("plan")]
    known = all_passes()
    for name in ("spyre-materialize-groups", "spyre-convert-spyre-to-ktdp"):
        passes.append(known[name]()())
    for pass_ in passes:
        pass_.apply(context(), module)
    module.verify()
    return module


def element_places(layout: DeviceLayout, shape: Sequence[int], dtype: str) -> Tensor:
    """Element offset of each element of a tensor."""
    eps = elements_per_stick(ITEMSIZE[dtype])
    places = torch.zeros(tuple(shape), dtype=torch.int64)
    for dim, (size, stride) in enumerate(
        zip(shape, layout.dim_strides(shape, eps), strict=True)
    ):
        i = torch.arange(size)
        steps = i // eps * stride + i % eps if dim == layout.stick_dim else i * stride
        view = [1] * len(shape)
        view[dim] = size
        places = places + steps.reshape(view)
    return places


@dataclass
class Kernels:
    """Runs the calls of a lowered module on the interpreter of `ktdp`."""

    functions: dict[str, FuncOp]
    dram: Tensor = field(
        default_factory=lambda: torch.full((1 << 24,), _POISON, dtype=torch.uint8)
    )
    used: int = 0

    def place(self, value: SSAValue) -> int:
        """Byte address of new memory for a tensor value."""
        address = self.used
        self.used += (bytes_of(value) + 127) // 128 * 128
        assert self.used <= self.dram.numel(), "the tests' programs are smaller"
        return address

    def run(self, function: FuncOp, addresses: Sequence[int]) -> list[int]:
        """Runs a function of calls; returns where its results are."""
        arguments = function.body.block.args
        at: dict[SSAValue, int] = dict(zip(arguments, addresses, strict=True))
        for op in function.body.block.ops:
            given = [at[v] for v in op.operands]
            if isinstance(op, func.ReturnOp):
                return given
            if isinstance(op, dev.CallOp):
                made = [self.place(r) for r in op.results]
                self.launch(op, [*given, *made])
            else:
                assert isinstance(op, func.CallOp)
                callee = self.functions[op.callee.root_reference.data]
                made = self.run(callee, given)
            at.update(zip(op.results, made, strict=True))
        raise AssertionError("a function without a return")

    def launch(self, op: dev.CallOp, addresses: Sequence[int]) -> None:
        """Runs the kernel of a call on the addresses of its tensors."""
        values = (*op.operands, *op.results)
        elements = [
            address // ITEMSIZE[dtype_name(v.type)]
            for address, v in zip(addresses, values, strict=True)
        ]
        run_kernel(self.functions[op.program_name], elements, self.dram)


def run_ktdp(module: ModuleOp, arguments: Sequence[Tensor]) -> list[Tensor]:
    """The results of a module through staged `ktdp`."""
    lowered = ktdp_module(module)
    return run_calls(Kernels(functions_of(lowered)), arguments)


def functions_of(module: ModuleOp) -> dict[str, FuncOp]:
    return {f.sym_name.data: f for f in module.ops if isinstance(f, FuncOp)}


def run_calls(kernels: Kernels, arguments: Sequence[Tensor]) -> list[Tensor]:
    """The results of the calls that `main` makes."""
    main = kernels.functions["main"]
    addresses = []
    for ssa, value in zip(main.body.block.args, arguments, strict=True):
        addresses.append(kernels.place(ssa))
        places = _places(ssa) + _first(ssa, addresses[-1])
        _view(kernels.dram, ssa)[places] = _raw(value)
    results = kernels.run(main, addresses)
    last = main.body.block.last_op
    assert last is not None
    return [
        _cooked(_view(kernels.dram, v)[_places(v) + _first(v, address)], v)
        for v, address in zip(last.operands, results, strict=True)
    ]


def _places(value: SSAValue) -> Tensor:
    layout = layout_of(value)
    assert layout is not None
    shape = tensor_of(value).get_shape()
    return element_places(layout, shape, dtype_name(value.type))


def _first(value: SSAValue, address: int) -> int:
    return address // ITEMSIZE[dtype_name(value.type)]


def _view(dram: Tensor, value: SSAValue) -> Tensor:
    name = dtype_name(value.type)
    return dram.view(torch.int16 if name == "i1" else torch_dtype(name))


def _raw(value: Tensor) -> Tensor:
    return value.to(torch.int16) if value.dtype is torch.bool else value


def _cooked(value: Tensor, ssa: SSAValue) -> Tensor:
    return value != 0 if dtype_name(ssa.type) == "i1" else value


# ---- passes


def passes_of(*pipelines: str) -> list[ModulePass]:
    """The passes of these pipelines, in order."""
    return [pass_ for name in pipelines for pass_ in load_passes(name)]
