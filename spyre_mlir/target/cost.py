# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
What work costs on a chip, in integer picoseconds.

Planners and the clock use the same functions: both describe what a record does as a
`Work`, and `charge` says how long its unit is busy and how long it holds the shared
DRAM channel. A kind or type that the chip has no number for is an error, never zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from spyre_mlir.algebra.access import ITEMSIZE
from spyre_mlir.algebra.layout import ceil_div
from spyre_mlir.target.chip import PICOSECONDS_PER_SECOND, Chip


@dataclass(frozen=True, kw_only=True)
class Work:
    """
    What one record does, without saying where or in which order.

    "Per core" means the core with most to do, which the others wait for.
    """

    kind: str
    """load, store, gather, copy, matmul, vector, shuffle or ring_reduce."""
    dtype: str
    """Element type; of a matmul, of its operands."""
    cores: int
    """Cores that have something to do."""

    batches: int = 0
    """Matmul, per core: independent products."""
    rows: int = 0
    columns: int = 0
    depth: int = 0
    """Matmul, per core: summed elements."""
    macs: int = 0
    """Multiply-adds of all cores, padding not counted."""

    lane_passes: int = 0
    """Vector, per core: 16-bit lanes times passes through the unit."""
    lane_folds: int = 0
    """Vector, per core: sticks folded into one element."""
    elements: int = 0
    """Shuffle and ring_reduce, per core: elements moved."""

    lx_read_bytes: int = 0
    """Per core: whole sticks."""
    lx_write_bytes: int = 0
    dram_read_bytes: int = 0
    """All cores; what one fetch gives to several is counted once."""
    dram_write_bytes: int = 0
    core_dram_bytes: int = 0
    """Per core: what it gets or gives, shared or not."""
    run_bytes: int = 0
    """Contiguous piece of the DRAM traffic."""
    fan_out: int = 1
    """Cores that get each byte read."""
    requests: int = 0
    """Gather, per core: pieces whose addresses are data."""

    ring_bytes: int = 0
    """Per core."""
    parts: int = 1
    """Cores whose tiles a ring_reduce folds into one."""

    @property
    def dram_bytes(self) -> int:
        return self.dram_read_bytes + self.dram_write_bytes

    @property
    def is_idle(self) -> bool:
        return self.cores == 0


@dataclass(frozen=True)
class Charge:
    """How long a record keeps its unit, and holds the shared DRAM channel."""

    unit_ps: int
    channel_ps: int = 0


IDLE = Charge(0)


def bytes_time(count: int, bytes_per_second: int) -> int:
    """Picoseconds for `count` bytes, rounded up."""
    return ceil_div(count * PICOSECONDS_PER_SECOND, bytes_per_second)


def cycles_time(cycles: int, hz: int) -> int:
    """Picoseconds for whole cycles, rounded up."""
    return ceil_div(cycles * PICOSECONDS_PER_SECOND, hz)


def multicast_factor(chip: Chip, fan_out: int) -> float:
    """Slowdown of a fetch that serves `fan_out` cores."""
    return max(1.0, fan_out / chip.multicast_free_cores) ** chip.multicast_exponent


def channel_time(chip: Chip, count: int, run_bytes: int, fan_out: int = 1) -> int:
    """
    How long the DRAM channel moves `count` bytes one way, in runs of `run_bytes`.

    Requests are charged as far as they are more than full bursts would need.
    """
    if count == 0:
        return 0
    burst = min(max(run_bytes, chip.dram_word_bytes), chip.dram_burst_bytes)
    extra = ceil_div(count, burst) - ceil_div(count, chip.dram_burst_bytes)
    payload = bytes_time(count, chip.dram_bytes_per_second)
    factor = multicast_factor(chip, fan_out)
    return ceil(payload * factor) + extra * chip.dram_request_picoseconds


def turnaround_time(chip: Chip, paired_bytes: int) -> int:
    """Extra channel time of bytes read that have a byte written to go with them."""
    return ceil_div(paired_bytes * chip.dram_turnaround_femtoseconds_per_byte, 1000)


def _start_time(chip: Chip) -> int:
    return cycles_time(chip.record_start_cycles, chip.core_clock_hz)


def _scratchpad_time(chip: Chip, count: int) -> int:
    return bytes_time(count, chip.scratchpad_bytes_per_second_per_core)


def _transfer(chip: Chip, work: Work) -> Charge:
    channel = channel_time(chip, work.dram_bytes, work.run_bytes, work.fan_out)
    if work.fan_out > 1:
        rate = chip.ring_bytes_per_second
    else:
        rate = chip.dram_bytes_per_second_per_core
    core = bytes_time(work.core_dram_bytes, rate)
    return Charge(_start_time(chip) + max(channel, core), channel)


def _gather(chip: Chip, work: Work) -> Charge:
    plain = _transfer(chip, work)
    rounds = ceil_div(work.requests, chip.dram_outstanding_requests_per_core)
    latency = rounds * chip.dram_latency_picoseconds
    unit = max(plain.unit_ps, _start_time(chip) + latency)
    return Charge(unit, plain.channel_ps)


def _copy(chip: Chip, work: Work) -> Charge:
    runs = ceil_div(work.ring_bytes, max(work.run_bytes, chip.stick_bytes))
    moved = bytes_time(work.ring_bytes, chip.ring_bytes_per_second)
    time = max(moved, _scratchpad_time(chip, work.lx_read_bytes))
    return Charge(_start_time(chip) + time + runs * chip.ring_descriptor_picoseconds)


def pt_cycles(
    chip: Chip, dtype: str, batches: int, rows: int, columns: int, depth: int
) -> int:
    """Cycles of the matrix array for one core's products of that size."""
    if min(batches, rows, columns, depth) == 0:
        return 0
    rows = _round_up(rows, chip.pt_rows_per_pass)
    columns = _round_up(columns, chip.pt_columns_per_pass)
    depth = _round_up(depth, chip.pt_depth_per_pass)
    full = min(1.0, rows / chip.pt_full_rate_rows) ** chip.pt_rows_exponent
    rate = chip.pt_macs_per_cycle_per_core(dtype)
    weights = columns * depth * ITEMSIZE[dtype]
    fills = batches * ceil_div(weights, chip.pt_weight_block_bytes_per_core)
    cycles = ceil(batches * rows * columns * depth / (rate * full))
    return cycles + fills * chip.pt_fill_cycles


def _round_up(value: int, unit: int) -> int:
    return ceil_div(value, unit) * unit


def _matmul(chip: Chip, work: Work) -> Charge:
    cycles = pt_cycles(
        chip, work.dtype, work.batches, work.rows, work.columns, work.depth
    )
    compute = cycles_time(cycles, chip.core_clock_hz)
    moved = _scratchpad_time(chip, work.lx_read_bytes + work.lx_write_bytes)
    return Charge(_start_time(chip) + max(compute, moved))


def _vector(chip: Chip, work: Work) -> Charge:
    cycles = ceil_div(work.lane_passes, chip.sfp_lanes_per_core)
    cycles += work.lane_folds * chip.sfp_lane_fold_cycles
    return _sfp(chip, work, cycles)


def _shuffle(chip: Chip, work: Work) -> Charge:
    rate = chip.sfp_shuffle_elements_per_cycle_per_core
    return _sfp(chip, work, ceil_div(work.elements, rate))


def _sfp(chip: Chip, work: Work, cycles: int) -> Charge:
    compute = cycles_time(cycles, chip.core_clock_hz)
    moved = _scratchpad_time(chip, max(work.lx_read_bytes, work.lx_write_bytes))
    return Charge(_start_time(chip) + max(compute, moved))


def _ring_reduce(chip: Chip, work: Work) -> Charge:
    if work.parts < 2:
        return _copy(chip, work)
    hops = work.parts - 1
    fold = hops * partial_sum_time(chip, work.elements)
    back = bytes_time(work.ring_bytes, chip.ring_bytes_per_second)
    return Charge(_start_time(chip) + fold + back)


def partial_sum_time(chip: Chip, elements: int) -> int:
    """One core's tile of partial sums added to the next core's."""
    return elements * chip.partial_sum_picoseconds_per_element


_PRICES: dict[str, Callable[[Chip, Work], Charge]] = {
    "load": _transfer,
    "store": _transfer,
    "gather": _gather,
    "copy": _copy,
    "matmul": _matmul,
    "vector": _vector,
    "shuffle": _shuffle,
    "ring_reduce": _ring_reduce,
}
"""How each kind of work is priced."""

KINDS = tuple(_PRICES)


def charge(chip: Chip, work: Work) -> Charge:
    """What a record costs; turnaround of the channel comes on top, by pairing."""
    if work.kind not in _PRICES:
        raise ValueError(f'no price for "{work.kind}"; priced: {", ".join(KINDS)}')
    if work.is_idle:
        return IDLE
    return _PRICES[work.kind](chip, work)


def estimate(chip: Chip, work: Work) -> int:
    """Picoseconds of one record alone, turnaround included."""
    paired = min(work.dram_read_bytes, work.dram_write_bytes)
    return charge(chip, work).unit_ps + turnaround_time(chip, paired)


def stream_time(chip: Chip, read_bytes: int, write_bytes: int) -> int:
    """
    DRAM time of an operation that reads and writes so much, all cores busy.

    The published law: total over the one-way rate, and a turnaround for each byte
    that goes both ways.
    """
    paired = min(read_bytes, write_bytes)
    total = bytes_time(read_bytes + write_bytes, chip.dram_bytes_per_second)
    return total + turnaround_time(chip, paired)


@dataclass(frozen=True)
class MatmulDivision:
    """Sizes of a batched product and in how many parts each is cut."""

    batches: int
    rows: int
    columns: int
    depth: int
    batch_parts: int = 1
    row_parts: int = 1
    column_parts: int = 1
    depth_parts: int = 1
    dtype: str = "f16"
    shared_rhs: bool = False
    """All batches multiply with the same right operand."""

    @property
    def cores(self) -> int:
        outputs = self.batch_parts * self.row_parts * self.column_parts
        return outputs * self.depth_parts


def matmul_compute_time(chip: Chip, division: MatmulDivision) -> int:
    """The matrix array's time on the core with most to do."""
    cycles = pt_cycles(
        chip,
        division.dtype,
        ceil_div(division.batches, division.batch_parts),
        ceil_div(division.rows, division.row_parts),
        ceil_div(division.columns, division.column_parts),
        ceil_div(division.depth, division.depth_parts),
    )
    return cycles_time(cycles, chip.core_clock_hz)


def matmul_dram_time(chip: Chip, division: MatmulDivision) -> int:
    """Time of fetching both operands, each to all cores that share it, and storing."""
    d, itemsize = division, ITEMSIZE[division.dtype]
    reads = (
        (d.batches * d.rows * d.depth, d.column_parts),
        (
            (1 if d.shared_rhs else d.batches) * d.depth * d.columns,
            d.row_parts * (d.batch_parts if d.shared_rhs else 1),
        ),
    )
    out = d.batches * d.rows * d.columns * itemsize
    read = itemsize * sum(elements for elements, _ in reads)
    time = channel_time(chip, out, chip.dram_burst_bytes)
    time += turnaround_time(chip, min(read, out))
    core_bytes = ceil_div(out, d.cores // d.depth_parts)
    for elements, fan_out in reads:
        count = elements * itemsize
        time += channel_time(chip, count, chip.dram_burst_bytes, fan_out)
        if fan_out == 1:
            core_bytes += ceil_div(count, d.cores)
    return max(time, bytes_time(core_bytes, chip.dram_bytes_per_second_per_core))


def matmul_sum_time(chip: Chip, division: MatmulDivision) -> int:
    """Time of folding the partial sums of a divided depth."""
    d = division
    tile = (
        ceil_div(d.batches, d.batch_parts)
        * ceil_div(d.rows, d.row_parts)
        * ceil_div(d.columns, d.column_parts)
    )
    return (d.depth_parts - 1) * partial_sum_time(chip, tile)


def matmul_division_score(chip: Chip, division: MatmulDivision) -> int:
    """
    How good a division of a product over the cores is, in picoseconds: less is better.

    As the published score: compute, DRAM and partial sums added up, times the batch
    parts to a power. Unlike it, each operand is slowed by the cores that share that
    operand, not both by the larger number, and rows below the full rate cost what
    they cost the clock.
    """
    if division.cores > chip.cores:
        raise ValueError(f"{division.cores} parts for {chip.cores} cores")
    time = matmul_compute_time(chip, division)
    time += matmul_dram_time(chip, division)
    time += matmul_sum_time(chip, division)
    return round(time * division.batch_parts**chip.matmul_batch_exponent)
