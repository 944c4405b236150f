# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
One image tried on a small card whose every other byte is watched.

An image is refused, raises one of our errors, or runs; anything else is bad: another
exception, a changed byte outside of its buffers, more time or memory than the budget.
Trials run in forked processes, so that the end of one is seen as well.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch

from spyre_mlir.binary import ImageError
from spyre_mlir.target.chips import load_chip
from spyre_runtime.card import Card
from spyre_runtime.clock.machine import DeadlockError
from spyre_runtime.engine import CardError
from spyre_runtime.engine.machine import ROW_GAP_BYTES
from spyre_runtime.loader import Executable, load
from spyre_runtime.memory import Block

OURS = (ImageError, CardError, DeadlockError)
MEMORY_BYTES = 48 << 20
GUARD_BYTES = 4096
CANARY = 0xA5
SECONDS = 2.0
BYTES = 1 << 30
KILL_SECONDS = 30


@dataclass(frozen=True)
class Verdict:
    """`kind`: refused, error, ran, or bad; `text` says why."""

    kind: str
    text: str
    seconds: float = 0.0
    bytes: int = 0


class Bench:
    """A card whose bytes are canaries but for what an image owns."""

    def __init__(self) -> None:
        self.card = Card(0, MEMORY_BYTES, load_chip())

    def try_image(self, data: bytes) -> Verdict:
        """Loads and, if it is accepted, launches; what it did."""
        memory = self.card.memory
        memory.bytes_tensor.fill_(CANARY)
        reset_peak()
        before = peak_bytes()
        blocks: list[Block] = []
        executable: Executable | None = None
        kind, text = "ran", ""
        started = time.process_time()
        try:
            executable = load(self.card, data)
            self._launch(executable, blocks)
        except OURS as error:
            kind, text = _told(executable), f"{type(error).__name__}: {error}"
        except Exception as error:  # noqa: BLE001 - the verdict is about all of them
            kind, text = "bad", f"{type(error).__name__}: {error}"
        seconds, grown = time.process_time() - started, peak_bytes() - before
        if kind != "bad":
            kind, text = self._judged(kind, text, executable, blocks, seconds, grown)
        self._clear(executable, blocks)
        return Verdict(kind, text, seconds, grown)

    def _launch(self, executable: Executable, blocks: list[Block]) -> None:
        memory = self.card.memory
        addresses: list[int] = []
        for buffer in (*executable.arguments, *executable.results):
            blocks.append(memory.allocate(buffer.bytes + 2 * GUARD_BYTES))
            start = blocks[-1].address + GUARD_BYTES
            addresses.append(start)
            # Zeros are good indices, lengths and numbers.
            memory.bytes_tensor[start : start + buffer.bytes].zero_()
        count = len(executable.arguments)
        executable.launch(addresses[:count], addresses[count:])

    def _judged(
        self,
        kind: str,
        text: str,
        executable: Executable | None,
        blocks: Sequence[Block],
        seconds: float,
        grown: int,
    ) -> tuple[str, str]:
        stray = self._stray(executable, blocks)
        if stray is not None:
            return "bad", f"changed byte {stray} outside of its buffers"
        if seconds > SECONDS or grown > BYTES:
            return "bad", f"took {seconds:.2f} s, {grown >> 20} MiB; {kind} {text}"
        return kind, text

    def _stray(
        self, executable: Executable | None, blocks: Sequence[Block]
    ) -> str | None:
        """The first changed byte that is not the image's own, or None."""
        memory = self.card.memory
        watched = torch.ones(memory.nbytes, dtype=torch.bool)
        if executable is not None:
            buffers = (*executable.arguments, *executable.results)
            for block, buffer in zip(blocks, buffers, strict=False):
                start = block.address + GUARD_BYTES
                watched[start : start + buffer.bytes] = False
            for block in (executable._pool, executable._constants):
                if block is not None:
                    watched[block.address : block.address + block.nbytes] = False
        changed = (memory.bytes_tensor != CANARY) & watched
        if changed.any():
            return str(int(changed.int().argmax()))
        return self._gap_changed(executable)

    def _gap_changed(self, executable: Executable | None) -> str | None:
        if executable is None:
            return None
        machine = executable.engine.machine
        rows = machine.lx.as_strided(
            (machine.cores, machine.row_bytes), (machine.row_bytes, 1)
        )
        gap = rows[:, machine.row_bytes - ROW_GAP_BYTES :]
        return "between scratchpads" if gap.any() else None

    def _clear(self, executable: Executable | None, blocks: Sequence[Block]) -> None:
        if executable is not None:
            executable.release()
        for block in blocks:
            self.card.memory.free(block)


def _told(executable: Executable | None) -> str:
    return "refused" if executable is None else "error"


def reset_peak() -> None:
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_bytes() -> int:
    """Most memory that this process has had since `reset_peak`."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) << 10
    return 0


def tried(
    make: Callable[[int], bytes], numbers: Sequence[int]
) -> Iterator[tuple[int, Verdict]]:
    """The verdict on each numbered image, from processes that may end at any."""
    left = list(numbers)
    while left:
        for number, verdict in _in_fork(make, tuple(left)):
            yield number, verdict
            left.remove(number)
        if left:
            yield (
                left[0],
                Verdict("bad", "ended the process, or was killed for its time"),
            )
            del left[0]


def _in_fork(
    make: Callable[[int], bytes], numbers: Sequence[int]
) -> Iterator[tuple[int, Verdict]]:
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        _child(write, make, numbers)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        for _ in numbers:
            if not select.select([pipe], [], [], KILL_SECONDS)[0]:
                os.kill(child, signal.SIGKILL)
                break
            try:
                yield pickle.load(pipe)
            except EOFError:
                break
    os.waitpid(child, 0)


def _child(write: int, make: Callable[[int], bytes], numbers: Sequence[int]) -> None:
    bench = Bench()
    with os.fdopen(write, "wb", buffering=0) as pipe:
        for number in numbers:
            pipe.write(pickle.dumps((number, bench.try_image(make(number)))))
    os._exit(0)
