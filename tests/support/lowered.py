# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules planned for small chips, and run on bytes level by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agreement.levels import Kernels, context, functions_of, run_calls
from torch import Tensor
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.transforms import get_all_passes

from spyre_mlir.dialects import dev
from spyre_mlir.pipelines import PIPELINES
from spyre_mlir.transforms import all_passes
from spyre_mlir.transforms._functions import CHIP
from spyre_runtime.engine import Engine

KTDP = (
    "spyre-copy-results",
    *PIPELINES["plan"],
    "spyre-materialize-groups",
    "spyre-convert-spyre-to-ktdp",
)
DEV = ("spyre-convert-ktdp-to-dev", "spyre-check-deadlock")


def run_passes(module: ModuleOp, names: Sequence[str]) -> None:
    known = {**get_all_passes(), **all_passes()}
    for name in names:
        known[name]()().apply(context(), module)
        module.verify()


@dataclass
class Programs(Kernels):
    """Runs the calls of a module of programs on the machine."""

    programs: dict[str, dev.ProgramOp] | None = None

    def __post_init__(self) -> None:
        self.engine = Engine(self.dram)

    def launch(self, op: dev.CallOp, addresses: Sequence[int]) -> None:
        assert self.programs is not None
        self.engine.lx.fill_(0xFF)
        self.engine.run(self.programs[op.program_name], addresses)


@dataclass
class Lowered:
    """A module at both lower levels."""

    ktdp: ModuleOp
    dev: ModuleOp

    def run_ktdp(self, arguments: Sequence[Tensor]) -> list[Tensor]:
        return run_calls(Kernels(functions_of(self.ktdp)), arguments)

    def run_dev(self, arguments: Sequence[Tensor]) -> list[Tensor]:
        programs = {p.sym_name.data: p for p in self.programs()}
        kernels = Programs(functions_of(self.dev), programs=programs)
        return run_calls(kernels, arguments)

    def programs(self) -> list[dev.ProgramOp]:
        return [op for op in self.dev.ops if isinstance(op, dev.ProgramOp)]

    def records(self) -> list[dev.RecordOp]:
        return [r for p in self.programs() for r, _ in dev.walk_records(p)]


def lower(module: ModuleOp, cores: int = 4, lx_bytes: int = 1 << 16) -> Lowered:
    """Plans a copy of a module for a chip of this size and lowers it."""
    module = module.clone()
    sizes = f"cores={cores},scratchpad_bytes_per_core={lx_bytes}"
    free = "scratchpad_reserved_bytes_per_core=0"
    module.attributes[CHIP] = StringAttr(f"spyre,{sizes},{free}")
    run_passes(module, KTDP)
    staged = module.clone()
    run_passes(module, DEV)
    return Lowered(staged, module)
