# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parses MLIR text so that each operation knows its line, as `mlir-opt` does."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from functools import cache
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects import linalg
from xdsl.dialects.builtin import (
    FileLineColLoc,
    IntAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.universe import Universe
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.mlir_lexer import MLIRTokenKind

from spyre_mlir.tools.spellings import ReduceSpelling
from spyre_mlir.universe import SPYRE_UNIVERSE

Item = TypeVar("Item")


@cache
def known_universe() -> Universe:
    """What is installed, and this package itself where it runs from its sources."""
    found = Universe.get_multiverse()
    if "spyre" in found.all_dialects:
        return found
    return Universe(
        all_dialects=found.all_dialects | SPYRE_UNIVERSE.all_dialects,
        all_passes=found.all_passes | SPYRE_UNIVERSE.all_passes,
        all_targets=found.all_targets,
        all_frontends=found.all_frontends,
    )


def full_context() -> Context:
    """A context that loads every known dialect when it meets it."""
    context = Context()
    for name, factory in known_universe().all_dialects.items():
        context.register_dialect(name, factory)
    return context


class LocatedParser(Parser):
    """
    A parser that gives operations without `loc(...)` their place in the text, and
    reports attributes that do not verify as errors of that place.
    """

    def __init__(self, context: Context, text: str, name: str):
        super().__init__(context, text, name)
        self._file = StringAttr(name)
        self._given_place = False
        self._line_starts = [0]
        for line in text.split("\n"):
            self._line_starts.append(self._line_starts[-1] + len(line) + 1)

    def _place(self, position: int) -> FileLineColLoc:
        line = bisect_right(self._line_starts, position)
        column = position - self._line_starts[line - 1] + 1
        return FileLineColLoc(self._file, IntAttr(line), IntAttr(column))

    def parse_operation(self) -> Operation:
        start = self._current_token.span
        try:
            op = super().parse_operation()
        except VerifyException as error:
            self.raise_error(str(error), start.start, start.end)
        # An operation's own location is the last thing that is parsed of it.
        if not self._given_place:
            op.location = self._place(start.start)
        self._given_place = False
        return op

    def _get_op_by_name(self, name: str) -> type[Operation]:
        found = super()._get_op_by_name(name)
        return ReduceSpelling if found is linalg.ops.ReduceOp else found

    def parse_comma_separated_list(
        self,
        delimiter: Parser.Delimiter,
        parse: Callable[[], Item],
        context_msg: str = "",
    ) -> list[Item]:
        """Of types in parentheses, one may stand without them, as in MLIR."""
        is_bare = parse == self.parse_attribute and delimiter is self.Delimiter.PAREN
        if is_bare and self._current_token.kind is not MLIRTokenKind.L_PAREN:
            return [parse()]
        return super().parse_comma_separated_list(delimiter, parse, context_msg)

    def parse_optional_location(self) -> LocationAttr | None:
        location = super().parse_optional_location()
        self._given_place = location is not None
        return location


def parse_located(
    context: Context, text: str, name: str, implicit_module: bool = True
) -> ModuleOp:
    """The module in `text`, which came from the file `name`."""
    return LocatedParser(context, text, name).parse_module(implicit_module)


def first_invalid(module: ModuleOp) -> Operation | None:
    """The innermost operation that does not verify by itself."""
    for op in module.walk(reverse=True):
        try:
            op.verify(verify_nested_ops=False)
        except VerifyException:
            return op
    return None
