# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads at indices that a tensor holds, as `gather`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from spyre_mlir.algebra.linear import Linear

from ..emit import Body, Emitter, NotOnCard, broadcast, dtype_of, shape_of
from .movement import permute, reshape

Tensor = SSAValue


def take(e: Emitter, source: Tensor, axis: int, index: Tensor) -> Tensor:
    """Puts the dimensions of `index` in the place of the source's `axis`."""
    shape, chosen = shape_of(source), shape_of(index)
    result = (*shape[:axis], *chosen, *shape[axis + 1 :])
    rank, more = len(result), len(chosen)
    coordinates = [
        Linear.constant(0, rank)
        if d == axis
        else Linear.iterator(d + (more - 1) * (d > axis), rank)
        for d in range(len(shape))
    ]
    at = [Linear.iterator(axis + d, rank) for d in range(more)]
    return e.gather(source, index, axis, result, coordinates, at)


def embedding(
    e: Emitter,
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    return take(e, weight, 0, indices)


def index_select(e: Emitter, x: Tensor, dim: int, index: Tensor) -> Tensor:
    if not shape_of(x):
        return x
    if not shape_of(index):
        index = reshape(e, index, (1,))
    return take(e, x, dim % len(shape_of(x)), index)


def gather(
    e: Emitter, x: Tensor, dim: int, index: Tensor, sparse_grad: bool = False
) -> Tensor:
    shape = shape_of(index)
    if not shape or not shape_of(x):
        flat = reshape(e, x, (prod(shape_of(x)),))
        return reshape(e, take(e, flat, 0, index), e.result.shape)
    rank, dim = len(shape), dim % len(shape)
    coordinates = [
        Linear.constant(0, rank) if d == dim else Linear.iterator(d, rank)
        for d in range(rank)
    ]
    at = [Linear.iterator(d, rank) for d in range(rank)]
    return e.gather(x, index, dim, shape, coordinates, at)


def index(e: Emitter, x: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """Indexing by integer tensors that broadcast against each other."""
    given = [(d, i) for d, i in enumerate(indices) if i is not None]
    if any(dtype_of(i) not in ("i32", "i64") for _, i in given):
        raise NotOnCard("indexing by a mask, whose result has no fixed size")
    dims = [d for d, _ in given]
    adjacent = dims == list(range(dims[0], dims[0] + len(dims)))
    if not adjacent:
        rest = [d for d in range(len(shape_of(x))) if d not in dims]
        x, dims = permute(e, x, [*dims, *rest]), list(range(len(dims)))
    shape = shape_of(x)
    first, sizes = dims[0], [shape[d] for d in dims]
    chosen = _combined(e, [i for _, i in given], sizes)
    merged = (*shape[:first], prod(sizes), *shape[first + len(dims) :])
    return take(e, reshape(e, x, merged), first, chosen)


def _combined(e: Emitter, indices: Sequence[Tensor], sizes: Sequence[int]) -> Tensor:
    """
    Row-major position of an index tuple; negative indices count from the end. One
    that is out of range stays as it is if it is alone, so that the gather names it;
    among others it gives a negative position, which the gather refuses too.
    """

    def single(b: Body, element: SSAValue) -> SSAValue:
        i = b.cast(element, "i64")
        n, zero = b.like(i, sizes[0]), b.like(i, 0)
        from_end = b("and", b("lt", i, zero), b("ge", i, b.like(i, -sizes[0])))
        return b("where", from_end, b("add", i, n), i)

    def body(b: Body, *elements: SSAValue) -> SSAValue:
        position: SSAValue | None = None
        valid: SSAValue | None = None
        for element, size in zip(elements, sizes, strict=True):
            i = b.cast(element, "i64")
            n, zero = b.like(i, size), b.like(i, 0)
            wrapped = b("where", b("lt", i, zero), b("add", i, n), i)
            inside = b("and", b("ge", wrapped, zero), b("lt", wrapped, n))
            if position is None or valid is None:
                position, valid = wrapped, inside
                continue
            position = b("add", b("mul", position, n), wrapped)
            valid = b("and", valid, inside)
        assert position is not None and valid is not None
        return b("where", valid, position, b.like(position, -1))

    shape = broadcast([shape_of(i) for i in indices])
    return e.map(indices, "i64", single if len(indices) == 1 else body, shape)
