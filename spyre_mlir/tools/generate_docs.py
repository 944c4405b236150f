# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Writes the generated pages of `docs/`, or checks that they are current.

    python -m spyre_mlir.tools.generate_docs [--check]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from spyre_mlir.binary.format_doc import format_markdown
from spyre_mlir.target.chip_table import chip_table_markdown
from spyre_mlir.torch_bridge import documents

from . import pages

DOCS = Path(__file__).parents[2] / "docs"

PAGES: dict[str, Callable[[], str]] = {
    "generated/aten.md": documents.aten,
    "generated/options.md": documents.options,
    "generated/chips.md": chip_table_markdown,
    "generated/dialects.md": pages.dialects_markdown,
    "generated/functions.md": pages.functions_markdown,
    "generated/passes.md": pages.passes_markdown,
    "image-format.md": format_markdown,
}
"""Every generated page, by its path in `docs/`."""

COMMAND = "python -m spyre_mlir.tools.generate_docs"


def stale(docs: Path = DOCS) -> list[str]:
    """Pages that are missing or not what the code says now."""
    return [
        name
        for name, make in PAGES.items()
        if not (docs / name).is_file()
        or (docs / name).read_text(encoding="utf-8") != make()
    ]


def write(docs: Path = DOCS) -> list[str]:
    """Writes the pages that are stale."""
    written = stale(docs)
    for name in written:
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text(PAGES[name](), encoding="utf-8")
    return written


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing")
    flags = parser.parse_args(arguments)
    if flags.check:
        found = stale()
        for name in found:
            sys.stderr.write(f"docs/{name} is not current: run {COMMAND}\n")
        return 1 if found else 0
    for name in write():
        sys.stdout.write(f"wrote docs/{name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
