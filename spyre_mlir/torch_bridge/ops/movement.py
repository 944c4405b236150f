# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Views and every other movement of data, as `reindex`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from spyre_mlir.algebra.linear import Linear

from ..emit import Body, Emitter, Empty, NotOnCard, Number, Shape, dtype_of, shape_of

Tensor = SSAValue


# ------------------------------------------------------------------ reshape


def _cuts(shape: Sequence[int]) -> set[int]:
    """Row-major strides just outside each dimension that is longer than 1."""
    found: set[int] = set()
    inner = 1
    for size in reversed(shape):
        inner *= size
        if size > 1:
            found.add(inner)
    return found


def _factors(cuts: set[int]) -> Shape | None:
    """Sizes between the cuts, outermost first; None if one is not whole."""
    chain = [*sorted(cuts, reverse=True), 1]
    pairs = list(itertools.pairwise(chain))
    if any(outer % inner for outer, inner in pairs):
        return None
    return tuple(outer // inner for outer, inner in pairs)


def _row_major(shape: Sequence[int], iterators: Sequence[int]) -> list[Linear]:
    """Coordinates in `shape` over iterators that refine it."""
    rank = len(iterators)
    strides = [prod(iterators[k + 1 :]) for k in range(rank)]
    coordinates: list[Linear] = []
    for d, size in enumerate(shape):
        inner = prod(shape[d + 1 :])
        coefficients = tuple(
            stride // inner if inner <= stride < inner * size else 0
            for stride in strides
        )
        coordinates.append(Linear(coefficients))
    return coordinates


def reshape(e: Emitter, x: Tensor, shape: Sequence[int]) -> Tensor:
    """The same elements in row-major order; two moves where no common factors are."""
    source, shape = shape_of(x), tuple(shape)
    if source == shape:
        return x
    iterators = _factors(_cuts(source) | _cuts(shape))
    if iterators is None:
        common = _factors(_cuts(source) & _cuts(shape))
        assert common is not None, "common cuts of two row-major orders form a chain"
        return reshape(e, reshape(e, x, common), shape)
    maps = (_row_major(source, iterators), _row_major(shape, iterators))
    return e.reindex([x], shape, iterators, [maps])


def view(e: Emitter, x: Tensor, size: Sequence[int]) -> Tensor:
    total = prod(shape_of(x))
    known = -prod(size)
    full = [total // known if n == -1 else n for n in size]
    return reshape(e, x, full)


def flatten(e: Emitter, x: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    shape = shape_of(x)
    if not shape:
        return reshape(e, x, (1,))
    start, end = start_dim % len(shape), end_dim % len(shape)
    merged = prod(shape[start : end + 1])
    return reshape(e, x, (*shape[:start], merged, *shape[end + 1 :]))


def unsqueeze(e: Emitter, x: Tensor, dim: int) -> Tensor:
    shape = list(shape_of(x))
    shape.insert(dim % (len(shape) + 1), 1)
    return reshape(e, x, shape)


def squeeze(e: Emitter, x: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    shape = shape_of(x)
    rank = max(len(shape), 1)
    if dim is None:
        dims = set(range(rank))
    else:
        dims = {d % rank for d in ([dim] if isinstance(dim, int) else dim)}
    return reshape(e, x, [n for d, n in enumerate(shape) if n != 1 or d not in dims])


def unflatten(e: Emitter, x: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    shape = shape_of(x)
    dim %= len(shape)
    known = -prod(sizes)
    full = [shape[dim] // known if n == -1 else n for n in sizes]
    return reshape(e, x, (*shape[:dim], *full, *shape[dim + 1 :]))


# ------------------------------------------------------------------ permute


def permute(e: Emitter, x: Tensor, dims: Sequence[int]) -> Tensor:
    shape = shape_of(x)
    rank = len(shape)
    order = [d % rank for d in dims]
    if order == list(range(rank)):
        return x
    coordinates = [Linear.iterator(order.index(d), rank) for d in range(rank)]
    return e.move(x, [shape[d] for d in order], coordinates)


def transpose(e: Emitter, x: Tensor, dim0: int, dim1: int) -> Tensor:
    rank = len(shape_of(x))
    if not rank:
        return x
    order = list(range(rank))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return permute(e, x, order)


def t(e: Emitter, x: Tensor) -> Tensor:
    return transpose(e, x, 0, 1) if len(shape_of(x)) == 2 else x


# -------------------------------------------------------------------- slice


def clamp_slice(
    size: int, start: int | None, end: int | None, step: int
) -> tuple[int, int]:
    """First coordinate and count of a slice, by Python's rules."""
    chosen = range(size)[slice(start, end, step)]
    return chosen.start, len(chosen)


def _shifted(rank: int, dim: int, start: int, step: int = 1) -> list[Linear]:
    coordinates = [Linear.iterator(d, rank) for d in range(rank)]
    coordinates[dim] = coordinates[dim] * step + Linear.constant(start, rank)
    return coordinates


def slice_(
    e: Emitter,
    x: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    shape = list(shape_of(x))
    dim %= len(shape)
    first, count = clamp_slice(shape[dim], start, end, step)
    if count == shape[dim]:
        return x
    shape[dim] = count
    return e.move(x, shape, _shifted(len(shape), dim, first, step))


def narrow(e: Emitter, x: Tensor, dim: int, start: int, length: int) -> Tensor:
    start %= max(shape_of(x)[dim], 1)
    return slice_(e, x, dim, start, start + length)


def select(e: Emitter, x: Tensor, dim: int, index: int) -> Tensor:
    shape = shape_of(x)
    dim %= len(shape)
    rank = len(shape) - 1
    coordinates = [
        Linear.constant(index % shape[dim], rank)
        if d == dim
        else Linear.iterator(d - (d > dim), rank)
        for d in range(len(shape))
    ]
    return e.move(x, shape[:dim] + shape[dim + 1 :], coordinates)


def split_with_sizes(
    e: Emitter, x: Tensor, split_sizes: Sequence[int], dim: int = 0
) -> tuple[Tensor | Empty, ...]:
    dim %= len(shape_of(x))
    pieces: list[Tensor | Empty] = []
    start = 0
    for size in split_sizes:
        if size == 0:
            shape = [0 if d == dim else n for d, n in enumerate(shape_of(x))]
            pieces.append(Empty(tuple(shape), dtype_of(x)))
        else:
            pieces.append(slice_(e, x, dim, start, start + size))
        start += size
    return tuple(pieces)


def split(
    e: Emitter, x: Tensor, split_size: int, dim: int = 0
) -> tuple[Tensor | Empty, ...]:
    size = shape_of(x)[dim]
    starts = range(0, size, split_size)
    return split_with_sizes(e, x, [min(split_size, size - s) for s in starts], dim)


def chunk(
    e: Emitter, x: Tensor, chunks: int, dim: int = 0
) -> tuple[Tensor | Empty, ...]:
    return split(e, x, -(-shape_of(x)[dim] // chunks), dim)


def unbind(e: Emitter, x: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    return tuple(select(e, x, dim, k) for k in range(shape_of(x)[dim]))


# ---------------------------------------------------------------- expansion


def expand(
    e: Emitter, x: Tensor, size: Sequence[int], implicit: bool = False
) -> Tensor:
    source = shape_of(x)
    lead = len(size) - len(source)
    shape = [source[d - lead] if n == -1 else n for d, n in enumerate(size)]
    if tuple(shape) == source:
        return x
    rank = len(shape)
    coordinates = [
        Linear.iterator(lead + d, rank)
        if n == shape[lead + d]
        else Linear.constant(0, rank)
        for d, n in enumerate(source)
    ]
    return e.move(x, shape, coordinates)


def repeat(e: Emitter, x: Tensor, repeats: Sequence[int]) -> Tensor:
    source = (1,) * (len(repeats) - len(shape_of(x))) + shape_of(x)
    x = reshape(e, x, source)
    if all(r == 1 for r in repeats):
        return x
    return _repeat(e, x, [(r, n) for r, n in zip(repeats, source, strict=True)], True)


def repeat_interleave(
    e: Emitter,
    x: Tensor,
    repeats: int,
    dim: int | None = None,
    output_size: int | None = None,
) -> Tensor:
    if dim is None:
        x, dim = reshape(e, x, (prod(shape_of(x)),)), 0
    shape = shape_of(x)
    dim %= len(shape)
    pairs = [(repeats if d == dim else 1, n) for d, n in enumerate(shape)]
    return _repeat(e, x, pairs, False)


def _repeat(
    e: Emitter, x: Tensor, pairs: Sequence[tuple[int, int]], outer: bool
) -> Tensor:
    """Repeats dimensions; the copies are the outer or the inner iterator."""
    rank = 2 * len(pairs)
    source = [Linear.iterator(2 * d + 1, rank) for d in range(len(pairs))]
    target = [
        Linear.iterator(2 * d, rank) * (n if outer else 1)
        + Linear.iterator(2 * d + 1, rank) * (1 if outer else r)
        for d, (r, n) in enumerate(pairs)
    ]
    sizes = [size for pair in pairs for size in pair]
    return e.reindex([x], [r * n for r, n in pairs], sizes, [(source, target)])


# ------------------------------------------------------------ concatenation


def cat(e: Emitter, tensors: Sequence[Tensor | Empty], dim: int = 0) -> Tensor:
    dtype = e.result.dtype
    kept = [e.cast(x, dtype) for x in tensors if not isinstance(x, Empty)]
    if len(kept) == 1:
        return kept[0]
    shape = list(shape_of(kept[0]))
    rank, dim = len(shape), dim % len(shape)
    shared = [n for d, n in enumerate(shape) if d != dim]
    # the concatenated dimension is each piece's own iterator, behind the shared ones
    coordinates = [Linear.iterator(d - (d > dim), rank) for d in range(rank)]
    coordinates[dim] = Linear.iterator(rank - 1, rank)
    pieces: list[tuple[list[Linear], list[Linear]]] = []
    start = 0
    for x in kept:
        target = list(coordinates)
        target[dim] = coordinates[dim] + Linear.constant(start, rank)
        pieces.append((coordinates, target))
        start += shape_of(x)[dim]
    shape[dim] = start
    extra = [(shape_of(x)[dim],) for x in kept]
    return e.reindex(kept, shape, shared, pieces, extra)


def stack(e: Emitter, tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    dtype = e.result.dtype
    kept = [e.cast(x, dtype) for x in tensors]
    source = shape_of(kept[0])
    rank = len(source)
    dim %= rank + 1
    coordinates = [Linear.iterator(d, rank) for d in range(rank)]
    pieces = [
        (
            coordinates,
            [*coordinates[:dim], Linear.constant(k, rank), *coordinates[dim:]],
        )
        for k in range(len(kept))
    ]
    shape = (*source[:dim], len(kept), *source[dim:])
    return e.reindex(kept, shape, source, pieces)


def slice_scatter(
    e: Emitter,
    x: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    shape = shape_of(x)
    dim %= len(shape)
    size = shape[dim]
    first, count = clamp_slice(size, start, end, step)
    src = e.cast(src, dtype_of(x))
    if isinstance(src, Empty) or count == 0:
        return x
    last = first + (count - 1) * step
    runs = [Run(src, 0, 1, first, step, count), Run(x, 0, 1, 0, 1, first)]
    for between in range(first + 1, first + step):
        runs.append(Run(x, between, step, between, step, count - 1))
    runs.append(Run(x, last + 1, 1, last + 1, 1, size - last - 1))
    return _place(e, shape, dim, [run for run in runs if run.count > 0])


@dataclass(frozen=True)
class Run:
    """`count` coordinates along a dimension: read from, written to, each by a step."""

    source: Tensor
    read: int
    read_step: int
    written: int
    written_step: int
    count: int


def _place(e: Emitter, shape: Shape, dim: int, runs: Sequence[Run]) -> Tensor:
    """A tensor put together along one dimension."""
    rank = len(shape)
    shared = [n for d, n in enumerate(shape) if d != dim]
    base = [Linear.iterator(d - (d > dim), rank) for d in range(rank)]
    along = Linear.iterator(rank - 1, rank)
    pieces: list[tuple[list[Linear], list[Linear]]] = []
    for run in runs:
        source, target = list(base), list(base)
        source[dim] = along * run.read_step + Linear.constant(run.read, rank)
        target[dim] = along * run.written_step + Linear.constant(run.written, rank)
        pieces.append((source, target))
    extra = [(run.count,) for run in runs]
    return e.reindex([run.source for run in runs], shape, shared, pieces, extra)


def select_scatter(e: Emitter, x: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    shape = shape_of(x)
    dim %= len(shape)
    index %= shape[dim]
    return slice_scatter(e, x, unsqueeze(e, src, dim), dim, index, index + 1)


# --------------------------------------------------------------- flip, roll


def flip(e: Emitter, x: Tensor, dims: Sequence[int]) -> Tensor:
    shape = shape_of(x)
    rank = len(shape)
    coordinates = [Linear.iterator(d, rank) for d in range(rank)]
    for dim in {d % rank for d in dims} if rank else ():
        last = Linear.constant(shape[dim] - 1, rank)
        coordinates[dim] = coordinates[dim] * -1 + last
    return e.move(x, shape, coordinates)


def roll(
    e: Emitter, x: Tensor, shifts: int | Sequence[int], dims: int | Sequence[int] = ()
) -> Tensor:
    shifts = [shifts] if isinstance(shifts, int) else shifts
    dims = [dims] if isinstance(dims, int) else dims
    if not dims:
        shape = shape_of(x)
        flat = roll(e, reshape(e, x, (prod(shape),)), shifts, [0])
        return reshape(e, flat, shape)
    for shift, dim in zip(shifts, dims, strict=True):
        shape = shape_of(x)
        dim %= len(shape)
        size = shape[dim]
        cut = -shift % size
        if cut:
            runs = [
                Run(x, cut, 1, 0, 1, size - cut),
                Run(x, 0, 1, size - cut, 1, cut),
            ]
            x = _place(e, shape, dim, runs)
    return x


# ---------------------------------------------------------------------- pad


def constant_pad(
    e: Emitter, x: Tensor | Empty, pad: Sequence[int], value: Number = 0
) -> Tensor:
    """Pairs of (before, after) from the last dimension; negative ones cut."""
    if isinstance(x, Empty):
        return e.full(value, e.result.shape, e.result.dtype)
    source = shape_of(x)
    rank = len(source)
    before = [0] * rank
    shape = list(source)
    for k in range(len(pad) // 2):
        dim = rank - 1 - k
        low, high = pad[2 * k], pad[2 * k + 1]
        x = slice_(e, x, dim, max(0, -low), shape[dim] - max(0, -high))
        before[dim] = max(0, low)
        shape[dim] += low + high
    if tuple(shape) == shape_of(x):
        return x
    coordinates = [Linear.iterator(d, rank) for d in range(rank)]
    target = [
        c + Linear.constant(b, rank) for c, b in zip(coordinates, before, strict=True)
    ]
    return e.reindex([x], shape, shape_of(x), [(coordinates, target)], None, value)


def pad(
    e: Emitter,
    x: Tensor | Empty,
    pad: Sequence[int],
    mode: str = "constant",
    value: Number | None = None,
) -> Tensor:
    if mode != "constant":
        raise NotOnCard(f"{mode} padding")
    return constant_pad(e, x, pad, 0 if value is None else value)


# ------------------------------------------------------------ strided views


def as_strided(
    e: Emitter,
    x: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Tensor:
    shape = shape_of(x)
    contiguous = tuple(prod(shape[d + 1 :]) for d in range(len(shape)))
    known = e.operands[0]
    dense = all(
        n == 1 or a == b
        for n, a, b in zip(shape, known.strides, contiguous, strict=True)
    )
    offset = storage_offset or 0
    reach = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if not dense or reach >= prod(shape):
        raise NotOnCard("as_strided of a tensor that is not contiguous, or beyond it")
    flat = reshape(e, x, (prod(shape),))
    return e.move(flat, size, [Linear(tuple(stride), offset)])


def unfold(e: Emitter, x: Tensor, dimension: int, size: int, step: int) -> Tensor:
    shape = shape_of(x)
    if not shape:
        raise NotOnCard("unfold of a scalar")
    dim = dimension % len(shape)
    result = [*shape, size]
    result[dim] = (shape[dim] - size) // step + 1
    rank = len(result)
    coordinates = [Linear.iterator(d, rank) for d in range(len(shape))]
    coordinates[dim] = coordinates[dim] * step + Linear.iterator(rank - 1, rank)
    return e.move(x, result, coordinates)


def diagonal(
    e: Emitter, x: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    shape = shape_of(x)
    dim1, dim2 = dim1 % len(shape), dim2 % len(shape)
    size = e.result.shape[-1]
    rank = len(shape) - 1
    others = [d for d in range(len(shape)) if d not in (dim1, dim2)]
    along = Linear.iterator(rank - 1, rank)
    coordinates = [
        Linear.iterator(others.index(d), rank) if d in others else along
        for d in range(len(shape))
    ]
    coordinates[dim1] += Linear.constant(max(0, -offset), rank)
    coordinates[dim2] += Linear.constant(max(0, offset), rank)
    return e.move(x, [*(shape[d] for d in others), size], coordinates)


# ----------------------------------------------------------------- triangles


def tril(e: Emitter, x: Tensor, diagonal: int = 0) -> Tensor:
    return _triangle(e, x, "le", diagonal)


def triu(e: Emitter, x: Tensor, diagonal: int = 0) -> Tensor:
    return _triangle(e, x, "ge", diagonal)


def _triangle(e: Emitter, x: Tensor, compare: str, diagonal: int) -> Tensor:
    rows, columns = shape_of(x)[-2:]
    row = e.iota((rows, 1), 0, "i32", diagonal, 1)
    column = e.iota((1, columns), 1, "i32", 0, 1)
    dtype = dtype_of(x)

    def body(b: Body, value: SSAValue, i: SSAValue, j: SSAValue) -> SSAValue:
        return b("where", b(compare, j, i), value, b.constant(0, dtype))

    return e.map([x, row, column], dtype, body)


# ------------------------------------------------------------------- copies


def alias(e: Emitter, x: Tensor, *_: object, **__: object) -> Tensor:
    """The same values; a copy is made where a result must not share memory."""
    return x


def copy(e: Emitter, x: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    return expand(e, e.cast(src, e.result.dtype), e.result.shape)
