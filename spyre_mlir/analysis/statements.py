# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A group's staged program in plain data: loops, transfers and computes, buffers."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from spyre_mlir.algebra.access import Access, Axis, Step


@dataclass(frozen=True)
class LoopLevel:
    """A loop of the kernel; the identity tells siblings of one depth apart."""

    identity: int
    trips: int


@dataclass
class LxBuffer:
    """A scratchpad buffer of a kernel."""

    owner: int
    """Position of the operation whose decision places it."""
    role: str
    """`result`, `sum` (partial sums) or `stage` (a loaded operand)."""
    bytes: int
    """Of one stage, whole sticks."""
    depth: int
    first: int
    last: int
    """Life, as positions of operations; a buffer that a transfer touches lives on."""
    address: int = 0
    is_placed: bool = False
    """Its address is decided."""

    @property
    def total_bytes(self) -> int:
        return self.bytes * self.depth


@dataclass(frozen=True)
class Statement:
    """One transfer or compute, at its place in the loop nest."""

    kind: str
    """`load`, `gather`, `matmul`, `vector`, `shuffle` or `store`."""
    nest: tuple[LoopLevel, ...]
    op: int
    """Position of the operation that it belongs to."""
    axes: tuple[Axis, ...]
    reads: tuple[Access, ...]
    write: Access
    roles: str = ""
    steps: tuple[Step, ...] = ()
    combine: str = ""
    fold: tuple[int, ...] = ()
    acc_level: int = -1
    index: tuple[int, int, int] = (0, 0, 0)
    """Gather: stride, stick step and limit of the index."""


@dataclass
class Kernel:
    """A group's program: symbols number the kernel's DRAM tensors."""

    grid: tuple[int, ...]
    symbols: list[SSAValue]
    statements: list[Statement] = field(default_factory=list[Statement])
    buffers: list[LxBuffer] = field(default_factory=list[LxBuffer])

    def peak_bytes(self) -> int:
        return max((b.address + b.total_bytes for b in self.buffers), default=0)
