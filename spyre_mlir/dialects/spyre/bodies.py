# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar operations: what the body of a `spyre.map` is made of."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    FloatAttr,
    IntegerAttr,
    StringAttr,
)
from xdsl.ir import (
    Attribute,
    SSAValue,
)
from xdsl.irdl import (
    IRDLOperation,
    attr_def,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from spyre_mlir.target.opfuncs import mistyped

from .types import (
    ELEMENT_TYPES,
    dtype_name,
    number_attr,
    number_of,
)


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
        dtypes = tuple(dtype_name(a.type) for a in self.arguments)
        result = dtype_name(self.result.type)
        if problem := mistyped(self.function.data, dtypes, result):
            raise VerifyException(problem)


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """
    A number in a body.

        %0 = spyre.constant 1.000000e+00 : f16 -> f16
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
