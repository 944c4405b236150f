# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""IR that is kept to see a failure again, and IR that must survive its own text."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import ParseError

from spyre_mlir.tools.instrumentation import Print
from spyre_mlir.tools.located_parser import parse_located
from spyre_mlir.tools.problems import FoundError

_WHOLE = Print(generic=True, debuginfo=True)


class Reproducer:
    """
    Writes, if a pass fails or crashes, a file that fails alike:

        // RUN: spyre-opt %s -p spyre-plan-tiles,spyre-check-plan
    """

    def __init__(
        self,
        flags: argparse.Namespace,
        passes: Sequence[ModulePass],
        module: ModuleOp,
    ):
        self.file: str = flags.mlir_pass_pipeline_crash_reproducer
        self.is_local: bool = flags.mlir_pass_pipeline_local_reproducer
        self.passes = tuple(passes)
        self.text = _WHOLE(module) if self.file else ""

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Takes note of what a pass is given."""
        if self.file and self.is_local:
            self.passes, self.text = (pass_,), _WHOLE(module)

    def __enter__(self) -> Reproducer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.file and error is not None:
            names = ",".join(str(p.pipeline_pass_spec()) for p in self.passes)
            run = f"// RUN: spyre-opt %s -p '{names}'\n"
            Path(self.file).write_text(run + self.text, encoding="utf-8")


def check_round_trip(context: Context, module: ModuleOp) -> None:
    """
    FoundError if the module's text reads back as another: in the custom form, and in
    the generic one with all locations.
    """
    for form, style, seen in (
        ("custom", Print(), Print(generic=True)),
        ("generic", _WHOLE, _WHOLE),
    ):
        try:
            again = parse_located(context, style(module), "round trip")
        except ParseError as error:
            raise FoundError(error, None, f"reading the {form} form again") from error
        old, new = seen(module), seen(again)
        if old != new:
            lines = zip(old.splitlines(), new.splitlines(), strict=False)
            first = next((f"{a!r} became {b!r}" for a, b in lines if a != b), "")
            message = f"the {form} form reads back otherwise: {first}"
            raise FoundError(ValueError(message), None, "")
