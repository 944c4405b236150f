# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
`docs/generated/aten.md` and `docs/generated/options.md`, out of the tables.

    python -m spyre_mlir.torch_bridge.documents [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

from spyre_mlir import config

from . import aten_table
from .aten_table import Row

DEFAULT_FOLDER = Path(__file__).parents[2] / "docs" / "generated"

_HOW = {
    "import": "runs on the card",
    "decompose": "rewritten into other operations",
    "host": "runs on the host",
}
_FAMILIES = {
    "Elementwise": aten_table.ELEMENTWISE,
    "Reductions": aten_table.REDUCTIONS,
    "Movement": aten_table.MOVEMENT,
    "Products, norms and indexing": aten_table.STRUCTURED,
    "Creation": aten_table.CREATION,
    "Decomposed": aten_table.DECOMPOSED,
    "Host": aten_table.HOST,
}
_ATEN_INTRODUCTION = """\
# ATen operations

What `torch.compile(backend="spyre_mlir")` does with each operation. Types are those
of the first tensor operand, or of the result where an operation takes no tensor.
PyTorch's core ATen decompositions run before; an operation without a row runs on the
host, and so does one whose tensors have another type or a rank above 6.
"""
_OPTIONS_INTRODUCTION = """\
# Options

Given as `torch.compile(model, backend="spyre_mlir", options={...})` or in the
environment; the former wins.
"""


def _line(name: str, row: Row) -> str:
    kept = "kept whole in inference" if name in aten_table.COMPOSITES else ""
    note = "; ".join(filter(None, (row.note, kept)))
    types = ", ".join(row.dtypes)
    return f"| `{name}` | {_HOW[row.how]} | {types} | {note} |"


def aten() -> str:
    """The table of operations, in Markdown."""
    parts = [_ATEN_INTRODUCTION]
    for title, rows in _FAMILIES.items():
        lines = [
            f"## {title}",
            "",
            "| operation | how | types | note |",
            "|---|---|---|---|",
        ]
        lines += [_line(name, row) for name, row in sorted(rows.items())]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def options() -> str:
    """The table of options, in Markdown."""
    return f"{_OPTIONS_INTRODUCTION}\n{config.document()}"


DOCUMENTS = {"aten.md": aten, "options.md": options}


def write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in DOCUMENTS.items():
        (folder / name).write_text(make())


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER)
