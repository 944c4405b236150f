# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Planned modules run on bytes: kernels by the ktdp interpreter, programs by the machine.

Memory starts with all bits set, which is NaN, and every tensor lies in it as its
layout says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.transforms import get_all_passes

from spyre_mlir.algebra.access import ITEMSIZE
from spyre_mlir.algebra.layout import STICK_BYTES, elements_per_stick
from spyre_mlir.analysis.space import bytes_of
from spyre_mlir.dialects import dev, spyre
from spyre_mlir.interpreters.ktdp import run_kernel
from spyre_mlir.interpreters.spyre import torch_dtype
from spyre_mlir.pipelines import PIPELINES
from spyre_mlir.transforms import all_passes
from spyre_mlir.transforms._functions import CHIP

DRAM_BYTES = 1 << 22
PLAN = (*PIPELINES["plan"], "spyre-materialize-groups", "spyre-convert-spyre-to-ktdp")

_Launch = Callable[[str, list[SSAValue], list[int]], None]


def run_passes(module: ModuleOp, names: Sequence[str]) -> None:
    known = {**get_all_passes(), **all_passes()}
    for name in names:
        known[name]()().apply(Context(), module)
        module.verify()


def staged(module: ModuleOp, chip: str = "") -> ModuleOp:
    """The module, planned for a chip, with its kernels in staged ktdp."""
    if chip:
        module.attributes[CHIP] = StringAttr(f"spyre,{chip}")
    run_passes(module, PLAN)
    return module


def places(value: SSAValue) -> Tensor:
    """Where each element of a tensor lies, in elements from its start."""
    shape, layout = spyre.tensor_of(value).get_shape(), spyre.layout_of(value)
    assert layout is not None
    eps = elements_per_stick(ITEMSIZE[spyre.dtype_name(value.type)])
    total = torch.zeros(tuple(shape), dtype=torch.int64)
    strides = layout.dim_strides(shape, eps)
    for dim, (size, stride) in enumerate(zip(shape, strides, strict=True)):
        i = torch.arange(size).reshape(
            [-1 if d == dim else 1 for d in range(len(shape))]
        )
        total += i // eps * stride + i % eps if dim == layout.stick_dim else i * stride
    return total


class Memory:
    """DRAM with the values of one run."""

    def __init__(self) -> None:
        self.bytes = torch.full((DRAM_BYTES,), 0xFF, dtype=torch.uint8)
        self.end = 0

    def allocate(self, value: SSAValue) -> int:
        address = self.end
        self.end += -(-bytes_of(value) // STICK_BYTES) * STICK_BYTES
        assert self.end <= DRAM_BYTES, "the test's memory is too small"
        return address

    def _elements(self, value: SSAValue, address: int) -> Tensor:
        dtype = torch_dtype(spyre.dtype_name(value.type))
        stored = torch.int16 if dtype == torch.bool else dtype
        return self.bytes[address : address + bytes_of(value)].view(stored)

    def write(self, value: SSAValue, address: int, data: Tensor) -> None:
        elements = self._elements(value, address)
        elements[places(value).reshape(-1)] = data.to(elements.dtype).reshape(-1)

    def read(self, value: SSAValue, address: int) -> Tensor:
        found = self._elements(value, address)[places(value)]
        return found.to(torch_dtype(spyre.dtype_name(value.type)))


def run_ktdp(module: ModuleOp, inputs: Sequence[Tensor]) -> list[Tensor]:
    """What the kernels of a staged module compute."""
    memory = Memory()

    def launch(name: str, values: list[SSAValue], addresses: list[int]) -> None:
        sizes = [ITEMSIZE[spyre.dtype_name(v.type)] for v in values]
        bases = [a // s for a, s in zip(addresses, sizes, strict=True)]
        run_kernel(module, bases, memory.bytes, name=name)

    return _run(module, inputs, memory, launch)


def run_dev(module: ModuleOp, inputs: Sequence[Tensor]) -> list[Tensor]:
    """What the programs of a module compute on the machine."""
    from spyre_runtime.engine import Engine

    memory = Memory()
    engine = Engine(memory.bytes)
    programs = {p.sym_name.data: p for p in module.ops if isinstance(p, dev.ProgramOp)}

    def launch(name: str, values: list[SSAValue], addresses: list[int]) -> None:
        engine.lx.fill_(0xFF)
        engine.run(programs[name], addresses)

    return _run(module, inputs, memory, launch)


def _run(
    module: ModuleOp, inputs: Sequence[Tensor], memory: Memory, launch: _Launch
) -> list[Tensor]:
    functions = {f.sym_name.data: f for f in module.ops if isinstance(f, FuncOp)}
    main = functions["main"]
    given = []
    for argument, data in zip(main.body.block.args, inputs, strict=True):
        given.append(memory.allocate(argument))
        memory.write(argument, given[-1], data)
    results, addresses = _call(functions, main, given, memory, launch)
    return [memory.read(v, a) for v, a in zip(results, addresses, strict=True)]


def _call(
    functions: dict[str, FuncOp],
    function: FuncOp,
    given: Sequence[int],
    memory: Memory,
    launch: _Launch,
) -> tuple[list[SSAValue], list[int]]:
    """Runs a function's calls; its results and where they lie."""
    address: dict[SSAValue, int] = dict(
        zip(function.body.block.args, given, strict=True)
    )
    for op in function.body.block.ops:
        operands = [address[v] for v in op.operands]
        if isinstance(op, dev.CallOp):
            made = [memory.allocate(r) for r in op.results]
            values = [*op.operands, *op.results]
            launch(op.program_name, values, operands + made)
        elif isinstance(op, CallOp):
            callee = functions[op.callee.root_reference.data]
            _, made = _call(functions, callee, operands, memory, launch)
        else:
            assert isinstance(op, ReturnOp), f"{op.name} in a lowered function"
            return list(op.operands), operands
        address.update(zip(op.results, made, strict=True))
    raise AssertionError(f"@{function.sym_name.data} does not return")
