# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of the `spyre` dialect that compute, or make tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.ir import (
    Attribute,
    Block,
    Region,
    SSAValue,
)
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.irdl import (
    attr_def,
    irdl_op_definition,
    operand_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from spyre_mlir.algebra.linear import Linear
from spyre_mlir.target.opfuncs import REDUCTIONS

from .base import (
    SpyreOp,
    check_layouts,
    identity_map,
    linear_maps,
    solve_sizes,
)
from .bodies import ConstantOp, FnOp, YieldOp
from .types import (
    SpyreTensor,
    dtype_name,
    integers,
    is_float,
    number_attr,
    number_of,
    plain,
    tensor_of,
)


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
        return solve_sizes(
            rank, list(zip(self._affine(), shapes, strict=True)), self.name
        )

    def maps(self) -> tuple[tuple[Linear, ...], ...]:
        return linear_maps((self.lhs_map, self.rhs_map, self.result_map))

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
        check_layouts(self)
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
            *linear_maps(self.input_maps.data),
            identity_map(len(self.sizes())),
        )

    def verify_(self) -> None:
        check_layouts(self)
        if len(self.input_maps) != len(self.inputs):
            raise VerifyException(
                f"{len(self.input_maps)} maps for {len(self.inputs)} operands"
            )
        rank = len(self.sizes())
        shapes = [tensor_of(v).get_shape() for v in (*self.inputs, self.result)]
        affine = [*(m.data for m in self.input_maps), AffineMap.identity(rank)]
        solve_sizes(rank, list(zip(affine, shapes, strict=True)), self.name)
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
            attributes={"kind": StringAttr(kind), "dims": integers(dims)},
        )

    @property
    def dims_data(self) -> tuple[int, ...]:
        return plain(self.dims)

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
        return identity_map(rank), folded

    def verify_(self) -> None:
        check_layouts(self)
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
        return (identity_map(len(self.sizes())),)

    def verify_(self) -> None:
        check_layouts(self)
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
        return (identity_map(len(self.sizes())),)

    def verify_(self) -> None:
        check_layouts(self)
        if not 0 <= self.dim.value.data < len(self.sizes()):
            raise VerifyException(f"dim {self.dim.value.data} of {self.result.type}")
        if dtype_name(self.result.type) == "i1":
            raise VerifyException("iota counts in numbers, not i1")
        self.verify_decisions()


def body_block(op: MapOp) -> Block:
    return op.body.block
