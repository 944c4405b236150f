# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
How each core goes through its share of a group: loop trips and buffer depth.

Trips grow until the group's buffers fit the scratchpad; then a little more, so that
loads, computes and stores of different trips overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from spyre_mlir.algebra.layout import ceil_div
from spyre_mlir.analysis.clusters import Cluster, Member
from spyre_mlir.analysis.groups import Group
from spyre_mlir.analysis.kernel import build_kernel
from spyre_mlir.analysis.placement import place_buffers
from spyre_mlir.analysis.space import IterRange, iteration_space
from spyre_mlir.dialects import spyre
from spyre_mlir.target.chip import Chip

DEPTH = 2
"""Stages of a buffer that a transfer fills or empties: one in use, one under way."""
VECTOR_TILE_ELEMENTS = 16 * 1024
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


class TilePlanner:
    """Chooses the loops of one group."""

    def __init__(self, group: Group, chip: Chip):
        self.group = group
        self.chip = chip
        cluster = Cluster()
        for op in group.ops:
            cluster = cluster.joined(op)
        self.cluster = cluster
        self.classes = [c for c in cluster.dividable() if self._units(c) > 1]
        self.spaces = [iteration_space(op) for op in group.ops]
        self.limit = chip.scratchpad_usable_bytes_per_core

    def plan(self) -> list[spyre.TileAttr | None]:
        """Tiles per operation; DoesNotFit if the scratchpad is too small."""
        loops = Loops((1,) * len(self.classes), tuple(() for _ in self.group.ops))
        bytes_ = self._bytes(loops)
        while bytes_ > self.limit:
            options = [(self._bytes(o), i, o) for i, o in enumerate(self._finer(loops))]
            if not options:
                raise DoesNotFit(
                    f"{self.group.ops[0].name}: one tile needs {bytes_} bytes of "
                    f"scratchpad, a core has {self.limit}"
                )
            smallest = min(options)
            bytes_, loops = smallest[0], smallest[2]
        return self._tiles(self._overlapped(loops))

    # ---- loops

    def _range(self, members: frozenset[Member]) -> tuple[IterRange, int]:
        """Cuts that a class allows, and the elements of one core."""
        range_ = self.cluster.range_of(members)
        position, iterator = min(members)
        op = self.group.ops[position]
        parts = op.division.parts_data[iterator] if op.division else 1
        return range_, range_.chunk(parts) if parts > 1 else range_.size

    def _units(self, members: frozenset[Member]) -> int:
        range_, chunk = self._range(members)
        return ceil_div(chunk, range_.granule) if range_.splittable else 1

    def _next(self, range_: IterRange, chunk: int, trips: int) -> int | None:
        """More trips: about twice as many, if the iterator allows them."""
        units = ceil_div(chunk, range_.granule)
        for more in range(2 * trips, min(units, self.chip.max_loop_trips) + 1):
            if range_.allows(more, chunk):
                tile = range_.chunk(more, chunk)
                return ceil_div(chunk, tile)
        return units if trips < units and range_.allows(units, chunk) else None

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

    def _loopable(self, position: int) -> tuple[int, ...]:
        op = self.group.ops[position]
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
                if self._largest_tile(o) < self._largest_tile(loops)
            ]
            if not options:
                break
            loops = options[0]
        return loops

    def _overlap_matmul(self, loops: Loops, matmuls: Sequence[int]) -> Loops:
        if prod(loops.shared) > 1 or any(loops.private):
            return loops
        for position in matmuls:
            for iterator in self._loopable(position):
                size = self.spaces[position][iterator].size
                if size >= 2 * MIN_DEPTH_ELEMENTS:
                    finer = self._split_reduction(loops, position, iterator)
                    if finer is not None and self._bytes(finer) <= self.limit:
                        return finer
        return loops

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
        for position in range(len(self.group.ops)):
            levels: list[tuple[int, int]] = []
            for members, trips in zip(self.classes, loops.shared, strict=True):
                if trips > 1:
                    (iterator,) = (k for p, k in members if p == position)
                    levels.append((iterator, trips))
            levels += [(k, t) for k, t in loops.private[position] if t > 1]
            tiles.append(spyre.TileAttr.of(levels, DEPTH))
        return tiles

    def _bytes(self, loops: Loops) -> int:
        before = [op.tile for op in self.group.ops]
        for op, tile in zip(self.group.ops, self._tiles(loops), strict=True):
            op.tile = tile
        kernel = build_kernel(self.group.ops, self.group.inputs(), self.group.outputs())
        for op, tile in zip(self.group.ops, before, strict=True):
            op.tile = tile
        return place_buffers(kernel.buffers)
