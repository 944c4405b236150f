# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The `dev` dialect: what the units of a core do, one operation per binary record.

A program holds one stream per unit. A stream is an in-order list of records and
hardware loops, the same on all cores. A record runs when its waits allow; what it
touches is given by axes and accesses (`algebra.access`), which take the core's digits
and the loop trips to bytes. Streams meet only through counted semaphores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from math import prod
from typing import Any, ClassVar, TypeVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    f64,
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
from xdsl.irdl import (
    IRDLOperation,
    attr_def,
    irdl_attr_definition,
    irdl_op_definition,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from spyre_mlir.algebra.access import ITEMSIZE, Access, Axis, Step, Sync
from spyre_mlir.target.opfuncs import GENERATORS, OPFUNCS, REDUCTIONS

UNITS = ("load", "store", "ring", "pt", "sfp")
"""Units of a core: DRAM to LX, LX to DRAM, LX to LX, matrix array, vector unit."""

MAX_TRIPS = 65535
"""Largest loop count (public: torch-spyre issue 3162)."""


def to_attribute(value: Any) -> Attribute:
    """The attribute of a plain value: number, string, dataclass, tuple of those."""
    if isinstance(value, str):
        return StringAttr(value)
    if isinstance(value, int):
        return IntegerAttr(value, i64)
    if all(isinstance(v, int) for v in value):
        return DenseArrayBase.from_list(i64, list(value))
    return ArrayAttr(
        [
            IntegerAttr(v, i64) if isinstance(v, int) else FloatAttr(v, f64)
            for v in value
        ]
    )


def to_plain(attr: Attribute) -> Any:
    """The plain value that `to_attribute` wrapped."""
    if isinstance(attr, StringAttr):
        return attr.data
    if isinstance(attr, IntegerAttr):
        return attr.value.data
    if isinstance(attr, FloatAttr):
        return attr.value.data
    if isinstance(attr, DenseArrayBase):
        return tuple(int(v) for v in attr.get_values())
    assert isinstance(attr, ArrayAttr)
    return tuple(to_plain(a) for a in attr)


_Self = TypeVar("_Self", bound="PlainAttr")


class PlainAttr(ParametrizedAttribute):
    """An attribute whose parameters are the fields of a plain dataclass, in order."""

    PLAIN: ClassVar[type[Any]]

    @classmethod
    def of(cls: type[_Self], value: Any) -> _Self:
        return cls(*(to_attribute(getattr(value, f.name)) for f in fields(value)))

    @property
    def data(self) -> Any:
        return self.PLAIN(*(to_plain(p) for p in self.parameters))


@irdl_attr_definition
class AxisAttr(PlainAttr):
    """`#dev.axis<size, digit, chunk, loop, tile, halo>`: see `algebra.access.Axis`."""

    name = "dev.axis"
    PLAIN = Axis

    size: IntegerAttr
    digit: IntegerAttr
    chunk: IntegerAttr
    loop: IntegerAttr
    tile: IntegerAttr
    halo: IntegerAttr

    def verify(self) -> None:
        axis: Axis = self.data
        if min(axis.size, axis.chunk, axis.tile) < 0:
            raise VerifyException(f"an axis has a negative extent: {axis}")
        if axis.digit < -1 or axis.loop < -1:
            raise VerifyException(f"an axis names a digit or loop below -1: {axis}")


@irdl_attr_definition
class AccessAttr(PlainAttr):
    """`#dev.access<space, dtype, base, ...>`: see `algebra.access.Access`."""

    name = "dev.access"
    PLAIN = Access

    space: StringAttr
    dtype: StringAttr
    base: IntegerAttr
    strides: DenseArrayBase
    stick: DenseArrayBase
    stick_stride: IntegerAttr
    stick_offset: IntegerAttr
    symbol: IntegerAttr
    digit_strides: DenseArrayBase
    loop_strides: DenseArrayBase
    depth: IntegerAttr
    stage_bytes: IntegerAttr
    stage_levels: IntegerAttr

    def verify(self) -> None:
        space, dtype = self.space.data, self.dtype.data
        if space not in ("dram", "lx"):
            raise VerifyException(f'space "{space}" is neither dram nor lx')
        if dtype not in ITEMSIZE:
            raise VerifyException(f'"{dtype}" is no element type of the card')
        if (self.symbol.value.data >= 0) != (space == "dram"):
            raise VerifyException("a DRAM access names a symbol, an LX access none")
        if self.symbol.value.data < -1:
            raise VerifyException(f"symbol {self.symbol.value.data} is below -1")
        if self.depth.value.data < 1:
            raise VerifyException("buffer depth is below 1")
        if self.stage_levels.value.data < 0:
            raise VerifyException("a stage counts fewer than no loops")


@irdl_attr_definition
class StepAttr(PlainAttr):
    """`#dev.step<function, operands, dtype, values>`: see `algebra.access.Step`."""

    name = "dev.step"
    PLAIN = Step

    function: StringAttr
    operands: DenseArrayBase
    dtype: StringAttr
    values: DenseArrayBase | ArrayAttr

    def verify(self) -> None:
        step: Step = self.data
        if step.dtype not in ITEMSIZE:
            raise VerifyException(f'"{step.dtype}" is no element type of the card')
        row = OPFUNCS.get(step.function)
        if row is None and step.function not in GENERATORS:
            raise VerifyException(f'the card has no function "{step.function}"')
        arity, values = (row.arity, 0) if row is not None else (0, 1)
        if (len(step.operands), len(step.values)) != (arity, values):
            raise VerifyException(
                f'"{step.function}" takes {arity} operands and {values} values, not '
                f"{len(step.operands)} and {len(step.values)}"
            )


@irdl_attr_definition
class SyncAttr(PlainAttr):
    """`#dev.sync<semaphore, count, level>`: see `algebra.access.Sync`."""

    name = "dev.sync"
    PLAIN = Sync

    semaphore: IntegerAttr
    count: IntegerAttr
    level: IntegerAttr

    def verify(self) -> None:
        sync: Sync = self.data
        if sync.semaphore < 0 or sync.count < 1 or sync.level < 0:
            raise VerifyException(f"a wait or signal on nothing: {sync}")


def access_attr(access: Access) -> AccessAttr:
    return AccessAttr.of(access)


# --------------------------------------------------------------------------
# structure


@irdl_op_definition
class ProgramOp(IRDLOperation):
    """
    What every core runs for one call: a stream per unit.

    `grid` counts the parts of each core digit, first fastest; `symbols` the DRAM
    addresses that a call gives; `semaphores` holds initial values.

        dev.program attributes {sym_name = "k0", grid = array<i64: 8, 4>, symbols = 3 : i64,
            lx_bytes = 65536 : i64, semaphores = array<i64: 0, 2>} {
        }
    """

    name = "dev.program"

    sym_name = attr_def(StringAttr)
    grid = attr_def(DenseArrayBase)
    symbols = attr_def(IntegerAttr)
    lx_bytes = attr_def(IntegerAttr)
    semaphores = attr_def(DenseArrayBase)
    body = region_def("single_block")

    traits = traits_def(NoTerminator())

    assembly_format = "attr-dict-with-keyword $body"

    def __init__(
        self,
        name: str,
        grid: Sequence[int],
        symbols: int,
        lx_bytes: int,
        semaphores: Sequence[int],
        streams: Sequence[Operation],
    ):
        super().__init__(
            attributes={
                "sym_name": StringAttr(name),
                "grid": to_attribute(tuple(grid)),
                "symbols": IntegerAttr(symbols, i64),
                "lx_bytes": IntegerAttr(lx_bytes, i64),
                "semaphores": to_attribute(tuple(semaphores)),
            },
            regions=(Region(Block(streams)),),
        )

    @property
    def grid_data(self) -> tuple[int, ...]:
        return to_plain(self.grid)

    @property
    def semaphores_data(self) -> tuple[int, ...]:
        return to_plain(self.semaphores)

    @property
    def streams(self) -> tuple[StreamOp, ...]:
        return tuple(cast(StreamOp, op) for op in self.body.block.ops)

    def verify_(self) -> None:
        units = []
        for op in self.body.block.ops:
            if not isinstance(op, StreamOp):
                raise VerifyException(f"{op.name} in a program: only streams")
            units.append(op.unit.data)
        if len(set(units)) != len(units):
            raise VerifyException("a unit has two streams")
        if any(n < 1 for n in self.grid_data) or prod(self.grid_data) < 1:
            raise VerifyException(f"grid {list(self.grid_data)} has a part below 1")
        for record, _ in walk_records(self):
            self._verify_record(record)

    def _verify_record(self, record: RecordOp) -> None:
        known = len(self.semaphores_data)
        for sync in (*record.waits_data, *record.signals_data):
            if not 0 <= sync.semaphore < known:
                raise VerifyException(f"semaphore {sync.semaphore} of {known}")
        for access in record.accesses():
            if access.symbol >= self.symbols.value.data:
                raise VerifyException(
                    f"symbol {access.symbol} of {self.symbols.value.data}"
                )
        for axis in record.axes_data:
            if axis.digit >= len(self.grid_data):
                raise VerifyException(f"digit {axis.digit} of {len(self.grid_data)}")
        digits = record.digits_data if isinstance(record, RingReduceOp) else ()
        if any(not 0 <= digit < len(self.grid_data) for digit in digits):
            raise VerifyException(f"digits {digits} of {len(self.grid_data)}")


@irdl_op_definition
class StreamOp(IRDLOperation):
    """
    The in-order records and loops of one unit.

        dev.stream "load" {
        }
    """

    name = "dev.stream"

    unit = attr_def(StringAttr)
    body = region_def("single_block")

    traits = traits_def(NoTerminator())

    assembly_format = "$unit attr-dict-with-keyword $body"

    def __init__(self, unit: str, body: Sequence[Operation]):
        super().__init__(
            attributes={"unit": StringAttr(unit)}, regions=(Region(Block(body)),)
        )

    def verify_(self) -> None:
        if self.unit.data not in UNITS:
            raise VerifyException(f'"{self.unit.data}" is none of {", ".join(UNITS)}')
        for op in self.walk():
            if isinstance(op, RecordOp) and self.unit.data not in op.ON_UNITS:
                raise VerifyException(f"{op.name} does not run on {self.unit.data}")
            if op is not self and not isinstance(op, RecordOp | LoopOp):
                raise VerifyException(f"{op.name} in a stream")


@irdl_op_definition
class LoopOp(IRDLOperation):
    """
    A hardware loop.

        dev.loop 8 : i64 {
        }
    """

    name = "dev.loop"

    trips = attr_def(IntegerAttr)
    body = region_def("single_block")

    traits = traits_def(NoTerminator())

    assembly_format = "$trips attr-dict-with-keyword $body"

    def __init__(self, trips: int, body: Sequence[Operation]):
        super().__init__(
            attributes={"trips": IntegerAttr(trips, i64)},
            regions=(Region(Block(body)),),
        )

    @property
    def trips_data(self) -> int:
        return self.trips.value.data

    def verify_(self) -> None:
        if not 1 <= self.trips_data <= MAX_TRIPS:
            raise VerifyException(f"{self.trips_data} trips, outside [1, {MAX_TRIPS}]")


@irdl_op_definition
class CallOp(IRDLOperation):
    """
    Runs a program: its symbols are the operands' addresses, then the results'.

        %1 = dev.call @k0(%0) : (tensor<64xf16>) -> tensor<64xf16>
    """

    name = "dev.call"

    program = attr_def(SymbolRefAttr)
    arguments = var_operand_def(TensorType)
    made = var_result_def(TensorType)

    assembly_format = (
        "$program `(` $arguments `)` attr-dict `:` functional-type($arguments, $made)"
    )

    def __init__(
        self,
        program: str,
        arguments: Sequence[SSAValue],
        results: Sequence[Attribute],
    ):
        super().__init__(
            operands=(arguments,),
            result_types=(results,),
            attributes={"program": SymbolRefAttr(program)},
        )

    @property
    def program_name(self) -> str:
        return self.program.root_reference.data


# --------------------------------------------------------------------------
# records


class RecordOp(IRDLOperation):
    """One record: axes, accesses, waits before it, signals after it."""

    ON_UNITS: ClassVar[tuple[str, ...]] = ()

    axes = attr_def(ArrayAttr[AxisAttr])
    waits = attr_def(ArrayAttr[SyncAttr])
    signals = attr_def(ArrayAttr[SyncAttr])

    @property
    def axes_data(self) -> tuple[Axis, ...]:
        return tuple(a.data for a in self.axes)

    @property
    def waits_data(self) -> tuple[Sync, ...]:
        return tuple(s.data for s in self.waits)

    @property
    def signals_data(self) -> tuple[Sync, ...]:
        return tuple(s.data for s in self.signals)

    def reads(self) -> tuple[Access, ...]:
        raise AssertionError(f"{self.name} does not say what it reads")

    def writes(self) -> tuple[Access, ...]:
        raise AssertionError(f"{self.name} does not say what it writes")

    def accesses(self) -> tuple[Access, ...]:
        return self.reads() + self.writes()

    def nest(self) -> tuple[int, ...]:
        """Trip counts of the enclosing loops, outermost first."""
        trips = []
        parent = self.parent_op()
        while isinstance(parent, LoopOp):
            trips.append(parent.trips_data)
            parent = parent.parent_op()
        return tuple(reversed(trips))

    def verify_record(self) -> None:
        depth = len(self.nest())
        rank = len(self.axes)
        for axis in self.axes_data:
            if axis.loop >= depth and self.parent is not None:
                raise VerifyException(f"axis runs with loop {axis.loop} of {depth}")
        for access in self.accesses():
            if len(access.strides) != rank or len(access.stick) != rank:
                raise VerifyException(f"access over {rank} axes has other strides")
            if access.stage_levels > depth and self.parent is not None:
                raise VerifyException(
                    f"stage of {access.stage_levels} loops of {depth}"
                )
        for sync in (*self.waits_data, *self.signals_data):
            if sync.level > depth and self.parent is not None:
                raise VerifyException(f"sync at level {sync.level} of {depth}")


def record_attributes(
    axes: Sequence[Axis],
    waits: Sequence[Sync] = (),
    signals: Sequence[Sync] = (),
    **others: Any,
) -> dict[str, Attribute]:
    """Attributes that every record has, and accesses and numbers by name."""
    attributes: dict[str, Attribute] = {
        "axes": ArrayAttr([AxisAttr.of(a) for a in axes]),
        "waits": ArrayAttr([SyncAttr.of(s) for s in waits]),
        "signals": ArrayAttr([SyncAttr.of(s) for s in signals]),
    }
    for name, value in others.items():
        attributes[name] = (
            AccessAttr.of(value) if isinstance(value, Access) else to_attribute(value)
        )
    return attributes


@irdl_op_definition
class TransferOp(RecordOp):
    """
    Moves whole sticks of a tile: DRAM to LX (load), LX to DRAM (store), LX to LX of
    the same core (ring). Both sides have one element type and the same stick axis.
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
        if any(not 0 <= axis < rank for axis in self.fold_data):
            raise VerifyException(f"fold over axes {self.fold_data} of {rank}")
        for step in self.steps_data:
            if any(not 0 <= o < known for o in step.operands):
                raise VerifyException(f"step {step.function} reads a later value")
            if step.function == "index" and step.values[0] not in range(rank):
                raise VerifyException(f"index along axis {step.values[0]} of {rank}")
            known += 1
        if not known:
            raise VerifyException("a vector record without inputs and steps")
        if self.combine.data and self.combine.data not in REDUCTIONS:
            raise VerifyException(f'the card has no reduction "{self.combine.data}"')


@irdl_op_definition
class ShuffleOp(RecordOp):
    """
    Moves single elements inside LX: any affine change of coordinates, at offsets
    inside sticks too. It writes exactly the elements that its axes reach.
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
        if self.combine.data not in REDUCTIONS:
            raise VerifyException(f'the card has no reduction "{self.combine.data}"')
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


def walk_records(program: ProgramOp) -> Iterator[tuple[RecordOp, StreamOp]]:
    """Every record of a program with its stream, in stream order."""
    for stream in program.streams:
        for op in stream.walk():
            if isinstance(op, RecordOp):
                yield op, stream


Dev = Dialect(
    "dev",
    [ProgramOp, StreamOp, LoopOp, CallOp, *RECORDS],
    [AxisAttr, AccessAttr, StepAttr, SyncAttr],
)
