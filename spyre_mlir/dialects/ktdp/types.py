# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attributes and types of the `ktdp` dialect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineSetAttr,
    ArrayAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    ShapedType,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.ir.affine import AffineSet
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from spyre_mlir.algebra.layout import DeviceLayout
from spyre_mlir.dialects.spyre import LayoutAttr

from .sets import SetError, set_values, tiles_of_group

Space = Literal["dram", "lx", "l0", "unspecified"]


class _SpaceAttr(ParametrizedAttribute):
    """
    What both spellings of a memory space share: a keyword and an optional core.

    `#ktdp.memory_space<ct_local>` names who can see the memory,
    `#ktdp.spyre_memory_space<LX>` the device. `space` and `core` read them alike.
    """

    kind: StringAttr
    tile: IntegerAttr | NoneAttr

    SPACES: ClassVar[dict[str, Space]]
    TILED: ClassVar[frozenset[str]]
    """The keywords that may name one core."""
    TILE_KEYWORD: ClassVar[str]

    def __init__(self, kind: str | StringAttr, tile: int | Attribute | None = None):
        if isinstance(kind, str):
            kind = StringAttr(kind)
        if tile is None:
            tile = NoneAttr()
        elif isinstance(tile, int):
            tile = IntegerAttr(tile, i64)
        super().__init__(kind, tile)

    @property
    def space(self) -> Space:
        return self.SPACES[self.kind.data]

    @property
    def core(self) -> int | None:
        """The core whose memory it is; None is the core that runs."""
        return None if isinstance(self.tile, NoneAttr) else self.tile.value.data

    def verify(self) -> None:
        if self.kind.data not in self.SPACES:
            names = ", ".join(self.SPACES)
            raise VerifyException(
                f"unknown memory space '{self.kind.data}', expected one of {names}"
            )
        if self.core is None:
            return
        if self.kind.data not in self.TILED:
            raise VerifyException(
                f"memory space '{self.kind.data}' belongs to no core, but "
                f"{self.TILE_KEYWORD} = {self.core} is given"
            )
        if self.core < 0:
            raise VerifyException(
                f"{self.TILE_KEYWORD} is not negative, got {self.core}"
            )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            kind = parser.parse_identifier()
            tile: Attribute = NoneAttr()
            if parser.parse_optional_punctuation(","):
                parser.parse_keyword(cls.TILE_KEYWORD)
                parser.parse_punctuation("=")
                tile = IntegerAttr(parser.parse_integer(), i64)
        return (StringAttr(kind), tile)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.kind.data)
            if self.core is not None:
                printer.print_string(f", {self.TILE_KEYWORD} = {self.core}")


@irdl_attr_definition
class MemorySpaceAttr(_SpaceAttr):
    """`#ktdp.memory_space<global>`, `#ktdp.memory_space<ct_local, ct_id = 3>`."""

    name = "ktdp.memory_space"

    # Again: a field of a base class takes no part in equality.
    kind: StringAttr
    tile: IntegerAttr | NoneAttr

    SPACES: ClassVar[dict[str, Space]] = {"global": "dram", "ct_local": "lx"}
    TILED: ClassVar[frozenset[str]] = frozenset({"ct_local"})
    TILE_KEYWORD: ClassVar[str] = "ct_id"

    def __init__(self, kind: str | StringAttr, tile: int | Attribute | None = None):
        super().__init__(kind, tile)


@irdl_attr_definition
class SpyreMemorySpaceAttr(_SpaceAttr):
    """`#ktdp.spyre_memory_space<HBM>`, `#ktdp.spyre_memory_space<LX, core = 3>`."""

    name = "ktdp.spyre_memory_space"

    kind: StringAttr
    tile: IntegerAttr | NoneAttr

    SPACES: ClassVar[dict[str, Space]] = {
        "HBM": "dram",
        "LX": "lx",
        "L0": "l0",
        "unspecified": "unspecified",
    }
    TILED: ClassVar[frozenset[str]] = frozenset({"LX", "L0"})
    TILE_KEYWORD: ClassVar[str] = "core"

    def __init__(self, kind: str | StringAttr, tile: int | Attribute | None = None):
        super().__init__(kind, tile)


AnySpaceAttr = MemorySpaceAttr | SpyreMemorySpaceAttr

DRAM = MemorySpaceAttr("global")
LX = MemorySpaceAttr("ct_local")


@irdl_attr_definition
class AccessTileType(ParametrizedAttribute, TypeAttribute, ShapedType):
    """`!ktdp.access_tile<16x?xindex>`: a box of coordinates, no data."""

    name = "ktdp.access_tile"

    shape: ArrayAttr[IntAttr]
    element_type: IndexType

    def __init__(
        self,
        shape: Sequence[int] | ArrayAttr[IntAttr],
        element_type: Attribute | None = None,
    ):
        if not isinstance(shape, ArrayAttr):
            shape = ArrayAttr([IntAttr(size) for size in shape])
        super().__init__(shape, IndexType() if element_type is None else element_type)

    def get_num_dims(self) -> int:
        return len(self.shape.data)

    def get_shape(self) -> tuple[int, ...]:
        return tuple(size.data for size in self.shape)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            shape, element = parser.parse_ranked_shape()
            if not isinstance(element, IndexType):
                parser.raise_error(f"an access tile holds index, not {element}")
        return (ArrayAttr([IntAttr(size) for size in shape]), element)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            if self.shape.data:
                printer.print_dimension_list(self.get_shape())
                printer.print_string("x")
            printer.print_attribute(self.element_type)


@irdl_attr_definition
class RuntimeArgType(ParametrizedAttribute, TypeAttribute):
    """`!ktdp.runtime_arg<index, granularity=3, upperbound=300>`: a launch scalar."""

    name = "ktdp.runtime_arg"

    underlying: Attribute
    granularity: IntegerAttr | NoneAttr
    upperbound: IntegerAttr | NoneAttr

    def __init__(
        self,
        underlying: Attribute,
        granularity: int | Attribute | None = None,
        upperbound: int | Attribute | None = None,
    ):
        super().__init__(
            underlying, _optional_integer(granularity), _optional_integer(upperbound)
        )

    def verify(self) -> None:
        for label, value in (
            ("granularity", self.granularity),
            ("upperbound", self.upperbound),
        ):
            if isinstance(value, IntegerAttr) and value.value.data <= 0:
                raise VerifyException(
                    f"{label} of a runtime_arg is positive, got {value.value.data}"
                )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        granularity = upperbound = None
        with parser.in_angle_brackets():
            underlying = parser.parse_type()
            while parser.parse_optional_punctuation(","):
                if parser.parse_optional_keyword("granularity"):
                    parser.parse_punctuation("=")
                    granularity = parser.parse_integer()
                else:
                    parser.parse_keyword("upperbound")
                    parser.parse_punctuation("=")
                    upperbound = parser.parse_integer()
        return (
            underlying,
            _optional_integer(granularity),
            _optional_integer(upperbound),
        )

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.underlying)
            if isinstance(self.granularity, IntegerAttr):
                printer.print_string(f", granularity={self.granularity.value.data}")
            if isinstance(self.upperbound, IntegerAttr):
                printer.print_string(f", upperbound={self.upperbound.value.data}")


@irdl_attr_definition
class TileFutureType(ParametrizedAttribute, TypeAttribute):
    """
    What the tiles of each group contribute, on its way to one delivery.

        !ktdp.tile_future<(tensor<1x64xf16>), groups = affine_set<(g) : (g == 0)>>
    """

    name = "ktdp.tile_future"

    partials: ArrayAttr[TensorType]
    groups: AffineSetAttr

    def __init__(
        self,
        partials: Sequence[TensorType] | ArrayAttr[TensorType],
        groups: AffineSet | AffineSetAttr,
    ):
        if not isinstance(partials, ArrayAttr):
            partials = ArrayAttr(partials)
        if isinstance(groups, AffineSet):
            groups = AffineSetAttr(groups)
        super().__init__(partials, groups)

    def verify(self) -> None:
        if not self.partials.data:
            raise VerifyException("a tile_future carries at least one partial")
        groups = self.groups.data
        if groups.num_dims != 1 or groups.num_symbols:
            raise VerifyException(
                f"groups of a tile_future are a set (g) without symbols, got {groups}"
            )
        try:
            set_values(groups)
        except SetError as error:
            raise VerifyException(f"groups of a tile_future: {error}") from error

    @property
    def group_ids(self) -> tuple[int, ...]:
        return tiles_of_group(self.groups.data, 0)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            partials = parser.parse_optional_comma_separated_list(
                parser.Delimiter.PAREN, parser.parse_type
            )
            if partials is None:
                # An earlier spelling lists the types bare.
                partials = [parser.parse_type()]
                parser.parse_punctuation(",")
                while not parser.parse_optional_keyword("groups"):
                    partials.append(parser.parse_type())
                    parser.parse_punctuation(",")
            else:
                parser.parse_punctuation(",")
                parser.parse_keyword("groups")
            parser.parse_punctuation("=")
            groups = parser.parse_attribute()
        if not isinstance(groups, AffineSetAttr):
            parser.raise_error("groups of a tile_future are an affine_set")
        return (ArrayAttr(partials), groups)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            with printer.in_parens():
                printer.print_list(self.partials, printer.print_attribute)
            printer.print_string(", groups = ")
            printer.print_attribute(self.groups)


def _optional_integer(value: int | Attribute | None) -> Attribute:
    if value is None:
        return NoneAttr()
    return IntegerAttr(value, i64) if isinstance(value, int) else value


def view_layout(view: Attribute) -> DeviceLayout | None:
    """The stick layout of a view's memref type; None is a plain strided view."""
    assert isa(view, MemRefType)
    return view.layout.data if isinstance(view.layout, LayoutAttr) else None


def shapes_agree(left: Sequence[int], right: Sequence[int]) -> bool:
    """Equal where both are static."""
    return len(left) == len(right) and all(
        DYNAMIC_INDEX in (a, b) or a == b for a, b in zip(left, right, strict=True)
    )


def units_aside(left: Sequence[Attribute], right: Sequence[Attribute]) -> bool:
    """Whether tensors are alike but for dimensions of size 1."""

    def bare(type_: Attribute) -> tuple[Attribute, list[int]]:
        assert isa(type_, TensorType)
        return type_.element_type, [n for n in type_.get_shape() if n != 1]

    return list(map(bare, left)) == list(map(bare, right))
