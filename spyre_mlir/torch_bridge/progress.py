# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
A line on the terminal that says what a long first call is doing.

It appears after two seconds, on stderr, if that is a terminal, and goes with the call.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

from spyre_mlir import pipelines

AFTER_SECONDS = 2.0

_shown = threading.Lock()
"""One line at a time: a call within a call speaks through the outer one's."""


class _Line:
    """The line, from when it is due."""

    def __init__(self, subject: str):
        from rich.console import Console

        self._subject = subject
        self._begin = time.perf_counter()
        self._text = "compiling"
        self._status = Console(file=sys.stderr).status("")
        self._timer = threading.Timer(AFTER_SECONDS, self._start)
        self._timer.daemon = True

    def __enter__(self) -> _Line:
        self._timer.start()
        pipelines.listeners.append(self.say)
        return self

    def __exit__(self, *error: object) -> None:
        pipelines.listeners.remove(self.say)
        self._timer.cancel()
        self._timer.join()
        self._status.stop()

    def say(self, text: str) -> None:
        """What is done now."""
        self._text = text
        self._show()

    def _show(self) -> None:
        seconds = time.perf_counter() - self._begin
        self._status.update(f"spyre: {self._subject}: {self._text} ({seconds:.0f} s)")

    def _start(self) -> None:
        self._show()
        self._status.start()


@contextmanager
def progress(subject: str, wanted: bool) -> Generator[None]:
    """Shows what the compiler announces while a first call takes long."""
    alone = wanted and sys.stderr.isatty() and _shown.acquire(blocking=False)
    if not alone:
        yield
        return
    try:
        with _Line(subject):
            yield
    finally:
        _shown.release()
