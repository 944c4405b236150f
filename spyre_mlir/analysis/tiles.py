# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
How each core goes through its share of a group: loop trips and buffer depth.

Trips grow until the group's buffers fit the scratchpad, by whatever cut moves the
fewest bytes; then a little more, so that loads, computes and stores of different trips
overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from spyre_mlir.algebra.access import Access, Axis
from spyre_mlir.algebra.layout import STICK_BYTES, ceil_div
from spyre_mlir.analysis.clusters import Cluster, Member
from spyre_mlir.analysis.groups import Group, with_tiles
from spyre_mlir.analysis.kernel import build_kernel
from spyre_mlir.analysis.placement import place_buffers
from spyre_mlir.analysis.space import IterRange, iteration_space
from spyre_mlir.analysis.statements import Kernel
from spyre_mlir.dialects import spyre
from spyre_mlir.target.chip import Chip

DEPTH = 2
"""Stages of a buffer that a transfer fills or empties: one in use, one under way."""
VECTOR_TILE_ELEMENTS = 4 * 1024
"""
Elements of a vector record on one core that still pay its start: 128 passes of a
stick each, against the tens of cycles that a record takes to begin (assumed).
"""
MIN_DEPTH_ELEMENTS = 512
"""Contracted elements of a trip that keep partial sums out of the way (assumed)."""


class DoesNotFit(ValueError):
    """No trips bring a group's buffers into the scratchpad."""


@dataclass(frozen=True)
class Loops:
    """Trips of the group's shared classes, and of each operation's own iterators."""

    shared: tuple[int, ...]
    private: tuple[tuple[tuple[int, int], ...], ...]
    """Per operation: (reduction iterator, trips)."""


@dataclass(frozen=True)
class Footprint:
    """What loops cost: scratchpad of a core, and the bytes that it moves."""

    lx_bytes: int
    dram_bytes: int


class TilePlanner:
    """Chooses the loops of one group."""

    def __init__(self, group: Group, chip: Chip):
        self.group = group
        self.chip = chip
        cluster = Cluster()
        for op in group.ops:
            cluster = cluster.joined(op)
        self.cluster = cluster
        self.given = self._given()
        self.classes = [
            c for c in cluster.dividable() if self.given is None and self._units(c) > 1
        ]
        self.spaces = [iteration_space(op) for op in group.ops]
        self.inputs, self.outputs = group.inputs(), group.outputs()
        self._known: dict[Loops, Footprint] = {}
        self.limit = chip.scratchpad_usable_bytes_per_core

    def _given(self) -> tuple[int, tuple[tuple[int, int], ...]] | None:
        """Position and shared levels of the first operation whose tile is decided."""
        for position, op in enumerate(self.group.ops):
            if op.tile is not None:
                reduced = op.reduction_iterators()
                levels = op.tile.levels_data
                return position, tuple(x for x in levels if x[0] not in reduced)
        return None

    def plan(self) -> list[spyre.TileAttr | None]:
        """Tiles per operation; DoesNotFit if the scratchpad is too small."""
        starts = list(self._starts())
        for loops in starts:
            if self._fits(loops):
                return self._tiles(self._overlapped(loops))
        found = [f for f in map(self._cut, (starts[0], starts[-1])) if f is not None]
        if not found:
            needed = self._evaluate(starts[-1]).lx_bytes
            raise DoesNotFit(
                f"{self.group.ops[0].name}: one tile needs {needed} bytes of "
                f"scratchpad, a core has {self.limit}"
            )
        best = min(map(self._settled, found), key=self._price)
        return self._tiles(self._overlapped(best))

    def _starts(self) -> Iterator[Loops]:
        """No loops, then contracted iterators cut in ever more trips while deep."""
        loops = Loops((1,) * len(self.classes), tuple(() for _ in self.group.ops))
        yield loops
        while True:
            deeper = loops
            for position, op in enumerate(self.group.ops):
                if isinstance(op, spyre.MatmulOp):
                    for iterator in self._loopable(position):
                        finer = self._split_reduction(deeper, position, iterator)
                        if finer is not None and self._is_deep(finer):
                            deeper = finer
            if deeper == loops:
                return
            loops = deeper
            yield loops

    def _cut(self, loops: Loops) -> Loops | None:
        """Cuts by the loops that move the fewest bytes, until the group fits."""
        while not self._fits(loops):
            now = self._evaluate(loops).lx_bytes
            options = list(self._finer(loops))
            # The first cut of a loop also doubles its buffers: no more bytes is enough.
            smaller = [o for o in options if self._evaluate(o).lx_bytes <= now]
            if not options:
                return None
            loops = min(smaller or options, key=self._price)
        return loops

    def _settled(self, loops: Loops) -> Loops:
        """
        The same with fewer trips, or some traded for others, while that still fits
        and moves fewer bytes: cuts made early may turn out not to help.
        """
        while True:
            fewer = list(self._coarser(loops))
            options = [*fewer, *(f for c in fewer for f in self._finer(c))]
            fitting = [o for o in options if self._fits(o)]
            best = min(fitting, key=self._price, default=loops)
            if self._price(best) >= self._price(loops):
                return loops
            loops = best

    def _price(self, loops: Loops) -> tuple[int, int]:
        found = self._evaluate(loops)
        return found.dram_bytes, found.lx_bytes

    def _is_deep(self, loops: Loops) -> bool:
        """Contracted tiles are long enough to pay for their partial sums."""
        return all(
            self.spaces[position][iterator].chunk(trips) >= MIN_DEPTH_ELEMENTS
            for position, own in enumerate(loops.private)
            for iterator, trips in own
        )

    # ---- loops

    def _range(self, members: frozenset[Member]) -> tuple[IterRange, int]:
        """Cuts that a class allows, and the elements of one core."""
        range_ = self.cluster.range_of(members)
        if len({self.cluster.spaces[p][k].granule for p, k in members}) > 1:
            # Their cuts would fall on different elements.
            range_ = replace(range_, splittable=False)
        position, iterator = min(members)
        op = self.group.ops[position]
        parts = op.division.parts_data[iterator] if op.division else 1
        return range_, range_.chunk(parts) if parts > 1 else range_.size

    def _units(self, members: frozenset[Member]) -> int:
        range_, chunk = self._range(members)
        return ceil_div(chunk, range_.granule) if range_.splittable else 1

    def _next(self, range_: IterRange, chunk: int, trips: int) -> int | None:
        """More trips: about twice as many, if the iterator allows them."""
        most = min(ceil_div(chunk, range_.granule), self.chip.max_loop_trips)
        for more in (*range(2 * trips, most + 1), most):
            found = ceil_div(chunk, range_.chunk(more, chunk))
            if found > trips and range_.allows(more, chunk):
                return found
        return None

    def _finer(self, loops: Loops) -> Iterator[Loops]:
        for index, members in enumerate(self.classes):
            more = self._next(*self._range(members), loops.shared[index])
            if more is not None:
                shared = list(loops.shared)
                shared[index] = more
                yield replace(loops, shared=tuple(shared))
        for position in range(len(self.group.ops)):
            for iterator in self._loopable(position):
                finer = self._split_reduction(loops, position, iterator)
                if finer is not None:
                    yield finer

    def _coarser(self, loops: Loops) -> Iterator[Loops]:
        """One step back in the trips of one loop."""
        for index, trips in enumerate(loops.shared):
            if trips > 1:
                shared = list(loops.shared)
                shared[index] = self._before(*self._range(self.classes[index]), trips)
                yield replace(loops, shared=tuple(shared))
        for position, own in enumerate(loops.private):
            for iterator, trips in own:
                range_ = self.spaces[position][iterator]
                less = dict(own)
                less[iterator] = self._before(range_, range_.size, trips)
                private = list(loops.private)
                private[position] = tuple((k, t) for k, t in less.items() if t > 1)
                yield replace(loops, private=tuple(private))

    def _before(self, range_: IterRange, chunk: int, trips: int) -> int:
        """The trips whose next step reaches `trips`."""
        now = 1
        while (more := self._next(range_, chunk, now)) is not None and more < trips:
            now = more
        return now

    def _loopable(self, position: int) -> tuple[int, ...]:
        op = self.group.ops[position]
        if op.tile is not None:
            return ()
        space = self.spaces[position]
        return tuple(k for k in op.reduction_iterators() if space[k].splittable)

    def _split_reduction(
        self, loops: Loops, position: int, iterator: int
    ) -> Loops | None:
        range_ = self.spaces[position][iterator]
        own = dict(loops.private[position])
        more = self._next(range_, range_.size, own.get(iterator, 1))
        if more is None:
            return None
        own[iterator] = more
        private = list(loops.private)
        private[position] = tuple(sorted(own.items()))
        return replace(loops, private=tuple(private))

    # ---- overlap

    def _overlapped(self, loops: Loops) -> Loops:
        matmuls = [
            p for p, op in enumerate(self.group.ops) if isinstance(op, spyre.MatmulOp)
        ]
        if matmuls:
            return self._overlap_matmul(loops, matmuls)
        while self._largest_tile(loops) > VECTOR_TILE_ELEMENTS:
            options = [
                o
                for o in self._finer(loops)
                if self._largest_tile(o) < self._largest_tile(loops) and self._fits(o)
            ]
            if not options:
                break
            loops = options[0]
        return loops

    def _overlap_matmul(self, loops: Loops, matmuls: Sequence[int]) -> Loops:
        if self.given or prod(loops.shared) > 1 or any(loops.private):
            return loops
        for position in matmuls:
            for iterator in self._loopable(position):
                size = self.spaces[position][iterator].size
                if size >= 2 * MIN_DEPTH_ELEMENTS:
                    finer = self._split_reduction(loops, position, iterator)
                    if finer is not None and self._fits(finer):
                        return finer
        return loops

    def _fits(self, loops: Loops) -> bool:
        return self._evaluate(loops).lx_bytes <= self.limit

    def _largest_tile(self, loops: Loops) -> int:
        largest = 0
        for position, space in enumerate(self.spaces):
            own = dict(loops.private[position])
            extents = {k: r.size for k, r in enumerate(space)}
            op = self.group.ops[position]
            parts = op.division.parts_data if op.division else (1,) * len(space)
            for k, r in enumerate(space):
                if parts[k] > 1:
                    extents[k] = r.chunk(parts[k])
                if k in own:
                    extents[k] = r.chunk(own[k], extents[k])
            for members, trips in zip(self.classes, loops.shared, strict=True):
                for p, k in members:
                    if p == position:
                        extents[k] = space[k].chunk(trips, extents[k])
            largest = max(largest, prod(extents.values()))
        return largest

    # ---- evaluation

    def _tiles(self, loops: Loops) -> list[spyre.TileAttr | None]:
        tiles: list[spyre.TileAttr | None] = []
        for position, op in enumerate(self.group.ops):
            if op.tile is not None:
                tiles.append(op.tile)
                continue
            levels = self._given_levels(position)
            for members, trips in zip(self.classes, loops.shared, strict=True):
                if trips > 1:
                    (iterator,) = (k for p, k in members if p == position)
                    levels.append((iterator, trips))
            levels += [(k, t) for k, t in loops.private[position] if t > 1]
            tiles.append(spyre.TileAttr.of(levels, DEPTH))
        return tiles

    def _given_levels(self, position: int) -> list[tuple[int, int]]:
        """The shared levels that another operation's tile decides."""
        if self.given is None:
            return []
        source, levels = self.given
        alike = [self.cluster.like((source, k), position) for k, _ in levels]
        return [
            (-1 if k is None else k, trips)
            for k, (_, trips) in zip(alike, levels, strict=True)
        ]

    def _evaluate(self, loops: Loops) -> Footprint:
        known = self._known.get(loops)
        if known is not None:
            return known
        before = [op.tile for op in self.group.ops]
        with_tiles(self.group.ops, self._tiles(loops))
        try:
            kernel = build_kernel(self.group.ops, self.inputs, self.outputs)
        finally:
            with_tiles(self.group.ops, before)
        found = Footprint(place_buffers(kernel.buffers), dram_bytes(kernel))
        self._known[loops] = found
        return found


def dram_bytes(kernel: Kernel) -> int:
    """Bytes that one core moves to and from DRAM."""
    total = 0
    for statement in kernel.statements:
        for access in (*statement.reads, statement.write):
            if access.space == "dram":
                trips = prod(level.trips for level in statement.nest)
                total += trips * _tile_bytes(statement.axes, access)
    return total


def _tile_bytes(axes: Sequence[Axis], access: Access) -> int:
    sticks = 1
    for axis, stick in zip(axes, access.stick, strict=True):
        extent = max(axis.widest, 1)
        sticks *= ceil_div(extent, access.eps) if stick else extent
    return sticks * STICK_BYTES
