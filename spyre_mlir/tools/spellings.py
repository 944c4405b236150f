# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportPrivateUsage=false
"""Spellings of upstream operations that MLIR reads and xDSL does not."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects import linalg
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, TensorType, i64
from xdsl.ir import Block, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser


class ReduceSpelling(linalg.ops.ReduceOp):
    """
    `linalg.reduce` in both of its spellings; MLIR prints the first where it can.

        linalg.reduce {arith.addf} ins(%x : t) outs(%y : u) dimensions = [1]
        linalg.reduce ins(%x : t) outs(%y : u) dimensions = [1] (%a, %b) {...}
    """

    @classmethod
    def create(cls, **parts: Any) -> linalg.ops.ReduceOp:  # pyright: ignore[reportIncompatibleMethodOverride]
        return linalg.ops.ReduceOp.create(**parts)

    @classmethod
    def parse(cls, parser: Parser) -> linalg.ops.ReduceOp:  # pyright: ignore[reportIncompatibleMethodOverride]
        if parser.parse_optional_punctuation("{") is None:
            return linalg.ops.ReduceOp.parse(parser)
        combiner = parser.parse_identifier()
        kind = parser._get_op_by_name(combiner)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation("}")
        (source, init), dims = _parse_reduced(parser)
        types = [cast(TensorType, value.type).element_type for value in (source, init)]
        block = Block(arg_types=types)
        # The running value comes first, as in MLIR.
        operands = [block.args[1], block.args[0]]
        op = kind.create(operands=operands, result_types=[types[1]])
        assert issubclass(kind, IRDLOperation)
        for name, value in attributes.items():
            is_property = name in kind.get_irdl_definition().properties
            (op.properties if is_property else op.attributes)[name] = value
        block.add_ops([op, linalg.ops.YieldOp(op.results[0])])
        return linalg.ops.ReduceOp(source, init, dims, Region(block))


def _parse_reduced(
    parser: Parser,
) -> tuple[list[SSAValue], DenseArrayBase[IntegerType]]:
    """`ins(%x : t) outs(%y : u) dimensions = [1]`."""
    values: list[SSAValue] = []
    for role in ("ins", "outs"):
        parser.parse_keyword(role)
        with parser.in_parens():
            name = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            values.append(parser.resolve_operand(name, parser.parse_type()))
    parser.parse_keyword("dimensions")
    parser.parse_punctuation("=")
    dims = parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, parser.parse_integer
    )
    return values, DenseArrayBase.from_list(i64, dims)
