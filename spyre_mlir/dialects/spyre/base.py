# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tensor operations of the `spyre` dialect share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
)
from xdsl.ir import (
    Attribute,
    Operation,
)
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap
from xdsl.irdl import (
    IRDLOperation,
    opt_attr_def,
)
from xdsl.utils.exceptions import VerifyException

from spyre_mlir.algebra.linear import Linear, linear_map

from .types import (
    DivisionAttr,
    PlaceAttr,
    TileAttr,
    dtype_name,
    layout_of,
    tensor_of,
)


class SpyreOp(IRDLOperation):
    """
    What every tensor operation has: an iteration space and decision attributes.

    `sizes()` are the extents of the iterators; `maps()` give, per operand and last
    the result, each dimension's coordinate as a `Linear` function of the iterators.
    """

    division = opt_attr_def(DivisionAttr)
    group = opt_attr_def(IntegerAttr)
    tile = opt_attr_def(TileAttr)
    places = opt_attr_def(ArrayAttr[PlaceAttr])
    via = opt_attr_def(ArrayAttr)

    def sizes(self) -> tuple[int, ...]:
        raise AssertionError(f"{self.name} does not say its iteration space")

    def reduction_iterators(self) -> tuple[int, ...]:
        return ()

    def maps(self) -> tuple[tuple[Linear, ...], ...]:
        raise AssertionError(f"{self.name} does not say its indexing maps")

    def ways(self) -> tuple[str, ...]:
        """How each operand comes where owners differ; empty while undecided."""
        if self.via is None:
            return ()
        return tuple(way.data for way in self.via if isinstance(way, StringAttr))

    def verify_decisions(self) -> None:
        rank = len(self.sizes())
        if self.division and len(self.division.parts_data) != rank:
            raise VerifyException(
                f"division has {len(self.division.parts_data)} parts for {rank} "
                "iterators"
            )
        looped: set[int] = set()
        for iterator, _ in self.tile.levels_data if self.tile else ():
            if not -1 <= iterator < rank:
                raise VerifyException(f"tile names iterator {iterator} of {rank}")
            if iterator in looped:
                raise VerifyException(f"tile names iterator {iterator} twice")
            if iterator >= 0:
                looped.add(iterator)
        if self.group is not None and self.group.value.data < 0:
            raise VerifyException(f"group {self.group.value.data} is below 0")
        if self.via is not None:
            self._verify_ways(self.via)

    def _verify_ways(self, via: ArrayAttr[Attribute]) -> None:
        ways = self.ways()
        if len(ways) != len(via) or len(ways) != len(self.operands):
            raise VerifyException(
                f"via gives {len(via)} strings for {len(self.operands)} operands"
            )
        for way in ways:
            if way not in ("dram", "ring"):
                raise VerifyException(f'via "{way}" is neither dram nor ring')


def linear_maps(maps: Sequence[AffineMapAttr]) -> tuple[tuple[Linear, ...], ...]:
    return tuple(linear_map(m.data) for m in maps)


def identity_map(rank: int) -> tuple[Linear, ...]:
    return tuple(Linear.iterator(i, rank) for i in range(rank))


def check_layouts(op: Operation) -> None:
    for value in (*op.operands, *op.results):
        if not isinstance(value.type, TensorType):
            raise VerifyException(f"{value.type} is no tensor")
        dtype_name(tensor_of(value))
        if not tensor_of(value).has_static_shape():
            raise VerifyException(f"{value.type} has an open size")
        layout = layout_of(value)
        if layout is not None:
            try:
                layout.check(tensor_of(value).get_num_dims())
            except ValueError as error:
                raise VerifyException(str(error)) from error


def solve_sizes(
    rank: int, operands: Sequence[tuple[AffineMap, Sequence[int]]], op: str
) -> tuple[int, ...]:
    """Iterator extents from maps whose results are iterators or constant 0."""
    sizes: list[int | None] = [None] * rank
    for map_, shape in operands:
        if map_.num_dims != rank or len(map_.results) != len(shape):
            raise VerifyException(
                f"map {map_} does not fit {rank} iterators and rank {len(shape)}"
            )
        for expr, size in zip(map_.results, shape, strict=True):
            if isinstance(expr, AffineConstantExpr) and expr.value == 0:
                if size != 1:
                    raise VerifyException(f"a broadcast dimension has size {size}")
                continue
            if not isinstance(expr, AffineDimExpr):
                raise VerifyException(f"{op} takes iterators or 0 in a map, not {expr}")
            known = sizes[expr.position]
            if known is not None and known != size:
                raise VerifyException(
                    f"iterator {expr.position} has size {known} and size {size}"
                )
            sizes[expr.position] = size
    if None in sizes:
        raise VerifyException(f"iterator {sizes.index(None)} indexes no operand")
    return tuple(cast(list[int], sizes))


def check_bounds(
    map_: Sequence[Linear], sizes: Sequence[int], shape: Sequence[int], piece: int
) -> None:
    if len(map_) != len(shape):
        raise VerifyException(
            f"piece {piece}: {len(map_)} coordinates, rank {len(shape)}"
        )
    for dim, (expr, size) in enumerate(zip(map_, shape, strict=True)):
        if len(expr.coefficients) != len(sizes):
            raise VerifyException(f"piece {piece}: map over other iterators than sizes")
        if 0 in sizes:
            continue
        low, high = expr.bounds(sizes)
        if low < 0 or high >= size:
            raise VerifyException(
                f"piece {piece}: dimension {dim} runs over [{low}, {high}], "
                f"the tensor has size {size}"
            )
