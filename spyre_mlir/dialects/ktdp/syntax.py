# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Pieces of the assembly that several ops share.

Foremost affine subscripts over SSA values, `[%i, %j + 16 * %t]`: xDSL parses such
lists only in square brackets and over values that exist. Indirect tiles also want
them in parentheses, and over names of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

Size: TypeAlias = int | SSAValue

PRECEDENCE = {
    AffineBinaryOpKind.Add: 1,
    AffineBinaryOpKind.Mul: 2,
    AffineBinaryOpKind.Mod: 2,
    AffineBinaryOpKind.FloorDiv: 2,
    AffineBinaryOpKind.CeilDiv: 2,
}

Place = Callable[[UnresolvedOperand], AffineExpr]
"""Gives a name that a subscript mentions its place among the dimensions."""


def parse_expression(parser: Parser, place: Place) -> AffineExpr:
    value = _parse_term(parser, place)
    while True:
        if parser.parse_optional_punctuation("+"):
            value = value + _parse_term(parser, place)
        elif parser.parse_optional_punctuation("-"):
            value = value - _parse_term(parser, place)
        else:
            return value


def _parse_term(parser: Parser, place: Place) -> AffineExpr:
    value = _parse_factor(parser, place)
    while True:
        if parser.parse_optional_punctuation("*"):
            value = value * _parse_factor(parser, place)
        elif parser.parse_optional_keyword("mod"):
            value = value % _parse_factor(parser, place)
        elif parser.parse_optional_keyword("floordiv"):
            value = value // _parse_factor(parser, place)
        elif parser.parse_optional_keyword("ceildiv"):
            value = value.ceil_div(_parse_factor(parser, place))
        else:
            return value


def _parse_factor(parser: Parser, place: Place) -> AffineExpr:
    if parser.parse_optional_punctuation("-"):
        return -_parse_factor(parser, place)
    if parser.parse_optional_punctuation("("):
        value = parse_expression(parser, place)
        parser.parse_punctuation(")")
        return value
    number = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
    if number is not None:
        return AffineExpr.constant(number)
    operand = parser.parse_optional_unresolved_operand()
    if operand is None:
        parser.raise_error("expected an affine subscript")
    return place(operand)


def print_expression(
    printer: Printer,
    expression: AffineExpr,
    values: Sequence[SSAValue],
    least: int = 0,
) -> None:
    """Prints with as few parentheses as keep the meaning, as MLIR does."""
    match expression:
        case AffineConstantExpr(value):
            printer.print_string(str(value))
        case AffineDimExpr(position):
            # An op that does not verify is printed too, in the error about it.
            if position < len(values):
                printer.print_ssa_value(values[position])
            else:
                printer.print_string(f"d{position}")
        case AffineBinaryOpExpr(kind, lhs, rhs):
            level = PRECEDENCE[kind]
            if level < least:
                printer.print_string("(")
            print_expression(printer, lhs, values, level)
            printer.print_string(f" {kind.get_token()} ")
            right = level if kind == AffineBinaryOpKind.Add else level + 1
            print_expression(printer, rhs, values, right)
            if level < least:
                printer.print_string(")")
        case _:
            raise ValueError(f"subscript {expression} has a symbol")


def print_sizes(
    printer: Printer, values: Sequence[SSAValue], static: Sequence[int]
) -> None:
    """`[16, %n]`; a dynamic size without an operand, an error elsewhere, is `?`."""
    rest = iter(values)

    def print_size(size: int) -> None:
        if size != DYNAMIC_INDEX:
            printer.print_string(str(size))
        elif (value := next(rest, None)) is not None:
            printer.print_ssa_value(value)
        else:
            printer.print_string("?")

    with printer.in_square_brackets():
        printer.print_list(static, print_size)


def print_expressions(
    printer: Printer, expressions: Sequence[AffineExpr], values: Sequence[SSAValue]
) -> None:
    printer.print_list(
        expressions, lambda expression: print_expression(printer, expression, values)
    )


def place_in(names: list[UnresolvedOperand], operand: UnresolvedOperand) -> int:
    """Position of a name among those seen so far; a new one is added."""
    for position, name in enumerate(names):
        if (name.span.text, name.index) == (operand.span.text, operand.index):
            return position
    names.append(operand)
    return len(names) - 1


def parse_symbols(parser: Parser) -> list[SSAValue]:
    if not parser.parse_optional_keyword("symbols"):
        return []
    return list(
        parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_operand(IndexType())
        )
    )


def print_symbols(printer: Printer, symbols: Sequence[SSAValue]) -> None:
    if not symbols:
        return
    printer.print_string(" symbols")
    with printer.in_parens():
        printer.print_list(symbols, printer.print_ssa_value)


def parse_properties(
    parser: Parser, names: Sequence[str], op_name: str
) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """An attribute dictionary: the op's properties, and what else it holds."""
    attributes = parser.parse_optional_attr_dict()
    missing = [name for name in names if name not in attributes]
    if missing:
        parser.raise_error(f"{op_name} needs {' and '.join(missing)}")
    return {name: attributes.pop(name) for name in names}, attributes


def print_properties(op: IRDLOperation, printer: Printer, names: Sequence[str]) -> None:
    shown = {name: op.properties[name] for name in names} | op.attributes
    printer.print_op_attributes(shown)


def known_sizes(sizes: Sequence[Size]) -> list[int | None]:
    return [size if isinstance(size, int) else None for size in sizes]
