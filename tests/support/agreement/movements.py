# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random movements of data: every kind of `spyre.reindex`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from spyre_mlir.algebra.linear import Linear, affine_map
from spyre_mlir.algebra.pieces import Piece, shared_first
from spyre_mlir.dialects import spyre
from spyre_mlir.dialects.spyre import dtype_name, tensor_type

from .modules import Builder, number_for, shape_of


def iterators(rank: int) -> list[Linear]:
    return [Linear.iterator(k, rank) for k in range(rank)]


def number(value: int, rank: int) -> Linear:
    return Linear.constant(value, rank)


def move(
    b: Builder,
    sources: Sequence[SSAValue],
    pieces: Sequence[Piece],
    shape: Sequence[int],
    fill: bool = False,
) -> SSAValue | None:
    """Adds the reindex of these pieces; what none writes gets some number."""
    if not b.fits(*shape) or len(shape) > 6:
        return None
    shared, ordered = shared_first(list(pieces), shape)
    count = len(shared)
    if len(pieces) == 1:
        count = b.choices.pick((count, b.choices.integer(0, count)))
    dtype = dtype_name(sources[0].type)
    value = spyre.number_attr(number_for(b.choices, dtype), dtype) if fill else None
    return b.add(
        spyre.ReindexOp(
            sources,
            tensor_type(shape, dtype),
            ordered[0].sizes[:count],
            [affine_map(p.source, len(p.sizes)) for p in ordered],
            [affine_map(p.target, len(p.sizes)) for p in ordered],
            [p.sizes[count:] for p in ordered],
            value,
        )
    )


def _one(
    b: Builder,
    value: SSAValue,
    sizes: Sequence[int],
    source: Sequence[Linear],
    target: Sequence[Linear],
    shape: Sequence[int],
    fill: bool = False,
) -> SSAValue | None:
    piece = Piece(tuple(sizes), tuple(source), tuple(target))
    return move(b, [value], [piece], shape, fill)


def permute(b: Builder) -> SSAValue | None:
    value = b.value()
    shape = shape_of(value)
    order = b.choices.order(range(len(shape)))
    own = iterators(len(shape))
    target = [own[d] for d in order]
    return _one(b, value, shape, own, target, [shape[d] for d in order])


def slice_(b: Builder) -> SSAValue | None:
    """Any start and step along one or two dimensions, backwards too."""
    value = b.value(rank=1)
    shape = shape_of(value)
    rank = len(shape)
    sizes, source = [*shape], iterators(rank)
    for dim in {b.choices.integer(0, rank - 1) for _ in range(2)}:
        size = shape[dim]
        step = b.choices.pick((1, -1, 2, -2, 3, 7))
        start = b.choices.integer(0, size - 1)
        start = size - 1 - start if step < 0 else start
        most = (start if step < 0 else size - 1 - start) // abs(step) + 1
        sizes[dim] = most - b.choices.integer(0, most - 1)
        source[dim] = source[dim] * step + number(start, rank)
    return _one(b, value, sizes, source, iterators(rank), sizes)


def merge(b: Builder) -> SSAValue | None:
    value = b.value(rank=2)
    shape = shape_of(value)
    dim = b.choices.integer(0, len(shape) - 2)
    own = iterators(len(shape))
    target = [*own]
    target[dim : dim + 2] = [own[dim] * shape[dim + 1] + own[dim + 1]]
    result = [*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :]]
    return _one(b, value, shape, own, target, result)


def split(b: Builder) -> SSAValue | None:
    value = b.value(rank=1)
    shape = shape_of(value)
    dim = b.choices.integer(0, len(shape) - 1)
    factors = [f for f in range(1, shape[dim] + 1) if shape[dim] % f == 0]
    factor = b.choices.pick(factors)
    inner = shape[dim] // factor
    result = [*shape[:dim], factor, inner, *shape[dim + 1 :]]
    own = iterators(len(result))
    source = [*own]
    source[dim : dim + 2] = [own[dim] * inner + own[dim + 1]]
    return _one(b, value, result, source, own, result)


def expand(b: Builder) -> SSAValue | None:
    """A new dimension: broadcast, or the copies of a repeat in either order."""
    value = b.value()
    shape = shape_of(value)
    rank = len(shape) + 1
    dim = b.choices.integer(0, len(shape))
    count = b.choices.pick((1, 2, 3, 65))
    sizes = [*shape[:dim], count, *shape[dim:]]
    own = iterators(rank)
    source = [*own[:dim], *own[dim + 1 :]]
    kind = b.choices.pick(("expand", "repeat", "interleave"))
    if kind == "expand" or dim == len(shape):
        return _one(b, value, sizes, source, own, sizes)
    copy, along = own[dim], own[dim + 1]
    size = shape[dim]
    joined = copy * size + along if kind == "repeat" else along * count + copy
    target = [*own[:dim], joined, *own[dim + 2 :]]
    return _one(
        b, value, sizes, source, target, [*shape[:dim], size * count, *shape[dim + 1 :]]
    )


def pad(b: Builder) -> SSAValue | None:
    """Around the value on some dimensions, or between its elements."""
    value = b.value(rank=1)
    shape = shape_of(value)
    rank = len(shape)
    target, result = iterators(rank), [*shape]
    for dim in range(rank):
        if not b.choices.chance(50):
            continue
        step = b.choices.pick((1, 1, 1, 2, 3))
        low, high = (b.choices.pick((0, 1, 2, 63, 64)) for _ in range(2))
        target[dim] = target[dim] * step + number(low, rank)
        result[dim] = low + (shape[dim] - 1) * step + 1 + high
    return _one(b, value, shape, iterators(rank), target, result, True)


def cat(b: Builder) -> SSAValue | None:
    """Several values after each other, some backwards, with gaps now and then."""
    value = b.value(rank=1)
    shape = shape_of(value)
    rank, dim = len(shape), b.choices.integer(0, len(shape) - 1)
    dtype = dtype_name(value.type)
    sources, pieces, offset = [], [], 0
    gaps = b.choices.chance(20)
    for position in range(b.choices.integer(1, 4)):
        own = [*shape]
        if position:
            own[dim] = b.choices.pick((1, 2, 63, 64, 65, shape[dim]))
        if not b.fits(*own):
            return None
        source = value if not position else b.like(own, dtype)
        coordinates, target = iterators(rank), iterators(rank)
        if b.choices.chance(20):
            coordinates[dim] = coordinates[dim] * -1 + number(own[dim] - 1, rank)
        offset += b.choices.pick((0, 1, 64)) if gaps else 0
        target[dim] = target[dim] + number(offset, rank)
        sources.append(source)
        pieces.append(Piece(tuple(own), tuple(coordinates), tuple(target)))
        offset += own[dim]
    result = [*shape]
    result[dim] = offset
    return move(b, sources, pieces, result, gaps)


def blocks(b: Builder) -> SSAValue | None:
    """Four values in a square."""
    value = b.value(rank=2)
    shape = shape_of(value)
    rank, dtype = len(shape), dtype_name(value.type)
    rows, columns = b.choices.order(range(rank))[:2]
    more = [b.choices.pick((1, 2, 64, 65)) for _ in range(2)]
    result = [*shape]
    result[rows] += more[0]
    result[columns] += more[1]
    if not b.fits(*result):
        return None
    sources, pieces = [], []
    for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
        own, target = [*shape], iterators(rank)
        for dim, late, size in ((rows, i, more[0]), (columns, j, more[1])):
            if late:
                target[dim] = target[dim] + number(shape[dim], rank)
                own[dim] = size
        sources.append(b.like(own, dtype))
        pieces.append(Piece(tuple(own), tuple(iterators(rank)), tuple(target)))
    return move(b, sources, pieces, result)


def update(b: Builder) -> SSAValue | None:
    """A value with a range of another in it."""
    value = b.value(rank=1)
    shape = shape_of(value)
    rank, dim = len(shape), b.choices.integer(0, len(shape) - 1)
    size = shape[dim]
    first = b.choices.integer(0, size - 1)
    count = size - first - b.choices.integer(0, size - first - 1)
    middle = [*shape]
    middle[dim] = count
    other = b.like(middle, dtype_name(value.type))
    sources, pieces = [], []
    for source, start, stop, shift in (
        (value, 0, first, 0),
        (other, first, first + count, first),
        (value, first + count, size, 0),
    ):
        if start == stop:
            continue
        own, target, read = [*shape], iterators(rank), iterators(rank)
        own[dim] = stop - start
        target[dim] = target[dim] + number(start, rank)
        read[dim] = read[dim] + number(start - shift, rank)
        sources.append(source)
        pieces.append(Piece(tuple(own), tuple(read), tuple(target)))
    return move(b, sources, pieces, shape)


def window(b: Builder) -> SSAValue | None:
    """Overlapping windows of a dimension."""
    value = b.value(rank=1)
    shape = shape_of(value)
    dim = b.choices.integer(0, len(shape) - 1)
    width = b.choices.integer(1, min(shape[dim], 5))
    step = b.choices.pick((1, 2, 3, 64))
    count = (shape[dim] - width) // step + 1
    sizes = [*shape[:dim], count, width, *shape[dim + 1 :]]
    own = iterators(len(sizes))
    source = [*own[:dim], own[dim] * step + own[dim + 1], *own[dim + 2 :]]
    return _one(b, value, sizes, source, own, sizes)


def diagonal(b: Builder) -> SSAValue | None:
    value = b.value(rank=2)
    shape = shape_of(value)
    one, other = b.choices.order(range(len(shape)))[:2]
    size = min(shape[one], shape[other])
    rest = [d for d in range(len(shape)) if d not in (one, other)]
    sizes = [*(shape[d] for d in rest), size]
    own = iterators(len(sizes))
    source = [own[-1]] * len(shape)
    for k, d in enumerate(rest):
        source[d] = own[k]
    return _one(b, value, sizes, source, own, sizes)


MOVEMENTS = (
    permute,
    slice_,
    cat,
    merge,
    split,
    expand,
    pad,
    blocks,
    update,
    window,
    diagonal,
)
