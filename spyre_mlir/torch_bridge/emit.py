# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Builds `spyre` operations: the vocabulary that the importers of ATen ops share.

An `Emitter` appends to one block, under the location of the FX node at hand. Shapes
and maps are worked out here, so that an importer reads like the op's definition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from spyre_mlir.algebra.linear import Linear, affine_map
from spyre_mlir.dialects import spyre
from spyre_mlir.dialects.spyre import ELEMENT_TYPES, dtype_name, tensor_type
from spyre_mlir.target.opfuncs import result_dtype

from .dtypes import is_half, rounded

Number = float | int
Shape = tuple[int, ...]


class NotOnCard(Exception):
    """An importer's word that this node, with these operands, is not for the card."""


@dataclass(frozen=True)
class Empty:
    """A tensor without elements: it exists on the host alone."""

    shape: Shape
    dtype: str


@dataclass(frozen=True)
class TensorMeta:
    """Shape, dtype and strides that FX promises of a node's result."""

    shape: Shape
    dtype: str
    strides: Shape = ()


def shape_of(value: SSAValue) -> Shape:
    return tuple(spyre.tensor_of(value).get_shape())


def dtype_of(value: SSAValue) -> str:
    return dtype_name(value.type)


def wide(dtype: str) -> str:
    """The type in which PyTorch computes a composite op on this dtype."""
    return "f32" if is_half(dtype) else dtype


class Body:
    """Appends scalar functions to the body of a map."""

    def __init__(self, block: Block, location: LocationAttr):
        self.block = block
        self.location = location

    def _add(self, op: Operation) -> SSAValue:
        op.location = self.location
        self.block.add_op(op)
        return op.results[0]

    def __call__(self, function: str, *arguments: SSAValue) -> SSAValue:
        dtypes = tuple(dtype_name(a.type) for a in arguments)
        result = result_dtype(function, dtypes)
        assert result is not None, "cast has its own method"
        return self._add(spyre.FnOp(function, arguments, ELEMENT_TYPES[result]))

    def cast(self, value: SSAValue, dtype: str) -> SSAValue:
        """The value in another type; nothing where it has it."""
        if dtype_name(value.type) == dtype:
            return value
        return self._add(spyre.FnOp("cast", (value,), ELEMENT_TYPES[dtype]))

    def constant(self, value: Number, dtype: str) -> SSAValue:
        return self._add(spyre.ConstantOp(rounded(value, dtype), dtype))

    def like(self, value: SSAValue, number: Number) -> SSAValue:
        """A number of the type of a value."""
        return self.constant(number, dtype_name(value.type))


BodyBuilder = (
    Callable[[Body, SSAValue], SSAValue]
    | Callable[[Body, SSAValue, SSAValue], SSAValue]
    | Callable[[Body, SSAValue, SSAValue, SSAValue], SSAValue]
    | Callable[..., SSAValue]
)
"""Builds a map's body; the arities give lambdas the types of their parameters."""


class Emitter:
    """Appends tensor operations to a block."""

    def __init__(self, block: Block):
        self.block = block
        self.location: LocationAttr = UNKNOWN_LOC
        self.results: tuple[TensorMeta, ...] = ()
        """What FX promises of the node that is being imported."""
        self.operands: tuple[TensorMeta, ...] = ()
        """What FX promises of its tensor operands, lists aside."""

    @property
    def result(self) -> TensorMeta:
        return self.results[0]

    def add(self, op: Operation) -> SSAValue:
        op.location = self.location
        self.block.add_op(op)
        return op.results[0]

    # ------------------------------------------------------------------ map

    def map(
        self,
        inputs: Sequence[SSAValue],
        dtype: str,
        body: BodyBuilder,
        shape: Sequence[int] | None = None,
    ) -> SSAValue:
        """
        One map over the broadcast of its inputs. `body` gets a `Body` and an element
        of each input; what it returns is cast to `dtype`. Inputs that are a number
        everywhere become constants.
        """
        shape = broadcast([shape_of(v) for v in inputs], shape)
        read = [v for v in inputs if not isinstance(v.owner, spyre.FullOp)]
        read = list(dict.fromkeys(read))
        block = Block(arg_types=[spyre.tensor_of(v).element_type for v in read])
        builder = Body(block, self.location)
        elements = dict(zip(read, block.args, strict=True))
        arguments = [self._element(builder, v, elements) for v in inputs]
        value = builder.cast(body(builder, *arguments), dtype)
        builder.block.add_op(spyre.YieldOp(value))
        maps = [broadcast_map(shape_of(v), shape) for v in read]
        result = tensor_type(shape, dtype)
        return self.add(spyre.MapOp(read, maps, result, Region(block)))

    def _element(
        self, body: Body, value: SSAValue, elements: Mapping[SSAValue, SSAValue]
    ) -> SSAValue:
        if value in elements:
            return elements[value]
        assert isinstance(value.owner, spyre.FullOp)
        return body.constant(value.owner.number, dtype_of(value))

    def cast(self, value: SSAValue, dtype: str) -> SSAValue:
        if dtype_of(value) == dtype:
            return value
        return self.map([value], dtype, lambda b, x: x)

    # --------------------------------------------------------------- reduce

    def reduce(
        self, kind: str, value: SSAValue, dims: Sequence[int], dtype: str | None = None
    ) -> SSAValue:
        """Folds dimensions, which stay with size 1; sums of floats give f32."""
        source = dtype_of(value)
        if dtype is None:
            dtype = wide(source) if kind == "sum" else source
        if not dims:
            return self.cast(value, dtype)
        shape = [1 if d in dims else n for d, n in enumerate(shape_of(value))]
        result = tensor_type(shape, dtype)
        return self.add(spyre.ReduceOp(kind, value, sorted(dims), result))

    # --------------------------------------------------------------- matmul

    def matmul(
        self,
        lhs: tuple[SSAValue, Sequence[int | None]],
        rhs: tuple[SSAValue, Sequence[int | None]],
        out: Sequence[int | None],
        iterators: int,
        dtype: str,
    ) -> SSAValue:
        """
        Contraction; each operand and `out` name an iterator per dimension, None
        where the dimension is broadcast.
        """
        sizes: dict[int, int] = {}
        for value, names in (lhs, rhs):
            for name, size in zip(names, shape_of(value), strict=True):
                if name is not None:
                    sizes[name] = size
        shape = [1 if name is None else sizes[name] for name in out]
        maps = [_iterator_map(names, iterators) for names in (lhs[1], rhs[1], out)]
        result = tensor_type(shape, dtype)
        return self.add(spyre.MatmulOp(lhs[0], rhs[0], result, maps))

    # -------------------------------------------------------------- movement

    def move(
        self, value: SSAValue, shape: Sequence[int], coordinates: Sequence[Linear]
    ) -> SSAValue:
        """Element (i...) of the result is the source's at these coordinates of i."""
        rank = len(shape)
        result = tensor_type(shape, dtype_of(value))
        source = affine_map(coordinates, rank)
        identity = AffineMap.identity(rank)
        op = spyre.ReindexOp([value], result, tuple(shape), [source], [identity])
        return self.add(op)

    def reindex(
        self,
        sources: Sequence[SSAValue],
        shape: Sequence[int],
        sizes: Sequence[int],
        pieces: Sequence[tuple[Sequence[Linear], Sequence[Linear]]],
        extra: Sequence[Sequence[int]] | None = None,
        fill: Number | None = None,
    ) -> SSAValue:
        """The general form: (source, target) coordinates of each piece."""
        dtype = dtype_of(sources[0])
        extra = [()] * len(sources) if extra is None else extra
        ranks = [len(sizes) + len(e) for e in extra]
        sources_ = [affine_map(p[0], r) for p, r in zip(pieces, ranks, strict=True)]
        targets = [affine_map(p[1], r) for p, r in zip(pieces, ranks, strict=True)]
        number = (
            None if fill is None else spyre.number_attr(rounded(fill, dtype), dtype)
        )
        result = tensor_type(shape, dtype)
        op = spyre.ReindexOp(sources, result, sizes, sources_, targets, extra, number)
        return self.add(op)

    # -------------------------------------------------------------- creation

    def full(self, value: Number, shape: Sequence[int], dtype: str) -> SSAValue:
        return self.add(spyre.FullOp(rounded(value, dtype), tensor_type(shape, dtype)))

    def iota(
        self, shape: Sequence[int], dim: int, dtype: str, start: Number, step: Number
    ) -> SSAValue:
        return self.add(spyre.IotaOp(dim, start, step, tensor_type(shape, dtype)))

    def gather(
        self,
        source: SSAValue,
        index: SSAValue,
        axis: int,
        shape: Sequence[int],
        source_map: Sequence[Linear],
        index_map: Sequence[Linear],
    ) -> SSAValue:
        result = tensor_type(shape, dtype_of(source))
        maps = [affine_map(m, len(shape)) for m in (source_map, index_map)]
        return self.add(spyre.GatherOp(source, index, axis, maps[0], maps[1], result))


def broadcast(shapes: Sequence[Shape], shape: Sequence[int] | None = None) -> Shape:
    """The shape that PyTorch's broadcasting gives, at least `shape`."""
    shapes = [*shapes, tuple(shape or ())]
    rank = max(len(s) for s in shapes)
    padded = [(1,) * (rank - len(s)) + s for s in shapes]
    return tuple(
        next((n for n in column if n != 1), 1) for column in zip(*padded, strict=True)
    )


def broadcast_map(operand: Shape, shape: Shape) -> AffineMap:
    """Where an operand is read, at an element of the broadcast result."""
    lead = len(shape) - len(operand)
    results = [
        AffineExpr.dimension(lead + d)
        if size == shape[lead + d]
        else AffineExpr.constant(0)
        for d, size in enumerate(operand)
    ]
    return AffineMap(len(shape), 0, tuple(results))


def _iterator_map(names: Sequence[int | None], iterators: int) -> AffineMap:
    results = [
        AffineExpr.constant(0) if name is None else AffineExpr.dimension(name)
        for name in names
    ]
    return AffineMap(iterators, 0, tuple(results))
