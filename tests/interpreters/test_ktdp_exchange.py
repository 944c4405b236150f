# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What cores receive from one another in ktdp kernels."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from xdsl.dialects.builtin import ModuleOp

from spyre_mlir.interpreters.ktdp import DeadlockError, run_kernel

from .kernels import access, dram_of, kernel, read, tile, view


def exchange(
    deliver: str,
    result: str,
    producers: str = "(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)",
    partial: str = "2x4xf32",
    groups: int = 2,
    loop: bool = False,
) -> ModuleOp:
    """Eight cores contribute rows of argument 0; what each receives: argument 1."""
    rows, columns = (int(s) for s in partial.split("x")[:2])
    out_rows, out_columns = (int(s) for s in result.split("x")[:2])
    source = f"{8 * rows}x{columns}xf32"
    target = f"{8 * out_rows}x{out_columns}xf32"
    future = (
        f"!ktdp.tile_future<(tensor<{partial}>), groups = "
        f"affine_set<(g) : (g >= 0, -g + {groups - 1} >= 0)>>"
    )
    core = (
        f"%f = ktdp.inter_tile_produce producer_tiles_per_group = "
        f"affine_set<{producers}> -> {future} {{\n^bb0(%g: index):\n"
        f"ktdp.yield_partial %x : tensor<{partial}>\n}}\n"
        + deliver.replace("FUTURE", future)
        + f"ktdp.store %r, %u : tensor<{result}>, {access((out_rows, out_columns))}\n"
    )
    if loop:
        core = (
            "%c1 = arith.constant 1 : index\n%c3 = arith.constant 3 : index\n"
            f"scf.for %it = %c0 to %c3 step %c1 {{\n{core}}}\n"
        )
    return kernel(
        "%id = ktdp.get_compute_tile_id : index\n"
        + view("v", "a0", (8 * rows, columns), "f32")
        + tile("t", f"memref<{source}>", f"v[%id * {rows}, %c0]", (rows, columns))
        + f"%x = ktdp.load %t : {access((rows, columns))} -> tensor<{partial}>\n"
        + view("w", "a1", (8 * out_rows, out_columns), "f32")
        + tile(
            "u",
            f"memref<{target}>",
            f"w[%id * {out_rows}, %c0]",
            (out_rows, out_columns),
        )
        + core,
        arguments=2,
        grid=(8,),
    )


def run_exchange(module: ModuleOp, x: Tensor, rows: int, columns: int) -> Tensor:
    """Per core: what it received."""
    out = torch.zeros(8 * rows, columns)
    dram, bases = dram_of(x, out)
    run_kernel(module, bases, dram)
    return read(dram, bases[1], out).reshape(8, rows, columns)


ALL = "affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>"
FIRST = "(i)[g] : (i - 4 * g == 0)"
COMBINER = (
    "{\n^bb0(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>):\n"
    "%s = arith.addf %a, %b : tensor<2x4xf32>\n"
    "ktdp.yield_reduced %s : tensor<2x4xf32>\n}\n"
)
ZERO = "%zero = arith.constant dense<0.0> : tensor<2x4xf32>\n"


@pytest.mark.parametrize("loop", [False, True])
def test_reduce_gives_every_consumer_its_groups_sum(loop: bool) -> None:
    module = exchange(
        f"{ZERO}%r = ktdp.inter_tile_reduce(%f) consumer_tiles_per_group = {ALL}, "
        f"identity(%zero : tensor<2x4xf32>) : FUTURE -> tensor<2x4xf32> {COMBINER}",
        "2x4xf32",
        loop=loop,
    )
    x = torch.randn(16, 4)
    got = run_exchange(module, x, 2, 4)
    want = x.reshape(2, 4, 2, 4).sum(1)
    torch.testing.assert_close(got, want.repeat_interleave(4, 0))


def test_a_reduction_may_drop_the_unit_sizes_of_its_partials() -> None:
    bare = "tensor<4xf32>"
    module = exchange(
        f"%zero = arith.constant dense<0.0> : {bare}\n"
        f"%q = ktdp.inter_tile_reduce(%f) consumer_tiles_per_group = {ALL}, "
        f"identity(%zero : {bare}) : FUTURE -> {bare} {{\n"
        f"^bb0(%a: {bare}, %b: {bare}):\n"
        f"%s = arith.addf %a, %b : {bare}\nktdp.yield_reduced %s : {bare}\n}}\n"
        f"%r = tensor.expand_shape %q [[0, 1]] output_shape [1, 4] : {bare} into "
        "tensor<1x4xf32>\n",
        "1x4xf32",
        partial="1x4xf32",
    )
    x = torch.randn(8, 4)
    want = x.reshape(2, 4, 4).sum(1).repeat_interleave(4, 0)
    torch.testing.assert_close(run_exchange(module, x, 1, 4)[:, 0], want)


def test_a_tile_that_is_no_consumer_receives_nothing() -> None:
    module = exchange(
        f"{ZERO}%r = ktdp.inter_tile_reduce(%f) consumer_tiles_per_group = "
        f"affine_set<{FIRST}>, identity(%zero : tensor<2x4xf32>) : FUTURE -> "
        f"tensor<2x4xf32> {COMBINER}",
        "2x4xf32",
    )
    got = run_exchange(module, torch.randn(16, 4), 2, 4)
    assert [bool(core.isnan().all()) for core in got] == [i % 4 != 0 for i in range(8)]


def test_consume_broadcasts_from_one_producer() -> None:
    module = exchange(
        f"%r = ktdp.inter_tile_consume(%f) consumer_tiles_per_group = {ALL} "
        ": FUTURE -> tensor<2x4xf32>\n",
        "2x4xf32",
        producers=FIRST,
    )
    x = torch.randn(16, 4)
    got = run_exchange(module, x, 2, 4)
    assert torch.equal(got, x.reshape(8, 2, 4)[[0, 0, 0, 0, 4, 4, 4, 4]])


def test_consume_routes_along_a_dependency() -> None:
    module = exchange(
        f"%r = ktdp.inter_tile_consume(%f) consumer_tiles_per_group = {ALL}, "
        "producer_dependency_per_consumer = affine_set<(p)[c, g] : "
        "(p + c - 8 * g - 3 == 0)> : FUTURE -> tensor<2x4xf32>\n",
        "2x4xf32",
    )
    x = torch.randn(16, 4)
    got = run_exchange(module, x, 2, 4)
    assert torch.equal(got, x.reshape(8, 2, 4)[[3, 2, 1, 0, 7, 6, 5, 4]])


def test_gather_counts_like_an_odometer() -> None:
    module = exchange(
        f"%r = ktdp.inter_tile_gather(%f) consumer_tiles_per_group = {ALL}, "
        "gather_dimensions = [0, 1] : FUTURE -> tensor<4x8xf32>\n",
        "4x8xf32",
    )
    x = torch.randn(16, 4)
    got = run_exchange(module, x, 4, 8)
    p = x.reshape(8, 2, 4)
    want = torch.cat([torch.cat([p[0], p[1]], 1), torch.cat([p[2], p[3]], 1)])
    assert torch.equal(got[3], want)


def test_scatter_hands_out_slices() -> None:
    module = exchange(
        f"%r = ktdp.inter_tile_scatter(%f) consumer_tiles_per_group = {ALL}, "
        "scatter_dimensions = [0, 1] : FUTURE -> tensor<1x2xf32>\n",
        "1x2xf32",
        producers=FIRST,
    )
    x = torch.randn(16, 4)
    got = run_exchange(module, x, 1, 2)
    p = x.reshape(8, 2, 4)
    assert torch.equal(got[6], p[4][1:2, :2])


def test_reduce_scatter_hands_out_slices_of_the_sum() -> None:
    module = exchange(
        f"{ZERO}%r = ktdp.inter_tile_reduce_scatter(%f) consumer_tiles_per_group = "
        f"{ALL}, scatter_dimensions = [1], identity(%zero : tensor<2x4xf32>) : "
        f"FUTURE -> tensor<2x1xf32> {COMBINER}",
        "2x1xf32",
    )
    x = torch.randn(16, 4)
    got = run_exchange(module, x, 2, 1)
    want = x.reshape(2, 4, 2, 4).sum(1)
    torch.testing.assert_close(got[5], want[1][:, 1:2])


def test_all_to_all_swaps_what_is_split() -> None:
    module = exchange(
        f"%r = ktdp.inter_tile_all_to_all(%f) consumer_tiles_per_group = {ALL}, "
        "split_dimensions = [1], concat_dimensions = [0] : FUTURE -> "
        "tensor<8x1xf32>\n",
        "8x1xf32",
    )
    x = torch.randn(16, 4)
    got = run_exchange(module, x, 8, 1)
    assert torch.equal(got[2], x[:8, 2:3])


def test_a_producer_that_never_comes_is_a_deadlock() -> None:
    """Core 0 skips the production that core 1 waits for."""
    both = "affine_set<(i)[g] : (i >= 0, -i + 1 >= 0)>"
    future = "!ktdp.tile_future<(tensor<1xf32>), groups = affine_set<(g) : (g == 0)>>"
    module = kernel(
        "%id = ktdp.get_compute_tile_id : index\n"
        "%x = arith.constant dense<1.0> : tensor<1xf32>\n"
        "%go = arith.cmpi eq, %id, %a0 : index\nscf.if %go {\n"
        f"%f = ktdp.inter_tile_produce producer_tiles_per_group = {both} -> {future} "
        "{\n^bb0(%g: index):\nktdp.yield_partial %x : tensor<1xf32>\n}\n"
        f"%r = ktdp.inter_tile_gather(%f) consumer_tiles_per_group = {both}, "
        f"gather_dimensions = [0] : {future} -> tensor<2xf32>\n}}\n",
        arguments=1,
        grid=(2,),
    )
    with pytest.raises(DeadlockError, match=r"core 1 waits for \[0\] in .*gather %r"):
        run_kernel(module, [1], torch.zeros(4, dtype=torch.uint8))
