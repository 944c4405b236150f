# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
What a `ktdp` kernel means: the oracle of the lowerings to and from it.

Kernels run on real bytes. DRAM is one run of bytes, each core has a scratchpad that
starts as NaN, and the cores take turns, switching only where one waits for another's
contribution. A tensor value is in the scratchpad from the op that makes it to the last
that reads it, at no address. Sums and matmuls accumulate in f32; every scalar function
rounds to its result type. Reading or writing out of bounds, tensors that do not fit the
scratchpad together, a deadlock and an op without a meaning are errors that name the op
and the core.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from .errors import DeadlockError, KernelError

if TYPE_CHECKING:
    from torch import Tensor
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.dialects.func import FuncOp
    from xdsl.ir import Operation

    from .machine import Machine

LX_BYTES = 2 << 20
"""Scratchpad of one core (public)."""


def run_kernel(
    kernel: ModuleOp | FuncOp,
    arguments: Sequence[int | float],
    dram: Tensor,
    grid: Sequence[int] | None = None,
    lx_bytes: int = LX_BYTES,
    last_fastest: bool = False,
    name: str | None = None,
) -> Machine:
    """
    Runs a kernel on every core of its grid, changing the bytes of `dram`.

    `arguments` are the function's, one number each; `grid` replaces its attribute.
    `last_fastest` numbers cores with the last grid dimension fastest instead of the
    first; it matters where a kernel names cores by number. A module with several
    functions needs the `name`, unless one alone has a grid. The result holds the
    scratchpads as the kernel left them.
    """
    from .machine import run_kernel as run

    _load_meanings()
    return run(kernel, arguments, dram, grid, lx_bytes, last_fastest, name)


def interpreted_ops() -> frozenset[type[Operation]]:
    """Every op that has a meaning here; a terminator's is to end its block."""
    from xdsl.traits import IsTerminator

    from spyre_mlir.dialects.ktdp import Ktdp

    from .machine import FLOW, HANDLERS

    _load_meanings()
    ends = (op for op in Ktdp.operations if op.has_trait(IsTerminator))
    return frozenset(HANDLERS) | frozenset(FLOW) | frozenset(ends)


def _load_meanings() -> None:
    """Fills the tables of meanings; importing torch with them takes a while."""
    for module in ("flow", "scalars", "structured", "tensors", "tiles"):
        import_module(f"{__name__}.{module}")


__all__ = ["LX_BYTES", "DeadlockError", "KernelError", "interpreted_ops", "run_kernel"]
