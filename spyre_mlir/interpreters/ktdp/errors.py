# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What goes wrong while a kernel runs, with the op and the core."""

from __future__ import annotations

from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError


class KernelError(InterpretationError):
    """An error of the running kernel that names its op, location and core."""


class DeadlockError(KernelError):
    """Every core that has not finished waits for one that will not produce."""


def describe(op: Operation) -> str:
    """`ktdp.load %x` and where it is from, as far as is known."""
    names = [result.name_hint for result in op.results if result.name_hint]
    text = f"{op.name} %{names[0]}" if names else op.name
    if isinstance(op.location, UnknownLoc):
        return text
    return f"{text} at {op.location}"


def located(op: Operation, core: int, error: Exception) -> KernelError:
    return KernelError(f"{describe(op)}, core {core}: {error}")
