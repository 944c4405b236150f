# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where a core is, what it was launched with, and views of the memory it sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineSetAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    i64,
)
from xdsl.dialects.utils import (
    get_dynamic_index_list,
    parse_dynamic_index_list_without_types,
    split_dynamic_index_list,
)
from xdsl.ir import Attribute, SSAValue
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
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from .sets import box_set
from .syntax import Size, known_sizes, parse_properties, print_properties, print_sizes
from .types import (
    AnySpaceAttr,
    MemorySpaceAttr,
    RuntimeArgType,
    SpyreMemorySpaceAttr,
    shapes_agree,
    view_layout,
)

SPACE = base(MemorySpaceAttr) | base(SpyreMemorySpaceAttr)


@irdl_op_definition
class GetComputeTileIdOp(IRDLOperation):
    """
    The grid coordinates of the core that runs, one result per grid dimension.

        %x, %y = ktdp.get_compute_tile_id : index, index
    """

    name = "ktdp.get_compute_tile_id"

    coordinates = var_result_def(IndexType)

    traits = traits_def(Pure())

    assembly_format = "attr-dict `:` type($coordinates)"

    def __init__(self, count: int = 1):
        super().__init__(result_types=[[IndexType()] * count])

    def verify_(self) -> None:
        if not self.coordinates:
            raise VerifyException("expected at least one result")


@irdl_op_definition
class ConstructMemoryViewOp(IRDLOperation):
    """
    Names a strided region of memory that exists already.

        %v = ktdp.construct_memory_view %base, sizes: [32, 64], strides: [64, 1] {
          coordinate_set = affine_set<(d0, d1) : (d0 >= 0, -d0 + 31 >= 0,
                                                  d1 >= 0, -d1 + 63 >= 0)>,
          memory_space = #ktdp.memory_space<global>
        } : memref<32x64xf16>

    The base and the strides count elements of the view's type from the start of the
    space. A stick layout in the memref type gives logical sizes and coordinates; the
    stride of the stick dimension then steps whole sticks, and its lanes are
    contiguous. The coordinate set says which coordinates of a distributed view the
    region holds, all where it is left out; its symbols are the dynamic sizes, left to
    right.
    """

    name = "ktdp.construct_memory_view"

    base = operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    strides = var_operand_def(IndexType)
    static_sizes = prop_def(DenseArrayBase.constr(i64))
    static_strides = prop_def(DenseArrayBase.constr(i64))
    coordinate_set = prop_def(AffineSetAttr)
    memory_space = prop_def(SPACE)
    view = result_def(MemRefType)

    traits = traits_def(Pure())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        base: SSAValue,
        sizes: Sequence[Size],
        strides: Sequence[Size],
        view_type: MemRefType,
        memory_space: AnySpaceAttr,
        coordinate_set: AffineSetAttr | None = None,
    ):
        static_sizes, dynamic_sizes = split_dynamic_index_list(sizes, DYNAMIC_INDEX)
        static_strides, dynamic_strides = split_dynamic_index_list(
            strides, DYNAMIC_INDEX
        )
        if coordinate_set is None:
            coordinate_set = AffineSetAttr(box_set(known_sizes(sizes)))
        super().__init__(
            operands=[base, dynamic_sizes, dynamic_strides],
            result_types=[view_type],
            properties={
                "static_sizes": DenseArrayBase.from_list(i64, static_sizes),
                "static_strides": DenseArrayBase.from_list(i64, static_strides),
                "coordinate_set": coordinate_set,
                "memory_space": memory_space,
            },
        )

    @property
    def space(self) -> AnySpaceAttr:
        assert isinstance(self.memory_space, AnySpaceAttr)
        return self.memory_space

    def mixed_sizes(self) -> list[SSAValue | int]:
        return get_dynamic_index_list(
            self.static_sizes.get_values(), self.sizes, DYNAMIC_INDEX
        )

    def mixed_strides(self) -> list[SSAValue | int]:
        return get_dynamic_index_list(
            self.static_strides.get_values(), self.strides, DYNAMIC_INDEX
        )

    def verify_(self) -> None:
        view = self.view.type
        assert isa(view, MemRefType)
        self._verify_lists()
        sizes = self.static_sizes.get_values()
        if len(sizes) != view.get_num_dims():
            raise VerifyException(
                f"{len(sizes)} sizes for a view of rank {view.get_num_dims()}"
            )
        if not shapes_agree(sizes, view.get_shape()):
            shown = ", ".join("?" if s == DYNAMIC_INDEX else str(s) for s in sizes)
            raise VerifyException(f"sizes [{shown}] differ from the shape of {view}")
        coordinates = self.coordinate_set.data
        if coordinates.num_dims != len(sizes):
            raise VerifyException(
                f"coordinate_set has {coordinates.num_dims} dimensions, the view "
                f"{len(sizes)}"
            )
        if coordinates.num_symbols != len(self.sizes):
            raise VerifyException(
                f"coordinate_set has {coordinates.num_symbols} symbols for "
                f"{len(self.sizes)} dynamic sizes"
            )
        stated = view.memory_space
        if isinstance(stated, AnySpaceAttr) and stated != self.memory_space:
            raise VerifyException(
                f"the view's type says {stated}, the operation {self.memory_space}"
            )
        layout = view_layout(view)
        if layout is None:
            return
        try:
            layout.check(len(sizes))
        except ValueError as error:
            raise VerifyException(str(error)) from error

    def _verify_lists(self) -> None:
        sizes = self.static_sizes.get_values()
        strides = self.static_strides.get_values()
        if len(sizes) != len(strides):
            raise VerifyException(f"{len(sizes)} sizes but {len(strides)} strides")
        for label, static, dynamic in (
            ("size", sizes, self.sizes),
            ("stride", strides, self.strides),
        ):
            places = static.count(DYNAMIC_INDEX)
            if places != len(dynamic):
                raise VerifyException(
                    f"{places} dynamic {label}s but {len(dynamic)} operands for them"
                )

    @classmethod
    def parse(cls, parser: Parser) -> ConstructMemoryViewOp:
        base = parser.parse_operand(IndexType())
        parser.parse_punctuation(",")
        sizes = _parse_sizes(parser, "sizes")
        parser.parse_punctuation(",")
        strides = _parse_sizes(parser, "strides")
        properties, attributes = parse_properties(parser, ("memory_space",), cls.name)
        listed = sizes[1].get_values()
        known = [None if n == DYNAMIC_INDEX else n for n in listed]
        whole = AffineSetAttr(box_set(known))
        properties["coordinate_set"] = attributes.pop("coordinate_set", whole)
        parser.parse_punctuation(":")
        view = parser.parse_type()
        properties["static_sizes"] = sizes[1]
        properties["static_strides"] = strides[1]
        return cls.build(
            operands=[base, sizes[0], strides[0]],
            result_types=[view],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.base)
        for label, values, static in (
            ("sizes", self.sizes, self.static_sizes),
            ("strides", self.strides, self.static_strides),
        ):
            printer.print_string(f", {label}: ")
            print_sizes(printer, values, static.get_values())
        print_properties(self, printer, ("coordinate_set", "memory_space"))
        printer.print_string(" : ")
        printer.print_attribute(self.view.type)


@irdl_op_definition
class ConstructDistributedMemoryViewOp(IRDLOperation):
    """
    One logical view whose storage is split over several regions.

        %d = ktdp.construct_distributed_memory_view
               (%a, %b : memref<32x64xf16>, memref<32x64xf16>) : memref<64x64xf16>

    Each part owns the coordinates of its `coordinate_set`, which count in the whole
    view; no two parts own the same one.
    """

    name = "ktdp.construct_distributed_memory_view"

    parts = var_operand_def(MemRefType)
    view = result_def(MemRefType)

    traits = traits_def(Pure())

    assembly_format = "`(` ($parts^ `:` type($parts))? `)` attr-dict `:` type($view)"

    def __init__(self, parts: Sequence[SSAValue], view_type: MemRefType):
        super().__init__(operands=[parts], result_types=[view_type])

    def verify_(self) -> None:
        view = self.view.type
        assert isa(view, MemRefType)
        if not self.parts:
            raise VerifyException("expected at least one part")
        for number, part in enumerate(self.parts):
            assert isa(part.type, MemRefType)
            if part.type.element_type != view.element_type:
                raise VerifyException(
                    f"part {number} holds {part.type.element_type}, the view "
                    f"{view.element_type}"
                )
            if part.type.get_num_dims() != view.get_num_dims():
                raise VerifyException(
                    f"part {number} has rank {part.type.get_num_dims()}, the view "
                    f"{view.get_num_dims()}"
                )


@irdl_op_definition
class RuntimeArgExtractOp(IRDLOperation):
    """
    The value of a launch argument, or the step or bound that its type states.

        %n = ktdp.runtime_arg_extract value from %arg
               : !ktdp.runtime_arg<index, granularity=3, upperbound=300> -> index
    """

    name = "ktdp.runtime_arg_extract"

    argument = operand_def(RuntimeArgType)
    kind = prop_def(StringAttr)
    result = result_def()

    traits = traits_def(Pure())

    KINDS: ClassVar[tuple[str, ...]] = ("value", "granularity", "upperbound")

    def __init__(self, argument: SSAValue, kind: str, result_type: Attribute):
        super().__init__(
            operands=[argument],
            properties={"kind": StringAttr(kind)},
            result_types=[result_type],
        )

    def verify_(self) -> None:
        argument = self.argument.type
        assert isinstance(argument, RuntimeArgType)
        kind = self.kind.data
        if kind not in self.KINDS:
            raise VerifyException(
                f"unknown kind '{kind}', expected one of {', '.join(self.KINDS)}"
            )
        if kind == "value":
            expected = argument.underlying
        elif not isinstance(getattr(argument, kind), IntegerAttr):
            raise VerifyException(f"{argument} states no {kind}")
        else:
            expected = IndexType()
        if self.result.type != expected:
            raise VerifyException(
                f"the {kind} of {argument} is {expected}, not {self.result.type}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> RuntimeArgExtractOp:
        kind = parser.parse_identifier()
        parser.parse_keyword("from")
        argument = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        argument_type = parser.parse_type()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation("->")
        return cls.build(
            operands=[parser.resolve_operand(argument, argument_type)],
            properties={"kind": StringAttr(kind)},
            result_types=[parser.parse_type()],
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind.data} from ")
        printer.print_ssa_value(self.argument)
        printer.print_string(" : ")
        printer.print_attribute(self.argument.type)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)


def _parse_sizes(
    parser: Parser, keyword: str
) -> tuple[Sequence[SSAValue], DenseArrayBase[IntegerType]]:
    parser.parse_keyword(keyword)
    parser.parse_punctuation(":")
    names, static = parse_dynamic_index_list_without_types(parser, DYNAMIC_INDEX)
    values = [parser.resolve_operand(name, IndexType()) for name in names]
    return values, DenseArrayBase.from_list(i64, static)
