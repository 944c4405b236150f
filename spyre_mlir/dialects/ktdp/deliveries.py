# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The six ways to deliver what tiles produced, and how results derive from partials."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import AffineSetAttr, DenseArrayBase, TensorType, i64
from xdsl.ir import Region, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, traits_def
from xdsl.traits import MemoryReadEffect
from xdsl.utils.exceptions import VerifyException

from .exchange import CONSUMERS, DEPENDENCY, DeliveryOp, FoldOp
from .types import TileFutureType

DIMENSIONS = DenseArrayBase.constr(i64)


@irdl_op_definition
class InterTileConsumeOp(DeliveryOp):
    """
    Hands each consumer the one partial meant for it: broadcast, or routing.

        %r = ktdp.inter_tile_consume(%f)
               consumer_tiles_per_group =
                 affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
               : !ktdp.tile_future<(tensor<1x64xf16>),
                   groups = affine_set<(g) : (g == 0)>> -> tensor<1x64xf16>
    """

    name = "ktdp.inter_tile_consume"

    producer_dependency_per_consumer = opt_prop_def(AffineSetAttr)

    traits = traits_def(MemoryReadEffect())

    def __init__(
        self,
        future: SSAValue,
        consumers: AffineSetAttr,
        dependency: AffineSetAttr | None = None,
    ):
        assert isinstance(future.type, TileFutureType)
        super().__init__(
            operands=[future],
            properties={CONSUMERS: consumers, DEPENDENCY: dependency},
            result_types=[future.type.partials.data],
        )

    def verify_result(self, partial: TensorType, received: TensorType) -> None:
        if self.source_count() != 1:
            raise VerifyException(
                "a consumer has one source; name it by producer_dependency_per_consumer"
            )
        _verify_same(partial, received)


@irdl_op_definition
class InterTileReduceOp(FoldOp):
    """
    Combines a group's partials and hands every consumer the result.

        %r = ktdp.inter_tile_reduce(%f)
               consumer_tiles_per_group =
                 affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>,
               identity(%zero : tensor<1x64xf16>)
               : !ktdp.tile_future<(tensor<1x64xf16>),
                   groups = affine_set<(g) : (g == 0)>> -> tensor<1x64xf16>
        {
          ^bb0(%a: tensor<1x64xf16>, %b: tensor<1x64xf16>):
            %s = arith.addf %a, %b : tensor<1x64xf16>
            ktdp.yield_reduced %s : tensor<1x64xf16>
        }
    """

    name = "ktdp.inter_tile_reduce"

    producer_dependency_per_consumer = opt_prop_def(AffineSetAttr)

    traits = traits_def(MemoryReadEffect())

    def __init__(
        self,
        future: SSAValue,
        consumers: AffineSetAttr,
        identity: Sequence[SSAValue],
        combiner: Region,
        dependency: AffineSetAttr | None = None,
    ):
        assert isinstance(future.type, TileFutureType)
        super().__init__(
            operands=[future, identity],
            properties={CONSUMERS: consumers, DEPENDENCY: dependency},
            result_types=[future.type.partials.data],
            regions=[combiner],
        )

    def verify_result(self, partial: TensorType, received: TensorType) -> None:
        _verify_same(partial, received)


@irdl_op_definition
class InterTileReduceScatterOp(FoldOp):
    """
    Combines a group's partials and hands each consumer its slice of the result.

        %r = ktdp.inter_tile_reduce_scatter(%f)
               consumer_tiles_per_group = affine_set<(i)[g] : (i >= 0, -i + 3 >= 0)>,
               scatter_dimensions = [1], identity(%zero : tensor<1x64xf16>)
               : !ktdp.tile_future<(tensor<1x64xf16>),
                   groups = affine_set<(g) : (g == 0)>> -> tensor<1x16xf16>
        {
          ^bb0(%a: tensor<1x64xf16>, %b: tensor<1x64xf16>):
            %s = arith.addf %a, %b : tensor<1x64xf16>
            ktdp.yield_reduced %s : tensor<1x64xf16>
        }
    """

    name = "ktdp.inter_tile_reduce_scatter"

    LISTS: ClassVar[tuple[str, ...]] = ("scatter_dimensions",)

    scatter_dimensions = prop_def(DIMENSIONS)
    producer_dependency_per_consumer = opt_prop_def(AffineSetAttr)

    traits = traits_def(MemoryReadEffect())

    def verify_result(self, partial: TensorType, received: TensorType) -> None:
        dims = self.dimensions("scatter_dimensions")
        placement_factors(partial, received, dims, self.consumer_count(), (), 1)


@irdl_op_definition
class InterTileGatherOp(DeliveryOp):
    """
    Assembles a group's partials side by side, for every consumer.

        %r = ktdp.inter_tile_gather(%f)
               consumer_tiles_per_group = affine_set<(i)[g] : (i == 0)>,
               gather_dimensions = [0, 1]
               : !ktdp.tile_future<(tensor<1x64xf16>),
                   groups = affine_set<(g) : (g == 0)>> -> tensor<8x128xf16>
    """

    name = "ktdp.inter_tile_gather"

    LISTS: ClassVar[tuple[str, ...]] = ("gather_dimensions",)

    gather_dimensions = prop_def(DIMENSIONS)
    producer_dependency_per_consumer = opt_prop_def(AffineSetAttr)

    traits = traits_def(MemoryReadEffect())

    def __init__(
        self,
        future: SSAValue,
        consumers: AffineSetAttr,
        gather_dimensions: Sequence[int],
        result_types: Sequence[TensorType],
        dependency: AffineSetAttr | None = None,
    ):
        super().__init__(
            operands=[future],
            properties={
                CONSUMERS: consumers,
                DEPENDENCY: dependency,
                "gather_dimensions": DenseArrayBase.from_list(i64, gather_dimensions),
            },
            result_types=[result_types],
        )

    def verify_result(self, partial: TensorType, received: TensorType) -> None:
        dims = self.dimensions("gather_dimensions")
        _verify_disjoint(self)
        placement_factors(partial, received, (), 1, dims, self.source_count())


@irdl_op_definition
class InterTileAllToAllOp(DeliveryOp):
    """
    Hands each consumer its slice of every partial, assembled side by side.

        %r = ktdp.inter_tile_all_to_all(%f)
               consumer_tiles_per_group = affine_set<(i)[g] : (i >= 0, -i + 3 >= 0)>,
               split_dimensions = [0], concat_dimensions = [1]
               : !ktdp.tile_future<(tensor<8x64xf16>),
                   groups = affine_set<(g) : (g == 0)>> -> tensor<2x256xf16>
    """

    name = "ktdp.inter_tile_all_to_all"

    LISTS: ClassVar[tuple[str, ...]] = ("split_dimensions", "concat_dimensions")

    split_dimensions = prop_def(DIMENSIONS)
    concat_dimensions = prop_def(DIMENSIONS)
    producer_dependency_per_consumer = opt_prop_def(AffineSetAttr)

    traits = traits_def(MemoryReadEffect())

    def verify_result(self, partial: TensorType, received: TensorType) -> None:
        placement_factors(
            partial,
            received,
            self.dimensions("split_dimensions"),
            self.consumer_count(),
            self.dimensions("concat_dimensions"),
            self.source_count(),
        )


@irdl_op_definition
class InterTileScatterOp(DeliveryOp):
    """
    Hands each consumer its slice of the partial of the group's one producer.

        %r = ktdp.inter_tile_scatter(%f)
               consumer_tiles_per_group = affine_set<(i)[g] : (i >= 0, -i + 3 >= 0)>,
               scatter_dimensions = [0]
               : !ktdp.tile_future<(tensor<8x64xf16>),
                   groups = affine_set<(g) : (g == 0)>> -> tensor<2x64xf16>
    """

    name = "ktdp.inter_tile_scatter"

    LISTS: ClassVar[tuple[str, ...]] = ("scatter_dimensions",)

    scatter_dimensions = prop_def(DIMENSIONS)

    traits = traits_def(MemoryReadEffect())

    def verify_result(self, partial: TensorType, received: TensorType) -> None:
        if self.source_count() != 1:
            raise VerifyException("each group of a scatter has one producer")
        dims = self.dimensions("scatter_dimensions")
        placement_factors(partial, received, dims, self.consumer_count(), (), 1)


def placement_factors(
    partial: TensorType,
    received: TensorType,
    split: Sequence[int],
    parts: int,
    concat: Sequence[int],
    copies: int,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """
    By how much each listed dimension is split, and assembled.

    A partial's `split` dimensions are cut into `parts` in all and its `concat`
    dimensions repeated `copies` times in all; the result's extents tell how that
    falls to each dimension. Raises VerifyException if they cannot be so.
    """
    before, after = partial.get_shape(), received.get_shape()
    overlap = set(split) & set(concat)
    if overlap and (len(split) > 1 or len(concat) > 1):
        raise VerifyException(
            f"dimensions {sorted(overlap)} are split and assembled among others, "
            "which does not say how much of each"
        )
    if len(before) != len(after) or partial.element_type != received.element_type:
        raise VerifyException(f"{received} is no rearrangement of {partial}")
    cuts = [parts] if overlap else [_ratio(before[d], after[d]) for d in split]
    grown = [copies] if overlap else [_ratio(after[d], before[d]) for d in concat]
    expected = list(before)
    for dim, factor in zip(split, cuts, strict=True):
        expected[dim] = expected[dim] // factor if factor else 0
    for dim, factor in zip(concat, grown, strict=True):
        expected[dim] *= factor
    divides = all(f and before[d] % f == 0 for d, f in zip(split, cuts, strict=True))
    whole = prod(cuts) == parts and prod(grown) == copies
    if not (divides and whole and tuple(expected) == after):
        raise VerifyException(
            f"{received} is not {partial} with dimensions {list(split)} cut into "
            f"{parts} and {list(concat)} assembled from {copies}"
        )
    return tuple(cuts), tuple(grown)


def _ratio(larger: int, smaller: int) -> int:
    return larger // smaller if smaller > 0 and larger % smaller == 0 else 0


def _verify_same(partial: TensorType, received: TensorType) -> None:
    if partial != received:
        raise VerifyException(f"receives {received} for a partial {partial}")


def _verify_disjoint(op: DeliveryOp) -> None:
    """No producer's partial has two places among the assemblies of a segmented one."""
    if op.dependency is None:
        return
    for group in op.groups:
        owner: dict[int, int] = {}
        for consumer in op.consumers(group):
            for source in op.sources(consumer, group):
                if owner.setdefault(source, consumer) != consumer:
                    raise VerifyException(
                        f"tile {source} is a source of tiles {owner[source]} and "
                        f"{consumer}"
                    )
