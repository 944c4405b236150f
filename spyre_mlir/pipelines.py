# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The named pipelines, as data: pass names with their options, in order."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

log = logging.getLogger(__name__)

# Repeats are outlined first: what follows then costs by distinct functions.
_REWRITE = (
    "cse",
    "dce",
    "spyre-outline-repeats",
    "spyre-fold-reindex",
    "spyre-fold-reindex-into-uses",
    "spyre-fuse-maps",
    "spyre-simplify-functions",
    "cse",
    "dce",
)
_PLAN = (
    "spyre-plan-layouts",
    "spyre-materialize-layouts",
    "spyre-fold-reindex",
    "dce",
    "spyre-copy-results",
    "spyre-split-movements",
    "spyre-plan-division",
    "spyre-plan-groups",
    "spyre-plan-tiles",
    "spyre-plan-places",
    "spyre-check-plan",
)
_LOWER = (
    "spyre-materialize-groups",
    "spyre-convert-spyre-to-ktdp",
    "spyre-convert-ktdp-to-dev",
    "spyre-check-deadlock",
)

PIPELINES: dict[str, tuple[str, ...]] = {
    "canonicalize": ("canonicalize", "cse", "dce"),
    "rewrite": _REWRITE,
    "plan": _PLAN,
    # Decisions may have been edited since they were checked.
    "lower": ("spyre-check-plan", *_LOWER),
    "compile": (*_REWRITE, *_PLAN, *_LOWER),
}


listeners: list[Callable[[str], None]] = []
"""Told of each part of a compile when it begins."""


def announce(text: str) -> None:
    """Says what is done next to who shows it."""
    for listen in tuple(listeners):
        listen(text)


@contextmanager
def phase(name: str) -> Generator[None]:
    """Logs how long a part of a compile took."""
    announce(name)
    begin = time.perf_counter()
    yield
    log.debug("%s: %.0f ms", name, 1e3 * (time.perf_counter() - begin))


def load_passes(pipeline: str) -> list[ModulePass]:
    """The passes of a named pipeline, made."""
    from xdsl.transforms import get_all_passes

    from spyre_mlir.transforms import all_passes

    known: dict[str, Callable[[], type[ModulePass]]] = {
        **get_all_passes(),
        **all_passes(),
    }
    return [known[name]()() for name in PIPELINES[pipeline]]


def run_pipeline(
    module: ModuleOp,
    ctx: Context,
    pipeline: str = "compile",
    verify: str = "each",
    after: Callable[[str, ModuleOp], None] | None = None,
) -> None:
    """
    Runs a named pipeline on a module.

    `verify`: `each` verifies after every pass, `end` once, `off` never. `after` is
    called with each pass's name and the module that it left.
    """
    for pass_ in load_passes(pipeline):
        with phase(pass_.name):
            pass_.apply(ctx, module)
        if verify == "each":
            module.verify()
        if after is not None:
            after(pass_.name, module)
    if verify == "end":
        module.verify()
