# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which cuts an operation's iterators allow."""

from __future__ import annotations

import pytest
from tensor_ops import iterators, map_op, matmul_op, reduce_op, reindex_op, value

from spyre_mlir.algebra.layout import DeviceLayout
from spyre_mlir.algebra.linear import Linear
from spyre_mlir.analysis.space import IterRange, bytes_of, iteration_space


def test_cuts_of_the_stick_dimension_fall_on_sticks() -> None:
    rows, columns = iteration_space(map_op(value([10, 300])))
    assert (rows.granule, rows.units) == (1, 10)
    assert (columns.granule, columns.units) == (64, 5)


@pytest.mark.parametrize("dtype", ["f16", "f32", "i64"])
def test_all_types_are_cut_alike(dtype: str) -> None:
    assert iteration_space(map_op(value([256], dtype)))[0].granule == 64


def test_a_dimension_of_one_element_is_no_stick_dimension() -> None:
    space = iteration_space(map_op(value([128, 1])))
    assert [r.granule for r in space] == [1, 1]
    assert [r.splittable for r in space] == [True, False]


def test_reductions_are_not_parallel() -> None:
    m, n, k = iteration_space(matmul_op(value([8, 256]), value([256, 192])))
    assert (m.parallel, n.parallel, k.parallel) == (True, True, False)
    assert (m.granule, n.granule, k.granule) == (1, 64, 64)
    kept, reduced = iteration_space(reduce_op(value([8, 256]), [1]))
    assert (kept.parallel, reduced.parallel) == (True, False)


def test_an_iterator_that_runs_backwards_takes_even_cuts() -> None:
    i = Linear.iterator(0, 1)
    (flip,) = iteration_space(
        reindex_op(value([12]), [12], [i * -1 + Linear((0,), 11)])
    )
    assert flip.exact
    # The stick of the result runs along the same iterator.
    assert not flip.allows(2)
    sparse = value([12, 128])
    rows, columns = iterators(2)
    back = rows * -1 + Linear.constant(11, 2)
    space = iteration_space(reindex_op(sparse, [12, 128], [back, columns]))
    assert [parts for parts in range(2, 7) if space[0].allows(parts)] == [2, 3, 4, 6]


def test_merged_digits_are_cut_at_the_outer_one() -> None:
    outer, inner = iterators(2)
    op = reindex_op(value([12]), [3, 4], [outer * 4 + inner])
    assert [r.splittable for r in iteration_space(op)] == [True, False]


def test_a_step_of_half_a_stick_is_cut_in_pairs() -> None:
    heads, inner = iterators(2)
    op = reindex_op(value([384]), [12, 32], [heads * 32 + inner])
    assert iteration_space(op)[0].granule == 2


def test_windows_that_overlap_are_not_cut() -> None:
    place, tap = iterators(2)
    op = reindex_op(value([10, 64]), [8, 3], [place + tap, Linear.constant(0, 2)])
    assert not iteration_space(op)[1].splittable


def test_uneven_blocks_are_whole_granules() -> None:
    it = IterRange(300, 64, True, True, False)
    assert (it.units, it.chunk(2), it.chunk(3)) == (5, 192, 128)
    assert it.allows(5) and not it.allows(6)
    assert not IterRange(300, 64, True, False, False).allows(2)
    assert not IterRange(300, 64, True, True, True).allows(2)
    assert IterRange(256, 64, True, True, True).allows(2)


def test_bytes_are_whole_sticks() -> None:
    assert bytes_of(value([], "f16")) == 128
    assert bytes_of(value([3, 65], "f16")) == 3 * 2 * 128
    assert bytes_of(value([3, 1], layout=DeviceLayout.sparse(2))) == 3 * 128
    assert bytes_of(value([0, 5])) == 128
