# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can only be seen from outside: crashes, memory, start-up, installations."""

import shutil
import signal
import statistics
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import spyre_runtime
from spyre_runtime import build

Run = Callable[..., CompletedProcess[str]]

PACKAGE = Path(spyre_runtime.__file__ or "").parent


def test_a_host_dereference_kills_the_process(run_python: Run) -> None:
    done = run_python(
        """
import ctypes
address = torch.ones(3, device="spyre").data_ptr()
print("before", flush=True)
ctypes.string_at(address, 1)
print("after")
"""
    )
    assert done.stdout == "before\n"
    assert done.returncode == -signal.SIGSEGV


def test_a_large_tensor_that_nobody_writes_takes_no_memory(
    run_python: Run,
) -> None:
    done = run_python(
        """
t = torch.empty(100 * 10**9, dtype=torch.int8, device="spyre")
t[-1:].fill_(3)
assert t[-1].item() == 3 and torch.spyre.memory_allocated() >= 100 * 10**9
status = open("/proc/self/status").read()  # getrusage counts the parent's peak too
peak = int(status.split("VmHWM:")[1].split()[0]) * 1024
del t
assert torch.spyre.memory_allocated() == 0
print(peak < 10**9, peak)
"""
    )
    assert done.stdout.startswith("True"), done.stdout + done.stderr


def test_out_of_memory_is_an_error_after_which_the_card_works(
    run_python: Run,
) -> None:
    done = run_python(
        """
keep = torch.ones(10, device="spyre")
for _ in range(2):
    try:
        torch.empty(1 << 50, dtype=torch.float16, device="spyre")
    except torch.OutOfMemoryError as error:
        text = str(error)
        assert all(s in text for s in (str(2 << 50), "128 bytes used", "free")), text
    else:
        raise AssertionError
assert (keep + 1).cpu().tolist() == [2.0] * 10
print("done")
"""
    )
    assert done.stdout == "done\n", done.stderr


def test_freed_memory_returns_to_the_system(run_python: Run) -> None:
    done = run_python(
        """
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
before = resident()
t = torch.ones(100 * 2**20, dtype=torch.int8, device="spyre")
assert resident() - before > 90 * 2**20
del t
print(resident() - before < 30 * 2**20)
"""
    )
    assert done.stdout == "True\n", done.stderr


def test_without_a_build_the_first_use_says_what_to_do(
    run_python: Run, tmp_path: Path
) -> None:
    done = run_python(
        """
assert not torch.spyre.is_available()
for use in (lambda: torch.ones(3).to("spyre"), lambda: torch.empty(3, device="spyre")):
    try:
        use()
    except RuntimeError as error:
        assert "python -m spyre_runtime.build" in str(error), error
    else:
        raise AssertionError
print("done")
""",
        SPYRE_CACHE_DIR=str(tmp_path),
    )
    assert done.stdout == "done\n", done.stderr


def test_a_damaged_build_is_named_at_the_first_use(
    run_python: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "build"
    folder.mkdir()
    (folder / f"spyre-{build.build_key()}-0123456789.so").write_bytes(b"not a library")
    done = run_python(
        """
try:
    torch.ones(3).to("spyre")
except RuntimeError as error:
    print("its build is damaged" in str(error))
""",
        SPYRE_CACHE_DIR=str(tmp_path),
    )
    assert done.stdout == "True\n", done.stderr


def test_a_half_removed_installation_does_not_break_the_import(
    run_python: Run, tmp_path: Path
) -> None:
    half = tmp_path / "spyre_runtime"
    half.mkdir()
    for name in ("__init__.py", "autoload.py"):
        shutil.copy(PACKAGE / name, half / name)
    prelude = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    done = run_python(
        "import torch\nfrom spyre_runtime.autoload import autoload\nautoload()\n"
        "print(torch.ones(2).sum().item())",
        prelude=prelude,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )
    assert done.stdout == "2.0\n", done.stderr


def test_autoload_imports_no_compiler_and_is_fast(run_python: Run) -> None:
    code = """
import sys, time, torch
before = set(sys.modules)
started = time.process_time()
from spyre_runtime.autoload import autoload
autoload()
took = time.process_time() - started
heavy = [m for m in set(sys.modules) - before if m.split(".")[0] in HEAVY]
assert not heavy, heavy
assert torch.spyre.is_available()
print(took)
"""
    heavy = '{"xdsl", "spyre_mlir", "numpy", "sympy"}'
    times: list[float] = []
    for _ in range(5):
        done = run_python(
            code.replace("HEAVY", heavy),
            prelude="",
            TORCH_DEVICE_BACKEND_AUTOLOAD="0",
        )
        assert done.returncode == 0, done.stderr
        times.append(float(done.stdout))
    assert statistics.median(times) < 0.05, times


def test_a_forked_process_is_refused(run_python: Run) -> None:
    done = run_python(
        """
import os
t = torch.ones(3, device="spyre")
child = os.fork()
if child == 0:
    try:
        torch.ones(3).to("spyre")
    except RuntimeError as error:
        os._exit(0 if "spawn" in str(error) and torch.spyre._is_in_bad_fork() else 2)
    os._exit(1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), t.sum().item())
"""
    )
    assert done.stdout == "0 3.0\n", done.stderr
