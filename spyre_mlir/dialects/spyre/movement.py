# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of the `spyre` dialect that move data."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    TensorType,
    i64,
)
from xdsl.ir import (
    Attribute,
    SSAValue,
)
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    attr_def,
    irdl_op_definition,
    operand_def,
    opt_attr_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from spyre_mlir.algebra.linear import Linear, linear_map

from .base import (
    SpyreOp,
    check_bounds,
    check_layouts,
    identity_map,
    linear_maps,
)
from .types import (
    SpyreTensor,
    dtype_name,
    integers,
    plain,
    tensor_of,
)


@irdl_op_definition
class ReindexOp(SpyreOp):
    """
    Moves data: slice, concatenation, flip, repeat, expand, transpose, reshape, pad,
    and, with maps that change nothing but another layout of the result, restickify.

    Piece p runs over the shared iterators `sizes` and its own `extra[p]`, and copies
    the element at its source map to the element at its target map; coordinates are
    affine. Pieces write disjoint elements. What no piece writes is `fill`.

    With `limits`, regions of the result lie side by side along the dimension that the
    last shared iterator steps along, in every piece by one: piece p runs over the
    first `limits[p]` of it alone, and cuts of it are cuts of every region.

        %1 = spyre.reindex %0 {sizes = array<i64: 4, 100>, extra = [array<i64>],
            source_maps = [affine_map<(d0, d1) -> (d0, d1)>],
            target_maps = [affine_map<(d0, d1) -> (d1, d0)>]}
            : (tensor<4x100xf16>) -> tensor<100x4xf16>
    """

    name = "spyre.reindex"

    sources = var_operand_def(TensorType)
    result = result_def(TensorType)

    shared = attr_def(DenseArrayBase, attr_name="sizes")
    extra = attr_def(ArrayAttr[DenseArrayBase])
    source_maps = attr_def(ArrayAttr[AffineMapAttr])
    target_maps = attr_def(ArrayAttr[AffineMapAttr])
    fill = opt_attr_def(Attribute)
    limits = opt_attr_def(DenseArrayBase)

    traits = traits_def(Pure())

    assembly_format = "$sources attr-dict `:` `(` type($sources) `)` `->` type($result)"

    def __init__(
        self,
        sources: Sequence[SSAValue],
        result_type: SpyreTensor,
        sizes: Sequence[int],
        source_maps: Sequence[AffineMap],
        target_maps: Sequence[AffineMap],
        extra: Sequence[Sequence[int]] | None = None,
        fill: Attribute | None = None,
        limits: Sequence[int] | None = None,
    ):
        extra = [()] * len(sources) if extra is None else extra
        super().__init__(
            operands=(sources,),
            result_types=(result_type,),
            attributes={
                "sizes": integers(sizes),
                "extra": ArrayAttr([integers(e) for e in extra]),
                "source_maps": ArrayAttr([AffineMapAttr(m) for m in source_maps]),
                "target_maps": ArrayAttr([AffineMapAttr(m) for m in target_maps]),
                "fill": fill,
                "limits": None if limits is None else integers(limits),
            },
        )

    def sizes(self) -> tuple[int, ...]:
        return plain(self.shared)

    def piece_sizes(self, piece: int) -> tuple[int, ...]:
        """Extents of a piece's iterators: the shared ones, then its own."""
        shared, own = self.sizes(), plain(self.extra.data[piece])
        if self.limits is None:
            return shared + own
        return (*shared[:-1], plain(self.limits)[piece], *own)

    @property
    def region_dim(self) -> int | None:
        """The result's dimension along which regions lie, if there are any."""
        if self.limits is None or not self.sources:
            return None
        along = len(self.sizes()) - 1
        target = self.piece_maps(0)[1]
        return next(d for d, c in enumerate(target) if c.coefficients[along])

    def piece_maps(self, piece: int) -> tuple[tuple[Linear, ...], tuple[Linear, ...]]:
        """Source and target coordinates of a piece, over `piece_sizes`."""
        return (
            linear_map(self.source_maps.data[piece].data),
            linear_map(self.target_maps.data[piece].data),
        )

    def maps(self) -> tuple[tuple[Linear, ...], ...]:
        """Restricted to the shared iterators: what divisions and tiles may cut."""
        rank = len(self.sizes())
        pairs = [self.piece_maps(p) for p in range(len(self.sources))]
        result = pairs[0][1] if pairs else ()
        return (
            *(tuple(e.restrict(rank) for e in source) for source, _ in pairs),
            tuple(e.restrict(rank) for e in result),
        )

    def verify_(self) -> None:
        check_layouts(self)
        count = len(self.sources)
        if {len(self.extra), len(self.source_maps), len(self.target_maps)} - {count}:
            raise VerifyException(f"pieces do not match {count} operands")
        self._verify_limits()
        result = dtype_name(self.result.type)
        for p, source in enumerate(self.sources):
            if dtype_name(source.type) != result:
                raise VerifyException(
                    f"element type changes: {source.type} to {result}"
                )
            sizes = self.piece_sizes(p)
            maps = zip(self.piece_maps(p), (source, self.result), strict=True)
            for map_, value in maps:
                check_bounds(map_, sizes, tensor_of(value).get_shape(), p)
        if self.limits is not None:
            self._verify_regions()
        self.verify_decisions()

    def _verify_limits(self) -> None:
        if self.limits is None:
            return
        limits, sizes = plain(self.limits), self.sizes()
        if len(limits) != len(self.sources) or not sizes:
            raise VerifyException(
                f"{len(limits)} limits of {len(sizes)} shared iterators for "
                f"{len(self.sources)} pieces"
            )
        for limit in limits:
            if not 0 < limit <= sizes[-1]:
                raise VerifyException(
                    f"limit {limit} of an iterator of {sizes[-1]} elements"
                )

    def _verify_regions(self) -> None:
        """The last shared iterator steps along one dimension of the result by one."""
        along = len(self.sizes()) - 1
        dims: set[int] = set()
        for p in range(len(self.sources)):
            steps = [c.coefficients[along] for c in self.piece_maps(p)[1]]
            if sorted(steps)[-1:] != [1] or sum(map(abs, steps)) != 1:
                raise VerifyException(
                    f"piece {p}: iterator {along} has limits, but does not step along "
                    "one dimension of the result by one"
                )
            dims.add(steps.index(1))
        if len(dims) > 1:
            raise VerifyException("regions lie along different dimensions")


@irdl_op_definition
class GatherOp(SpyreOp):
    """
    Reads a source at coordinates of which one comes from an index tensor. The
    iterators are the result's dimensions. `source_map` gives the other coordinates
    (and 0 at `axis`), `index_map` where the index is read.

        %2 = spyre.gather %0, %1 {axis = 0 : i64,
            source_map = affine_map<(d0, d1) -> (0, d1)>,
            index_map = affine_map<(d0, d1) -> (d0)>}
            : tensor<1000x384xf16>, tensor<32xi64> -> tensor<32x384xf16>
    """

    name = "spyre.gather"

    source = operand_def(TensorType)
    index = operand_def(TensorType)
    result = result_def(TensorType)

    axis = attr_def(IntegerAttr)
    source_map = attr_def(AffineMapAttr)
    index_map = attr_def(AffineMapAttr)

    traits = traits_def(Pure())

    assembly_format = (
        "$source `,` $index attr-dict `:` type($source) `,` type($index) "
        "`->` type($result)"
    )

    def __init__(
        self,
        source: SSAValue,
        index: SSAValue,
        axis: int,
        source_map: AffineMap,
        index_map: AffineMap,
        result_type: SpyreTensor,
    ):
        super().__init__(
            operands=(source, index),
            result_types=(result_type,),
            attributes={
                "axis": IntegerAttr(axis, i64),
                "source_map": AffineMapAttr(source_map),
                "index_map": AffineMapAttr(index_map),
            },
        )

    @property
    def axis_data(self) -> int:
        return self.axis.value.data

    def sizes(self) -> tuple[int, ...]:
        return tuple(tensor_of(self.result).get_shape())

    def maps(self) -> tuple[tuple[Linear, ...], ...]:
        return (
            *linear_maps((self.source_map, self.index_map)),
            identity_map(len(self.sizes())),
        )

    def verify_(self) -> None:
        check_layouts(self)
        if dtype_name(self.index.type) not in ("i32", "i64"):
            raise VerifyException(f"indices are i32 or i64, not {self.index.type}")
        if dtype_name(self.source.type) != dtype_name(self.result.type):
            raise VerifyException("element type changes")
        source, index, _ = self.maps()
        shape = tensor_of(self.source).get_shape()
        if not 0 <= self.axis_data < len(shape):
            raise VerifyException(f"axis {self.axis_data} of rank {len(shape)}")
        check_bounds(source, self.sizes(), shape, 0)
        check_bounds(index, self.sizes(), tensor_of(self.index).get_shape(), 0)
        if source[self.axis_data] != Linear.constant(0, len(self.sizes())):
            raise VerifyException("source_map must give 0 at the gathered axis")
        self.verify_decisions()
