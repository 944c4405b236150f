# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ran where: of each program, and of the last compiled call."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from spyre_mlir.diagnostics import SourceLine


class FallbackWarning(UserWarning):
    """Operations of a compiled graph run on the host."""


@dataclass(frozen=True)
class HostOp:
    """An operation that the host runs, and why."""

    op: str
    dtype: str
    shape: tuple[int, ...]
    reason: str
    where: SourceLine | None

    @property
    def is_float(self) -> bool:
        return "float" in self.dtype or self.dtype in ("f16", "bf16", "f32")

    def __str__(self) -> str:
        tensor = f" giving {self.dtype}{list(self.shape)}" if self.dtype else ""
        where = f" (from {self.where})" if self.where else ""
        return f"{self.op}{tensor}: {self.reason}{where}"


@dataclass
class Report:
    """Operations of one program by where they run."""

    card: Counter[str] = field(default_factory=Counter)
    """Number of nodes by operation."""
    host: list[HostOp] = field(default_factory=list)
    card_segments: int = 0
    host_segments: int = 0
    calls: int = 0
    """Calls of the program so far."""

    @property
    def host_floats(self) -> list[HostOp]:
        """Host operations that give floating-point tensors."""
        return [op for op in self.host if op.is_float]

    def fallbacks(self) -> list[str]:
        """One line per kind of host operation."""
        lines = Counter(f"{op.op}: {op.reason}" for op in self.host)
        return [f"{n} x {line}" if n > 1 else line for line, n in lines.items()]

    def __str__(self) -> str:
        card = ", ".join(f"{name} x{n}" for name, n in self.card.most_common())
        lines = [f"card: {card or 'nothing'} in {self.card_segments} segments"]
        lines += [f"host: {line}" for line in self.fallbacks()]
        return "\n".join(lines)


_last: list[Report] = []


def record(report: Report) -> None:
    """Notes the report of the program that was just called."""
    _last[:] = [report]


def last_report() -> Report:
    """What ran where in the last call of a compiled graph."""
    if not _last:
        raise LookupError("no compiled graph has run yet")
    return _last[0]
