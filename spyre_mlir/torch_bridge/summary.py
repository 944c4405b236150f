# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
What every compiled function did so far: programs and why each was compiled, what ran
where, time and traffic. `spyre_mlir.report()` shows all of it.
"""

from __future__ import annotations

import inspect
import itertools
import threading
import time
import warnings
import weakref
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType
from typing import NamedTuple

from spyre_mlir.diagnostics import SourceLine

from .execute import Traffic
from .report import FallbackWarning, HostOp, Report

MOST_FUNCTIONS = 1000
"""Functions in a report; of more, the first are left out."""


class HostLine(NamedTuple):
    """An operation on a line of the user's that the host runs, and why."""

    op: str
    reason: str
    where: SourceLine | None

    def __str__(self) -> str:
        where = f"{self.where}: " if self.where else ""
        return f"{where}{self.op} ({self.reason})"


@dataclass
class FunctionReport:
    """One function that `torch.compile` was given, over all its graphs and calls."""

    name: str
    where: SourceLine
    programs: Counter[str] = field(default_factory=Counter[str])
    """Number of programs by what made each one necessary."""
    compile_seconds: float = 0.0
    """Wall time in our compiler, with binding to the card and its clock."""
    calls: int = 0
    """Of its graphs: a backward pass is one too."""
    run_seconds: float = 0.0
    """Wall time of the calls, compiling left out."""
    device_picoseconds: int = 0
    """Simulated time; operations on the host take none."""
    traffic: Traffic = field(default_factory=Traffic)
    card: Counter[str] = field(default_factory=Counter[str])
    """Number of operations by name, over all programs."""
    host: Counter[HostLine] = field(default_factory=Counter[HostLine])
    """The same of those that the host runs."""

    def __str__(self) -> str:
        causes = ", ".join(f"{cause} x{n}" for cause, n in self.programs.most_common())
        lines = [
            f"{self.name} ({self.where})",
            f"  {self.programs.total()} programs: {causes or 'none'}; compiled in "
            f"{self.compile_seconds:.2f} s",
            f"  {self.calls} calls in {self.run_seconds:.3f} s, on the device "
            f"{self.device_picoseconds / 1e9:.3f} ms; moved: {self.traffic}",
            f"  {self.card.total()} operations on the card, "
            f"{self.host.total() or 'none'} on the host",
        ]
        lines += [f"    {n} x {line}" for line, n in self.host.most_common()]
        return "\n".join(lines)


@dataclass(frozen=True)
class ModelReport:
    """All compiled functions of a process, since the last reset."""

    functions: tuple[FunctionReport, ...]

    @property
    def programs(self) -> int:
        return sum(f.programs.total() for f in self.functions)

    @property
    def compile_seconds(self) -> float:
        return sum(f.compile_seconds for f in self.functions)

    @property
    def device_picoseconds(self) -> int:
        return sum(f.device_picoseconds for f in self.functions)

    @property
    def host(self) -> Counter[HostLine]:
        """Operations that the host runs."""
        return sum((f.host for f in self.functions), Counter[HostLine]())

    def __str__(self) -> str:
        if not self.functions:
            return "no compiled function has run yet"
        head = (
            f"{len(self.functions)} compiled functions, {self.programs} programs, "
            f"compiled in {self.compile_seconds:.2f} s; on the device "
            f"{self.device_picoseconds / 1e9:.3f} ms"
        )
        return "\n".join((head, *map(str, self.functions)))


_reports: dict[int, FunctionReport] = {}
_functions: weakref.WeakValueDictionary[CodeType, Function]
_numbers = itertools.count()
_making = threading.Lock()


class Function:
    """A function that is compiled, for as long as any of its graphs lives."""

    def __init__(self, name: str, where: SourceLine):
        self.name = name
        self.where = where
        self._number = next(_numbers)
        self._warned: set[tuple[str, SourceLine | None]] = set()

    @property
    def report(self) -> FunctionReport:
        """What it did since the last reset."""
        found = _reports.get(self._number)
        if found is None:
            found = _reports[self._number] = FunctionReport(self.name, self.where)
            while len(_reports) > MOST_FUNCTIONS:
                _reports.pop(next(iter(_reports)), None)
        return found

    @contextmanager
    def called(self) -> Generator[None]:
        """A call, whose time counts but for that of compiling."""
        begin, before = time.perf_counter(), self.report.compile_seconds
        yield
        report = self.report
        compiling = max(report.compile_seconds - before, 0.0)
        report.calls += 1
        report.run_seconds += time.perf_counter() - begin - compiling

    def compiled(self, cause: str, program: Report, warn: bool) -> None:
        """
        Notes a new program, and why it was compiled: "" of the first one of a graph.
        What the host runs of it is said once for each line.
        """
        report = self.report
        cause = cause or ("new graph of Dynamo" if report.calls else "first call")
        report.programs[cause] += 1
        report.compile_seconds += program.compile_seconds
        report.card += program.card
        lines = Counter(HostLine(op.op, op.reason, op.where) for op in program.host)
        report.host += lines
        new = [op for op in program.host if (op.op, op.where) not in self._warned]
        if new and warn:
            self._warned |= {(op.op, op.where) for op in new}
            self._warn(new)

    def ran(self, program: Report) -> None:
        """Adds a run of a program."""
        self.report.device_picoseconds += program.simulated_picoseconds
        self.report.traffic.add(program.traffic)

    def _warn(self, operations: list[HostOp]) -> None:
        lines = Counter(HostLine(op.op, op.reason, op.where) for op in operations)
        listed = "\n  ".join(
            f"{n} x {x}" if n > 1 else str(x) for x, n in lines.items()
        )
        named = [op.where for op in operations if op.where is not None]
        where = named[0] if named else self.where
        text = (
            f"in {self.name}, the host runs what the card cannot:\n  {listed}\n"
            'options={"fallback": "silent"} hides this, "error" refuses it'
        )
        warnings.warn_explicit(text, FallbackWarning, where.file, where.line)


_functions = weakref.WeakValueDictionary()


def function_at_hand() -> Function:
    """The function that Dynamo is compiling; a graph from elsewhere has none."""
    code = _code_at_hand()
    if code is None:
        return Function("a graph", SourceLine("<unknown>", 0))
    with _making:
        found = _functions.get(code)
        if found is None:
            where = SourceLine(code.co_filename, code.co_firstlineno)
            found = _functions[code] = Function(code.co_qualname, where)
    return found


def _code_at_hand() -> CodeType | None:
    """Dynamo hands a backend the graph alone; who called it knows the code."""
    frame = inspect.currentframe()
    while frame is not None:
        root = getattr(frame.f_locals.get("self"), "root_tx", None)
        code = getattr(root, "f_code", None)
        if isinstance(code, CodeType):
            return code
        frame = frame.f_back
    return None


def report() -> ModelReport:
    """What all compiled functions did since the last reset."""
    return ModelReport(tuple(_reports.values()))


def reset_report() -> None:
    """Begins to count anew."""
    _reports.clear()
