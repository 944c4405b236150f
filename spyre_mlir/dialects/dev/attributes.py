# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attributes of the `dev` dialect: plain data of `algebra.access` in IR."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar, TypeVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    f64,
    i64,
)
from xdsl.ir import (
    Attribute,
    ParametrizedAttribute,
)
from xdsl.irdl import (
    irdl_attr_definition,
)
from xdsl.utils.exceptions import VerifyException

from spyre_mlir.algebra.access import ITEMSIZE, Access, Axis, Step, Sync
from spyre_mlir.target.opfuncs import GENERATORS, OPFUNCS

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
    return tuple(to_plain(a) for a in cast(ArrayAttr[Attribute], attr))


_Self = TypeVar("_Self", bound="PlainAttr")


class PlainAttr(ParametrizedAttribute):
    """An attribute whose parameters are the fields of a plain dataclass, in order."""

    PLAIN: ClassVar[type[Any]]

    @classmethod
    def of(cls: type[_Self], value: Any) -> _Self:
        made = cls(*(to_attribute(getattr(value, f.name)) for f in fields(value)))
        object.__setattr__(made, "_plain", value)
        return made

    @property
    def data(self) -> Any:
        plain = getattr(self, "_plain", None)
        if plain is None:
            plain = self.PLAIN(*(to_plain(p) for p in self.parameters))
            object.__setattr__(self, "_plain", plain)
        return plain


class SharedAttr(PlainAttr):
    """One whose parameters are integers and names: equal ones are made once."""

    @classmethod
    def of(cls: type[_Self], value: Any) -> _Self:
        known = _SHARED.get((cls, value))
        if known is None:
            if len(_SHARED) >= _MOST_SHARED:
                _SHARED.clear()
            known = _SHARED[cls, value] = super().of(value)
        return cast(_Self, known)


_SHARED: dict[tuple[type[PlainAttr], Any], PlainAttr] = {}
_MOST_SHARED = 1 << 14


@irdl_attr_definition
class AxisAttr(SharedAttr):
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
class AccessAttr(SharedAttr):
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
class SyncAttr(SharedAttr):
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
