# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The box of an operand that a tile touches, and the accesses that walk it.

An operand's coordinate is linear in the iterators; over a tile of the iterators it
runs over a box. The box starts on a stick, moves by whole sticks from core to core
and trip to trip, and has the operand's layout at the tile's size in the scratchpad.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from spyre_mlir.algebra.access import ITEMSIZE, Access, Axis
from spyre_mlir.algebra.layout import (
    STICK_BYTES,
    DeviceLayout,
    elements_per_stick,
)
from spyre_mlir.algebra.linear import Linear
from spyre_mlir.analysis.decisions import PlanFault
from spyre_mlir.analysis.space import Operand


@dataclass(frozen=True)
class TileBox:
    """Per dimension of a tensor: the elements of one tile, and where they start."""

    layout: DeviceLayout
    dtype: str
    stick_dim: int
    axes: tuple[Axis, ...]
    base: tuple[int, ...]
    """First coordinate at digit 0 and trip 0; a multiple of the stick on its dim."""
    steps: tuple[int, ...]
    """Coordinate moved by one chunk of the dimension's digit, per element of it."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the largest tile: the shape that the scratchpad holds."""
        return tuple(max(1, a.widest) for a in self.axes)

    @property
    def lx_bytes(self) -> int:
        return max(STICK_BYTES, self.layout.bytes(self.shape, ITEMSIZE[self.dtype]))

    @property
    def level(self) -> int:
        """Loops that the box depends on: the depth at which it can be loaded."""
        return max((a.loop + 1 for a in self.axes), default=0)

    def with_dtype(self, dtype: str) -> TileBox:
        return replace(self, dtype=dtype)

    def strides(self) -> tuple[int, ...]:
        """Elements between neighbours of a dimension in the scratchpad tile."""
        eps = elements_per_stick(ITEMSIZE[self.dtype])
        return self.layout.dim_strides(self.shape, eps)


def _axis(operand: Operand, axes: Sequence[Axis], iterator: int) -> Axis:
    size = operand.sizes[iterator]
    if iterator >= len(axes):
        return Axis.whole(size)
    return limited(axes[iterator], size)


def limited(axis: Axis, size: int) -> Axis:
    """An axis that ends after `size` elements, for a piece that runs no further."""
    if axis.size == size:
        return axis
    return replace(axis, size=size) if is_cut(axis) else Axis.whole(size)


def is_cut(axis: Axis) -> bool:
    return axis.digit >= 0 or axis.loop >= 0


def tile_box(operand: Operand, axes: Sequence[Axis]) -> TileBox:
    """The box of `operand` that a tile over `axes` touches."""
    eps = elements_per_stick(ITEMSIZE[operand.dtype])
    found: list[Axis] = []
    base: list[int] = []
    steps: list[int] = []
    for dim, coordinate in enumerate(operand.coordinates):
        axis, low, step = dim_box(operand, axes, coordinate)
        if dim == operand.stick_dim:
            lead = low % eps
            low -= lead
            axis = _lengthen(axis, lead)
        found.append(axis)
        base.append(low)
        steps.append(step)
    return TileBox(
        operand.layout,
        operand.dtype,
        operand.stick_dim,
        tuple(found),
        tuple(base),
        tuple(steps),
    )


def _lengthen(axis: Axis, lead: int) -> Axis:
    if not lead:
        return axis
    if is_cut(axis):
        return replace(axis, halo=axis.halo + lead)
    return Axis.whole(axis.size + lead)


def dim_box(
    operand: Operand, axes: Sequence[Axis], coordinate: Linear
) -> tuple[Axis, int, int]:
    """Axis, first coordinate and direction of one dimension's box."""
    low, span, cut = coordinate.offset, 1, -1
    for k in coordinate.used:
        c, axis = coordinate.coefficients[k], _axis(operand, axes, k)
        if is_cut(axis):
            if cut >= 0:
                raise PlanFault(f"iterators {cut} and {k} cut one dimension")
            cut = k
            continue
        span += abs(c) * (axis.size - 1)
        low += min(0, c * (axis.size - 1))
    if cut < 0:
        return Axis.whole(span), low, 1
    c, axis = coordinate.coefficients[cut], _axis(operand, axes, cut)
    if c < 0:
        low += c * (min(axis.tile, axis.size) - 1)
    size = abs(c)
    box = Axis(
        size * axis.size,
        axis.digit,
        size * axis.chunk,
        axis.loop,
        size * axis.tile,
        span - size,
    )
    return box, low, 1 if c > 0 else -1


@dataclass
class _Sum:
    """Collects an access's constant and its strides by digit and loop, in elements."""

    base: int = 0
    digits: dict[int, int] | None = None
    loops: dict[int, int] | None = None

    def add(self, axis: Axis, step: int) -> None:
        """A coordinate of this axis moves the address by `step` per element."""
        if axis.digit >= 0:
            self.digits = self.digits or {}
            self.digits[axis.digit] = self.digits.get(axis.digit, 0) + step * axis.chunk
        if axis.loop >= 0:
            self.loops = self.loops or {}
            self.loops[axis.loop] = self.loops.get(axis.loop, 0) + step * axis.tile


def _dense(found: dict[int, int] | None, itemsize: int) -> tuple[int, ...]:
    if not found:
        return ()
    return tuple(found.get(k, 0) * itemsize for k in range(max(found) + 1))


def _stick_step(axis: Axis, step: int, eps: int, stick_stride: int) -> int:
    """Elements per element of a cut on the stick dimension: cuts are whole sticks."""
    for part, cut in ((axis.chunk, axis.digit), (axis.tile, axis.loop)):
        if cut >= 0 and (part * step) % eps:
            raise PlanFault(f"a cut after {part} elements falls inside a stick")
    assert stick_stride % eps == 0
    return step * (stick_stride // eps)


def dram_box(operand: Operand, box: TileBox, symbol: int) -> Access:
    """The box in DRAM, over its own axes."""
    itemsize = ITEMSIZE[box.dtype]
    eps = elements_per_stick(itemsize)
    strides = box.layout.dim_strides(operand.shape, eps)
    total = _Sum()
    for dim, axis in enumerate(box.axes):
        if dim == box.stick_dim:
            total.base += box.base[dim] // eps * strides[dim]
            total.add(axis, _stick_step(axis, box.steps[dim], eps, strides[dim]))
        else:
            total.base += box.base[dim] * strides[dim]
            total.add(axis, box.steps[dim] * strides[dim])
    return Access(
        "dram",
        box.dtype,
        total.base * itemsize,
        *_box_strides(box, strides),
        symbol=symbol,
        digit_strides=_dense(total.digits, itemsize),
        loop_strides=_dense(total.loops, itemsize),
    )


def _box_strides(
    box: TileBox, strides: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    dims = range(len(box.axes))
    linear = tuple(0 if d == box.stick_dim else strides[d] for d in dims)
    stick = tuple(int(d == box.stick_dim) for d in dims)
    return linear, stick, strides[box.stick_dim] if box.stick_dim >= 0 else 0


def lx_box(box: TileBox, address: int) -> Access:
    """The box in the scratchpad, over its own axes."""
    return Access("lx", box.dtype, address, *_box_strides(box, box.strides()))


def _walk(
    operand: Operand,
    dtype: str,
    axes: Sequence[Axis],
    strides: Sequence[int],
    origin: Sequence[int],
    moving: Callable[[Axis], Axis | None],
) -> Access:
    """
    The operand's elements, held as `dtype`, over the operation's axes: `strides`
    apart per dimension, from `origin` on. `moving` says what of an axis moves the
    address, if anything.
    """
    itemsize = ITEMSIZE[dtype]
    eps = elements_per_stick(itemsize)
    linear, stick = [0] * len(axes), [0] * len(axes)
    total, offset = _Sum(), 0
    for dim, coordinate in enumerate(operand.coordinates):
        constant = coordinate.offset - origin[dim]
        on_stick = dim == operand.stick_dim
        if on_stick:
            offset = constant
        else:
            total.base += constant * strides[dim]
        for k in coordinate.used:
            c, axis = coordinate.coefficients[k], moving(axes[k])
            if on_stick:
                stick[k] += c
            else:
                linear[k] += c * strides[dim]
            if axis is not None:
                step = c * strides[dim]
                if on_stick:
                    step = _stick_step(axis, c, eps, strides[dim])
                total.add(axis, step)
    on = operand.stick_dim
    stick_stride = strides[on] if on >= 0 else 0
    return Access(
        "dram",
        dtype,
        (total.base + offset // eps * stick_stride) * itemsize,
        tuple(linear),
        tuple(stick),
        stick_stride,
        offset % eps,
        digit_strides=_dense(total.digits, itemsize),
        loop_strides=_dense(total.loops, itemsize),
    )


def lx_walk(
    operand: Operand,
    box: TileBox,
    axes: Sequence[Axis],
    address: int,
    private_from: int | None = None,
) -> Access:
    """
    The operand's elements in its scratchpad tile `box`, over the operation's axes.

    From depth `private_from` on, loops walk through the tile: it holds what all
    their trips need.
    """

    def moving(axis: Axis) -> Axis | None:
        inside = private_from is not None and axis.loop >= private_from
        return replace(axis, digit=-1) if inside else None

    walk = _walk(operand, box.dtype, axes, box.strides(), box.base, moving)
    return replace(walk, space="lx", base=address + walk.base)


def dram_walk(operand: Operand, axes: Sequence[Axis], symbol: int) -> Access:
    """The operand's elements in DRAM, over the operation's axes."""
    eps = elements_per_stick(ITEMSIZE[operand.dtype])
    strides = operand.layout.dim_strides(operand.shape, eps)
    origin = (0,) * len(strides)
    walk = _walk(operand, operand.dtype, axes, strides, origin, lambda axis: axis)
    return replace(walk, symbol=symbol)
