# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ktdp kernels compute, on bytes."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spyre_mlir.algebra.layout import DeviceLayout
from spyre_mlir.dialects.ktdp import Ktdp
from spyre_mlir.dialects.spyreop import SpyreOp
from spyre_mlir.interpreters.ktdp import KernelError, interpreted_ops, run_kernel

from .kernels import (
    DRAM,
    LX,
    access,
    box,
    device_places,
    dram_of,
    generic,
    identity,
    kernel,
    parse,
    read,
    run_unary,
    tile,
    unary_module,
    view,
)

# whole kernels


ADD = (
    "%id = ktdp.get_compute_tile_id : index\n"
    "%c16 = arith.constant 16 : index\n%row = arith.muli %id, %c16 : index\n"
    + "".join(
        view(f"v{i}", f"a{i}", (64, 40), "f16")
        + tile(f"t{i}", "memref<64x40xf16>", f"v{i}[%row, %c0]", (16, 40))
        for i in range(3)
    )
    + "%x = ktdp.load %t0 : <16x40xindex> -> tensor<16x40xf16>\n"
    "%y = ktdp.load %t1 : <16x40xindex> -> tensor<16x40xf16>\n"
    "%z = arith.addf %x, %y : tensor<16x40xf16>\n"
    "ktdp.store %z, %t2 : tensor<16x40xf16>, <16x40xindex>\n"
)


def test_each_core_adds_its_rows() -> None:
    a, b = torch.randn(2, 64, 40).half()
    dram, bases = dram_of(a, b, torch.zeros_like(a))
    run_kernel(kernel(ADD, grid=(4,)), bases, dram)
    assert torch.equal(read(dram, bases[2], a), a + b)


def test_fewer_cores_leave_rows_untouched() -> None:
    a, b = torch.randn(2, 64, 40).half()
    dram, bases = dram_of(a, b, torch.zeros_like(a))
    run_kernel(kernel(ADD, grid=(4,)), bases, dram, grid=(3,))
    assert not read(dram, bases[2], a)[48:].any()


@pytest.mark.parametrize("last_fastest", [False, True])
def test_grid_order_says_which_core_is_where(last_fastest: bool) -> None:
    module = kernel(
        "%x, %y = ktdp.get_compute_tile_id : index, index\n"
        "%c10 = arith.constant 10 : index\n%t = arith.muli %x, %c10 : index\n"
        "%s = arith.addi %t, %y : index\n%w = arith.index_cast %s : index to i32\n"
        "%v = tensor.splat %w : tensor<1xi32>\n"
        + view("m", "c0", (1,), "i32", LX)
        + tile("p", "memref<1xi32>", "m[%c0]", (1,))
        + "ktdp.store %v, %p : tensor<1xi32>, <1xindex>\n",
        arguments=0,
        grid=(2, 3),
    )
    machine = run_kernel(
        module, [], torch.zeros(4, dtype=torch.uint8), last_fastest=last_fastest
    )
    found = [int(c.scratchpad.typed(torch.int32)[0]) for c in machine.cores]
    assert found == ([0, 1, 2, 10, 11, 12] if last_fastest else [0, 10, 1, 11, 2, 12])


def test_matmul_carries_its_accumulator_through_a_loop() -> None:
    a, b = torch.randn(32, 64), torch.randn(64, 48)
    module = kernel(
        view("va", "a0", (32, 64), "f32")
        + view("vb", "a1", (64, 48), "f32")
        + view("vc", "a2", (32, 48), "f32")
        + "%c16 = arith.constant 16 : index\n%c64 = arith.constant 64 : index\n"
        "%zero = arith.constant dense<0.0> : tensor<32x48xf32>\n"
        "%r = scf.for %k = %c0 to %c64 step %c16 iter_args(%acc = %zero)"
        " -> (tensor<32x48xf32>) {\n"
        + tile("ta", "memref<32x64xf32>", "va[%c0, %k]", (32, 16))
        + tile("tb", "memref<64x48xf32>", "vb[%k, %c0]", (16, 48))
        + "%x = ktdp.load %ta : <32x16xindex> -> tensor<32x16xf32>\n"
        "%y = ktdp.load %tb : <16x48xindex> -> tensor<16x48xf32>\n"
        "%n = linalg.matmul ins(%x, %y : tensor<32x16xf32>, tensor<16x48xf32>)"
        " outs(%acc : tensor<32x48xf32>) -> tensor<32x48xf32>\n"
        "scf.yield %n : tensor<32x48xf32>\n}\n"
        + tile("tc", "memref<32x48xf32>", "vc[%c0, %c0]", (32, 48))
        + "ktdp.store %r, %tc : tensor<32x48xf32>, <32x48xindex>\n"
    )
    dram, bases = dram_of(a, b, torch.zeros(32, 48))
    run_kernel(module, bases, dram)
    torch.testing.assert_close(read(dram, bases[2], a @ b), a @ b)


def test_clamped_tiles_of_a_sticked_tensor_go_through_the_scratchpad() -> None:
    """Staged form: DRAM to LX, one generic on LX, LX to DRAM; 70 columns on 3 cores."""
    layout = DeviceLayout((1, 0, 1))
    shape = (10, 70)
    strides = layout.dim_strides(shape, 64)
    local = (10, 64)
    local_strides = layout.dim_strides(local, 64)
    sticked = "#spyre.layout<array<i64: 1, 0, 1>>"
    dram_type = f"memref<10x70xf16, {sticked}>"
    lx_type = f"memref<10x64xf16, {sticked}>"
    body = (
        "%id = ktdp.get_compute_tile_id : index\n"
        "%c640 = arith.constant 640 : index\n%c64 = arith.constant 64 : index\n"
        "%col = arith.muli %id, %c64 : index\n"
        "%left = affine.min affine_map<(d0) -> (64, 70 - d0)> (%col)\n"
        "%n = arith.maxsi %left, %c0 : index\n"
        + view("v0", "a0", shape, "f16", DRAM, strides, layout)
        + view("v1", "a1", shape, "f16", DRAM, strides, layout)
        + view("l0", "c0", local, "f16", LX, local_strides, layout)
        + view("l1", "c640", local, "f16", LX, local_strides, layout)
        + "".join(
            f"%{name} = ktdp.construct_access_tile %{at} symbols(%n) "
            f"{{access_tile_set = {box(10, 's0')}, access_tile_order = {identity(2)}}}"
            f" : {type_} -> !ktdp.access_tile<10x?xindex>\n"
            for name, at, type_ in (
                ("td0", "v0[%c0, %col]", dram_type),
                ("td1", "v1[%c0, %col]", dram_type),
                ("tl0", "l0[%c0, %c0]", lx_type),
                ("tl1", "l1[%c0, %c0]", lx_type),
            )
        )
        + """
    %x = ktdp.load %td0 : <10x?xindex> -> tensor<10x?xf16>
    ktdp.store %x, %tl0 : tensor<10x?xf16>, <10x?xindex>
    %y = ktdp.load %tl0 : <10x?xindex> -> tensor<10x?xf16>
    %e = tensor.empty(%n) : tensor<10x?xf16>
    %z = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
        affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%y : tensor<10x?xf16>) outs(%e : tensor<10x?xf16>) {
    ^bb0(%p: f16, %q: f16):
      %r = math.exp %p : f16
      %s = spyreop.fn "relu"(%r) : (f16) -> f16
      linalg.yield %s : f16
    } -> tensor<10x?xf16>
    ktdp.store %z, %tl1 : tensor<10x?xf16>, <10x?xindex>
    %w = ktdp.load %tl1 : <10x?xindex> -> tensor<10x?xf16>
    ktdp.store %w, %td1 : tensor<10x?xf16>, <10x?xindex>
"""
    )
    x = torch.randn(shape).half()
    elements = layout.elements(shape, 64)
    device = torch.zeros(2 * elements, dtype=torch.float16)
    place = device_places(layout, shape, 64)
    device[place] = x
    dram = device.view(torch.uint8)
    run_kernel(kernel(body, 2, (3,)), [0, elements], dram)
    out = dram.view(torch.float16)[elements:]
    assert torch.equal(out[place], x.float().exp().half())
    padding = torch.ones(elements, dtype=torch.bool)
    padding[place.reshape(-1)] = False
    assert not out[padding].any()


SIZES = st.sampled_from([1, 2, 3, 31, 32, 63, 64, 65, 127, 128, 129])


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_box_of_any_layout_is_gathered(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    shape = [data.draw(SIZES) if rank < 3 else data.draw(st.sampled_from([1, 3, 65]))
             for _ in range(rank)]  # fmt: skip
    dtype = data.draw(st.sampled_from(["f16", "f32", "i64"]))
    kinds = {"f16": torch.float16, "f32": torch.float32, "i64": torch.int64}
    eps = 128 // kinds[dtype].itemsize
    layout = data.draw(
        st.sampled_from(
            [DeviceLayout.default(rank), DeviceLayout.sparse(rank)]
            + [DeviceLayout.with_stick(rank, d) for d in range(rank)]
        )
    )
    low = [data.draw(st.integers(0, size - 1)) for size in shape]
    extent = [
        data.draw(st.integers(1, size - at))
        for size, at in zip(shape, low, strict=True)
    ]
    dims = ", ".join(map(str, layout.dims))
    type_ = "x".join([*map(str, shape), dtype])
    source = f"memref<{type_}, #spyre.layout<array<i64: {dims}>>>"
    at = ", ".join(f"%c0 + {i}" for i in low)
    value = "x".join([*map(str, extent), dtype])
    zeros = ", ".join(["%c0"] * rank)
    module = kernel(
        view("v", "a0", shape, dtype, DRAM, layout.dim_strides(shape, eps), layout)
        + tile("t", source, f"v[{at}]", extent)
        + f"%x = ktdp.load %t : {access(extent)} -> tensor<{value}>\n"
        + view("w", "a1", extent, dtype)
        + tile("u", f"memref<{value}>", f"w[{zeros}]", extent)
        + f"ktdp.store %x, %u : tensor<{value}>, {access(extent)}\n",
        arguments=2,
    )
    elements = layout.elements(shape, eps)
    out = torch.zeros(extent, dtype=kinds[dtype])
    device = torch.randint(-9, 9, (elements + out.numel(),)).to(kinds[dtype])
    dram = device.clone().view(torch.uint8)
    run_kernel(module, [0, elements], dram)
    host = device[device_places(layout, shape, eps)]
    box_ = tuple(slice(a, a + n) for a, n in zip(low, extent, strict=True))
    assert torch.equal(read(dram, elements, out), host[box_])


# element types


def test_a_bool_takes_16_bits() -> None:
    module = unary_module(
        "4xi1",
        "%t1 = arith.constant dense<true> : tensor<4xi1>\n"
        "%y = arith.xori %x, %t1 : tensor<4xi1>\n",
    )
    x = torch.tensor([True, False, False, True])
    out = run_unary(module, x, torch.zeros(4, dtype=torch.int16))
    assert out.tolist() == [0, 1, 1, 0]


def test_every_scalar_function_rounds() -> None:
    """1 + 2^-12 is lost in f16, so that the difference is zero."""
    module = unary_module(
        "1xf16",
        "%e = arith.constant dense<0.000244140625> : tensor<1xf16>\n"
        "%s = arith.addf %x, %e : tensor<1xf16>\n"
        "%y = arith.subf %s, %x : tensor<1xf16>\n",
    )
    out = run_unary(module, torch.ones(1).half(), torch.zeros(1).half())
    assert out.item() == 0


def test_scratchpads_start_as_nan() -> None:
    module = kernel(
        view("m", "c0", (3,), "f16", LX)
        + tile("p", "memref<3xf16>", "m[%c0]", (3,))
        + "%x = ktdp.load %p : <3xindex> -> tensor<3xf16>\n"
        + view("v", "a0", (3,), "f16")
        + tile("q", "memref<3xf16>", "v[%c0]", (3,))
        + "ktdp.store %x, %q : tensor<3xf16>, <3xindex>\n",
        arguments=1,
    )
    dram = torch.zeros(6, dtype=torch.uint8)
    run_kernel(module, [0], dram)
    assert dram.view(torch.float16).isnan().all()


# linalg


def test_a_sum_of_halves_accumulates_in_f32() -> None:
    """4096 ones and then 2048 halves: f16 alone would stop at 2048."""
    body = "%z = arith.constant dense<0.0> : tensor<2xf16>\n" + generic(
        ["(i, j) -> (i, j)", "(i, j) -> (i)"],
        "pr",
        "%x : tensor<2x5000xf16>",
        "%z : tensor<2xf16>",
        "^bb0(%p: f16, %q: f16):\n%r = arith.addf %p, %q : f16\nlinalg.yield %r : f16",
        "tensor<2xf16>",
    )
    x = torch.ones(2, 5000).half()
    out = run_unary(unary_module("2x5000xf16", body, "2xf16"), x, torch.zeros(2).half())
    assert out.tolist() == [5000.0, 5000.0]


def test_a_fused_chain_ends_in_a_maximum() -> None:
    body = "%z = arith.constant dense<-1.0e4> : tensor<7xf16>\n" + generic(
        ["(i, j) -> (j, i)", "(i, j) -> (i)"],
        "pr",
        "%x : tensor<5x7xf16>",
        "%z : tensor<7xf16>",
        "^bb0(%p: f16, %q: f16):\n%n = arith.negf %p : f16\n"
        "%r = arith.maximumf %q, %n : f16\nlinalg.yield %r : f16",
        "tensor<7xf16>",
    )
    x = torch.randn(5, 7).half()
    out = run_unary(unary_module("5x7xf16", body, "7xf16"), x, torch.zeros(7).half())
    assert torch.equal(out, (-x).amax(0))


def test_a_reduction_of_two_results_runs_in_order() -> None:
    """argmax: no combiner of one value, so every point is run."""
    body = (
        "%m0 = arith.constant dense<-1.0e4> : tensor<3xf32>\n"
        "%i0 = arith.constant dense<-1> : tensor<3xi32>\n"
        "%m, %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, "
        "affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = "
        '["parallel", "reduction"]} ins(%x : tensor<3x9xf32>) '
        "outs(%m0, %i0 : tensor<3xf32>, tensor<3xi32>) {\n"
        "^bb0(%n: f32, %best: f32, %at: i32):\n"
        "%j = linalg.index 1 : index\n%k = arith.index_cast %j : index to i32\n"
        "%g = arith.cmpf ogt, %n, %best : f32\n"
        "%nb = arith.select %g, %n, %best : f32\n"
        "%na = arith.select %g, %k, %at : i32\n"
        "linalg.yield %nb, %na : f32, i32\n} -> tensor<3xf32>, tensor<3xi32>\n"
    )
    x = torch.randn(3, 9)
    out = run_unary(
        unary_module("3x9xf32", body, "3xi32"), x, torch.zeros(3, dtype=torch.int32)
    )
    assert out.tolist() == x.argmax(1).tolist()


def test_bools_are_reduced_by_or() -> None:
    body = "%z = arith.constant dense<false> : tensor<3xi1>\n" + generic(
        ["(i, j) -> (i, j)", "(i, j) -> (i)"],
        "pr",
        "%x : tensor<3x70xi1>",
        "%z : tensor<3xi1>",
        "^bb0(%p: i1, %q: i1):\n%r = arith.ori %p, %q : i1\nlinalg.yield %r : i1",
        "tensor<3xi1>",
    )
    x = torch.zeros(3, 70, dtype=torch.bool)
    x[1, 69] = True
    like = torch.zeros(3, dtype=torch.int16)
    assert run_unary(unary_module("3x70xi1", body, "3xi1"), x, like).tolist() == [
        0,
        1,
        0,
    ]


def test_a_product_summed_up_is_a_contraction_of_halves() -> None:
    body = "%z = arith.constant dense<0.0> : tensor<6x6xf32>\n" + generic(
        ["(m, n, k) -> (m, k)", "(m, n, k) -> (n, k)", "(m, n, k) -> (m, n)"],
        "ppr",
        "%x, %x : tensor<6x200xf16>, tensor<6x200xf16>",
        "%z : tensor<6x6xf32>",
        "^bb0(%p: f16, %q: f16, %c: f32):\n%a = arith.extf %p : f16 to f32\n"
        "%b = arith.extf %q : f16 to f32\n%r = arith.mulf %a, %b : f32\n"
        "%s = arith.addf %c, %r : f32\nlinalg.yield %s : f32",
        "tensor<6x6xf32>",
    )
    x = torch.randn(6, 200).half()
    out = run_unary(unary_module("6x200xf16", body, "6x6xf32"), x, torch.zeros(6, 6))
    torch.testing.assert_close(out, x.float() @ x.float().T)


def test_maps_may_broadcast_and_shift() -> None:
    body = "%e = tensor.empty() : tensor<4x5xi32>\n" + generic(
        ["(i, j) -> (0, j + 2)", "(i, j) -> (i, j)"],
        "pp",
        "%x : tensor<1x8xi32>",
        "%e : tensor<4x5xi32>",
        "^bb0(%p: i32, %q: i32):\n%i = linalg.index 0 : index\n"
        "%k = arith.index_cast %i : index to i32\n%r = arith.addi %p, %k : i32\n"
        "linalg.yield %r : i32",
        "tensor<4x5xi32>",
    )
    x = torch.arange(8, dtype=torch.int32).reshape(1, 8)
    like = torch.zeros(4, 5, dtype=torch.int32)
    out = run_unary(unary_module("1x8xi32", body, "4x5xi32"), x, like)
    assert torch.equal(out, x[:, 2:7] + torch.arange(4, dtype=torch.int32)[:, None])


def test_named_ops_reduce_transpose_and_broadcast() -> None:
    body = (
        "%z = arith.constant dense<0.0> : tensor<3xf32>\n"
        "%s = linalg.reduce ins(%x:tensor<3x4xf32>) outs(%z:tensor<3xf32>)"
        " dimensions = [1]\n(%p: f32, %q: f32) {\n%r = arith.addf %p, %q : f32\n"
        "linalg.yield %r : f32\n}\n"
        "%e = tensor.empty() : tensor<3x4xf32>\n"
        "%b = linalg.broadcast ins(%s:tensor<3xf32>) outs(%e:tensor<3x4xf32>)"
        " dimensions = [1]\n"
        "%d = linalg.sub ins(%x, %b : tensor<3x4xf32>, tensor<3x4xf32>)"
        " outs(%e : tensor<3x4xf32>) -> tensor<3x4xf32>\n"
        "%f = tensor.empty() : tensor<4x3xf32>\n"
        "%y = linalg.transpose ins(%d:tensor<3x4xf32>) outs(%f:tensor<4x3xf32>)"
        " permutation = [1, 0]\n"
    )
    x = torch.randn(3, 4)
    out = run_unary(unary_module("3x4xf32", body, "4x3xf32"), x, torch.zeros(4, 3))
    torch.testing.assert_close(out, (x - x.sum(1, keepdim=True)).T)


# indirect and distributed


def test_rows_are_gathered_by_an_index_view() -> None:
    table = torch.randn(20, 8).half()
    rows = torch.tensor([3, 3, 19, 0], dtype=torch.int64)
    module = kernel(
        view("v", "a0", (20, 8), "f16")
        + view("i", "a1", (4,), "i64")
        + view("w", "a2", (4, 8), "f16")
        + "%t = ktdp.construct_indirect_access_tile intermediate_variables(%m, %k) "
        f"%v[ind(%i[%m]), (7 - %k)] {{variables_space_set = {box(4, 8)}, "
        f"variables_space_order = {identity(2)}}} : memref<20x8xf16>, memref<4xi64> "
        "-> !ktdp.access_tile<4x8xindex>\n"
        "%x = ktdp.load %t : <4x8xindex> -> tensor<4x8xf16>\n"
        + tile("u", "memref<4x8xf16>", "w[%c0, %c0]", (4, 8))
        + "ktdp.store %x, %u : tensor<4x8xf16>, <4x8xindex>\n"
    )
    dram, bases = dram_of(table, rows, torch.zeros(4, 8).half())
    run_kernel(module, bases, dram)
    assert torch.equal(read(dram, bases[2], table[rows]), table[rows].flip(1))


def test_a_tile_of_a_distributed_view_spans_its_parts() -> None:
    a, b = torch.randn(3, 4), torch.randn(5, 4)
    low = "affine_set<(d0, d1) : (d0 >= 0, -d0 + 2 >= 0, d1 >= 0, -d1 + 3 >= 0)>"
    high = "affine_set<(d0, d1) : (d0 - 3 >= 0, -d0 + 7 >= 0, d1 >= 0, -d1 + 3 >= 0)>"
    module = kernel(
        view("v", "a0", (3, 4), "f32", coordinates=low)
        + view("w", "a1", (5, 4), "f32", coordinates=high)
        + "%d = ktdp.construct_distributed_memory_view (%v, %w : memref<3x4xf32>, "
        "memref<5x4xf32>) : memref<8x4xf32>\n"
        + tile("t", "memref<8x4xf32>", "d[%c0 + 1, %c0]", (4, 4))
        + "%x = ktdp.load %t : <4x4xindex> -> tensor<4x4xf32>\n"
        + view("o", "a2", (4, 4), "f32")
        + tile("u", "memref<4x4xf32>", "o[%c0, %c0]", (4, 4))
        + "ktdp.store %x, %u : tensor<4x4xf32>, <4x4xindex>\n"
    )
    dram, bases = dram_of(a, b, torch.zeros(4, 4))
    run_kernel(module, bases, dram)
    assert torch.equal(read(dram, bases[2], torch.zeros(4, 4)), torch.cat([a, b])[1:5])


def test_another_cores_scratchpad_is_read_by_its_number() -> None:
    """Core 0 has run before core 1 reads what it left."""
    module = kernel(
        "%id = ktdp.get_compute_tile_id : index\n"
        "%w = arith.index_cast %id : index to i32\n"
        "%n = tensor.splat %w : tensor<1xi32>\n"
        + view("own", "c0", (1,), "i32", LX)
        + view("first", "c0", (1,), "i32", "#ktdp.spyre_memory_space<LX, core = 0>")
        + view("out", "a0", (2,), "i32")
        + tile("p", "memref<1xi32>", "own[%c0]", (1,))
        + "ktdp.store %n, %p : tensor<1xi32>, <1xindex>\n"
        + tile("q", "memref<1xi32>", "first[%c0]", (1,))
        + "%x = ktdp.load %q : <1xindex> -> tensor<1xi32>\n"
        + tile("r", "memref<2xi32>", "out[%id]", (1,))
        + "ktdp.store %x, %r : tensor<1xi32>, <1xindex>\n",
        arguments=1,
        grid=(2,),
    )
    dram = torch.full((8,), 7, dtype=torch.uint8)
    run_kernel(module, [0], dram)
    assert dram.view(torch.int32).tolist() == [0, 0]


# errors


@pytest.mark.parametrize(
    ("row", "base", "message"),
    [
        (1, 0, r"ktdp.load %x.*coordinates 1 to 4 of dimension 0 are out of bounds"),
        (0, 1, r"ktdp.load %x.*out of bounds of DRAM"),
    ],
)
def test_out_of_bounds_names_the_op(row: int, base: int, message: str) -> None:
    module = kernel(
        view("v", "a0", (4,), "f16")
        + tile("t", "memref<4xf16>", "v[%a1]", (4,))
        + "%x = ktdp.load %t : <4xindex> -> tensor<4xf16>\n",
        arguments=2,
    )
    with pytest.raises(KernelError, match=message):
        run_kernel(module, [base, row], torch.zeros(8, dtype=torch.uint8))


@pytest.mark.parametrize(
    ("value", "message"),
    [(7, "no multiple of its granularity 3"), (303, "exceeds its upperbound 300")],
)
def test_a_launch_argument_keeps_its_type(value: int, message: str) -> None:
    type_ = "!ktdp.runtime_arg<index, granularity=3, upperbound=300>"
    module = parse(
        f"func.func @k(%n: {type_}) attributes {{grid = [1]}} {{\n"
        f"%v = ktdp.runtime_arg_extract value from %n : {type_} -> index\n"
        "func.return\n}\n"
    )
    dram = torch.zeros(2, dtype=torch.uint8)
    run_kernel(module, [300], dram)
    with pytest.raises(KernelError, match=message):
        run_kernel(module, [value], dram)


def test_an_intrinsic_without_published_meaning_is_refused() -> None:
    module = kernel(
        "%x = arith.constant 1.0 : f16\n%m, %s = spyreop.exx2 %x : f16\n", arguments=0
    )
    with pytest.raises(KernelError, match=r"does not say what it computes"):
        run_kernel(module, [], torch.zeros(2, dtype=torch.uint8))


def test_every_op_of_our_dialects_has_a_meaning() -> None:
    known = interpreted_ops()
    ops = (*Ktdp.operations, *SpyreOp.operations)
    assert not [op.name for op in ops if op not in known]


UNSIGNED = """
func.func @k(%base: index, %n: i32) attributes {{grid = [1]}} {{
  %c0 = arith.constant 0 : index
  %v = ktdp.construct_memory_view %base, sizes: [4], strides: [1] {{
    coordinate_set = {box}, memory_space = {DRAM}
  }} : memref<4xi32>
  %t = ktdp.construct_access_tile %v[%c0] {{
    access_tile_set = {box}, access_tile_order = {same}
  }} : memref<4xi32> -> !ktdp.access_tile<4xindex>
  %x = ktdp.load %t : !ktdp.access_tile<4xindex> -> tensor<4xi32>
  %e = tensor.empty() : tensor<4xi32>
  %y = linalg.generic {{
    indexing_maps = [{same}, {same}], iterator_types = ["parallel"]
  }} ins(%x : tensor<4xi32>) outs(%e : tensor<4xi32>) {{
  ^bb0(%a: i32, %o: i32):
    %i = linalg.index 0 : index
    %c2 = arith.constant 2 : index
    %half = arith.divui %i, %c2 : index
    %more = arith.index_cast %half : index to i32
    %q = arith.divui %a, %n : i32
    %above = arith.cmpi ugt, %a, %n : i32
    %chosen = arith.select %above, %q, %more : i32
    linalg.yield %chosen : i32
  }} -> tensor<4xi32>
  ktdp.store %y, %t : tensor<4xi32>, !ktdp.access_tile<4xindex>
  func.return
}}
"""


def test_unsigned_arithmetic_reads_the_top_bit_as_a_number() -> None:
    text = UNSIGNED.format(box=box(4), DRAM=DRAM, same=identity(1))
    dram = torch.tensor([-1, 3, 1, -2], dtype=torch.int32).view(torch.uint8)
    run_kernel(parse(text), [0, 2], dram)
    expected = [0xFFFFFFFF // 2, 1, 1, 0xFFFFFFFE // 2]
    assert dram.view(torch.int32).tolist() == expected


LIVE = """
func.func @k(%base: index, %n: index) attributes {{grid = [1]}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = ktdp.construct_memory_view %base, sizes: [1024], strides: [1] {{
    coordinate_set = {box}, memory_space = {DRAM}
  }} : memref<1024xf16>
  %t = ktdp.construct_access_tile %v[%c0] {{
    access_tile_set = {box}, access_tile_order = {same}
  }} : memref<1024xf16> -> !ktdp.access_tile<1024xindex>
  %a = ktdp.load %t : !ktdp.access_tile<1024xindex> -> tensor<1024xf16>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %a) -> (tensor<1024xf16>) {{
    %b = ktdp.load %t : !ktdp.access_tile<1024xindex> -> tensor<1024xf16>
    %u = arith.addf %s, %b : tensor<1024xf16>
    scf.yield %u : tensor<1024xf16>
  }}
  ktdp.store %r, %t : tensor<1024xf16>, !ktdp.access_tile<1024xindex>
  func.return
}}
"""


def test_tensors_alive_together_must_fit_the_scratchpad() -> None:
    """The carried tensor, what is loaded and their sum: the load is read by the sum."""
    module = parse(LIVE.format(box=box(1024), DRAM=DRAM, same=identity(1)))
    dram = torch.ones(1024, dtype=torch.float16).view(torch.uint8)
    run_kernel(module, [0, 5], dram, lx_bytes=2 * 2048)
    assert (dram.view(torch.float16) == 6).all()
    with pytest.raises(KernelError, match=r"4096 bytes are alive here.* has 4095"):
        run_kernel(module, [0, 5], dram, lx_bytes=4095)
