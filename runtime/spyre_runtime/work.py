# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
What a `dev` record does, as a `Work`: counted from its axes and accesses, no data.

Traffic is counted in whole sticks. A DRAM access that does not depend on a core digit
is one fetch for all cores along that digit. The core with most to do stands for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from spyre_mlir.algebra.access import ITEMSIZE, Access, Axis, Step
from spyre_mlir.algebra.layout import STICK_BYTES, ceil_div
from spyre_mlir.dialects import dev
from spyre_mlir.target.cost import Work
from spyre_mlir.target.opfuncs import GENERATORS, OPFUNCS

LANE_BYTES = 2
"""The vector unit's lanes are counted in 16-bit elements."""
FOLD_DTYPE = {"f16": "f32", "bf16": "f32"}
"""Sums of narrow floats are kept in a wider type."""


@dataclass(frozen=True)
class _Core:
    digits: tuple[int, ...]
    extents: tuple[int, ...]


def work_of(record: dev.RecordOp, trips: Sequence[int], grid: Sequence[int]) -> Work:
    """The work of one execution of a record, at these trips of its loops."""
    axes = record.axes_data
    cores = tuple(_active_cores(axes, trips, grid))
    if not cores:
        return Work(kind=_kind(record), dtype=record.accesses()[0].dtype, cores=0)
    return COUNTERS[type(record)](record, cores)


def _active_cores(
    axes: Sequence[Axis], trips: Sequence[int], grid: Sequence[int]
) -> Iterator[_Core]:
    for reversed_digits in product(*(range(parts) for parts in reversed(grid))):
        digits = tuple(reversed(reversed_digits))
        extents = tuple(axis.extent(digits, trips) for axis in axes)
        if all(extents):
            yield _Core(digits, extents)


def _kind(record: dev.RecordOp) -> str:
    if isinstance(record, dev.TransferOp):
        if record.source.data.space == "dram":
            return "load"
        return "store" if record.target.data.space == "dram" else "copy"
    return record.name.removeprefix("dev.")


# sticks ---------------------------------------------------------------------


def _count_sums(steps: Sequence[tuple[int, int]]) -> int:
    """
    Distinct values of sum(stride * i), i below the extent of each (stride, extent).

    Exact where a larger stride continues or overlaps the run of the smaller ones, and
    where it leaps beyond; windows with gaps are counted once per step.
    """
    steps = sorted((abs(stride), extent) for stride, extent in steps if stride)
    if not steps:
        return 1
    unit, count, span = steps[0][0], 1, 1
    for stride, extent in steps:
        leap, rest = divmod(stride, unit)
        if rest == 0 and leap <= span and count == span:
            span += leap * (extent - 1)
            count = span
        else:
            count *= extent
            span = max(span, leap * (extent - 1) + span)
    return count


def touched_sticks(access: Access, extents: Sequence[int]) -> int:
    """Sticks that an access to a tile of these extents touches."""
    along = [(s, e) for s, e in zip(access.stick, extents, strict=True) if s]
    across = [
        (stride, extent)
        for stride, stick, extent in zip(
            access.strides, access.stick, extents, strict=True
        )
        if stride and not stick
    ]
    low = access.stick_offset + sum(s * (e - 1) for s, e in along if s < 0)
    high = access.stick_offset + sum(s * (e - 1) for s, e in along if s > 0)
    spanned = high // access.eps - low // access.eps + 1
    return min(spanned, _count_sums(along)) * _count_sums(across)


def touched_bytes(access: Access, extents: Sequence[int]) -> int:
    return STICK_BYTES * touched_sticks(access, extents)


def run_bytes(access: Access, extents: Sequence[int]) -> int:
    """Contiguous bytes from the start of a tile, in whole sticks."""
    steps: list[tuple[int, int]] = []
    for stride, stick, extent in zip(
        access.strides, access.stick, extents, strict=True
    ):
        if stick:
            count = ceil_div(abs(stick) * (extent - 1) + 1, access.eps)
            steps.append((access.stick_stride, count))
        else:
            steps.append((stride, extent))
    run = access.eps
    for stride, count in sorted(steps):
        if stride == run and count > 1:
            run *= count
        elif stride > run and count > 1:
            break
    return run * access.itemsize


# cores ----------------------------------------------------------------------


@dataclass(frozen=True)
class _Shared:
    """One access over all cores: unique bytes, and cores for each byte."""

    unique: int
    all_cores: int
    fan_out: int


def _over_cores(access: Access, cores: Sequence[_Core]) -> _Shared:
    strides = access.digit_strides
    extents = {core.extents for core in cores}
    counts = {e: touched_bytes(access, e) for e in extents}
    largest: dict[tuple[int, ...], int] = {}
    total = 0
    for core in cores:
        place = tuple(d for d, s in zip(core.digits, strides, strict=False) if s)
        count = counts[core.extents]
        total += count
        largest[place] = max(largest.get(place, 0), count)
    unique = sum(largest.values())
    return _Shared(unique, total, ceil_div(len(cores), len(largest)))


def _most(cores: Sequence[_Core], count: Callable[[Sequence[int]], int]) -> int:
    return max(count(extents) for extents in {core.extents for core in cores})


def _most_bytes(accesses: Sequence[Access], cores: Sequence[_Core]) -> int:
    return _most(cores, lambda e: sum(touched_bytes(a, e) for a in accesses))


def _fullest(cores: Sequence[_Core]) -> _Core:
    return max(cores, key=lambda core: prod(core.extents))


# records --------------------------------------------------------------------


def _transfer(record: dev.RecordOp, cores: tuple[_Core, ...]) -> Work:
    assert isinstance(record, dev.TransferOp)
    source, target = record.source.data, record.target.data
    kind = _kind(record)
    if kind == "load":
        shared = _over_cores(source, cores)
        return Work(
            kind=kind,
            dtype=source.dtype,
            cores=len(cores),
            dram_read_bytes=shared.unique,
            core_dram_bytes=_most_bytes((source,), cores),
            run_bytes=run_bytes(source, _fullest(cores).extents),
            fan_out=shared.fan_out,
            lx_write_bytes=_most_bytes((target,), cores),
        )
    if kind == "store":
        return Work(
            kind=kind,
            dtype=source.dtype,
            cores=len(cores),
            dram_write_bytes=_over_cores(target, cores).all_cores,
            core_dram_bytes=_most_bytes((target,), cores),
            run_bytes=run_bytes(target, _fullest(cores).extents),
            lx_read_bytes=_most_bytes((source,), cores),
        )
    extents = _fullest(cores).extents
    return Work(
        kind=kind,
        dtype=source.dtype,
        cores=len(cores),
        ring_bytes=_most_bytes((target,), cores),
        run_bytes=min(run_bytes(source, extents), run_bytes(target, extents)),
        lx_read_bytes=_most_bytes((source,), cores),
        lx_write_bytes=_most_bytes((target,), cores),
    )


def _gather(record: dev.RecordOp, cores: tuple[_Core, ...]) -> Work:
    """Each index fetches one piece; single elements cost a stick each."""
    assert isinstance(record, dev.GatherOp)
    source, index, target = record.source.data, record.index.data, record.target.data
    by_element = record.index_stick.value.data != 0

    def pieces(extents: Sequence[int]) -> tuple[int, int]:
        """Pieces and bytes of each."""
        if by_element:
            return prod(extents), STICK_BYTES
        inner = tuple(
            1 if a or b else extent
            for a, b, extent in zip(index.strides, index.stick, extents, strict=True)
        )
        run = run_bytes(source, inner)
        return ceil_div(touched_bytes(target, extents), run), run

    def moved(extents: Sequence[int]) -> int:
        return prod(pieces(extents))

    return Work(
        kind="gather",
        dtype=source.dtype,
        cores=len(cores),
        dram_read_bytes=sum(moved(core.extents) for core in cores),
        core_dram_bytes=_most(cores, moved),
        run_bytes=pieces(_fullest(cores).extents)[1],
        requests=_most(cores, lambda e: pieces(e)[0]),
        lx_read_bytes=_most_bytes((index,), cores),
        lx_write_bytes=_most_bytes((target,), cores),
    )


def _matmul(record: dev.RecordOp, cores: tuple[_Core, ...]) -> Work:
    assert isinstance(record, dev.MatmulOp)
    extents = _fullest(cores).extents
    sizes = {role: 1 for role in "bmnk"}
    for role, extent in zip(record.roles.data, extents, strict=True):
        sizes[role] *= extent
    reads = record.reads()
    if record.acc_level.value.data >= 0:
        reads += record.writes()
    return Work(
        kind="matmul",
        dtype=record.lhs.data.dtype,
        cores=len(cores),
        batches=sizes["b"],
        rows=sizes["m"],
        columns=sizes["n"],
        depth=sizes["k"],
        macs=sum(prod(core.extents) for core in cores),
        lx_read_bytes=_most_bytes(reads, cores),
        lx_write_bytes=_most_bytes(record.writes(), cores),
    )


def _lanes(dtype: str) -> int:
    """16-bit lanes that one element takes."""
    return ITEMSIZE[dtype] // LANE_BYTES


def _step_lanes(step: Step) -> int:
    if step.function in GENERATORS:
        passes = GENERATORS[step.function]
    else:
        passes = OPFUNCS[step.function].passes
    return passes * _lanes(step.dtype)


def _padded_elements(record: dev.VectorOp, extents: Sequence[int]) -> int:
    """Elements that pass the unit: the stick axis in whole sticks."""
    accesses = record.accesses()
    for place, extent in enumerate(extents):
        along = [a for a in accesses if a.stick[place]]
        if along:
            eps = max(a.eps for a in along)
            return prod(extents) // extent * ceil_div(extent, eps) * eps
    return prod(extents) * max(a.eps for a in accesses)


def _vector(record: dev.RecordOp, cores: tuple[_Core, ...]) -> Work:
    assert isinstance(record, dev.VectorOp)
    out = record.out.data
    combine, fold = record.combine.data, record.fold_data
    inputs = record.reads()
    source = record.steps_data[-1].dtype if record.steps_data else inputs[0].dtype
    lanes = sum(_step_lanes(step) for step in record.steps_data)
    if combine:
        lanes += _lanes(FOLD_DTYPE.get(source, source))
    lanes = max(lanes, _lanes(source))
    in_stick = bool(combine) and any(a.stick[f] for a in inputs for f in fold)

    def outputs(extents: Sequence[int]) -> int:
        return prod(e for k, e in enumerate(extents) if k not in fold)

    accumulates = record.acc_level.value.data >= 0
    return Work(
        kind="vector",
        dtype=source,
        cores=len(cores),
        lane_passes=lanes * _most(cores, lambda e: _padded_elements(record, e)),
        lane_folds=_most(cores, outputs) if in_stick else 0,
        lx_read_bytes=_most_bytes((*inputs, out) if accumulates else inputs, cores),
        lx_write_bytes=_most_bytes((out,), cores),
    )


def _shuffle(record: dev.RecordOp, cores: tuple[_Core, ...]) -> Work:
    assert isinstance(record, dev.ShuffleOp)
    return Work(
        kind="shuffle",
        dtype=record.source.data.dtype,
        cores=len(cores),
        elements=_most(cores, prod),
        lx_read_bytes=_most_bytes(record.reads(), cores),
        lx_write_bytes=_most_bytes(record.writes(), cores),
    )


def _ring_reduce(record: dev.RecordOp, cores: tuple[_Core, ...]) -> Work:
    assert isinstance(record, dev.RingReduceOp)
    groups = {
        tuple(d for k, d in enumerate(core.digits) if k not in record.digits_data)
        for core in cores
    }
    extents = _fullest(cores).extents
    source, target = record.source.data, record.target.data
    return Work(
        kind="ring_reduce",
        dtype=source.dtype,
        cores=len(cores),
        elements=_most(cores, prod),
        ring_bytes=_most_bytes((target,), cores),
        run_bytes=min(run_bytes(source, extents), run_bytes(target, extents)),
        parts=ceil_div(len(cores), len(groups)),
        lx_read_bytes=_most_bytes((source,), cores),
        lx_write_bytes=_most_bytes((target,), cores),
    )


COUNTERS: dict[
    type[dev.RecordOp], Callable[[dev.RecordOp, tuple[_Core, ...]], Work]
] = {
    dev.TransferOp: _transfer,
    dev.GatherOp: _gather,
    dev.MatmulOp: _matmul,
    dev.VectorOp: _vector,
    dev.ShuffleOp: _shuffle,
    dev.RingReduceOp: _ring_reduce,
}
"""How each record is counted; the completeness test compares it to `dev.RECORDS`."""
