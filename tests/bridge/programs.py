# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts what is compiled."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from spyre_mlir.torch_bridge import backend
from spyre_mlir.torch_bridge.program import Program


@contextmanager
def counted_programs() -> Generator[list[Program]]:
    """Notes each program that is compiled."""
    found: list[Program] = []

    def compiling(*arguments: Any, **options: Any) -> Program:
        found.append(Program(*arguments, **options))
        return found[-1]

    with patch.object(backend, "Program", compiling):
        yield found
