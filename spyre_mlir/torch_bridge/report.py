# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ran where: of each program, and of the last compiled call."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spyre_mlir.diagnostics import SourceLine

from .execute import Traffic

if TYPE_CHECKING:
    from spyre_runtime.loader import Executable as Loaded
    from spyre_runtime.report import Report as DeviceReport


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

    compile_seconds: float = 0.0
    """Wall time of compiling the program."""
    run_seconds: float = 0.0
    """Wall time of the last call."""
    traffic: Traffic = field(default_factory=Traffic)
    """What moved beside the programs in the last call."""
    loaded: list[Loaded] = field(default_factory=list)
    """Images on the card, by card segment; none when the program is gone."""

    @property
    def simulated_picoseconds(self) -> int:
        """Time of one call on the device; host operations take none."""
        return sum(image.total_picoseconds for image in self.loaded)

    @property
    def device(self) -> DeviceReport:
        """One call on the device: time, traffic and units, by user's operation."""
        from spyre_runtime.report import report_images

        if not self.loaded:
            raise LookupError("no part of the program is on a card")
        chip = self.loaded[0].card.chip
        return report_images([image.timing for image in self.loaded], chip)

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
        lines.append(f"moved: {self.traffic}")
        lines.append(
            f"compiled in {self.compile_seconds:.2f} s, last call "
            f"{self.run_seconds * 1e3:.1f} ms"
        )
        return "\n".join(lines)


def joined(reports: Sequence[Report]) -> Report:
    """
    The report of programs that ran in one call of a compiled graph, in order; one that
    ran again, as the body of a loop does, adds its time but names its operations once.
    """
    whole = Report()
    for report in {id(r): r for r in reports}.values():
        whole.card += report.card
        whole.host += report.host
        whole.card_segments += report.card_segments
        whole.host_segments += report.host_segments
        whole.compile_seconds += report.compile_seconds
    for report in reports:
        whole.traffic.add(report.traffic)
        whole.loaded += report.loaded
    whole.calls = reports[0].calls
    whole.run_seconds = reports[0].run_seconds
    return whole


_last: list[Report] = []
_running = threading.local()


@contextmanager
def called(report: Report | None = None) -> Generator[None]:
    """
    A call of a program, or of a graph that is several. Programs that are called within
    it are a part of it, and `last_report` is of the outermost call.
    """
    outer: list[Report] | None = getattr(_running, "inner", None)
    inner: list[Report] = [] if report is None else [report]
    _running.inner = inner
    try:
        yield
    finally:
        _running.inner = outer
    if outer is not None:
        outer += inner
    elif inner:
        _last[:] = inner


def last_report() -> Report:
    """What ran where in the last call of a compiled graph."""
    if not _last:
        raise LookupError("no compiled graph has run yet")
    return _last[0] if len(_last) == 1 else joined(_last)
