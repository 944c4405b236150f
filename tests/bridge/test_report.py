# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a user is told: one warning at their line, one report, a line of progress."""

from __future__ import annotations

import gc
import io
import os
import pty
import subprocess
import sys
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

import spyre_mlir
from spyre_mlir import pipelines
from spyre_mlir.torch_bridge import progress
from spyre_mlir.torch_bridge.report import FallbackWarning, last_report
from spyre_runtime.card import card
from spyre_runtime.loader import Executable

from . import card as on_card

ROOT = Path(__file__).parents[2]
compiled = on_card.compiled


@pytest.fixture(autouse=True)
def _fresh() -> None:
    torch._dynamo.reset()
    gc.collect()
    spyre_mlir.reset_report()


def warned(run: Callable[[], object]) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
    return [w for w in caught if w.category is FallbackWarning]


def _scans(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    return torch.cumsum(y, 0) + torch.cumsum(y, 0)


LINE = _scans.__code__.co_firstlineno + 2


def test_one_warning_for_a_function_points_at_the_users_line() -> None:
    run = compiled(_scans, fallback="warn")
    (found,) = warned(lambda: [run(torch.randn(n, 5)) for n in (3, 4, 70)])
    assert (found.filename, found.lineno) == (__file__, LINE)
    text = str(found.message)
    assert "in _scans, the host runs what the card cannot" in text
    assert f"2 x test_report.py:{LINE}, return torch.cumsum(y, 0) + " in text
    assert "the card has no scans" in text


def test_another_function_has_a_warning_of_its_own() -> None:
    def other(x: torch.Tensor) -> torch.Tensor:
        return x.cumsum(0)

    first = compiled(_scans, fallback="warn")
    second = torch.compile(other, backend=on_card.checking.backend())
    x = torch.randn(3, 5)
    names = [str(w.message) for w in warned(lambda: (first(x), second(x), first(x)))]
    assert ["_scans" in n for n in names] == [True, False]
    assert "other" in names[1]


def test_the_report_counts_programs_causes_and_work() -> None:
    run = compiled(_scans, fallback="silent", verify=False)
    for size in (3, 3, 4):
        run(torch.randn(size, 5))
    run(torch.randn(3, 5).half())
    (function,) = spyre_mlir.report().functions
    assert function.name == "_scans" and function.where.file == __file__
    assert function.calls == 4
    assert function.programs.total() == 3
    assert function.programs["first call"] == 1
    assert function.card["mul.Tensor"] == 3
    host = {line.op: n for line, n in function.host.items()}
    assert host == {"cumsum.default": 6}
    assert function.device_picoseconds > last_report().simulated_picoseconds > 0
    assert function.traffic.uploads[0] >= 4
    text = str(spyre_mlir.report())
    assert "_scans" in text and "first call x1" in text and "cumsum.default" in text
    spyre_mlir.reset_report()
    assert not spyre_mlir.report().functions
    run(torch.randn(4, 5))
    assert spyre_mlir.report().functions[0].programs.total() == 0


def test_one_element_over_a_matrix_moves_no_more_than_the_matrix() -> None:
    run = compiled(lambda x: torch.ones(256, 512) * x[1], fallback="error")
    run(torch.randn(4))
    moved = last_report().device
    assert moved.dram_write_bytes <= 1.1 * 256 * 512 * 4
    assert moved.dram_read_bytes <= 0.1 * 256 * 512 * 4


def test_a_new_size_is_a_cause() -> None:
    run = torch.compile(
        lambda x: x + 1, backend=on_card.checking.backend(executor="card"), dynamic=True
    )
    for size in (6, 5, 6):
        run(torch.randn(size, 64, device="spyre"))
    (function,) = spyre_mlir.report().functions
    assert function.programs == {"first call": 1, "new size": 1}


def test_compiling_is_all_before_the_first_launch() -> None:
    run = compiled(lambda x: (x @ x).relu(), fallback="error")
    x = torch.randn(64, 64)
    run(x)
    report = last_report()
    (loaded,) = report.loaded
    engine = loaded.engine
    assert all(program in engine._plans for program in loaded.image.programs)
    assert report.compile_seconds > 0


def test_a_dead_graph_leaves_nothing_on_the_card() -> None:
    def once() -> list[weakref.ref[Executable]]:
        module = nn.Sequential(nn.Linear(96, 96), nn.LayerNorm(96)).eval()
        run = compiled(module.requires_grad_(False), verify=False)
        with torch.no_grad():
            run(torch.randn(5, 96))
        return [weakref.ref(loaded) for loaded in last_report().loaded]

    gc.collect()
    before = card().memory.stats().allocated, card().engine().kept_actions
    (loaded,) = once()
    assert card().engine().kept_actions > before[1]
    torch._dynamo.reset()
    gc.collect()
    assert loaded() is None
    assert card().engine().kept_actions == before[1]
    assert card().memory.stats().allocated == before[0]
    assert last_report().card_segments == 1
    with pytest.raises(LookupError, match="on a card"):
        _ = last_report().device


def test_programs_of_a_graph_are_bounded() -> None:
    options = {"executor": "card", "programs": 3}
    run = torch.compile(
        lambda x: x + 1, backend=on_card.checking.backend(**options), dynamic=True
    )
    images: list[weakref.ref[Executable]] = []
    for size in range(2, 9):
        x = torch.randn(size, 5)
        assert torch.equal(run(x), x + 1)
        images += [weakref.ref(loaded) for loaded in last_report().loaded]
    gc.collect()
    assert sum(image() is not None for image in images) == 3
    x = torch.randn(2, 5)
    assert torch.equal(run(x), x + 1)
    assert spyre_mlir.report().programs >= 7


def test_the_package_is_imported_without_torch() -> None:
    code = "import sys, spyre_mlir; print('torch' in sys.modules, spyre_mlir.report)"
    path = os.pathsep.join((str(ROOT), str(ROOT / "runtime")))
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("False <function report"), done.stderr


LONG = """
import torch
import spyre_mlir.torch_bridge.register
from spyre_mlir.torch_bridge import progress

progress.AFTER_SECONDS = 0.0

@torch.compile(backend="spyre_mlir")
def slow_to_compile(x):
    return (x @ x).softmax(-1)

print(slow_to_compile(torch.ones(64, 64)).sum().item())
"""


def on_a_terminal(code: str, **environment: str) -> str:
    """What a program writes to stderr, which is a terminal."""
    owner, terminal = pty.openpty()
    path = os.pathsep.join((str(ROOT), str(ROOT / "runtime")))
    variables = {**os.environ, "PYTHONPATH": path, "TERM": "xterm", "COLUMNS": "100"}
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=terminal,
        env={**variables, **environment},
    )
    os.close(terminal)
    parts: list[bytes] = []
    while True:
        try:
            part = os.read(owner, 4096)
        except OSError:  # the last holder of the terminal has ended
            break
        parts.append(part)
    os.close(owner)
    stdout, _ = child.communicate(timeout=60)
    assert (child.returncode, stdout) == (0, b"64.0\n"), parts
    return b"".join(parts).decode()


def test_a_long_first_call_says_on_a_terminal_what_it_does() -> None:
    shown = on_a_terminal(LONG)
    assert "spyre: slow_to_compile: " in shown
    assert "spyre-plan" in shown or "segment 1 of 1" in shown or "bind" in shown


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("wanted", "kind"), [(False, Terminal), (True, io.StringIO)])
def test_progress_is_for_terminals_and_can_be_off(
    monkeypatch: pytest.MonkeyPatch, wanted: bool, kind: type[io.StringIO]
) -> None:
    monkeypatch.setattr(progress, "AFTER_SECONDS", 0.0)
    monkeypatch.setattr(sys, "stderr", shown := kind())
    with progress.progress("f", wanted):
        assert not pipelines.listeners
    assert shown.getvalue() == ""


def test_a_call_within_a_call_has_no_line_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress.progress("f", True), progress.progress("g", True):
        assert len(pipelines.listeners) == 1
    assert not pipelines.listeners
