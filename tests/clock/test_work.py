# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Work of records: counts against plain enumeration of elements."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spyre_mlir.algebra.access import Access, Axis, Step
from spyre_mlir.algebra.layout import DeviceLayout
from spyre_mlir.dialects import dev
from spyre_runtime.work import COUNTERS, run_bytes, touched_sticks, work_of

from .build import dram, lx, rows


def layout_access(
    shape: tuple[int, ...], dims: tuple[int, ...], dtype: str = "f16"
) -> Access:
    """The whole-tensor access of a layout, an axis per dimension."""
    layout = DeviceLayout(dims)
    probe = Access("dram", dtype, 0, (), (), symbol=0)
    steps = layout.dim_strides(shape, probe.eps)
    stick = layout.stick_dim
    return Access(
        "dram",
        dtype,
        0,
        tuple(0 if d == stick else s for d, s in enumerate(steps)),
        tuple(int(d == stick) for d in range(len(shape))),
        steps[stick] if stick >= 0 else 0,
        symbol=0,
    )


def enumerated_sticks(access: Access, extents: tuple[int, ...]) -> int:
    places = product(*(range(e) for e in extents))
    return len({access.element(place) // access.eps for place in places})


LAYOUTS = [(0, 0), (-1, 0, -1), (1, 0, 1), (0, 1, 0), (2, 1, 0, 2), (0, 2, 1, 0)]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.sampled_from(LAYOUTS),
    st.lists(st.integers(1, 130), min_size=3, max_size=3),
    st.sampled_from(["f16", "f32"]),
    st.data(),
)
def test_touched_sticks_of_a_tile_equal_enumeration(
    dims: tuple[int, ...], sizes: list[int], dtype: str, data: st.DataObject
):
    rank = len({d for d in dims if d >= 0})
    shape = tuple(sizes[:rank]) if rank < 3 else tuple(min(s, 70) for s in sizes)
    access = layout_access(shape, dims, dtype)
    extents = tuple(data.draw(st.integers(1, min(n, 40))) for n in shape)
    assert touched_sticks(access, extents) == enumerated_sticks(access, extents)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(0, 200), st.integers(1, 4), st.integers(1, 40), st.integers(1, 9))
def test_touched_sticks_inside_sticks_equal_enumeration(
    offset: int, step: int, extent: int, windows: int
):
    """Slices with steps, starts inside sticks, and overlapping windows."""
    access = Access(
        "lx", "f16", 0, (0, 0), (step, 1), stick_stride=64, stick_offset=offset
    )
    extents = (extent, windows)
    assert touched_sticks(access, extents) == enumerated_sticks(access, extents)


def test_a_broadcast_axis_touches_nothing_more():
    access = Access("lx", "f16", 0, (64, 0), (0, 1))
    assert touched_sticks(access, (1, 64)) == 1
    assert touched_sticks(Access("lx", "f16", 0, (0, 0), (0, 1)), (50, 64)) == 1


def test_a_sparse_operand_touches_a_stick_for_each_element():
    assert touched_sticks(Access("lx", "f16", 0, (64, 0), (0, 0)), (50, 64)) == 50


def test_runs_are_contiguous_over_rows_and_stop_at_gaps():
    access = layout_access((512, 4096), (1, 0, 1))
    assert run_bytes(access, (512, 64)) == 512 * 128
    assert run_bytes(access, (16, 64)) == 16 * 128
    assert run_bytes(access, (512, 128)) == 2 * 512 * 128
    assert run_bytes(access, (16, 128)) == 16 * 128


def transfer(axes: list[Axis], digit_strides: tuple[int, ...]) -> dev.TransferOp:
    source = Access(
        "dram", "f16", 0, (64, 0), (0, 1), 0, symbol=0, digit_strides=digit_strides
    )
    return dev.TransferOp(axes, source, lx())


def test_a_load_divided_over_cores_reads_each_byte_once():
    axes = [Axis(64, 0, 8, -1, 8), Axis.whole(64)]
    work = work_of(transfer(axes, (8 * 128,)), (), (8,))
    assert (work.kind, work.cores, work.fan_out) == ("load", 8, 1)
    assert work.dram_read_bytes == 64 * 128
    assert work.core_dram_bytes == 8 * 128
    assert work.lx_write_bytes == 8 * 128


def test_a_load_that_ignores_a_digit_is_one_fetch_for_many():
    axes = [Axis(64, 0, 8, -1, 8), Axis.whole(64)]
    work = work_of(transfer(axes, (8 * 128, 0)), (), (8, 4))
    assert (work.cores, work.fan_out) == (32, 4)
    assert work.dram_read_bytes == 64 * 128


def test_uneven_division_counts_what_is_there():
    axes = [Axis(10, 0, 4, -1, 4), Axis.whole(64)]
    work = work_of(transfer(axes, (4 * 128,)), (), (8,))
    assert work.cores == 3
    assert work.dram_read_bytes == 10 * 128
    assert work.core_dram_bytes == 4 * 128


def test_stores_of_equal_tiles_are_all_written():
    record = dev.TransferOp(rows(10), lx(), dram())
    work = work_of(record, (), (4,))
    assert (work.kind, work.fan_out) == ("store", 1)
    assert work.dram_write_bytes == 4 * 10 * 128


def test_a_trip_past_the_end_has_no_work():
    axes = [Axis(10, -1, 10, 0, 10), Axis.whole(64)]
    record = dev.TransferOp(axes, dram(), lx())
    assert work_of(record, (1,), (1,)).is_idle


def test_gathered_rows_are_pieces_and_gathered_elements_are_sticks():
    # 6 rows of 192 elements: three sticks each, a table of 100 rows
    axes = [Axis.whole(6), Axis.whole(192)]
    index = Access("lx", "i32", 0, (0, 0), (1, 0), 0)
    target = Access("lx", "f16", 0, (64, 0), (0, 1), 6 * 64)
    source = Access("dram", "f16", 0, (0, 0), (0, 1), 100 * 64, symbol=0)
    by_row = dev.GatherOp(axes, source, index, target, 64, 0, 100)
    work = work_of(by_row, (), (1,))
    assert (work.requests, work.run_bytes) == (18, 128)
    assert work.dram_read_bytes == 18 * 128

    wide = Access("dram", "f16", 0, (0, 0), (0, 1), 64, symbol=0)
    work = work_of(dev.GatherOp(axes, wide, index, target, 192, 0, 100), (), (1,))
    assert (work.requests, work.run_bytes) == (6, 3 * 128)

    single = dev.GatherOp(axes, source, index, target, 0, 1, 100)
    work = work_of(single, (), (1,))
    assert (work.requests, work.dram_read_bytes) == (6 * 192, 6 * 192 * 128)


def matmul_record(acc_level: int) -> dev.MatmulOp:
    axes = [Axis(100, 0, 13, -1, 13), Axis(256, 1, 64, -1, 64), Axis.whole(192)]
    lhs = Access("lx", "f16", 0, (64, 0, 0), (0, 0, 1), 13 * 64)
    rhs = Access("lx", "f16", 0, (0, 0, 64), (0, 1, 0), 192 * 64)
    out = Access("lx", "f32", 0, (32, 0, 0), (0, 1, 0), 13 * 32)
    return dev.MatmulOp(axes, "mnk", lhs, rhs, out, acc_level)


def test_a_matmul_counts_the_fullest_core_and_all_macs():
    work = work_of(matmul_record(-1), (), (8, 4))
    assert (work.rows, work.columns, work.depth) == (13, 64, 192)
    assert work.macs == 100 * 256 * 192
    assert work.lx_read_bytes == (13 * 3 + 192) * 128
    assert work.lx_write_bytes == 13 * 2 * 128


def test_a_matmul_that_adds_reads_what_it_adds_to():
    plain = work_of(matmul_record(-1), (), (8, 4))
    adding = work_of(matmul_record(0), (), (8, 4))
    assert adding.lx_read_bytes == plain.lx_read_bytes + 13 * 2 * 128


@pytest.mark.parametrize(
    ("functions", "lanes"),
    [(["neg"], 1), (["exp"], 4), (["exp", "neg"], 5), ([], 1)],
)
def test_vector_lanes_are_passes_over_whole_sticks(functions: list[str], lanes: int):
    steps = [Step(name, (k,), "f16") for k, name in enumerate(functions)]
    record = dev.VectorOp(rows(10, 65), [lx()], steps, lx(65536))
    assert work_of(record, (), (1,)).lane_passes == lanes * 10 * 128


def test_wide_types_take_more_lanes():
    record = dev.VectorOp(
        rows(10, 32), [lx(dtype="f32")], [Step("neg", (0,), "f32")], lx(0, "f32")
    )
    assert work_of(record, (), (1,)).lane_passes == 2 * 10 * 32


def test_a_fold_along_the_stick_folds_lanes_and_one_across_does_not():
    sparse = Access("lx", "f16", 0, (64, 0), (0, 0))
    along = dev.VectorOp(rows(10), [lx()], [], sparse, "sum", [1])
    work = work_of(along, (), (1,))
    assert (work.lane_folds, work.lane_passes) == (10, 2 * 640)
    row = Access("lx", "f16", 0, (0, 0), (0, 1))
    across = dev.VectorOp(rows(10), [lx()], [], row, "sum", [0])
    assert work_of(across, (), (1,)).lane_folds == 0


def test_a_shuffle_counts_elements_and_sticks_of_both_sides():
    # a transpose of 64 x 64 elements
    source = Access("lx", "f16", 0, (64, 0), (0, 1))
    target = Access("lx", "f16", 8192, (0, 64), (1, 0))
    work = work_of(dev.ShuffleOp(rows(64), source, target), (), (1,))
    assert (work.elements, work.lx_read_bytes) == (4096, 8192)


def test_a_ring_reduce_counts_the_cores_that_fold():
    record = dev.RingReduceOp(rows(10), lx(), lx(4096), "sum", [1])
    work = work_of(record, (), (8, 4))
    assert (work.kind, work.parts, work.ring_bytes) == ("ring_reduce", 4, 1280)


def test_every_record_of_the_dialect_has_a_count():
    assert set(COUNTERS) == set(dev.RECORDS)
