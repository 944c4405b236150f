# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Divisions keep to the chip's limits and leave no core with more than it must do."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensor_ops import map_op, matmul_op, reduce_op, value

from spyre_mlir.algebra.layout import ceil_div
from spyre_mlir.analysis.clusters import Cluster
from spyre_mlir.analysis.decisions import op_axes
from spyre_mlir.analysis.division import (
    MAX_UNEVEN,
    Division,
    NoDivision,
    divide,
    span_bytes,
)
from spyre_mlir.analysis.space import IterRange, iteration_space
from spyre_mlir.dialects import spyre
from spyre_mlir.target.chip import Chip
from spyre_mlir.target.chips import load_chip

CHIP = load_chip()
SIZES = (1, 2, 3, 7, 63, 64, 65, 127, 128, 200, 640, 1000)


@st.composite
def operations(draw: st.DrawFn) -> spyre.SpyreOp:
    dtype = draw(st.sampled_from(("f16", "f32")))
    if draw(st.booleans()):
        m, n, k = (draw(st.sampled_from(SIZES)) for _ in range(3))
        return matmul_op(value([m, k], dtype), value([k, n], dtype), dtype)
    shape = draw(st.lists(st.sampled_from(SIZES), min_size=1, max_size=4))
    source = value(shape, dtype)
    if draw(st.booleans()):
        return map_op(source, source)
    dims = [d for d in range(len(shape)) if draw(st.booleans())]
    return reduce_op(source, dims)


def uneven(space: tuple[IterRange, ...], parts: tuple[int, ...]) -> int:
    cut = zip(space, parts, strict=True)
    return sum(r.chunk(p) * p != r.size for r, p in cut if p > 1)


def alone(op: spyre.SpyreOp, chip: Chip = CHIP) -> Division:
    (division,) = divide(Cluster().joined(op), chip)
    return division


@settings(max_examples=60, deadline=None, derandomize=True)
@given(operations(), st.sampled_from((1, 5, 32)))
def test_limits_are_kept(op: spyre.SpyreOp, cores: int) -> None:
    division = alone(op, CHIP.replace(cores=cores))
    space = iteration_space(op)
    assert prod(division.parts) <= cores
    assert uneven(space, division.parts) <= MAX_UNEVEN
    assert sorted(division.order) == list(range(len(space)))
    for it, parts in zip(space, division.parts, strict=True):
        assert it.allows(parts)
        assert parts == 1 or it.parallel
        assert it.chunk(parts) * (parts - 1) < max(it.size, 1), "an idle part"


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(SIZES), min_size=1, max_size=3))
def test_the_busiest_core_does_the_least_possible(shape: list[int]) -> None:
    op = map_op(value(shape))
    space = iteration_space(op)

    def busiest(parts: tuple[int, ...]) -> int:
        return prod(ceil_div(r.units, p) for r, p in zip(space, parts, strict=True))

    every = product(*(range(1, min(r.units, CHIP.cores) + 1) for r in space))
    allowed = [
        parts
        for parts in every
        if prod(parts) <= CHIP.cores
        and all(r.allows(p) for r, p in zip(space, parts, strict=True))
        and uneven(space, parts) <= MAX_UNEVEN
    ]
    assert busiest(alone(op).parts) == min(map(busiest, allowed))


def test_a_cluster_has_one_division() -> None:
    product_ = matmul_op(value([128, 256]), value([256, 512]))
    after = map_op(product_.result, product_.result)
    cluster = Cluster().joined(product_).joined(after)
    first, second = divide(cluster, CHIP)
    assert prod(first.parts) == 32
    assert first.parts[:2] == second.parts
    assert first.parts[2] == 1


def test_at_most_two_iterators_are_cut_unevenly() -> None:
    division = alone(map_op(value([3, 5, 7, 65])), CHIP.replace(cores=30))
    assert uneven(iteration_space(map_op(value([3, 5, 7, 65]))), division.parts) <= 2
    assert prod(division.parts) > 8


def test_a_span_that_is_too_long_is_cut() -> None:
    # Sticks count along the outermost device dimension: only fewer of them shorten
    # the stretch that a core touches.
    op = map_op(value([64, 256]))
    free, tight = alone(op), alone(op, CHIP.replace(max_span_bytes=16 * 1024))
    assert free.parts != tight.parts
    assert tight.parts[1] >= 2
    op.division = spyre.DivisionAttr.of(tight.parts, tight.order)
    assert span_bytes(op, op_axes(op, iteration_space(op))) <= 16 * 1024


def test_the_published_example_needs_a_cut_of_what_is_summed() -> None:
    op = matmul_op(value([8192, 32768]), value([32768, 4096]))
    with pytest.raises(NoDivision, match="over 536870912 bytes of one tensor"):
        alone(op)
    halves = matmul_op(value([8192, 16384]), value([16384, 4096]))
    assert prod(alone(halves).parts) == 32


def test_a_refusal_names_the_operation_that_reaches_furthest() -> None:
    op = matmul_op(value([8192, 32768]), value([32768, 4096]))
    with pytest.raises(NoDivision, match="matmul: a core would reach over 536870912"):
        divide(Cluster().joined(map_op(value([64]))).joined(op), CHIP)
