# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The chip table of the documentation, made from the chips themselves."""

from __future__ import annotations

import ast
import inspect
from itertools import pairwise

from spyre_mlir.target import chip as chip_module
from spyre_mlir.target.chip import Chip, number_names
from spyre_mlir.target.chips import chip_names, load_chip

HEADER = """\
<!-- Generated from spyre_mlir/target/chips; do not edit. -->
# Chips

Every number that the compiler and the clock use about a chip, with its source:
`public` (published), `measured` (on a card, published) or `assumed` (our guess).
Any of them can be set for a what-if: `--set NAME=VALUE`.
"""


def field_docs() -> dict[str, str]:
    """The docstring under each field of `Chip`."""
    tree = ast.parse(inspect.getsource(chip_module))
    body = next(
        node.body
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name == Chip.__name__
    )
    docs: dict[str, str] = {}
    for item, after in pairwise(body):
        if isinstance(item, ast.AnnAssign) and isinstance(after, ast.Expr):
            assert isinstance(item.target, ast.Name)
            assert isinstance(after.value, ast.Constant)
            docs[item.target.id] = " ".join(str(after.value.value).split())
    return docs


def chip_table_markdown() -> str:
    """One table for each chip, in Markdown."""
    parts = [HEADER, *(_table(load_chip(name)) for name in chip_names())]
    return "\n".join(parts)


def _table(chip: Chip) -> str:
    docs = field_docs()
    counts = ", ".join(f"{n} {kind}" for kind, n in sorted(chip.provenance().items()))
    lines = [
        f"## {chip.name}",
        "",
        f"{counts}.",
        "",
        "| number | value | kind | source | meaning |",
        "|---|---:|---|---|---|",
    ]
    for name in number_names():
        value = getattr(chip, name)
        shown = f"{value:,}" if isinstance(value, int) else str(value)
        source = chip.sources[name]
        cells = (f"`{name}`", shown, source.kind, source.note, docs[name])
        lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return "\n".join(lines) + "\n"
