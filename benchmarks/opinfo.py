# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportPrivateUsage=false
"""
Runs PyTorch's own samples of its operators (OpInfo) on the card, beside eager CPU.

    python benchmarks/opinfo.py --device cpu                # compiled, CPU tensors
    python benchmarks/opinfo.py --device spyre -j 2         # compiled, card tensors
    python benchmarks/opinfo.py --device spyre --eager --only 'conv|pool'

The operators are those of `opinfo_core.txt`: what PyTorch tags as core, and the
functions that end in one of them. Each sample ends in one of four ways: passed; wrong
(a value, shape or type that is not eager's); refused (our own word that it cannot be);
failed (any other exception, a crash, or no end). Samples run in processes that are
begun anew after a crash. The exit code is 1 if anything was not passed.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any

CORE = Path(__file__).with_name("opinfo_core.txt")
DTYPES = ("float32", "float16", "bfloat16", "int64", "bool")
OUTCOMES = ("passed", "failed", "wrong", "refused")
TOLERANCE = {"float16": (4e-3, 1e-3), "bfloat16": (2e-2, 1e-2), "float32": (1e-5, 1e-5)}
SAMPLE_SECONDS = 120


@dataclass(frozen=True)
class Settings:
    """How a sample is run."""

    device: str
    eager: bool
    dynamic: bool
    samples: int


@dataclass(frozen=True)
class Result:
    """How a sample ended."""

    name: str
    dtype: str
    sample: int
    outcome: str
    note: str = ""

    def __str__(self) -> str:
        return f"{self.outcome:8} {self.name} {self.dtype} #{self.sample}: {self.note}"


# ------------------------------------------------------------- one process


class Wrong(Exception):
    """What a sample gave is not what eager gives."""


def serve(settings: Settings) -> None:
    """Runs the jobs `name dtype` of stdin; results are lines of JSON."""
    import faulthandler

    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    import spyre_mlir.torch_bridge.register  # noqa: F401  # pyright: ignore[reportUnusedImport]
    from spyre_runtime.autoload import autoload

    if not hasattr(torch, "spyre"):
        autoload()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    infos = {info.formatted_name: info for info in op_db}
    for line in sys.stdin:
        name, dtype = line.split()
        number = -1
        for number, sample in enumerate(_samples(infos[name], dtype, settings)):
            _say({"begin": number})
            faulthandler.dump_traceback_later(SAMPLE_SECONDS, exit=True)
            outcome, note = _outcome(infos[name], sample, settings)
            faulthandler.cancel_dump_traceback_later()
            _say(asdict(Result(name, dtype, number, outcome, note)))
        _say({"end": name})


def _say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _samples(info: Any, dtype: str, settings: Settings) -> Iterator[Any]:
    import torch

    kind = getattr(torch, dtype)
    if info.supports_dtype(kind, "cpu"):
        torch.manual_seed(0)
        yield from islice(info.sample_inputs("cpu", kind), settings.samples)


def _outcome(info: Any, sample: Any, settings: Settings) -> tuple[str, str]:
    from spyre_mlir.diagnostics import Unsupported

    try:
        _check(info, sample, settings)
    except Wrong as error:
        return "wrong", str(error)
    # what a sample may raise is what is to be found out
    except Exception as error:  # noqa: BLE001
        refused = isinstance(_cause(error), Unsupported)
        return "refused" if refused else "failed", _first_line(error)
    return "passed", ""


def _cause(error: BaseException) -> BaseException:
    inner = getattr(error, "inner_exception", None) or error.__cause__
    return error if inner is None else _cause(inner)


def _first_line(error: BaseException) -> str:
    cause = _cause(error)
    text = str(cause).strip() or str(error)
    return f"{type(cause).__name__}: {text.splitlines()[0] if text else ''}"[:300]


def _check(info: Any, sample: Any, settings: Settings) -> None:
    """Runs the sample in eager mode on the CPU and as asked, and compares."""
    import torch

    def call(function: Callable[..., Any], arguments: Any) -> Any:
        torch.manual_seed(1)
        return function(arguments[0], *arguments[1], **arguments[2])

    def run(*args: Any, **kwargs: Any) -> Any:
        return info.op(*args, **kwargs)

    arguments = (sample.input, sample.args, sample.kwargs)
    try:
        expected = call(run, _copied(arguments, "cpu"))
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        _must_raise(error, lambda: call(_tested(run, settings), arguments))
        return
    got = call(_tested(run, settings), _copied(arguments, settings.device))
    if "empty" in info.name:
        _compare(got, expected, settings.device, lambda *_: None)
        return
    if _is_random(info, sample):
        _compare(got, expected, settings.device, _close_distributions)
        return
    wide = _copied(arguments, "cpu", widen=True)
    close = _CloseTo(lambda: call(run, wide))
    _compare(got, expected, settings.device, close)


def _tested(run: Callable[..., Any], settings: Settings) -> Callable[..., Any]:
    import torch

    torch._dynamo.reset()
    if settings.eager:
        return run
    dynamic = True if settings.dynamic else None
    return torch.compile(run, backend="spyre_mlir", dynamic=dynamic)


def _must_raise(expected: Exception, run: Callable[[], Any]) -> None:
    try:
        run()
    # the class may be Dynamo's
    except Exception:  # noqa: BLE001
        return
    raise Wrong(f"a value, where eager raises {_first_line(expected)}")


def _copied(tree: Any, device: str, widen: bool = False) -> Any:
    """
    The same arguments on a device, with their strides. A view of a larger storage stays
    one. With `widen` the 16-bit floats are fp32 ones.
    """
    import torch
    from torch.utils._pytree import tree_map

    def copy(value: Any) -> Any:
        if isinstance(value, (str, torch.device)) and str(value) == "cpu":
            return torch.device(device)
        if not isinstance(value, torch.Tensor):
            return value
        whole = value.untyped_storage().nbytes() == value.numel() * value.itemsize
        source = value
        if not whole:
            count = value.untyped_storage().nbytes() // value.itemsize
            source = value.as_strided((count,), (1,), 0)
        moved = source.detach().clone()
        if widen and moved.dtype in (torch.float16, torch.bfloat16):
            moved = moved.float()
        moved = moved.to(device)
        if not whole:
            moved = moved.as_strided(
                value.shape, value.stride(), value.storage_offset()
            )
        return moved

    return tree_map(copy, tree)


def _is_random(info: Any, sample: Any) -> bool:
    import torch

    if "dropout_p" in sample.kwargs:
        return sample.kwargs["dropout_p"] > 0
    packet: Any = getattr(torch.ops.aten, info.aten_name or info.name, None)
    overloads = packet.overloads() if hasattr(packet, "overloads") else ()
    tags = [getattr(packet, o).tags for o in overloads]
    return "dropout" in info.name or any(
        torch.Tag.nondeterministic_seeded in t for t in tags
    )


# ------------------------------------------------------------- comparison


def _compare(got: Any, expected: Any, device: str, close: Callable[..., None]) -> None:
    """Structure, shape, type, device, then values by `close`."""
    import torch
    from torch.utils._pytree import tree_flatten

    ours, structure = tree_flatten(got)
    theirs, wanted = tree_flatten(expected)
    if len(ours) != len(theirs):
        raise Wrong(f"{structure}, not {wanted}")
    for position, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if not isinstance(other, torch.Tensor):
            one, other = torch.as_tensor(one), torch.as_tensor(other)
        elif one.device.type != device:
            raise Wrong(f"a result on {one.device}")
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            kinds = [f"{tuple(t.shape)} {t.dtype}" for t in (one, other)]
            raise Wrong(", not ".join(kinds))
        close(position, one.detach().cpu(), other.detach())


class _CloseTo:
    """Close to eager's value, or to eager's value from wider inputs."""

    def __init__(self, wide: Callable[[], Any]):
        self.wide = wide

    def __call__(self, position: int, got: Any, expected: Any) -> None:
        error = _distance(got, expected)
        if error and _distance(got, self._wide(position, expected)):
            raise Wrong(error)

    def _wide(self, position: int, expected: Any) -> Any:
        from torch.utils._pytree import tree_leaves

        found = tree_leaves(self.wide())[position]
        return found.to(expected.dtype) if found.shape == expected.shape else expected


def _distance(got: Any, expected: Any) -> str:
    """How far apart two tensors are, or "" if they are close."""
    from torch.testing import assert_close

    name = str(expected.dtype).removeprefix("torch.")
    rtol, atol = TOLERANCE.get(name, (None, None))
    try:
        assert_close(got, expected, equal_nan=True, rtol=rtol, atol=atol)
    except AssertionError as error:
        text = [line for line in str(error).splitlines() if "ifference" in line]
        return "; ".join(text) or str(error)
    return ""


def _close_distributions(position: int, got: Any, expected: Any) -> None:
    """Means of enough random numbers do not differ by six standard errors."""
    count = expected.numel()
    if count < 8 or expected.dtype.is_complex:
        return
    one, other = got.double(), expected.double()
    if not (one.isfinite().all() and other.isfinite().all()):
        return
    error = ((one.var() + other.var()) / count).sqrt() + 1e-6
    if ((one.mean() - other.mean()).abs() > 6 * error).item():
        raise Wrong(f"{position}: mean {one.mean():.3g}, not {other.mean():.3g}")


# -------------------------------------------------------------- all of them


class Worker:
    """A process that runs jobs, and is begun anew when it dies."""

    def __init__(self, command: Sequence[str]):
        self.command = command
        self.process: subprocess.Popen[str] | None = None

    def run(self, name: str, dtype: str) -> list[Result]:
        if self.process is None:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        assert self.process.stdin is not None
        self.process.stdin.write(f"{name} {dtype}\n")
        self.process.stdin.flush()
        return [Result(**found) for found in self._answers(name, dtype)]

    def _answers(self, name: str, dtype: str) -> Iterator[dict[str, Any]]:
        assert self.process is not None and self.process.stdout is not None
        begun = 0
        for line in self.process.stdout:
            if not line.startswith("{"):
                continue
            answer = json.loads(line)
            if "end" in answer:
                return
            if "begin" in answer:
                begun = answer["begin"]
            else:
                yield answer
        code = self.process.wait()
        self.process = None
        yield asdict(
            Result(name, dtype, begun, "failed", f"the process ended with {code}")
        )

    def close(self) -> None:
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()
            self.process.wait()


def run_all(
    jobs: list[tuple[str, str]], command: Sequence[str], workers: int
) -> list[Result]:
    """All jobs, failures printed as they come."""
    results: list[Result] = []
    lock = Lock()
    left = iter(jobs)

    def work(_: int) -> None:
        worker = Worker(command)
        while True:
            with lock:
                job = next(left, None)
            if job is None:
                worker.close()
                return
            found = worker.run(*job)
            with lock:
                results.extend(found)
                for result in found:
                    if result.outcome != "passed":
                        print(result, flush=True)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, range(workers)))
    return results


def main() -> int:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").strip().splitlines()[0]
    )
    parser.add_argument("--device", choices=("cpu", "spyre"), default="cpu")
    parser.add_argument("--eager", action="store_true", help="do not compile")
    parser.add_argument("--dynamic", action="store_true", help="symbolic sizes")
    parser.add_argument("--only", default="", help="regular expression of names")
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("-j", type=int, default=1, help="processes")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(Settings(given.device, given.eager, given.dynamic, given.samples))
        return 0
    names = [n for n in CORE.read_text().split() if re.search(given.only, n)]
    jobs = [(name, dtype) for name in names for dtype in given.dtypes.split(",")]
    begin = time.perf_counter()
    command = [sys.executable, *sys.argv, "--serve"]
    results = run_all(jobs, command, given.j)
    counts = Counter(result.outcome for result in results)
    summary = ", ".join(f"{counts[o]} {o}" for o in OUTCOMES)
    seconds = time.perf_counter() - begin
    print(
        f"{len(results)} samples of {len(names)} operators: {summary}; {seconds:.0f} s"
    )
    return int(counts["passed"] < len(results))


if __name__ == "__main__":
    raise SystemExit(main())
