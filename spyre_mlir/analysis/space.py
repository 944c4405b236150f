# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The iteration space of an operation as planners see it: which iterators may be cut,
and where cuts may fall, given the layouts of the operands.
"""

from __future__ import annotations

from collections.abc import Iterator as Iter
from dataclasses import dataclass
from functools import cached_property
from math import gcd, lcm

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import PassFailedException

from spyre_mlir.algebra.access import ITEMSIZE
from spyre_mlir.algebra.layout import STICK_BYTES, SYNTHETIC, DeviceLayout, ceil_div
from spyre_mlir.algebra.linear import Linear
from spyre_mlir.dialects import spyre

CUT_ELEMENTS = 64
"""
Cuts of a stick dimension fall on multiples of this, a stick of the smallest elements
and whole sticks of larger ones, so that operations on different types cut alike.
"""


@dataclass(frozen=True)
class Operand:
    """A tensor of an operation and its coordinates over the iterators of a piece."""

    value: SSAValue
    coordinates: tuple[Linear, ...]
    sizes: tuple[int, ...]
    """Extents of the iterators: the shared ones, then those of the piece."""
    is_target: bool

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(spyre.tensor_of(self.value).get_shape())

    @cached_property
    def dtype(self) -> str:
        return spyre.dtype_name(self.value.type)

    @cached_property
    def layout(self) -> DeviceLayout:
        return spyre.layout_of(self.value) or DeviceLayout.default(len(self.shape))

    @cached_property
    def stick_dim(self) -> int:
        """The dimension cut into sticks, or -1 if each element has its own."""
        dim = self.layout.stick_dim
        return SYNTHETIC if dim == SYNTHETIC or self.shape[dim] == 1 else dim


@dataclass(frozen=True)
class IterRange:
    """An iterator: its extent, and the cuts that it allows."""

    size: int
    granule: int
    """Cuts fall on multiples of this many elements: stick boundaries of operands."""
    parallel: bool
    splittable: bool
    exact: bool
    """Only even cuts: some operand runs backwards."""

    @property
    def units(self) -> int:
        """Granules: the most parts that a cut can make."""
        return ceil_div(self.size, self.granule) if self.splittable else 1

    def chunk(self, parts: int, of: int | None = None) -> int:
        """Elements of one of `parts` ceil blocks of `of` (default all) elements."""
        total = self.size if of is None else of
        return ceil_div(ceil_div(total, self.granule), parts) * self.granule

    def allows(self, parts: int, of: int | None = None) -> bool:
        """Whether the iterator can be cut in `parts`."""
        if parts == 1:
            return True
        total = self.size if of is None else of
        if not self.splittable or parts > ceil_div(total, self.granule):
            return False
        return not self.exact or total % (parts * self.granule) == 0


def operands_of(op: spyre.SpyreOp) -> tuple[Operand, ...]:
    """Inputs in order, then the result; a reindex gives each piece's target too."""
    if isinstance(op, spyre.ReindexOp):
        return tuple(_pieces(op))
    sizes = op.sizes()
    values = (*op.operands, *op.results)
    pairs = zip(values, op.maps(), strict=True)
    last = len(values) - 1
    return tuple(
        Operand(value, map_, sizes, i == last) for i, (value, map_) in enumerate(pairs)
    )


def _pieces(op: spyre.ReindexOp) -> Iter[Operand]:
    for p, source in enumerate(op.sources):
        source_map, target_map = op.piece_maps(p)
        yield Operand(source, source_map, op.piece_sizes(p), False)
        yield Operand(op.result, target_map, op.piece_sizes(p), True)


def iteration_space(op: spyre.SpyreOp) -> tuple[IterRange, ...]:
    """The iterators of an operation with the cuts that its operands allow."""
    sizes = op.sizes()
    reduced = op.reduction_iterators()
    operands = operands_of(op)
    regions = region_iterator(op)
    return tuple(
        IterRange(
            size,
            lcm(*(_granule(o, k) for o in operands)) if operands else 1,
            k not in reduced,
            size > 1 and all(_is_splittable(o, k, k == regions) for o in operands),
            any(_runs_backwards(o, k) for o in operands),
        )
        for k, size in enumerate(sizes)
    )


def region_iterator(op: spyre.SpyreOp) -> int | None:
    """The iterator that runs along regions of the result, if there are any."""
    if isinstance(op, spyre.ReindexOp) and op.limits is not None:
        return len(op.sizes()) - 1
    return None


def _granule(operand: Operand, iterator: int) -> int:
    if operand.stick_dim == SYNTHETIC:
        return 1
    step = operand.coordinates[operand.stick_dim].coefficients[iterator]
    return CUT_ELEMENTS // gcd(step, CUT_ELEMENTS) if step else 1


def _runs_backwards(operand: Operand, iterator: int) -> bool:
    return any(c.coefficients[iterator] < 0 for c in operand.coordinates)


def _is_splittable(operand: Operand, iterator: int, regions: bool) -> bool:
    """
    A cut must leave boxes of the operand that do not interleave, and the boxes of a
    result are all of it: what no piece writes is filled too. Regions have a box each,
    that begins on a stick.
    """
    if operand.is_target and regions:
        return _begins_on_stick(operand, iterator)
    for coordinate, extent in zip(operand.coordinates, operand.shape, strict=True):
        step = abs(coordinate.coefficients[iterator])
        if not step:
            continue
        if operand.is_target and step * operand.sizes[iterator] != extent:
            return False
        others = [
            (abs(c), n)
            for k, (c, n) in enumerate(
                zip(coordinate.coefficients, operand.sizes, strict=True)
            )
            if k != iterator and c
        ]
        if any(c >= step and n > 1 for c, n in others):
            return False
        span = sum(c * (n - 1) for c, n in others) + 1
        if operand.is_target and not 0 <= coordinate.offset <= step - span:
            return False
    return True


def _begins_on_stick(operand: Operand, iterator: int) -> bool:
    for dim, coordinate in enumerate(operand.coordinates):
        if coordinate.coefficients[iterator]:
            alone = coordinate.used == (iterator,)
            on_stick = dim == operand.stick_dim
            eps = spyre.eps_of(operand.value) if on_stick else 1
            return alone and coordinate.offset % eps == 0
    return False


def bytes_of(value: SSAValue) -> int:
    """DRAM footprint of a tensor value."""
    shape = spyre.tensor_of(value).get_shape()
    layout = spyre.layout_of(value)
    itemsize = ITEMSIZE[spyre.dtype_name(value.type)]
    if layout is None:
        raise PassFailedException(f"{value.type} has no layout: run spyre-plan-layouts")
    return max(layout.bytes(shape, itemsize), STICK_BYTES)
