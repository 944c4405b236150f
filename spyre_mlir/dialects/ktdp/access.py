# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Access tiles over views, and the loads and stores through them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    AffineSetAttr,
    IndexType,
    MemRefType,
    TensorType,
)
from xdsl.dialects.utils import split_dynamic_index_list
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap, AffineSet
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    base,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from .sets import SetError, box_set, set_extents
from .syntax import (
    Size,
    known_sizes,
    parse_expression,
    parse_properties,
    parse_symbols,
    place_in,
    print_expressions,
    print_properties,
    print_symbols,
)
from .types import AccessTileType, shapes_agree

VIEW = base(MemRefType) | base(TensorType)


@irdl_op_definition
class ConstructAccessTileOp(IRDLOperation):
    """
    Coordinates of a view, relative to an anchor; nothing is read or written.

        %t = ktdp.construct_access_tile %v[%row, %col + 64] {
          access_tile_set = affine_set<(d0, d1) : (d0 >= 0, -d0 + 15 >= 0,
                                                   d1 >= 0, -d1 + 63 >= 0)>,
          access_tile_order = affine_map<(d0, d1) -> (d0, d1)>
        } : memref<32x512xf16> -> !ktdp.access_tile<16x64xindex>

    The set may have symbols, given as `symbols(%n)` after the subscripts. The order's
    last result runs fastest, and gives the tile its shape.
    """

    name = "ktdp.construct_access_tile"

    base = operand_def(VIEW)
    indices = var_operand_def(IndexType)
    symbol_operands = var_operand_def(IndexType)
    base_map = prop_def(AffineMapAttr)
    access_tile_set = prop_def(AffineSetAttr)
    access_tile_order = prop_def(AffineMapAttr)
    tile = result_def(AccessTileType)

    traits = traits_def(Pure())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        base: SSAValue,
        indices: Sequence[SSAValue],
        extents: Sequence[Size],
        base_map: AffineMap | None = None,
    ):
        """A box of `extents` at `base_map(indices)`, in row-major order."""
        rank = len(extents)
        shape, symbols = split_dynamic_index_list(extents, DYNAMIC_INDEX)
        super().__init__(
            operands=[base, indices, symbols],
            result_types=[AccessTileType(shape)],
            properties={
                "base_map": AffineMapAttr(base_map or AffineMap.identity(rank)),
                "access_tile_set": AffineSetAttr(box_set(known_sizes(extents))),
                "access_tile_order": AffineMapAttr(AffineMap.identity(rank)),
            },
        )

    def verify_(self) -> None:
        tile_set = self.access_tile_set.data
        anchor = self.base_map.data
        verify_order("access_tile", tile_set.num_dims, self.access_tile_order.data)
        view = self.base.type
        assert isa(view, MemRefType | TensorType)
        if len(anchor.results) != view.get_num_dims():
            raise VerifyException(
                f"{len(anchor.results)} subscripts for a view of rank "
                f"{view.get_num_dims()}"
            )
        if tile_set.num_dims != len(anchor.results):
            raise VerifyException(
                f"access_tile_set has {tile_set.num_dims} dimensions for "
                f"{len(anchor.results)} subscripts"
            )
        if anchor.num_symbols or anchor.num_dims != len(self.indices):
            raise VerifyException(
                f"base_map takes {anchor.num_dims} values and {anchor.num_symbols} "
                f"symbols, got {len(self.indices)} values"
            )
        if tile_set.num_symbols != len(self.symbol_operands):
            raise VerifyException(
                f"access_tile_set has {tile_set.num_symbols} symbols for "
                f"{len(self.symbol_operands)} symbol operands"
            )
        tile = self.tile.type
        assert isinstance(tile, AccessTileType)
        verify_shape(tile, tile_set, self.access_tile_order.data)

    @classmethod
    def parse(cls, parser: Parser) -> ConstructAccessTileOp:
        base = parser.parse_unresolved_operand()
        names: list[UnresolvedOperand] = []

        def place(operand: UnresolvedOperand) -> AffineDimExpr:
            return AffineDimExpr(place_in(names, operand))

        expressions = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: parse_expression(parser, place)
        )
        symbols = parse_symbols(parser)
        properties, attributes = parse_properties(
            parser, ("access_tile_set", "access_tile_order"), cls.name
        )
        parser.parse_punctuation(":")
        base_type = parser.parse_type()
        parser.parse_punctuation("->")
        tile = parse_tile_type(parser)
        properties["base_map"] = AffineMapAttr(
            AffineMap(len(names), 0, tuple(expressions))
        )
        index = IndexType()
        return cls.build(
            operands=[
                parser.resolve_operand(base, base_type),
                [parser.resolve_operand(name, index) for name in names],
                symbols,
            ],
            result_types=[tile],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.base)
        with printer.in_square_brackets():
            print_expressions(printer, self.base_map.data.results, self.indices)
        print_symbols(printer, self.symbol_operands)
        print_properties(self, printer, ("access_tile_set", "access_tile_order"))
        printer.print_string(" : ")
        printer.print_attribute(self.base.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.tile.type)


@irdl_op_definition
class LoadOp(IRDLOperation):
    """
    Gathers the elements that an access tile names.

        %x = ktdp.load %t : !ktdp.access_tile<16x64xindex> -> tensor<16x64xf16>
    """

    name = "ktdp.load"

    tile = operand_def(AccessTileType)
    value = result_def(TensorType)

    traits = traits_def(MemoryReadEffect())

    def __init__(self, tile: SSAValue, element_type: Attribute):
        assert isinstance(tile.type, AccessTileType)
        super().__init__(
            operands=[tile],
            result_types=[TensorType(element_type, tile.type.get_shape())],
        )

    def verify_(self) -> None:
        _verify_data(self.tile, self.value)

    @classmethod
    def parse(cls, parser: Parser) -> LoadOp:
        tile = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        tile_type = parse_tile_type(parser)
        parser.parse_punctuation("->")
        value = parser.parse_type()
        return cls.build(
            operands=[parser.resolve_operand(tile, tile_type)],
            result_types=[value],
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.tile)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.tile.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.value.type)


@irdl_op_definition
class StoreOp(IRDLOperation):
    """
    Scatters a tensor to the elements that an access tile names, in no stated order.

        ktdp.store %x, %t : tensor<16x64xf16>, !ktdp.access_tile<16x64xindex>
    """

    name = "ktdp.store"

    value = operand_def(TensorType)
    tile = operand_def(AccessTileType)

    traits = traits_def(MemoryWriteEffect())

    def __init__(self, value: SSAValue, tile: SSAValue):
        super().__init__(operands=[value, tile])

    def verify_(self) -> None:
        _verify_data(self.tile, self.value)

    @classmethod
    def parse(cls, parser: Parser) -> StoreOp:
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        tile = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        value_type = parser.parse_type()
        parser.parse_punctuation(",")
        tile_type = parse_tile_type(parser)
        return cls.build(
            operands=[
                parser.resolve_operand(value, value_type),
                parser.resolve_operand(tile, tile_type),
            ],
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list((self.value, self.tile), printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)
        printer.print_string(", ")
        printer.print_attribute(self.tile.type)


def parse_tile_type(parser: Parser) -> Attribute:
    """An access tile type; its prefix may be left out, as newer printers do."""
    if (tile := parser.parse_optional_type()) is not None:
        return tile
    return AccessTileType.new(AccessTileType.parse_parameters(parser))


def verify_order(label: str, rank: int, order: AffineMap) -> None:
    dims = [e.position for e in order.results if isinstance(e, AffineDimExpr)]
    is_permutation = sorted(dims) == list(range(order.num_dims))
    if order.num_symbols or len(order.results) != len(dims) or not is_permutation:
        raise VerifyException(
            f"{label}_order permutes the dimensions of the set, got {order}"
        )
    if order.num_dims != rank:
        raise VerifyException(
            f"{label}_order has {order.num_dims} dimensions, {label}_set {rank}"
        )


def verify_shape(tile: AccessTileType, tile_set: AffineSet, order: AffineMap) -> None:
    """A tile's shape is the extents of its set, in the order's sequence."""
    shape = tile.get_shape()
    if len(shape) != tile_set.num_dims:
        raise VerifyException(
            f"{tile} has rank {len(shape)} for a set of {tile_set.num_dims} dimensions"
        )
    if tile_set.num_symbols:
        return
    try:
        extents = set_extents(tile_set)
    except SetError:
        return  # a skewed set is legal, and its extents are not known here
    expected = order.eval(extents, ())
    if not shapes_agree(shape, expected):
        raise VerifyException(f"{tile} for a set of {list(expected)} coordinates")


def _verify_data(tile: SSAValue, value: SSAValue) -> None:
    assert isinstance(tile.type, AccessTileType)
    assert isa(value.type, TensorType)
    if not shapes_agree(tile.type.get_shape(), value.type.get_shape()):
        raise VerifyException(f"{tile.type} and {value.type} differ in shape")
