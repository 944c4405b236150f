# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Settings of threads stay as the user made them, and a fork finds no lock taken."""

from __future__ import annotations

from collections.abc import Callable
from subprocess import CompletedProcess

Run = Callable[..., CompletedProcess[str]]

LAUNCHING = """
import os, threading
from spyre_runtime.card import card
from spyre_runtime.engine.guard import plain_torch

inside, done = threading.Event(), threading.Event()

def launch():
    with plain_torch():
        seen["launching"] = torch.get_num_threads()
        inside.set()
        done.wait()

def other(name):
    def look():
        seen[name] = torch.get_num_threads()
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()

seen = {}
"""


def test_no_thread_s_setting_changes_for_a_launch(run_python: Run) -> None:
    done = run_python(
        LAUNCHING
        + """
torch.set_num_threads(3)
thread = threading.Thread(target=launch)
thread.start()
inside.wait()
seen["main"] = torch.get_num_threads()
other("new during")
torch.set_num_threads(2)
done.set()
thread.join()
seen["main after"] = torch.get_num_threads()
other("new after")
print(seen)
""",
        OMP_NUM_THREADS="4",
    )
    assert done.stdout == (
        "{'launching': 1, 'main': 3, 'new during': 3, 'main after': 2, "
        "'new after': 2}\n"
    ), done.stderr


def test_a_thread_s_setting_comes_back_after_an_error_too(run_python: Run) -> None:
    done = run_python(
        LAUNCHING
        + """
import ctypes
from spyre_runtime.engine.guard import _torch_library
mkl = getattr(_torch_library(), "MKL_Get_Max_Threads", torch.get_num_threads)
found = [(torch.get_num_threads(), mkl())]

def fails():
    try:
        with plain_torch():
            found.append((torch.get_num_threads(), mkl()))
            raise KeyError
    except KeyError:
        found.append((torch.get_num_threads(), mkl()))

fails()
thread = threading.Thread(target=fails)
thread.start()
thread.join()
torch.set_num_threads(2)
two = (torch.get_num_threads(), mkl())
fails()
before, one, after, in_new, after_in_new, again, last = found
print(before == after == after_in_new, one == in_new == again == (1, 1), last == two)
""",
        OMP_NUM_THREADS="4",
    )
    assert done.stdout == "True True True\n", done.stderr


def test_a_fork_waits_for_the_launch_of_another_thread(run_python: Run) -> None:
    done = run_python(
        LAUNCHING
        + """
import signal, time
owner = card()
engine = owner.engine()

def work():
    with owner.memory._lock, engine._lock:  # as in the middle of a launch
        inside.set()
        time.sleep(0.3)

thread = threading.Thread(target=lambda: owner.submit(work))
thread.start()
inside.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)
    owner.memory.allocate(4096)
    engine.forget([])
    owner.submit(lambda: None)
    card()
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
thread.join()
owner.submit(lambda: owner.memory.allocate(4096))
print("parent works")
"""
    )
    assert done.stdout == "7\nparent works\n", done.stderr


def test_a_compiled_function_runs_in_a_forked_child(run_python: Run) -> None:
    """The other threads launch by themselves: Dynamo's own locks hang after forks."""
    done = run_python(
        """
import os, signal, threading
import spyre_mlir.torch_bridge.register
from spyre_runtime import loader

@torch.compile(backend="spyre_mlir")
def f(x, w):
    return x @ w

x, w = torch.ones(64, 64), torch.ones(64, 64)
stop = threading.Event()
seen = []
loader.observers.append(seen.append)
f(x, w)
loader.observers.clear()
executable = seen[0]

def launches():
    memory = executable.card.memory
    given = [memory.allocate(b.bytes).address for b in executable.arguments]
    made = [memory.allocate(b.bytes).address for b in executable.results]
    while not stop.is_set():
        executable.launch(given, made)

threads = [threading.Thread(target=launches) for _ in range(2)]
for thread in threads:
    thread.start()
codes = []
for _ in range(5):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        os._exit(0 if torch.equal(f(x, w), x @ w) else 1)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set()
for thread in threads:
    thread.join()
print(codes, torch.equal(f(x, w), x @ w))
"""
    )
    assert done.stdout == "[0, 0, 0, 0, 0] True\n", done.stderr
