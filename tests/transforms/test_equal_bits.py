# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewrites keep every bit of random programs, and find nothing more in their result."""

from __future__ import annotations

import pytest
from random_spyre import MOVEMENTS, Program, check_equal_bits

from spyre_mlir.transforms.copy_results import CopyResultsPass
from spyre_mlir.transforms.fold_reindex import FoldReindexPass
from spyre_mlir.transforms.fold_reindex_into_uses import FoldReindexIntoUsesPass
from spyre_mlir.transforms.fuse_maps import FuseMapsPass
from spyre_mlir.transforms.materialize_layouts import MaterializeLayoutsPass
from spyre_mlir.transforms.plan_layouts import PlanLayoutsPass
from spyre_mlir.transforms.simplify_functions import SimplifyFunctionsPass

SEEDS = range(60)
SMALL = (1, 2, 3, 4, 6)


@pytest.mark.parametrize("seed", SEEDS)
def test_fold_reindex(seed: int) -> None:
    program = Program(seed, SMALL).grow((*MOVEMENTS, "full"), 8)
    check_equal_bits(program.module(), FoldReindexPass())


@pytest.mark.parametrize("seed", range(15))
def test_fold_reindex_around_sticks(seed: int) -> None:
    program = Program(seed).grow(MOVEMENTS, 6)
    check_equal_bits(program.module(), FoldReindexPass())


@pytest.mark.parametrize("seed", SEEDS)
def test_fold_reindex_into_uses(seed: int) -> None:
    kinds = ("permute", "expand", "merge", "split", "map", "matmul", "matmul")
    program = Program(seed, SMALL).grow(kinds, 8)
    check_equal_bits(program.module(), FoldReindexIntoUsesPass())


@pytest.mark.parametrize("seed", SEEDS)
def test_fuse_maps(seed: int) -> None:
    program = Program(seed, SMALL).grow(("map", "map", "full", "permute"), 8)
    check_equal_bits(program.module(), FuseMapsPass())


@pytest.mark.parametrize("seed", range(15))
def test_fuse_maps_around_sticks(seed: int) -> None:
    program = Program(seed).grow(("map", "map", "full"), 6)
    check_equal_bits(program.module(), FuseMapsPass())


@pytest.mark.parametrize("seed", SEEDS)
def test_simplify_functions(seed: int) -> None:
    program = Program(seed, SMALL).grow(("map",), 6)
    check_equal_bits(program.module(), SimplifyFunctionsPass())


@pytest.mark.parametrize("seed", range(30))
def test_layouts(seed: int) -> None:
    kinds = (*MOVEMENTS, "map", "matmul", "full")
    module = Program(seed, SMALL).grow(kinds, 8).module()
    check_equal_bits(module, PlanLayoutsPass())
    check_equal_bits(module, MaterializeLayoutsPass())


@pytest.mark.parametrize("seed", range(30))
def test_copy_results(seed: int) -> None:
    # A short program returns what is no operation's own.
    program = Program(seed, SMALL).grow((*MOVEMENTS, "map"), seed % 3)
    program.values += program.values[-1:] * (seed % 2)
    check_equal_bits(program.module(), CopyResultsPass())
