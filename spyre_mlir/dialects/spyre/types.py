# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Tensor types and numbers of the `spyre` level, and the attributes of its operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    BFloat16Type,
    DenseArrayBase,
    Float16Type,
    Float32Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    MemRefLayoutAttr,
    StringAttr,
    TensorType,
    f16,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.ir import (
    Attribute,
    ParametrizedAttribute,
    SSAValue,
)
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    irdl_attr_definition,
)
from xdsl.parser import AttrParser
from xdsl.utils.exceptions import VerifyException

from spyre_mlir.algebra.access import ITEMSIZE
from spyre_mlir.algebra.layout import DeviceLayout, elements_per_stick

bf16 = BFloat16Type()

SpyreTensor: TypeAlias = TensorType[AnyFloat | IntegerType]

ELEMENT_TYPES: dict[str, Attribute] = {
    "f16": f16,
    "bf16": bf16,
    "f32": f32,
    "i32": i32,
    "i64": i64,
    "i1": i1,
}

_NAMES = {attr: name for name, attr in ELEMENT_TYPES.items()}


def dtype_name(type_: Attribute) -> str:
    """`f16` of f16 or of a tensor of f16; VerifyException if the card lacks it."""
    tensor = cast(SpyreTensor, type_)
    element = tensor.element_type if isinstance(type_, TensorType) else type_
    name = _NAMES.get(element)
    if name is None:
        known = ", ".join(ELEMENT_TYPES)
        raise VerifyException(f"element type {element} is none of {known}")
    return name


def is_float(dtype: str) -> bool:
    return dtype in ("f16", "bf16", "f32")


def number_attr(value: float | int, dtype: str) -> Attribute:
    """A number as an attribute of its element type."""
    type_ = ELEMENT_TYPES[dtype]
    if isinstance(type_, Float16Type | BFloat16Type | Float32Type):
        return FloatAttr(float(value), type_)
    return IntegerAttr(int(value), cast(IntegerType, type_))


def number_of(attr: Attribute) -> float | int:
    """The number that `number_attr` wrapped; i1 gives 0 or 1."""
    if isinstance(attr, FloatAttr):
        return attr.value.data
    assert isinstance(attr, IntegerAttr)
    value = attr.value.data
    return abs(value) if attr.type == i1 else value


def integers(values: Sequence[int]) -> DenseArrayBase[IntegerType]:
    return DenseArrayBase.from_list(i64, list(values))


@cache
def plain(array: DenseArrayBase) -> tuple[int, ...]:
    whole = cast(DenseArrayBase[IntegerType], array)
    return tuple(int(v) for v in whole.get_values())


@cache
def _device_layout(dims: DenseArrayBase) -> DeviceLayout:
    return DeviceLayout(plain(dims))


class DecisionAttr(ParametrizedAttribute):
    """A decision; one that is written wrongly is an error at its place in the text."""

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        begin = parser.pos
        found = super().parse_parameters(parser)
        wanted = cls.get_irdl_definition().parameters
        if len(found) != len(wanted):
            parser.raise_error(
                f"{cls.name} takes {len(wanted)} parameters, not {len(found)}",
                begin,
                parser.pos,
            )
        try:
            cls.new(found)
        except VerifyException as error:
            parser.raise_error(f"{cls.name}: {error}", begin, parser.pos)
        return found


@irdl_attr_definition
class LayoutAttr(MemRefLayoutAttr, DecisionAttr):
    """
    `#spyre.layout<array<i64: 1, 0, 1>>`: host dimension by device dimension.

    The last is the stick; -1 is synthetic. See `algebra.layout.DeviceLayout`.
    """

    name = "spyre.layout"

    dims: DenseArrayBase

    @staticmethod
    def of(layout: DeviceLayout) -> LayoutAttr:
        return LayoutAttr(integers(layout.dims))

    @property
    def data(self) -> DeviceLayout:
        return _device_layout(self.dims)

    def verify(self) -> None:
        try:
            _ = self.data
        except ValueError as error:
            raise VerifyException(str(error)) from error

    def get_affine_map(self) -> AffineMap:
        raise VerifyException("a stick layout depends on the element type")

    def get_strides(self) -> Sequence[int | None] | None:
        return None


@irdl_attr_definition
class DivisionAttr(DecisionAttr):
    """
    Parts per iterator, and the order of the core's digits, fastest first.

    `#spyre.division<array<i64: 8, 4, 1>, array<i64: 2, 0, 1>>`
    """

    name = "spyre.division"

    parts: DenseArrayBase
    order: DenseArrayBase

    @staticmethod
    def of(parts: Sequence[int], order: Sequence[int] | None = None) -> DivisionAttr:
        order = range(len(parts)) if order is None else order
        return DivisionAttr(integers(parts), integers(list(order)))

    def verify(self) -> None:
        parts, order = plain(self.parts), plain(self.order)
        if any(p < 1 for p in parts):
            raise VerifyException(f"division {list(parts)} has a part below 1")
        if sorted(order) != list(range(len(parts))):
            raise VerifyException(
                f"digit order {list(order)} is no permutation of {len(parts)} iterators"
            )

    @property
    def parts_data(self) -> tuple[int, ...]:
        return plain(self.parts)

    @property
    def order_data(self) -> tuple[int, ...]:
        return plain(self.order)


@irdl_attr_definition
class TileAttr(DecisionAttr):
    """
    Loop levels, outermost first, as (iterator, trips) pairs, and the buffer depth.

    Iterator -1: this operation does not depend on the level.
    `#spyre.tile<[array<i64: 0, 8>, array<i64: -1, 4>], 2 : i64>`
    """

    name = "spyre.tile"

    levels: ArrayAttr[DenseArrayBase]
    depth: IntegerAttr

    @staticmethod
    def of(levels: Sequence[tuple[int, int]], depth: int) -> TileAttr:
        return TileAttr(
            ArrayAttr([integers(level) for level in levels]), IntegerAttr(depth, i64)
        )

    def verify(self) -> None:
        for level in self.levels:
            if len(level) != 2 or plain(level)[1] < 1:
                raise VerifyException(f"loop level {level} is no (iterator, trips)")
        if self.depth.value.data < 1:
            raise VerifyException("buffer depth is below 1")

    @property
    def levels_data(self) -> tuple[tuple[int, int], ...]:
        pairs = (plain(level) for level in self.levels)
        return tuple((pair[0], pair[1]) for pair in pairs)

    @property
    def depth_data(self) -> int:
        return self.depth.value.data


@irdl_attr_definition
class PlaceAttr(DecisionAttr):
    """Where a result lives: `#spyre.place<"lx", 65536 : i64>`, a byte address."""

    name = "spyre.place"

    space: StringAttr
    address: IntegerAttr

    @staticmethod
    def of(space: str, address: int) -> PlaceAttr:
        return PlaceAttr(StringAttr(space), IntegerAttr(address, i64))

    def verify(self) -> None:
        if self.space.data not in ("dram", "lx"):
            raise VerifyException(f'space "{self.space.data}" is neither dram nor lx')
        if self.address.value.data < 0 or self.address.value.data % 128:
            raise VerifyException(
                f"address {self.address.value.data} is not a stick's: a multiple of 128"
            )


def tensor_of(value: SSAValue) -> SpyreTensor:
    """The type of a value that is a tensor."""
    assert isinstance(value.type, TensorType), f"{value.type} is no tensor"
    return cast(SpyreTensor, value.type)


def layout_of(value: SSAValue) -> DeviceLayout | None:
    """Device layout of a value, or None while it is undecided."""
    encoding = tensor_of(value).encoding
    return encoding.data if isinstance(encoding, LayoutAttr) else None


def with_layout(type_: SpyreTensor, layout: DeviceLayout | None) -> SpyreTensor:
    """The same tensor type with another layout."""
    if layout is None:
        return TensorType(type_.element_type, type_.get_shape())
    return TensorType(type_.element_type, type_.get_shape(), LayoutAttr.of(layout))


def tensor_type(
    shape: Sequence[int], dtype: str, layout: DeviceLayout | None = None
) -> SpyreTensor:
    """The tensor type of a shape and a dtype name."""
    return _tensor_type(tuple(shape), dtype, layout)


@lru_cache(maxsize=4096)
def _tensor_type(
    shape: tuple[int, ...], dtype: str, layout: DeviceLayout | None
) -> SpyreTensor:
    encoding = {} if layout is None else {"encoding": LayoutAttr.of(layout)}
    return cast(SpyreTensor, TensorType(ELEMENT_TYPES[dtype], shape, **encoding))


def eps_of(value: SSAValue) -> int:
    """Elements per stick of a tensor value."""
    return elements_per_stick(ITEMSIZE[dtype_name(value.type)])
