# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Access tiles whose coordinates come out of memory: gathers and scatters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    ArrayAttr,
    BoolAttr,
    IndexType,
    MemRefType,
    TensorType,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap, AffineSet
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, MemoryReadEffect, NoMemoryEffect
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from .access import VIEW, parse_tile_type, verify_order, verify_shape
from .syntax import (
    parse_expression,
    parse_properties,
    parse_symbols,
    place_in,
    print_expressions,
    print_properties,
    print_symbols,
)
from .types import AccessTileType


@irdl_op_definition
class RegionTerminatorOp(IRDLOperation):
    """
    Ends the region that holds an indirect tile's variables; never written out.

        ktdp.region_terminator
    """

    name = "ktdp.region_terminator"

    traits = traits_def(IsTerminator(), NoMemoryEffect())

    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@dataclass(frozen=True)
class Subscript:
    """
    One dimension's coordinate: an affine expression, or what an index view holds there.

    The expressions are over the captured values, then the tile's own variables.
    """

    expressions: tuple[AffineExpr, ...]
    view: SSAValue | None = None
    """The index view of an indirect subscript."""


@irdl_op_definition
class ConstructIndirectAccessTileOp(IRDLOperation):
    """
    Coordinates of a view of which some are read from index views.

        %t = ktdp.construct_indirect_access_tile intermediate_variables(%m, %k)
               %x[ind(%rows[%m + %first]), (%k)] {
          variables_space_set = affine_set<(d0, d1) : (d0 >= 0, -d0 + 3 >= 0,
                                                       d1 >= 0, -d1 + 63 >= 0)>,
          variables_space_order = affine_map<(d0, d1) -> (d0, d1)>
        } : memref<512x64xf16>, memref<64xi32> -> !ktdp.access_tile<4x64xindex>

    The variables run over the set; each point gives one coordinate per dimension of
    the view. The index views are read when the tile is constructed.
    """

    name = "ktdp.construct_indirect_access_tile"

    base = operand_def(VIEW)
    index_views = var_operand_def(MemRefType)
    captured = var_operand_def(IndexType)
    symbol_operands = var_operand_def(IndexType)
    per_dim_subscript_kinds = prop_def(ArrayAttr[BoolAttr])
    per_dim_subscript_maps = prop_def(ArrayAttr[AffineMapAttr])
    variables_space_set = prop_def(AffineSetAttr)
    variables_space_order = prop_def(AffineMapAttr)
    tile = result_def(AccessTileType)
    region = region_def("single_block")

    traits = traits_def(MemoryReadEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        base: SSAValue,
        subscripts: Sequence[Subscript],
        variables: AffineSet,
        captured: Sequence[SSAValue] = (),
        symbols: Sequence[SSAValue] = (),
        shape: Sequence[int] = (),
    ):
        """`shape` is the tile's, in the variables' sequence."""
        dims = len(captured) + variables.num_dims
        super().__init__(
            operands=[
                base,
                [s.view for s in subscripts if s.view is not None],
                captured,
                symbols,
            ],
            result_types=[AccessTileType(shape)],
            properties={
                "per_dim_subscript_kinds": _kinds(subscripts),
                "per_dim_subscript_maps": _maps(subscripts, dims),
                "variables_space_set": AffineSetAttr(variables),
                "variables_space_order": AffineMapAttr(
                    AffineMap.identity(variables.num_dims)
                ),
            },
            regions=[_variables_region(variables.num_dims)],
        )

    def subscripts(self) -> Iterator[Subscript]:
        views = iter(self.index_views)
        for kind, subscript in zip(
            self.per_dim_subscript_kinds, self.per_dim_subscript_maps, strict=True
        ):
            indirect = bool(kind.value.data)
            view = next(views, None) if indirect else None
            yield Subscript(subscript.data.results, view)

    def verify_(self) -> None:
        variables = self.variables_space_set.data
        verify_order(
            "variables_space", variables.num_dims, self.variables_space_order.data
        )
        if len(self.region.block.args) != variables.num_dims:
            raise VerifyException(
                f"{len(self.region.block.args)} intermediate variables for a set of "
                f"{variables.num_dims} dimensions"
            )
        if variables.num_symbols != len(self.symbol_operands):
            raise VerifyException(
                f"variables_space_set has {variables.num_symbols} symbols for "
                f"{len(self.symbol_operands)} symbol operands"
            )
        view = self.base.type
        assert isa(view, MemRefType | TensorType)
        kinds, maps = self.per_dim_subscript_kinds, self.per_dim_subscript_maps
        if not len(kinds) == len(maps) == view.get_num_dims():
            raise VerifyException(
                f"{len(maps)} subscripts of {len(kinds)} kinds for a view of rank "
                f"{view.get_num_dims()}"
            )
        indirect = sum(bool(kind.value.data) for kind in kinds)
        if indirect != len(self.index_views):
            raise VerifyException(
                f"{indirect} indirect subscripts but {len(self.index_views)} index "
                "views"
            )
        self._verify_subscripts(len(self.captured) + variables.num_dims)
        assert isinstance(self.tile.type, AccessTileType)
        verify_shape(self.tile.type, variables, self.variables_space_order.data)

    def _verify_subscripts(self, dims: int) -> None:
        for number, subscript in enumerate(self.subscripts()):
            given = self.per_dim_subscript_maps.data[number].data
            if given.num_dims != dims or given.num_symbols:
                raise VerifyException(
                    f"the map of subscript {number} takes {given.num_dims} values, "
                    f"expected {dims}: captured values, then variables"
                )
            rank = 1
            if subscript.view is not None:
                assert isa(subscript.view.type, MemRefType)
                rank = subscript.view.type.get_num_dims()
            if len(subscript.expressions) != rank:
                raise VerifyException(
                    f"subscript {number} has {len(subscript.expressions)} "
                    f"expressions, expected {rank}"
                )

    @classmethod
    def parse(cls, parser: Parser) -> ConstructIndirectAccessTileOp:
        parser.parse_keyword("intermediate_variables")
        variables = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        base = parser.parse_unresolved_operand()
        names = list(variables)
        parsed = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: _parse_subscript(parser, names)
        )
        symbols = parse_symbols(parser)
        properties, attributes = parse_properties(
            parser, ("variables_space_set", "variables_space_order"), cls.name
        )
        at = parser.pos
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_type
        )
        parser.parse_punctuation("->")
        tile = parse_tile_type(parser)
        views = [name for name, _ in parsed if name is not None]
        if len(types) != 1 + len(views):
            parser.raise_error(
                f"expected {1 + len(views)} types, the view's and each index view's, "
                f"got {len(types)}",
                at,
                parser.pos,
            )
        resolved = [
            parser.resolve_operand(name, type)
            for name, type in zip((base, *views), types, strict=True)
        ]
        captured = [
            parser.resolve_operand(name, IndexType())
            for name in names[len(variables) :]
        ]
        subscripts = _captured_first(parsed, len(variables), len(captured), resolved)
        properties["per_dim_subscript_kinds"] = _kinds(subscripts)
        properties["per_dim_subscript_maps"] = _maps(subscripts, len(names))
        region = _variables_region(len(variables))
        for argument, name in zip(region.block.args, variables, strict=True):
            hint = name.span.text[1:]
            if SSAValue.is_valid_name(hint):  # a number is a name, but no hint
                argument.name_hint = hint
        return cls.build(
            operands=[resolved[0], resolved[1:], captured, symbols],
            result_types=[tile],
            properties=properties,
            attributes=attributes,
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        variables = self.region.block.args
        values = (*self.captured, *variables)
        printer.print_string(" intermediate_variables")
        with printer.in_parens():
            printer.print_list(variables, printer.print_ssa_value)
        printer.print_string(" ")
        printer.print_ssa_value(self.base)
        with printer.in_square_brackets():
            printer.print_list(
                self.subscripts(),
                lambda subscript: _print_subscript(printer, subscript, values),
            )
        print_symbols(printer, self.symbol_operands)
        print_properties(
            self, printer, ("variables_space_set", "variables_space_order")
        )
        printer.print_string(" : ")
        printer.print_list(
            (self.base, *self.index_views),
            lambda view: printer.print_attribute(view.type),
        )
        printer.print_string(" -> ")
        printer.print_attribute(self.tile.type)


_Parsed = tuple[UnresolvedOperand | None, list[AffineExpr]]


def _parse_subscript(parser: Parser, names: list[UnresolvedOperand]) -> _Parsed:
    """`ind(%view[...])`, `(expression)`, or their bare forms `%view[...]`, `%i`."""

    def place(operand: UnresolvedOperand) -> AffineDimExpr:
        return AffineDimExpr(place_in(names, operand))

    def expressions() -> list[AffineExpr]:
        return parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: parse_expression(parser, place)
        )

    if parser.parse_optional_keyword("ind"):
        with parser.in_parens():
            view = parser.parse_unresolved_operand()
            return view, expressions()
    if parser.parse_optional_punctuation("("):
        expression = parse_expression(parser, place)
        parser.parse_punctuation(")")
        return None, [expression]
    view = parser.parse_unresolved_operand()
    listed = parser.parse_optional_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: parse_expression(parser, place)
    )
    return (None, [place(view)]) if listed is None else (view, listed)


def _captured_first(
    parsed: Sequence[_Parsed],
    variables: int,
    captured: int,
    views: Sequence[SSAValue],
) -> list[Subscript]:
    """Renumbers from variables first, as parsed, to captured values first."""
    moved = [AffineExpr.dimension(captured + v) for v in range(variables)]
    moved += [AffineExpr.dimension(c) for c in range(captured)]
    rest = iter(views[1:])
    return [
        Subscript(
            tuple(e.replace_dims_and_symbols(moved, ()) for e in expressions),
            None if view is None else next(rest),
        )
        for view, expressions in parsed
    ]


def _print_subscript(
    printer: Printer, subscript: Subscript, values: Sequence[SSAValue]
) -> None:
    if subscript.view is not None:
        printer.print_string("ind(")
        printer.print_ssa_value(subscript.view)
        with printer.in_square_brackets():
            print_expressions(printer, subscript.expressions, values)
        printer.print_string(")")
        return
    with printer.in_parens():
        print_expressions(printer, subscript.expressions, values)


def _kinds(subscripts: Sequence[Subscript]) -> ArrayAttr[BoolAttr]:
    return ArrayAttr([BoolAttr.from_bool(s.view is not None) for s in subscripts])


def _maps(subscripts: Sequence[Subscript], dims: int) -> Attribute:
    return ArrayAttr(
        [AffineMapAttr(AffineMap(dims, 0, s.expressions)) for s in subscripts]
    )


def _variables_region(count: int) -> Region:
    block = Block(arg_types=[IndexType()] * count)
    block.add_op(RegionTerminatorOp())
    return Region(block)
