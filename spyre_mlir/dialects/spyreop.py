# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The `spyreop` dialect: scalar intrinsics, used in the bodies of linalg ops.

The named ones are those of the public dialect. `spyreop.fn` is ours: it names a row
of `target.opfuncs.OPFUNCS`, the one table of scalar functions, where neither arith
nor math has an op for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    Float16Type,
    Float32Type,
    FloatAttr,
    StringAttr,
    TensorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    base,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from spyre_mlir.target.opfuncs import OPFUNCS


@irdl_attr_definition
class DF16Type(ParametrizedAttribute, TypeAttribute):
    """`!spyreop.df16`: the device's 16-bit float, 1 sign, 6 exponent, 9 fraction."""

    name = "spyreop.df16"


@irdl_attr_definition
class FP16FusedType(ParametrizedAttribute, TypeAttribute):
    """`!spyreop.fp16_fused`: a mean and a mean of squares in one 16-bit pair."""

    name = "spyreop.fp16_fused"


@irdl_attr_definition
class FP32FusedType(ParametrizedAttribute, TypeAttribute):
    """`!spyreop.fp32_fused`: a mean and a mean of squares in one 32-bit pair."""

    name = "spyreop.fp32_fused"


HALF = base(Float16Type) | base(DF16Type)
REAL = HALF | base(Float32Type)
FUSED = base(FP16FusedType) | base(FP32FusedType)


@irdl_op_definition
class FnOp(IRDLOperation):
    """
    A scalar function by the name of its row in the function table.

        %c = spyreop.fn "atan2"(%a, %b) : (f16, f16) -> f16

    The result is rounded to its type. Operands may be tensors of one shape.
    """

    name = "spyreop.fn"

    function = prop_def(StringAttr)
    arguments = var_operand_def()
    result = result_def()

    traits = traits_def(Pure())

    assembly_format = (
        "$function `(` $arguments `)` attr-dict `:` "
        "functional-type($arguments, $result)"
    )

    def __init__(
        self, function: str, arguments: Sequence[SSAValue], result_type: Attribute
    ):
        super().__init__(
            operands=[arguments],
            properties={"function": StringAttr(function)},
            result_types=[result_type],
        )

    def verify_(self) -> None:
        row = OPFUNCS.get(self.function.data)
        if row is None:
            raise VerifyException(f"no scalar function '{self.function.data}'")
        if len(self.arguments) != row.arity:
            raise VerifyException(
                f"'{self.function.data}' takes {row.arity} operands, got "
                f"{len(self.arguments)}"
            )


class IntrinsicOp(IRDLOperation):
    """A public intrinsic that is a row of the function table."""

    FUNCTION: ClassVar[str]
    """The row."""


@irdl_op_definition
class AddI32ToI32Op(IntrinsicOp):
    """
    Adds two 32-bit integers.

        %c = spyreop.addi32toi32 %a, %b
    """

    name = "spyreop.addi32toi32"

    FUNCTION: ClassVar[str] = "add"

    lhs = operand_def(i32)
    rhs = operand_def(i32)
    result = result_def(i32)

    traits = traits_def(Pure())

    assembly_format = "$lhs `,` $rhs attr-dict"


@irdl_op_definition
class AddI64ToI64Op(IntrinsicOp):
    """
    Adds two 64-bit integers.

        %c = spyreop.addi64toi64 %a, %b
    """

    name = "spyreop.addi64toi64"

    FUNCTION: ClassVar[str] = "add"

    lhs = operand_def(i64)
    rhs = operand_def(i64)
    result = result_def(i64)

    traits = traits_def(Pure())

    assembly_format = "$lhs `,` $rhs attr-dict"


@irdl_op_definition
class MulI32ToI32Op(IntrinsicOp):
    """
    Multiplies two 32-bit integers into 32 bits.

        %c = spyreop.muli32toi32 %a, %b
    """

    name = "spyreop.muli32toi32"

    FUNCTION: ClassVar[str] = "mul"

    lhs = operand_def(i32)
    rhs = operand_def(i32)
    result = result_def(i32)

    traits = traits_def(Pure())

    assembly_format = "$lhs `,` $rhs attr-dict"


@irdl_op_definition
class ExpOp(IntrinsicOp):
    """
    The exponential function.

        %y = spyreop.exp %x : f16
    """

    name = "spyreop.exp"

    FUNCTION: ClassVar[str] = "exp"
    T: ClassVar = VarConstraint("T", REAL)

    operand = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$operand attr-dict `:` type($result)"


@irdl_op_definition
class GeluOp(IntrinsicOp):
    """
    `x * CDF(x)`, CDF that of the normal distribution.

        %y = spyreop.gelu %x : f16
    """

    name = "spyreop.gelu"

    FUNCTION: ClassVar[str] = "gelu"
    T: ClassVar = VarConstraint("T", HALF)

    operand = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$operand attr-dict `:` type($result)"


@irdl_op_definition
class ReciprocalOp(IntrinsicOp):
    """
    The multiplicative inverse.

        %y = spyreop.reciprocal %x : f16
    """

    name = "spyreop.reciprocal"

    FUNCTION: ClassVar[str] = "reciprocal"
    T: ClassVar = VarConstraint("T", REAL)

    operand = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$operand attr-dict `:` type($result)"


@irdl_op_definition
class RsqrtOp(IntrinsicOp):
    """
    The inverse of the square root.

        %y = spyreop.rsqrt %x : f16
    """

    name = "spyreop.rsqrt"

    FUNCTION: ClassVar[str] = "rsqrt"
    T: ClassVar = VarConstraint("T", REAL)

    operand = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$operand attr-dict `:` type($result)"


@irdl_op_definition
class SqrtOp(IntrinsicOp):
    """
    The square root.

        %y = spyreop.sqrt %x : f16
    """

    name = "spyreop.sqrt"

    FUNCTION: ClassVar[str] = "sqrt"
    T: ClassVar = VarConstraint("T", REAL)

    operand = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$operand attr-dict `:` type($result)"


@irdl_op_definition
class SigmoidOp(IntrinsicOp):
    """
    `1 / (1 + exp(-x))`.

        %y = spyreop.sigmoid %x : f16
    """

    name = "spyreop.sigmoid"

    FUNCTION: ClassVar[str] = "sigmoid"
    T: ClassVar = VarConstraint("T", REAL)

    operand = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$operand attr-dict `:` type($result)"


@irdl_op_definition
class SiluOp(IntrinsicOp):
    """
    `x * sigmoid(x)`.

        %y = spyreop.silu %x : f16
    """

    name = "spyreop.silu"

    FUNCTION: ClassVar[str] = "silu"
    T: ClassVar = VarConstraint("T", REAL)

    operand = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$operand attr-dict `:` type($result)"


@irdl_op_definition
class RealDivOp(IntrinsicOp):
    """
    Divides two real numbers.

        %c = spyreop.realdiv %a, %b : f16
    """

    name = "spyreop.realdiv"

    FUNCTION: ClassVar[str] = "div"
    T: ClassVar = VarConstraint("T", REAL)

    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"


@irdl_op_definition
class SoftplusOp(IRDLOperation):
    """
    `log(1 + exp(beta * x)) / beta`, and `x` where `beta * x` exceeds the threshold.

        %y = spyreop.softplus %x beta 1.0 : f32 threshold 2.0e+01 : f32 : f16
    """

    name = "spyreop.softplus"

    T: ClassVar = VarConstraint("T", HALF)

    operand = operand_def(T)
    beta = prop_def(FloatAttr)
    threshold = prop_def(FloatAttr)
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = (
        "$operand `beta` $beta `threshold` $threshold attr-dict `:` type($result)"
    )

    def verify_(self) -> None:
        if self.beta.value.data == 0:
            raise VerifyException("beta is not zero")


@irdl_op_definition
class Idx32ToAddrOp(IRDLOperation):
    """
    `base + stride * index`.

        %a = spyreop.idx32toaddr %i base %b stride %s
    """

    name = "spyreop.idx32toaddr"

    index = operand_def(i32)
    start = operand_def(i32)
    stride = operand_def(i32)
    result = result_def(i32)

    traits = traits_def(Pure())

    assembly_format = "$index `base` $start `stride` $stride attr-dict"


@irdl_op_definition
class Exx2Op(IRDLOperation):
    """
    A mean and a mean of squares; over what, the public definition does not say.

        %mean, %squares = spyreop.exx2 %x : f16
    """

    name = "spyreop.exx2"

    T: ClassVar = VarConstraint("T", REAL)

    operand = operand_def(T)
    mean = result_def(T)
    squares = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$operand attr-dict `:` type($mean)"


@irdl_op_definition
class Exx2FusedOp(IRDLOperation):
    """
    A mean and a mean of squares, packed into one value.

        %pair = spyreop.exx2_fused %x : f16 -> !spyreop.fp16_fused
    """

    name = "spyreop.exx2_fused"

    operand = operand_def(REAL)
    result = result_def(FUSED)

    traits = traits_def(Pure())

    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"


@irdl_op_definition
class LayerNormScaleOp(IRDLOperation):
    """
    The scale of a layer norm from a mean and a mean of squares.

        %scale = spyreop.layernormscale %mean squares %squares : f16
    """

    name = "spyreop.layernormscale"

    T: ClassVar = VarConstraint("T", REAL)

    operand = operand_def(T)
    squares = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = "$operand `squares` $squares attr-dict `:` type($result)"


@irdl_op_definition
class LayerNormScaleFusedOp(IRDLOperation):
    """
    The scale of a layer norm from a packed mean and mean of squares.

        %scale = spyreop.layernormscale_fused %pair : !spyreop.fp16_fused -> f16
    """

    name = "spyreop.layernormscale_fused"

    operand = operand_def(FUSED)
    result = result_def(REAL)

    traits = traits_def(Pure())

    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"


@irdl_op_definition
class LayerNormNormOp(IRDLOperation):
    """
    The normalising part of a layer norm.

        %y = spyreop.layernormnorm %x squares %q scale %s weight %w bias %b : f16
    """

    name = "spyreop.layernormnorm"

    T: ClassVar = VarConstraint("T", REAL)

    operand = operand_def(T)
    squares = operand_def(T)
    scale = operand_def(T)
    weight = operand_def(T)
    bias = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = (
        "$operand `squares` $squares `scale` $scale `weight` $weight `bias` $bias "
        "attr-dict `:` type($result)"
    )


@irdl_op_definition
class SliceReductionOp(IRDLOperation):
    """
    Reduces one stick within each slice, or across its slices.

        %r = spyreop.slice_reduction %x {reduction_kind = "add",
               reduction_scope = "in_slice"} : tensor<64xf16> -> tensor<64xf16>
    """

    name = "spyreop.slice_reduction"

    KINDS: ClassVar[tuple[str, ...]] = ("add", "max")
    SCOPES: ClassVar[tuple[str, ...]] = ("in_slice", "across_slice")
    T: ClassVar = VarConstraint("T", base(TensorType))

    operand = operand_def(T)
    reduction_kind = prop_def(StringAttr)
    reduction_scope = prop_def(StringAttr)
    result = result_def(T)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)

    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    def verify_(self) -> None:
        for label, value, known in (
            ("kind", self.reduction_kind, self.KINDS),
            ("scope", self.reduction_scope, self.SCOPES),
        ):
            if value.data not in known:
                raise VerifyException(
                    f"unknown reduction {label} '{value.data}', expected one of "
                    f"{', '.join(known)}"
                )


SpyreOp = Dialect(
    "spyreop",
    [
        FnOp,
        AddI32ToI32Op,
        AddI64ToI64Op,
        MulI32ToI32Op,
        ExpOp,
        GeluOp,
        ReciprocalOp,
        RsqrtOp,
        SqrtOp,
        SigmoidOp,
        SiluOp,
        RealDivOp,
        SoftplusOp,
        Idx32ToAddrOp,
        Exx2Op,
        Exx2FusedOp,
        LayerNormScaleOp,
        LayerNormScaleFusedOp,
        LayerNormNormOp,
        SliceReductionOp,
    ],
    [DF16Type, FP16FusedType, FP32FusedType],
)
