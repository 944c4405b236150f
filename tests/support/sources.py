# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The project's own files, for tests about the code itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("spyre_mlir", "runtime/spyre_runtime")
EVERYWHERE = (*PACKAGES, "tests", "test", "examples", "benchmarks")


def python_files(*folders: str) -> list[Path]:
    """All Python files under these folders of the project."""
    found = (p for f in folders for p in (ROOT / f).rglob("*.py"))
    return sorted(p for p in found if "Output" not in p.parts)


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(text_of(path), str(path))


def named(path: Path) -> str:
    """The path from the project's root."""
    return path.relative_to(ROOT).as_posix()


def module_of(path: Path) -> str:
    """The dotted name of a file of the packages."""
    for package in PACKAGES:
        base = ROOT / package
        if base in path.parents:
            parts = [base.name, *path.relative_to(base).with_suffix("").parts]
            return ".".join(p for p in parts if p != "__init__")
    raise ValueError(f"{path} belongs to no package")


def imports_of(path: Path) -> Iterator[tuple[str, int]]:
    """Modules that a file imports, anywhere in it, with the line."""
    module = module_of(path)
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                parts = parts[: len(parts) - node.level + 1]
                base = ".".join([*parts, base] if base else parts)
            yield base, node.lineno
            for alias in node.names:
                yield f"{base}.{alias.name}", node.lineno


def functions_of(path: Path) -> Iterator[tuple[str, int, int]]:
    """Name, line and length of every function."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1
