# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
How far an access reaches, over all cores and trips, in closed form.

A byte's address is a sum over core digits, trips and axis coordinates, and how much of
an axis a core does is affine in its digit and trip but for the last, clamped part. So
the extremes lie where a digit or a trip is the first, the last with a full part, the
last with any, or the last at all. Digits and trips that no axis couples are extremes
of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from math import prod

from .access import Access, Axis
from .layout import STICK_BYTES

Range = tuple[int, int]
"""The least and the greatest value."""

MOST_CORNERS = 1 << 14
"""More combinations of extremes than any program has, and than are looked at."""


class Entangled(ValueError):
    """Axes couple so many digits and loops that no program could mean it."""


@dataclass(frozen=True)
class Runs:
    """What surrounds a record: cores by digit, trips of its loops, its axes."""

    grid: tuple[int, ...]
    nest: tuple[int, ...]
    axes: tuple[Axis, ...]


def reach(access: Access, runs: Runs, whole_sticks: bool = False) -> Range | None:
    """
    The first byte that an access touches and the one behind the last, from the
    symbol's address or the scratchpad's start; None if it touches nothing.

    `whole_sticks` counts the rest of a stick that is touched in part.
    """
    low = high = access.base
    stages = min(access.depth, prod(runs.nest[: access.stage_levels]))
    low, high = _plus((low, high), _times(access.stage_bytes, (0, stages - 1)))
    for group in _groups(access, runs):
        found = _extremes(access, runs, group)
        if found is None:
            return None
        low, high = _plus((low, high), found)
    high += access.itemsize
    if whole_sticks:
        low, high = low // STICK_BYTES, -(-high // STICK_BYTES)
        return low * STICK_BYTES, high * STICK_BYTES
    return low, high


def _plus(a: Range, b: Range) -> Range:
    return a[0] + b[0], a[1] + b[1]


def _times(step: int, counts: Range) -> Range:
    ends = step * counts[0], step * counts[1]
    return min(ends), max(ends)


Variable = tuple[str, int]
"""`digit` or `loop`, and which."""


@dataclass
class _Group:
    """Digits and loops that axes couple, and those axes."""

    variables: set[Variable] = field(default_factory=set[Variable])
    axes: list[int] = field(default_factory=list[int])
    has_stick: bool = False
    """It holds all axes along the stick dimension, and the offset there."""


def _groups(access: Access, runs: Runs) -> list[_Group]:
    groups = [_Group(has_stick=True)]
    for a, axis in enumerate(runs.axes):
        own = {("digit", axis.digit), ("loop", axis.loop)}
        merged = _Group({v for v in own if v[1] >= 0}, [a])
        apart: list[_Group] = []
        for group in groups:
            along = group.has_stick and access.stick[a] != 0
            if not along and not group.variables & merged.variables:
                apart.append(group)
                continue
            merged.variables |= group.variables
            merged.axes += group.axes
            merged.has_stick |= group.has_stick
        groups = [*apart, merged]
    coupled = set[Variable]().union(*(g.variables for g in groups))
    everything = [("digit", d) for d in range(len(runs.grid))]
    everything += [("loop", n) for n in range(len(runs.nest))]
    return groups + [_Group({v}) for v in everything if v not in coupled]


def _extremes(access: Access, runs: Runs, group: _Group) -> Range | None:
    """What a group adds to the address; None if it is idle."""
    digits = {
        i: _digit_ends(runs, i, group) for k, i in group.variables if k == "digit"
    }
    loops = {
        i: _loop_ends(runs, i, group, digits) for k, i in group.variables if k == "loop"
    }
    variables = sorted(group.variables)
    ends = [digits[i] if kind == "digit" else loops[i] for kind, i in variables]
    if prod(map(len, ends)) > MOST_CORNERS:
        raise Entangled(f"axes couple {len(variables)} digits and loops")
    found: list[Range] = []
    for values in product(*ends):
        at = dict(zip(variables, values, strict=True))
        extents = {a: _extent(runs.axes[a], at) for a in group.axes}
        if all(extents.values()):
            found.append(_bytes(access, at, extents, group.has_stick))
    if not found:
        return None
    return min(low for low, _ in found), max(high for _, high in found)


def _extent(axis: Axis, at: dict[Variable, int]) -> int:
    core = at[("digit", axis.digit)] * axis.chunk if axis.digit >= 0 else 0
    done = at[("loop", axis.loop)] * axis.tile if axis.loop >= 0 else 0
    left = min(axis.tile, min(axis.chunk, axis.size - core) - done)
    return max(0, left + axis.halo) if left > 0 else 0


def _digit_ends(runs: Runs, digit: int, group: _Group) -> list[int]:
    last = runs.grid[digit] - 1
    ends = {0, last}
    for axis in (runs.axes[a] for a in group.axes):
        if axis.digit == digit and axis.chunk > 0:
            ends |= _part_ends(axis.size, axis.chunk)
    return sorted(e for e in ends if 0 <= e <= last)


def _loop_ends(
    runs: Runs, loop: int, group: _Group, digits: dict[int, list[int]]
) -> list[int]:
    last = runs.nest[loop] - 1
    ends = {0, last}
    for axis in (runs.axes[a] for a in group.axes):
        if axis.loop == loop and axis.tile > 0:
            for digit in digits.get(axis.digit, [0]):
                owned = min(axis.chunk, axis.size - digit * axis.chunk)
                ends |= _part_ends(owned, axis.tile)
    return sorted(e for e in ends if 0 <= e <= last)


def _part_ends(size: int, part: int) -> set[int]:
    """The last full part, and the last of all."""
    return {size // part - 1, -(-size // part) - 1}


def _bytes(
    access: Access, at: dict[Variable, int], extents: dict[int, int], has_stick: bool
) -> Range:
    strides = {"digit": access.digit_strides, "loop": access.loop_strides}
    byte = sum(
        strides[kind][i] * value
        for (kind, i), value in at.items()
        if i < len(strides[kind])
    )
    elements = lane = (0, 0)
    for a, extent in extents.items():
        elements = _plus(elements, _times(access.strides[a], (0, extent - 1)))
        lane = _plus(lane, _times(access.stick[a], (0, extent - 1)))
    if has_stick:
        elements = _plus(elements, _stick_range(access, lane))
    low, high = _times(access.itemsize, elements)
    return byte + low, byte + high


def _stick_range(access: Access, lane: Range) -> Range:
    """Where the coordinates of a range along the stick dimension may lie."""
    eps, step = access.eps, access.stick_stride
    low, high = (access.stick_offset + end for end in lane)
    edges = {low, high}
    for stick in {low // eps, low // eps + 1, high // eps, high // eps - 1}:
        edges |= {stick * eps, stick * eps + eps - 1}
    places = [c // eps * step + c % eps for c in edges if low <= c <= high]
    return min(places), max(places)
