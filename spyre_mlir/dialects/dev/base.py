# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the records of the `dev` dialect share, and the loops around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    IntegerAttr,
    i64,
)
from xdsl.ir import (
    Attribute,
    Block,
    Operation,
    Region,
)
from xdsl.irdl import (
    IRDLOperation,
    attr_def,
    irdl_op_definition,
    region_def,
    traits_def,
)
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from spyre_mlir.algebra.access import Access, Axis, Sync

from .attributes import (
    MAX_TRIPS,
    AccessAttr,
    AxisAttr,
    SyncAttr,
    to_attribute,
)


@irdl_op_definition
class LoopOp(IRDLOperation):
    """
    A hardware loop.

        dev.loop 8 : i64 {
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
        trips: list[int] = []
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
