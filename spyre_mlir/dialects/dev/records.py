# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The records of the `dev` dialect: one operation per kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    StringAttr,
)
from xdsl.irdl import (
    attr_def,
    irdl_op_definition,
)
from xdsl.utils.exceptions import VerifyException

from spyre_mlir.algebra.access import Access, Axis, Step
from spyre_mlir.target.opfuncs import FLOATS, GENERATORS, REDUCTIONS, mistyped

from .attributes import (
    AccessAttr,
    StepAttr,
    to_plain,
)
from .base import RecordOp, record_attributes


def verify_reduction(name: str, dtype: str) -> None:
    """VerifyException where the card does not fold so, or not this type."""
    row = REDUCTIONS.get(name)
    if row is None:
        raise VerifyException(f'the card has no reduction "{name}"')
    if dtype not in row["dtypes"]:
        raise VerifyException(f'"{name}" does not fold {dtype}')


@irdl_op_definition
class TransferOp(RecordOp):
    """
    Moves whole sticks of a tile: DRAM to LX (load), LX to DRAM (store), LX to LX of
    the same core (ring). Both sides have one element type and the same stick axis.

        dev.transfer {
            axes = [#dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64,
                0 : i64>],
            source = #dev.access<"dram", "f16", 0 : i64, array<i64: 0>, array<i64: 1>,
                64 : i64, 0 : i64, 0 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64,
                0 : i64>,
            target = #dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>,
                64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64,
                0 : i64, 0 : i64>,
            waits = [],
            signals = [#dev.sync<0 : i64, 1 : i64, 0 : i64>]}
    """

    name = "dev.transfer"
    ON_UNITS: ClassVar[tuple[str, ...]] = ("load", "store", "ring")

    source = attr_def(AccessAttr)
    target = attr_def(AccessAttr)

    assembly_format = "attr-dict"

    def __init__(self, axes: Sequence[Axis], source: Access, target: Access):
        super().__init__(
            attributes=record_attributes(axes, source=source, target=target)
        )

    def reads(self) -> tuple[Access, ...]:
        return (self.source.data,)

    def writes(self) -> tuple[Access, ...]:
        return (self.target.data,)

    def verify_(self) -> None:
        self.verify_record()
        source, target = self.source.data, self.target.data
        if source.dtype != target.dtype:
            raise VerifyException(
                f"a transfer changes {source.dtype} to {target.dtype}"
            )
        if not source.is_sticked or source.stick != target.stick:
            raise VerifyException("a transfer moves whole sticks of one axis")
        if target.stick_offset:
            raise VerifyException("a transfer starts at a stick")


@irdl_op_definition
class GatherOp(RecordOp):
    """
    Reads DRAM at indices that lie in LX: element (i..) of the target comes from the
    source access plus index * `index_stride` elements along a dimension, or plus
    index * `index_stick` along the stick dimension. An index outside [0, limit) is
    an error of the running program.

        dev.gather {
            axes = [#dev.axis<8 : i64, -1 : i64, 8 : i64, -1 : i64, 8 : i64, 0 : i64>,
                #dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>],
            source = #dev.access<"dram", "f16", 0 : i64, array<i64: 0, 0>,
                array<i64: 0, 1>,
                64 : i64, 0 : i64, 0 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64,
                0 : i64>,
            index = #dev.access<"lx", "i64", 0 : i64, array<i64: 0, 0>, array<i64: 1,
                0>,
                16 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64,
                0 : i64, 0 : i64>,
            target = #dev.access<"lx", "f16", 128 : i64, array<i64: 64, 0>,
                array<i64: 0, 1>,
                64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64,
                0 : i64, 0 : i64>,
            index_stride = 64 : i64,
            index_stick = 0 : i64,
            limit = 1000 : i64,
            waits = [],
            signals = [#dev.sync<0 : i64, 1 : i64, 0 : i64>]}
    """

    name = "dev.gather"
    ON_UNITS: ClassVar[tuple[str, ...]] = ("load",)

    source = attr_def(AccessAttr)
    index = attr_def(AccessAttr)
    target = attr_def(AccessAttr)
    index_stride = attr_def(IntegerAttr)
    index_stick = attr_def(IntegerAttr)
    limit = attr_def(IntegerAttr)

    assembly_format = "attr-dict"

    def __init__(
        self,
        axes: Sequence[Axis],
        source: Access,
        index: Access,
        target: Access,
        index_stride: int,
        index_stick: int,
        limit: int,
    ):
        super().__init__(
            attributes=record_attributes(
                axes,
                source=source,
                index=index,
                target=target,
                index_stride=index_stride,
                index_stick=index_stick,
                limit=limit,
            )
        )

    def reads(self) -> tuple[Access, ...]:
        return (self.source.data, self.index.data)

    def writes(self) -> tuple[Access, ...]:
        return (self.target.data,)

    def verify_(self) -> None:
        self.verify_record()
        if self.index.data.dtype not in ("i32", "i64"):
            raise VerifyException(
                f"indices are i32 or i64, not {self.index.data.dtype}"
            )
        if self.source.data.dtype != self.target.data.dtype:
            raise VerifyException("a gather changes the element type")


@irdl_op_definition
class MatmulOp(RecordOp):
    """
    out[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n], in f32.

    `roles` has a letter per axis. The record adds to what `out` holds unless all
    loops from depth `acc_level` on are at their first trip; -1: it never adds.

        dev.matmul {
            axes = [#dev.axis<8 : i64, -1 : i64, 8 : i64, -1 : i64, 8 : i64, 0 : i64>,
                #dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>,
                #dev.axis<32 : i64, -1 : i64, 32 : i64, -1 : i64, 32 : i64, 0 : i64>],
            roles = "mnk",
            lhs = #dev.access<"lx", "f16", 0 : i64, array<i64: 64, 0, 0>,
                array<i64: 0, 0, 1>,
                64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64,
                0 : i64, 0 : i64>,
            rhs = #dev.access<"lx", "f16", 1024 : i64, array<i64: 0, 0, 64>,
                array<i64: 0, 1, 0>,
                64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64,
                0 : i64, 0 : i64>,
            out = #dev.access<"lx", "f32", 8192 : i64, array<i64: 64, 0, 0>,
                array<i64: 0, 1, 0>,
                32 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64,
                0 : i64, 0 : i64>,
            acc_level = -1 : i64,
            waits = [],
            signals = [#dev.sync<0 : i64, 1 : i64, 0 : i64>]}
    """

    name = "dev.matmul"
    ON_UNITS: ClassVar[tuple[str, ...]] = ("pt",)

    roles = attr_def(StringAttr)
    lhs = attr_def(AccessAttr)
    rhs = attr_def(AccessAttr)
    out = attr_def(AccessAttr)
    acc_level = attr_def(IntegerAttr)

    assembly_format = "attr-dict"

    def __init__(
        self,
        axes: Sequence[Axis],
        roles: str,
        lhs: Access,
        rhs: Access,
        out: Access,
        acc_level: int = -1,
    ):
        super().__init__(
            attributes=record_attributes(
                axes, roles=roles, lhs=lhs, rhs=rhs, out=out, acc_level=acc_level
            )
        )

    def reads(self) -> tuple[Access, ...]:
        return (self.lhs.data, self.rhs.data)

    def writes(self) -> tuple[Access, ...]:
        return (self.out.data,)

    def verify_(self) -> None:
        self.verify_record()
        if len(self.roles.data) != len(self.axes) or set(self.roles.data) - set("bmnk"):
            raise VerifyException(f'roles "{self.roles.data}" of {len(self.axes)} axes')
        if self.acc_level.value.data >= 0 and self.out.data.dtype != "f32":
            raise VerifyException("partial sums are f32")


@irdl_op_definition
class VectorOp(RecordOp):
    """
    A body of scalar functions on a tile, optionally folded along axes.

    The last step (or the only input) is stored to `out`, folded by `combine` over
    `fold` axes if `combine` is not empty; `acc_level` as in `dev.matmul`.

        dev.vector {
            axes = [#dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64,
                0 : i64>],
            inputs = [#dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>,
                64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64,
                0 : i64, 0 : i64>],
            steps = [#dev.step<"exp", array<i64: 0>, "f16", array<i64>>],
            out = #dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>,
                64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64,
                0 : i64, 0 : i64>,
            combine = "", fold = array<i64>, acc_level = -1 : i64,
            waits = [#dev.sync<0 : i64, 1 : i64, 0 : i64>], signals = []}
    """

    name = "dev.vector"
    ON_UNITS: ClassVar[tuple[str, ...]] = ("sfp",)

    inputs = attr_def(ArrayAttr[AccessAttr])
    steps = attr_def(ArrayAttr[StepAttr])
    out = attr_def(AccessAttr)
    combine = attr_def(StringAttr)
    fold = attr_def(DenseArrayBase)
    acc_level = attr_def(IntegerAttr)

    assembly_format = "attr-dict"

    def __init__(
        self,
        axes: Sequence[Axis],
        inputs: Sequence[Access],
        steps: Sequence[Step],
        out: Access,
        combine: str = "",
        fold: Sequence[int] = (),
        acc_level: int = -1,
    ):
        attributes = record_attributes(
            axes, out=out, combine=combine, fold=tuple(fold), acc_level=acc_level
        )
        attributes["inputs"] = ArrayAttr([AccessAttr.of(a) for a in inputs])
        attributes["steps"] = ArrayAttr([StepAttr.of(s) for s in steps])
        super().__init__(attributes=attributes)

    @property
    def steps_data(self) -> tuple[Step, ...]:
        return tuple(s.data for s in self.steps)

    @property
    def fold_data(self) -> tuple[int, ...]:
        return to_plain(self.fold)

    def reads(self) -> tuple[Access, ...]:
        return tuple(a.data for a in self.inputs)

    def writes(self) -> tuple[Access, ...]:
        return (self.out.data,)

    def verify_(self) -> None:
        self.verify_record()
        known = len(self.inputs)
        rank = len(self.axes)
        fold = self.fold_data
        if any(not 0 <= axis < rank for axis in fold) or len({*fold}) < len(fold):
            raise VerifyException(f"fold over axes {fold} of {rank}")
        for step in self.steps_data:
            if any(not 0 <= o < known for o in step.operands):
                raise VerifyException(f"step {step.function} reads a later value")
            if step.function == "index" and step.values[0] not in range(rank):
                raise VerifyException(f"index along axis {step.values[0]} of {rank}")
            known += 1
        if not known:
            raise VerifyException("a vector record without inputs and steps")
        self._verify_types()

    def _verify_types(self) -> None:
        dtypes = [a.data.dtype for a in self.inputs]
        for step in self.steps_data:
            if step.function not in GENERATORS:
                operands = tuple(dtypes[o] for o in step.operands)
                # A float rounds to whichever float the step says.
                floats = {step.dtype, operands[-1]} <= set(FLOATS)
                result = operands[-1] if floats else step.dtype
                if problem := mistyped(step.function, operands, result):
                    raise VerifyException(problem)
            dtypes.append(step.dtype)
        if self.combine.data:
            verify_reduction(self.combine.data, dtypes[-1])


@irdl_op_definition
class ShuffleOp(RecordOp):
    """
    Moves single elements inside LX: any affine change of coordinates, at offsets
    inside sticks too. It writes exactly the elements that its axes reach.

        dev.shuffle {
            axes = [#dev.axis<8 : i64, -1 : i64, 8 : i64, -1 : i64, 8 : i64, 0 : i64>,
                #dev.axis<16 : i64, -1 : i64, 16 : i64, -1 : i64, 16 : i64, 0 : i64>],
            source = #dev.access<"lx", "f16", 0 : i64, array<i64: 64, 0>,
                array<i64: 0, 1>,
                64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64,
                0 : i64, 0 : i64>,
            target = #dev.access<"lx", "f16", 1024 : i64, array<i64: 0, 64>,
                array<i64: 1, 0>,
                64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64,
                0 : i64, 0 : i64>,
            waits = [],
            signals = []}
    """

    name = "dev.shuffle"
    ON_UNITS: ClassVar[tuple[str, ...]] = ("sfp",)

    source = attr_def(AccessAttr)
    target = attr_def(AccessAttr)

    assembly_format = "attr-dict"

    def __init__(self, axes: Sequence[Axis], source: Access, target: Access):
        super().__init__(
            attributes=record_attributes(axes, source=source, target=target)
        )

    def reads(self) -> tuple[Access, ...]:
        return (self.source.data,)

    def writes(self) -> tuple[Access, ...]:
        return (self.target.data,)

    def verify_(self) -> None:
        self.verify_record()
        if self.source.data.dtype != self.target.data.dtype:
            raise VerifyException("a shuffle changes the element type")


@irdl_op_definition
class RingReduceOp(RecordOp):
    """
    Folds a tile over the cores that differ in `digits` alone; every one of them gets
    the result, in ascending order of the digit.

        dev.ring_reduce {
            axes = [#dev.axis<32 : i64, -1 : i64, 32 : i64, -1 : i64, 32 : i64,
                0 : i64>],
            source = #dev.access<"lx", "f32", 0 : i64, array<i64: 0>, array<i64: 1>,
                32 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64,
                0 : i64, 0 : i64>,
            target = #dev.access<"lx", "f32", 128 : i64, array<i64: 0>, array<i64: 1>,
                32 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64,
                0 : i64, 0 : i64>,
            combine = "sum",
            digits = array<i64: 1>,
            waits = [],
            signals = []}
    """

    name = "dev.ring_reduce"
    ON_UNITS: ClassVar[tuple[str, ...]] = ("ring",)

    source = attr_def(AccessAttr)
    target = attr_def(AccessAttr)
    combine = attr_def(StringAttr)
    digits = attr_def(DenseArrayBase)

    assembly_format = "attr-dict"

    def __init__(
        self,
        axes: Sequence[Axis],
        source: Access,
        target: Access,
        combine: str,
        digits: Sequence[int],
    ):
        super().__init__(
            attributes=record_attributes(
                axes,
                source=source,
                target=target,
                combine=combine,
                digits=tuple(digits),
            )
        )

    @property
    def digits_data(self) -> tuple[int, ...]:
        return to_plain(self.digits)

    def reads(self) -> tuple[Access, ...]:
        return (self.source.data,)

    def writes(self) -> tuple[Access, ...]:
        return (self.target.data,)

    def verify_(self) -> None:
        self.verify_record()
        verify_reduction(self.combine.data, self.source.data.dtype)
        if len({*self.digits_data}) < len(self.digits_data):
            raise VerifyException(f"digits {self.digits_data} name one twice")
        if self.source.data.space != "lx" or self.target.data.space != "lx":
            raise VerifyException("the ring moves between scratchpads")


RECORDS: tuple[type[RecordOp], ...] = (
    TransferOp,
    GatherOp,
    MatmulOp,
    VectorOp,
    ShuffleOp,
    RingReduceOp,
)
