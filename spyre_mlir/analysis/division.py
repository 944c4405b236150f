# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
How a cluster's work is divided over the cores.

A product takes the division that the chip's cost function likes best; other work the
one whose busiest core has the least to do. A division that lets one core reach over
more DRAM than the chip can address from one base is no candidate (public: 256 MB,
torch-spyre docs/source/architecture/spyre_accelerator.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from spyre_mlir.algebra.access import ITEMSIZE, Axis
from spyre_mlir.algebra.layout import ceil_div, elements_per_stick
from spyre_mlir.analysis.clusters import Cluster, Member
from spyre_mlir.analysis.decisions import PlanFault
from spyre_mlir.analysis.space import IterRange, bytes_of, operands_of
from spyre_mlir.analysis.tilebox import tile_box
from spyre_mlir.dialects import spyre
from spyre_mlir.target.chip import Chip
from spyre_mlir.target.cost import MatmulDivision, matmul_division_score

MAX_UNEVEN = 2
"""Uneven digits of one operation: its records then run as at most four pieces."""
_MAX_CLASSES = 3


class NoDivision(ValueError):
    """No division of an operation keeps to the chip's limits."""


@dataclass(frozen=True)
class Division:
    """Parts per iterator and digit order of one operation."""

    parts: tuple[int, ...]
    order: tuple[int, ...]


def divide(cluster: Cluster, chip: Chip) -> list[Division]:
    """A division of each operation of a cluster, the same for all."""
    classes = sorted(
        cluster.dividable(), key=lambda c: cluster.range_of(c).units, reverse=True
    )
    classes = [c for c in classes if cluster.range_of(c).units > 1][:_MAX_CLASSES]
    # Digits follow the first operation's iterators, fastest first.
    classes.sort(key=lambda c: min(k for p, k in c if p == 0))
    ranges = [cluster.range_of(c) for c in classes]
    best: tuple[float, ...] | None = None
    chosen: tuple[int, ...] = (1,) * len(classes)
    score = _scorer(cluster, classes, ranges, chip)
    large = [p for p, op in enumerate(cluster.ops) if _is_large(op, chip)]
    for parts in _candidates(ranges, chip.cores):
        if not _keeps_decisions(cluster, classes, parts):
            continue
        if not _within_span(cluster, large, classes, parts, chip):
            continue
        value = score(parts)
        if best is None or value < best:
            best, chosen = value, parts
    if best is None:
        raise NoDivision(_refusal(cluster, chip))
    return [_division(cluster, p, classes, chosen) for p in range(len(cluster.ops))]


def _candidates(ranges: Sequence[IterRange], cores: int) -> Iterator[tuple[int, ...]]:
    if not ranges:
        yield ()
        return
    first, rest = ranges[0], ranges[1:]
    for parts in range(1, min(cores, first.units) + 1):
        if not first.allows(parts) or _is_wasteful(first, parts):
            continue
        for others in _candidates(rest, cores // parts):
            every = (parts, *others)
            if sum(_is_uneven(r, p) for r, p in zip(ranges, every, strict=True)) <= (
                MAX_UNEVEN
            ):
                yield every


def _is_wasteful(range_: IterRange, parts: int) -> bool:
    """Fewer parts give the same chunk."""
    return ceil_div(range_.size, range_.chunk(parts)) < parts


def _is_uneven(range_: IterRange, parts: int) -> bool:
    return range_.chunk(parts) * parts != range_.size


def _division(
    cluster: Cluster,
    position: int,
    classes: Sequence[frozenset[Member]],
    chosen: Sequence[int],
) -> Division:
    rank = len(cluster.spaces[position])
    parts = [1] * rank
    digits: list[int] = []
    for members, count in zip(classes, chosen, strict=True):
        (iterator,) = (k for p, k in members if p == position)
        parts[iterator] = count
        digits.append(iterator)
    return Division(
        tuple(parts), (*digits, *(k for k in range(rank) if k not in digits))
    )


def _scorer(
    cluster: Cluster,
    classes: Sequence[frozenset[Member]],
    ranges: Sequence[IterRange],
    chip: Chip,
) -> Callable[[tuple[int, ...]], tuple[float, ...]]:
    """What to keep small: a product's price, then the busiest core's work."""
    matmuls = [p for p, op in enumerate(cluster.ops) if isinstance(op, spyre.MatmulOp)]

    def busiest(parts: tuple[int, ...]) -> tuple[float, ...]:
        work = prod(ceil_div(r.units, p) for r, p in zip(ranges, parts, strict=True))
        # As even as possible, then outer digits: longer runs for each core.
        uneven = sum(_is_uneven(r, p) for r, p in zip(ranges, parts, strict=True))
        return (work, uneven, *(-p for p in parts))

    if not matmuls:
        return busiest
    position = matmuls[0]
    matmul = cluster.ops[position]
    assert isinstance(matmul, spyre.MatmulOp)

    def product(parts: tuple[int, ...]) -> tuple[float, ...]:
        cut = dict.fromkeys("bmnk", 1)
        for members, count in zip(classes, parts, strict=True):
            (iterator,) = (k for p, k in members if p == position)
            cut[matmul.role(iterator)] *= count
        return (
            matmul_division_score(chip, matmul_division(matmul, cut)),
            *busiest(parts),
        )

    return product


def matmul_division(matmul: spyre.MatmulOp, parts: dict[str, int]) -> MatmulDivision:
    """The sizes of a product by role, cut in these parts."""
    sizes = dict.fromkeys("bmnk", 1)
    for iterator, size in enumerate(matmul.sizes()):
        sizes[matmul.role(iterator)] *= size
    return MatmulDivision(
        sizes["b"],
        sizes["m"],
        sizes["n"],
        sizes["k"],
        parts["b"],
        parts["m"],
        parts["n"],
        parts["k"],
        spyre.dtype_name(matmul.lhs.type),
    )


def _axes(
    cluster: Cluster,
    position: int,
    classes: Sequence[frozenset[Member]],
    parts: Sequence[int],
) -> tuple[Axis, ...]:
    axes = [Axis.whole(r.size) for r in cluster.spaces[position]]
    for digit, (members, count) in enumerate(zip(classes, parts, strict=True)):
        for p, k in members:
            if p == position and count > 1:
                chunk = cluster.spaces[position][k].chunk(count)
                axes[k] = replace(axes[k], digit=digit, chunk=chunk, tile=chunk)
    return tuple(axes)


def _is_large(op: spyre.SpyreOp, chip: Chip) -> bool:
    """Whether some tensor of an operation exceeds what one core may reach over."""
    return any(bytes_of(v) > chip.max_span_bytes for v in (*op.operands, *op.results))


def _within_span(
    cluster: Cluster,
    positions: Sequence[int],
    classes: Sequence[frozenset[Member]],
    parts: Sequence[int],
    chip: Chip,
) -> bool:
    return all(
        span_bytes(cluster.ops[p], _axes(cluster, p, classes, parts))
        <= chip.max_span_bytes
        for p in positions
    )


def span_bytes(op: spyre.SpyreOp, axes: Sequence[Axis]) -> int:
    """The longest stretch of DRAM that one core touches of one operand."""
    longest = 0
    for operand in operands_of(op):
        if isinstance(op, spyre.GatherOp) and operand.value == op.source:
            continue
        eps = elements_per_stick(ITEMSIZE[operand.dtype])
        box = tile_box(operand, axes)
        strides = operand.layout.dim_strides(operand.shape, eps)
        elements = eps
        for dim, (extent, stride) in enumerate(zip(box.shape, strides, strict=True)):
            steps = ceil_div(extent, eps) if dim == operand.stick_dim else extent
            elements += (steps - 1) * stride
        longest = max(longest, elements * ITEMSIZE[operand.dtype])
    return longest


def divide_like(cluster: Cluster, position: int) -> list[Division]:
    """The divisions of a cluster that follow from that of one of its operations."""
    given = cluster.ops[position]
    assert given.division is not None
    parts = given.division.parts_data
    used = [k for k in given.division.order_data if parts[k] > 1]
    found: list[Division] = []
    for p, op in enumerate(cluster.ops):
        own = [cluster.like((position, k), p) for k in used]
        counts = dict.fromkeys(range(len(cluster.spaces[p])), 1)
        for iterator, k in zip(own, used, strict=True):
            if iterator is None:
                raise PlanFault(
                    f"its group is divided over iterator {k} of {given.name}, and no "
                    "one of its own goes along that",
                    op,
                )
            counts[iterator] = parts[k]
        digits = [k for k in own if k is not None]
        order = (*digits, *(k for k in counts if k not in digits))
        found.append(Division(tuple(counts.values()), order))
    return found


def _keeps_decisions(
    cluster: Cluster, classes: Sequence[frozenset[Member]], parts: Sequence[int]
) -> bool:
    """The same elements on a core for all operations, and loops that go over them."""
    if not all(map(cluster.cuts_alike, classes, parts)):
        return False
    for position, op in enumerate(cluster.ops):
        axes = _axes(cluster, position, classes, parts)
        for k, trips in op.tile.levels_data if op.tile else ():
            space = cluster.spaces[position]
            if k >= 0 and not space[k].allows(trips, axes[k].chunk):
                return False
    return True


def _refusal(cluster: Cluster, chip: Chip) -> str:
    """Why no candidate is left: loops that are given, or else the span."""
    for op in cluster.ops:
        if op.tile is not None and op.tile.levels_data:
            return f"{op.name}: no division leaves its tile's trips on each core"
    spans = [
        span_bytes(op, tuple(Axis.whole(r.size) for r in space))
        for op, space in zip(cluster.ops, cluster.spaces, strict=True)
    ]
    longest = max(spans)
    op = cluster.ops[spans.index(longest)]
    return (
        f"{op.name}: a core would reach over {longest} bytes of one "
        f"tensor and no division brings that to the chip's {chip.max_span_bytes}; "
        "split the tensor"
    )
