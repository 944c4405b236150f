# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The `spyre` dialect: whole-tensor operations with device layouts.

Values are builtin tensors. Their encoding, `#spyre.layout`, says how a tensor lies in
device memory; absent means not decided yet. Each operation has an iteration space:
iterators with sizes, and one affine map per operand. Decisions index that space and
are attributes: division over cores, fusion group, tiles, places, exchanges. Absent
means undecided, present is a constraint that every pass keeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
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
    Block,
    Dialect,
    Operation,
    ParametrizedAttribute,
    Region,
    SSAValue,
)
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap
from xdsl.irdl import (
    IRDLOperation,
    attr_def,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_attr_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from spyre_mlir.algebra.access import ITEMSIZE
from spyre_mlir.algebra.layout import DeviceLayout, elements_per_stick
from spyre_mlir.algebra.linear import Linear, linear_map
from spyre_mlir.target.opfuncs import OPFUNCS, REDUCTIONS, result_dtype

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
    element = type_.element_type if isinstance(type_, TensorType) else type_
    name = _NAMES.get(element)
    if name is None:
        known = ", ".join(ELEMENT_TYPES)
        raise VerifyException(f"element type {element} is none of {known}")
    return name


def is_float(dtype: str) -> bool:
    return dtype in ("f16", "bf16", "f32")


# --------------------------------------------------------------------------
# attributes


def _integers(values: Sequence[int]) -> DenseArrayBase:
    return DenseArrayBase.from_list(i64, list(values))


@cache
def _tuple(array: DenseArrayBase) -> tuple[int, ...]:
    return tuple(int(v) for v in array.get_values())


@cache
def _device_layout(dims: DenseArrayBase) -> DeviceLayout:
    return DeviceLayout(_tuple(dims))


@irdl_attr_definition
class LayoutAttr(MemRefLayoutAttr, ParametrizedAttribute):
    """
    `#spyre.layout<array<i64: 1, 0, 1>>`: host dimension by device dimension.

    The last is the stick; -1 is synthetic. See `algebra.layout.DeviceLayout`.
    """

    name = "spyre.layout"

    dims: DenseArrayBase

    @staticmethod
    def of(layout: DeviceLayout) -> LayoutAttr:
        return LayoutAttr(_integers(layout.dims))

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
class DivisionAttr(ParametrizedAttribute):
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
        return DivisionAttr(_integers(parts), _integers(list(order)))

    def verify(self) -> None:
        parts, order = _tuple(self.parts), _tuple(self.order)
        if any(p < 1 for p in parts):
            raise VerifyException(f"division {list(parts)} has a part below 1")
        if sorted(order) != list(range(len(parts))):
            raise VerifyException(
                f"digit order {list(order)} is no permutation of {len(parts)} iterators"
            )

    @property
    def parts_data(self) -> tuple[int, ...]:
        return _tuple(self.parts)

    @property
    def order_data(self) -> tuple[int, ...]:
        return _tuple(self.order)


@irdl_attr_definition
class TileAttr(ParametrizedAttribute):
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
            ArrayAttr([_integers(level) for level in levels]), IntegerAttr(depth, i64)
        )

    def verify(self) -> None:
        for level in self.levels:
            if len(level) != 2 or _tuple(level)[1] < 1:
                raise VerifyException(f"loop level {level} is no (iterator, trips)")
        if self.depth.value.data < 1:
            raise VerifyException("buffer depth is below 1")

    @property
    def levels_data(self) -> tuple[tuple[int, int], ...]:
        pairs = (_tuple(level) for level in self.levels)
        return tuple((pair[0], pair[1]) for pair in pairs)

    @property
    def depth_data(self) -> int:
        return self.depth.value.data


@irdl_attr_definition
class PlaceAttr(ParametrizedAttribute):
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


# --------------------------------------------------------------------------
# shared behaviour


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
    encoding = {} if layout is None else {"encoding": LayoutAttr.of(layout)}
    return cast(SpyreTensor, TensorType(ELEMENT_TYPES[dtype], list(shape), **encoding))


class SpyreOp(IRDLOperation):
    """
    What every tensor operation has: an iteration space and decision attributes.

    `sizes()` are the extents of the iterators; `maps()` give, per operand and last
    the result, each dimension's coordinate as a `Linear` function of the iterators.
    """

    division = opt_attr_def(DivisionAttr)
    group = opt_attr_def(IntegerAttr)
    tile = opt_attr_def(TileAttr)
    places = opt_attr_def(ArrayAttr)
    via = opt_attr_def(ArrayAttr)

    def sizes(self) -> tuple[int, ...]:
        raise AssertionError(f"{self.name} does not say its iteration space")

    def reduction_iterators(self) -> tuple[int, ...]:
        return ()

    def maps(self) -> tuple[tuple[Linear, ...], ...]:
        raise AssertionError(f"{self.name} does not say its indexing maps")

    def verify_decisions(self) -> None:
        rank = len(self.sizes())
        if self.division and len(self.division.parts_data) != rank:
            raise VerifyException(
                f"division has {len(self.division.parts_data)} parts for {rank} "
                "iterators"
            )
        for iterator, _ in self.tile.levels_data if self.tile else ():
            if not -1 <= iterator < rank:
                raise VerifyException(f"tile names iterator {iterator} of {rank}")


def _linear_maps(maps: Sequence[AffineMapAttr]) -> tuple[tuple[Linear, ...], ...]:
    return tuple(linear_map(m.data) for m in maps)


def _identity_map(rank: int) -> tuple[Linear, ...]:
    return tuple(Linear.iterator(i, rank) for i in range(rank))


def _check_layouts(op: Operation) -> None:
    for value in (*op.operands, *op.results):
        if not isinstance(value.type, TensorType):
            raise VerifyException(f"{value.type} is no tensor")
        dtype_name(value.type)
        layout = layout_of(value)
        if layout is not None:
            try:
                layout.check(tensor_of(value).get_num_dims())
            except ValueError as error:
                raise VerifyException(str(error)) from error


def _solve_sizes(
    rank: int, operands: Sequence[tuple[AffineMap, Sequence[int]]], op: str
) -> tuple[int, ...]:
    """Iterator extents from maps whose results are iterators or constant 0."""
    sizes: list[int | None] = [None] * rank
    for map_, shape in operands:
        if map_.num_dims != rank or len(map_.results) != len(shape):
            raise VerifyException(
                f"map {map_} does not fit {rank} iterators and rank {len(shape)}"
            )
        for expr, size in zip(map_.results, shape, strict=True):
            if isinstance(expr, AffineConstantExpr) and expr.value == 0:
                if size != 1:
                    raise VerifyException(f"a broadcast dimension has size {size}")
                continue
            if not isinstance(expr, AffineDimExpr):
                raise VerifyException(f"{op} takes iterators or 0 in a map, not {expr}")
            known = sizes[expr.position]
            if known is not None and known != size:
                raise VerifyException(
                    f"iterator {expr.position} has size {known} and size {size}"
                )
            sizes[expr.position] = size
    if None in sizes:
        raise VerifyException(f"iterator {sizes.index(None)} indexes no operand")
    return tuple(cast(list[int], sizes))


# --------------------------------------------------------------------------
# operations


@irdl_op_definition
class MatmulOp(SpyreOp):
    """
    Contracts two tensors over the iterators that the result lacks, summing in f32.

        %2 = spyre.matmul %0, %1 {lhs_map = affine_map<(m, n, k) -> (m, k)>,
            rhs_map = affine_map<(m, n, k) -> (n, k)>,
            result_map = affine_map<(m, n, k) -> (m, n)>}
            : tensor<64x128xf16>, tensor<32x128xf16> -> tensor<64x32xf32>
    """

    name = "spyre.matmul"

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)

    lhs_map = attr_def(AffineMapAttr)
    rhs_map = attr_def(AffineMapAttr)
    result_map = attr_def(AffineMapAttr)

    traits = traits_def(Pure())

    assembly_format = (
        "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)"
    )

    def __init__(
        self,
        lhs: SSAValue,
        rhs: SSAValue,
        result_type: SpyreTensor,
        maps: Sequence[AffineMap],
    ):
        lhs_map, rhs_map, result_map = maps
        super().__init__(
            operands=(lhs, rhs),
            result_types=(result_type,),
            attributes={
                "lhs_map": AffineMapAttr(lhs_map),
                "rhs_map": AffineMapAttr(rhs_map),
                "result_map": AffineMapAttr(result_map),
            },
        )

    def _affine(self) -> tuple[AffineMap, AffineMap, AffineMap]:
        return self.lhs_map.data, self.rhs_map.data, self.result_map.data

    def sizes(self) -> tuple[int, ...]:
        values = (self.lhs, self.rhs, self.result)
        shapes = [tensor_of(v).get_shape() for v in values]
        rank = self.result_map.data.num_dims
        return _solve_sizes(
            rank, list(zip(self._affine(), shapes, strict=True)), self.name
        )

    def maps(self) -> tuple[tuple[Linear, ...], ...]:
        return _linear_maps((self.lhs_map, self.rhs_map, self.result_map))

    def reduction_iterators(self) -> tuple[int, ...]:
        kept = {
            e.position
            for e in self.result_map.data.results
            if isinstance(e, AffineDimExpr)
        }
        return tuple(i for i in range(self.result_map.data.num_dims) if i not in kept)

    def role(self, iterator: int) -> str:
        """b, m, n or k: in both operands and the result, in one, or contracted."""
        used = [
            any(
                isinstance(e, AffineDimExpr) and e.position == iterator
                for e in m.results
            )
            for m in self._affine()
        ]
        roles = {
            (True, True, True): "b",
            (True, False, True): "m",
            (False, True, True): "n",
            (True, True, False): "k",
        }
        role = roles.get(cast(tuple[bool, bool, bool], tuple(used)))
        if role is None:
            raise VerifyException(
                f"iterator {iterator} is summed over one operand alone; reduce it first"
            )
        return role

    def verify_(self) -> None:
        _check_layouts(self)
        for iterator in range(len(self.sizes())):
            self.role(iterator)
        lhs, rhs = dtype_name(self.lhs.type), dtype_name(self.rhs.type)
        if (
            lhs != rhs
            or not is_float(lhs)
            or not is_float(dtype_name(self.result.type))
        ):
            raise VerifyException(f"matmul of {lhs} and {rhs}: takes one float type")
        self.verify_decisions()


@irdl_op_definition
class FnOp(IRDLOperation):
    """
    A scalar function of the card, by its name in `target.opfuncs.OPFUNCS`.

        %2 = spyre.fn "add"(%0, %1) : (f16, f16) -> f16
    """

    name = "spyre.fn"

    function = attr_def(StringAttr)
    arguments = var_operand_def()
    result = result_def()

    traits = traits_def(Pure())

    assembly_format = (
        "$function `(` $arguments `)` attr-dict `:` "
        "`(` type($arguments) `)` `->` type($result)"
    )

    def __init__(self, function: str, arguments: Sequence[SSAValue], result: Attribute):
        super().__init__(
            operands=(arguments,),
            result_types=(result,),
            attributes={"function": StringAttr(function)},
        )

    def verify_(self) -> None:
        row = OPFUNCS.get(self.function.data)
        if row is None:
            raise VerifyException(f'the card has no function "{self.function.data}"')
        dtypes = tuple(dtype_name(a.type) for a in self.arguments)
        if len(dtypes) != row.arity:
            raise VerifyException(
                f'"{self.function.data}" takes {row.arity} operands, not {len(dtypes)}'
            )
        values = dtypes[1:] if self.function.data == "where" else dtypes
        if self.function.data == "where" and dtypes[0] != "i1":
            raise VerifyException(f'"where" chooses by i1, not {dtypes[0]}')
        for dtype in values:
            if dtype not in row.dtypes:
                raise VerifyException(f'"{self.function.data}" does not take {dtype}')
        if len(set(values)) > 1:
            raise VerifyException(
                f'"{self.function.data}" mixes operand types {", ".join(values)}'
            )
        expected = result_dtype(self.function.data, dtypes)
        if expected is not None and dtype_name(self.result.type) != expected:
            raise VerifyException(
                f'"{self.function.data}" gives {expected}, not {self.result.type}'
            )


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """
    A number in a body.

        %0 = spyre.constant 1.000000e+00 : f16
    """

    name = "spyre.constant"

    value = attr_def(Attribute)
    result = result_def()

    traits = traits_def(Pure())

    assembly_format = "$value attr-dict `->` type($result)"

    def __init__(self, value: float | int, dtype: str):
        super().__init__(
            result_types=(ELEMENT_TYPES[dtype],),
            attributes={"value": number_attr(value, dtype)},
        )

    @property
    def number(self) -> float | int:
        return number_of(self.value)

    def verify_(self) -> None:
        dtype_name(self.result.type)
        if not isa(self.value, FloatAttr | IntegerAttr):
            raise VerifyException(f"{self.value} is no number")
        if self.value.type != self.result.type:
            raise VerifyException(f"{self.value} does not have type {self.result.type}")


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


@irdl_op_definition
class YieldOp(IRDLOperation):
    """
    Ends the body of a map with the result's element.

        spyre.yield %0 : f16
    """

    name = "spyre.yield"

    value = operand_def()

    traits = traits_def(IsTerminator())

    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=(value,))


@irdl_op_definition
class MapOp(SpyreOp):
    """
    Applies a body of scalar functions to each element. The iterators are the result's
    dimensions; an operand's map gives 0 where the operand is broadcast.

        %1 = spyre.map %0 {maps = [affine_map<(d0, d1) -> (d0, d1)>]}
            : (tensor<4x100xf16>) -> tensor<4x100xf16> {
        ^bb0(%x: f16):
          %y = spyre.fn "exp"(%x) : (f16) -> f16
          spyre.yield %y : f16
        }
    """

    name = "spyre.map"

    inputs = var_operand_def(TensorType)
    result = result_def(TensorType)
    body = region_def("single_block")

    input_maps = attr_def(ArrayAttr[AffineMapAttr], attr_name="maps")

    traits = traits_def(Pure())

    assembly_format = (
        "$inputs attr-dict `:` `(` type($inputs) `)` `->` type($result) $body"
    )

    def __init__(
        self,
        inputs: Sequence[SSAValue],
        input_maps: Sequence[AffineMap],
        result_type: SpyreTensor,
        body: Region,
    ):
        super().__init__(
            operands=(inputs,),
            result_types=(result_type,),
            regions=(body,),
            attributes={"maps": ArrayAttr([AffineMapAttr(m) for m in input_maps])},
        )

    def sizes(self) -> tuple[int, ...]:
        return tuple(tensor_of(self.result).get_shape())

    def maps(self) -> tuple[tuple[Linear, ...], ...]:
        return (
            *_linear_maps(self.input_maps.data),
            _identity_map(len(self.sizes())),
        )

    def verify_(self) -> None:
        _check_layouts(self)
        if len(self.input_maps) != len(self.inputs):
            raise VerifyException(
                f"{len(self.input_maps)} maps for {len(self.inputs)} operands"
            )
        rank = len(self.sizes())
        shapes = [tensor_of(v).get_shape() for v in (*self.inputs, self.result)]
        affine = [*(m.data for m in self.input_maps), AffineMap.identity(rank)]
        _solve_sizes(rank, list(zip(affine, shapes, strict=True)), self.name)
        block = self.body.block
        found = [a.type for a in block.args]
        wanted = [tensor_of(v).element_type for v in self.inputs]
        if found != wanted:
            raise VerifyException("the body's arguments are not the operands' elements")
        last = block.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException("the body does not end in spyre.yield")
        if last.value.type != tensor_of(self.result).element_type:
            raise VerifyException(
                f"the body yields {last.value.type}, the result holds "
                f"{tensor_of(self.result).element_type}"
            )
        for op in block.ops:
            if not isinstance(op, FnOp | ConstantOp | YieldOp):
                raise VerifyException(f"{op.name} in the body of a map")
        self.verify_decisions()


@irdl_op_definition
class ReduceOp(SpyreOp):
    """
    Folds dimensions by sum, max or min; they stay, with size 1. Sums accumulate in
    f32 (floats) or in the integer type.

        %1 = spyre.reduce "sum" %0 {dims = array<i64: 1>}
            : tensor<4x100xf16> -> tensor<4x1xf32>
    """

    name = "spyre.reduce"

    kind = attr_def(StringAttr)
    source = operand_def(TensorType)
    result = result_def(TensorType)

    dims = attr_def(DenseArrayBase)

    traits = traits_def(Pure())

    assembly_format = "$kind $source attr-dict `:` type($source) `->` type($result)"

    def __init__(
        self, kind: str, source: SSAValue, dims: Sequence[int], result: SpyreTensor
    ):
        super().__init__(
            operands=(source,),
            result_types=(result,),
            attributes={"kind": StringAttr(kind), "dims": _integers(dims)},
        )

    @property
    def dims_data(self) -> tuple[int, ...]:
        return _tuple(self.dims)

    def sizes(self) -> tuple[int, ...]:
        return tuple(tensor_of(self.source).get_shape())

    def reduction_iterators(self) -> tuple[int, ...]:
        return self.dims_data

    def maps(self) -> tuple[tuple[Linear, ...], ...]:
        rank = len(self.sizes())
        folded = tuple(
            Linear.constant(0, rank)
            if d in self.dims_data
            else Linear.iterator(d, rank)
            for d in range(rank)
        )
        return _identity_map(rank), folded

    def verify_(self) -> None:
        _check_layouts(self)
        row = REDUCTIONS.get(self.kind.data)
        if row is None:
            raise VerifyException(f'the card has no reduction "{self.kind.data}"')
        shape = self.sizes()
        if len(set(self.dims_data)) != len(self.dims_data) or any(
            not 0 <= d < len(shape) for d in self.dims_data
        ):
            raise VerifyException(f"dims {list(self.dims_data)} of rank {len(shape)}")
        wanted = [1 if d in self.dims_data else n for d, n in enumerate(shape)]
        if list(tensor_of(self.result).get_shape()) != wanted:
            raise VerifyException(
                f"result {self.result.type} is not {list(shape)} with dims "
                f"{list(self.dims_data)} of size 1"
            )
        source, result = dtype_name(self.source.type), dtype_name(self.result.type)
        if source not in row["dtypes"]:
            raise VerifyException(f'"{self.kind.data}" does not take {source}')
        if is_float(source) != is_float(result):
            raise VerifyException(f'"{self.kind.data}" of {source} gives {result}')
        self.verify_decisions()


@irdl_op_definition
class ReindexOp(SpyreOp):
    """
    Moves data: slice, concatenation, flip, repeat, expand, transpose, reshape, pad,
    and, with maps that change nothing but another layout of the result, restickify.

    Piece p runs over the shared iterators `sizes` and its own `extra[p]`, and copies
    the element at its source map to the element at its target map; coordinates are
    affine. Pieces write disjoint elements. What no piece writes is `fill`.

        %1 = spyre.reindex %0 {sizes = array<i64: 4, 100>, extra = [array<i64>],
            source_maps = [affine_map<(d0, d1) -> (d0, d1)>],
            target_maps = [affine_map<(d0, d1) -> (d1, d0)>]}
            : (tensor<4x100xf16>) -> tensor<100x4xf16>
    """

    name = "spyre.reindex"

    sources = var_operand_def(TensorType)
    result = result_def(TensorType)

    shared = attr_def(DenseArrayBase, attr_name="sizes")
    extra = attr_def(ArrayAttr[DenseArrayBase])
    source_maps = attr_def(ArrayAttr[AffineMapAttr])
    target_maps = attr_def(ArrayAttr[AffineMapAttr])
    fill = opt_attr_def(Attribute)

    traits = traits_def(Pure())

    assembly_format = "$sources attr-dict `:` `(` type($sources) `)` `->` type($result)"

    def __init__(
        self,
        sources: Sequence[SSAValue],
        result_type: SpyreTensor,
        sizes: Sequence[int],
        source_maps: Sequence[AffineMap],
        target_maps: Sequence[AffineMap],
        extra: Sequence[Sequence[int]] | None = None,
        fill: Attribute | None = None,
    ):
        extra = [()] * len(sources) if extra is None else extra
        super().__init__(
            operands=(sources,),
            result_types=(result_type,),
            attributes={
                "sizes": _integers(sizes),
                "extra": ArrayAttr([_integers(e) for e in extra]),
                "source_maps": ArrayAttr([AffineMapAttr(m) for m in source_maps]),
                "target_maps": ArrayAttr([AffineMapAttr(m) for m in target_maps]),
                "fill": fill,
            },
        )

    def sizes(self) -> tuple[int, ...]:
        return _tuple(self.shared)

    def piece_sizes(self, piece: int) -> tuple[int, ...]:
        """Extents of a piece's iterators: the shared ones, then its own."""
        return self.sizes() + _tuple(self.extra.data[piece])

    def piece_maps(self, piece: int) -> tuple[tuple[Linear, ...], tuple[Linear, ...]]:
        """Source and target coordinates of a piece, over `piece_sizes`."""
        return (
            linear_map(self.source_maps.data[piece].data),
            linear_map(self.target_maps.data[piece].data),
        )

    def maps(self) -> tuple[tuple[Linear, ...], ...]:
        """Restricted to the shared iterators: what divisions and tiles may cut."""
        rank = len(self.sizes())
        pairs = [self.piece_maps(p) for p in range(len(self.sources))]
        result = pairs[0][1] if pairs else ()
        return (
            *(tuple(e.restrict(rank) for e in source) for source, _ in pairs),
            tuple(e.restrict(rank) for e in result),
        )

    def verify_(self) -> None:
        _check_layouts(self)
        count = len(self.sources)
        if {len(self.extra), len(self.source_maps), len(self.target_maps)} - {count}:
            raise VerifyException(f"pieces do not match {count} operands")
        result = dtype_name(self.result.type)
        for p, source in enumerate(self.sources):
            if dtype_name(source.type) != result:
                raise VerifyException(
                    f"element type changes: {source.type} to {result}"
                )
            sizes = self.piece_sizes(p)
            maps = zip(self.piece_maps(p), (source, self.result), strict=True)
            for map_, value in maps:
                _check_bounds(map_, sizes, tensor_of(value).get_shape(), p)
        self.verify_decisions()


def _check_bounds(
    map_: Sequence[Linear], sizes: Sequence[int], shape: Sequence[int], piece: int
) -> None:
    if len(map_) != len(shape):
        raise VerifyException(
            f"piece {piece}: {len(map_)} coordinates, rank {len(shape)}"
        )
    for dim, (expr, size) in enumerate(zip(map_, shape, strict=True)):
        if len(expr.coefficients) != len(sizes):
            raise VerifyException(f"piece {piece}: map over other iterators than sizes")
        if 0 in sizes:
            continue
        low, high = expr.bounds(sizes)
        if low < 0 or high >= size:
            raise VerifyException(
                f"piece {piece}: dimension {dim} runs over [{low}, {high}], "
                f"the tensor has size {size}"
            )


@irdl_op_definition
class GatherOp(SpyreOp):
    """
    Reads a source at coordinates of which one comes from an index tensor. The
    iterators are the result's dimensions. `source_map` gives the other coordinates
    (and 0 at `axis`), `index_map` where the index is read.

        %2 = spyre.gather %0, %1 {axis = 0 : i64,
            source_map = affine_map<(d0, d1) -> (0, d1)>,
            index_map = affine_map<(d0, d1) -> (d0)>}
            : tensor<1000x384xf16>, tensor<32xi64> -> tensor<32x384xf16>
    """

    name = "spyre.gather"

    source = operand_def(TensorType)
    index = operand_def(TensorType)
    result = result_def(TensorType)

    axis = attr_def(IntegerAttr)
    source_map = attr_def(AffineMapAttr)
    index_map = attr_def(AffineMapAttr)

    traits = traits_def(Pure())

    assembly_format = (
        "$source `,` $index attr-dict `:` type($source) `,` type($index) "
        "`->` type($result)"
    )

    def __init__(
        self,
        source: SSAValue,
        index: SSAValue,
        axis: int,
        source_map: AffineMap,
        index_map: AffineMap,
        result_type: SpyreTensor,
    ):
        super().__init__(
            operands=(source, index),
            result_types=(result_type,),
            attributes={
                "axis": IntegerAttr(axis, i64),
                "source_map": AffineMapAttr(source_map),
                "index_map": AffineMapAttr(index_map),
            },
        )

    @property
    def axis_data(self) -> int:
        return self.axis.value.data

    def sizes(self) -> tuple[int, ...]:
        return tuple(tensor_of(self.result).get_shape())

    def maps(self) -> tuple[tuple[Linear, ...], ...]:
        return (
            *_linear_maps((self.source_map, self.index_map)),
            _identity_map(len(self.sizes())),
        )

    def verify_(self) -> None:
        _check_layouts(self)
        if dtype_name(self.index.type) not in ("i32", "i64"):
            raise VerifyException(f"indices are i32 or i64, not {self.index.type}")
        if dtype_name(self.source.type) != dtype_name(self.result.type):
            raise VerifyException("element type changes")
        source, index, _ = self.maps()
        shape = tensor_of(self.source).get_shape()
        if not 0 <= self.axis_data < len(shape):
            raise VerifyException(f"axis {self.axis_data} of rank {len(shape)}")
        _check_bounds(source, self.sizes(), shape, 0)
        _check_bounds(index, self.sizes(), tensor_of(self.index).get_shape(), 0)
        if source[self.axis_data] != Linear.constant(0, len(self.sizes())):
            raise VerifyException("source_map must give 0 at the gathered axis")
        self.verify_decisions()


@irdl_op_definition
class FullOp(SpyreOp):
    """
    A tensor of one number.

        %0 = spyre.full 0.000000e+00 : f16 -> tensor<4x100xf16>
    """

    name = "spyre.full"

    value = attr_def(Attribute)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    assembly_format = "$value attr-dict `->` type($result)"

    def __init__(self, value: float | int, result_type: SpyreTensor):
        super().__init__(
            result_types=(result_type,),
            attributes={"value": number_attr(value, dtype_name(result_type))},
        )

    @property
    def number(self) -> float | int:
        return number_of(self.value)

    def sizes(self) -> tuple[int, ...]:
        return tuple(tensor_of(self.result).get_shape())

    def maps(self) -> tuple[tuple[Linear, ...], ...]:
        return (_identity_map(len(self.sizes())),)

    def verify_(self) -> None:
        _check_layouts(self)
        if not isa(self.value, FloatAttr | IntegerAttr) or (
            self.value.type != tensor_of(self.result).element_type
        ):
            raise VerifyException(f"{self.value} is no element of {self.result.type}")
        self.verify_decisions()


@irdl_op_definition
class IotaOp(SpyreOp):
    """
    Counts along a dimension: start + step * coordinate.

        %0 = spyre.iota {dim = 0 : i64, start = 0 : i64, step = 1 : i64}
            : tensor<100xi64>
    """

    name = "spyre.iota"

    result = result_def(TensorType)

    dim = attr_def(IntegerAttr)
    start = attr_def(Attribute)
    step = attr_def(Attribute)

    traits = traits_def(Pure())

    assembly_format = "attr-dict `:` type($result)"

    def __init__(
        self, dim: int, start: float | int, step: float | int, result_type: SpyreTensor
    ):
        dtype = dtype_name(result_type)
        super().__init__(
            result_types=(result_type,),
            attributes={
                "dim": IntegerAttr(dim, i64),
                "start": number_attr(start, "f32" if is_float(dtype) else "i64"),
                "step": number_attr(step, "f32" if is_float(dtype) else "i64"),
            },
        )

    def sizes(self) -> tuple[int, ...]:
        return tuple(tensor_of(self.result).get_shape())

    def maps(self) -> tuple[tuple[Linear, ...], ...]:
        return (_identity_map(len(self.sizes())),)

    def verify_(self) -> None:
        _check_layouts(self)
        if not 0 <= self.dim.value.data < len(self.sizes()):
            raise VerifyException(f"dim {self.dim.value.data} of {self.result.type}")
        if dtype_name(self.result.type) == "i1":
            raise VerifyException("iota counts in numbers, not i1")
        self.verify_decisions()


def body_block(op: MapOp) -> Block:
    return op.body.block


def eps_of(value: SSAValue) -> int:
    """Elements per stick of a tensor value."""
    return elements_per_stick(ITEMSIZE[dtype_name(value.type)])


TENSOR_OPS: tuple[type[SpyreOp], ...] = (
    MatmulOp,
    MapOp,
    ReduceOp,
    ReindexOp,
    GatherOp,
    FullOp,
    IotaOp,
)

Spyre = Dialect(
    "spyre",
    [*TENSOR_OPS, FnOp, ConstantOp, YieldOp],
    [LayoutAttr, DivisionAttr, TileAttr, PlaceAttr],
)
