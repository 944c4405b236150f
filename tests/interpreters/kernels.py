# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels in text, and the bytes they run on."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from xdsl.context import Context
from xdsl.dialects import affine, arith, func, linalg, math, scf, tensor
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser

from spyre_mlir.algebra.layout import DeviceLayout
from spyre_mlir.dialects.ktdp import Ktdp
from spyre_mlir.dialects.spyre import Spyre
from spyre_mlir.dialects.spyreop import SpyreOp
from spyre_mlir.interpreters.ktdp import run_kernel

DIALECTS = (
    Builtin,
    affine.Affine,
    arith.Arith,
    func.Func,
    linalg.Linalg,
    math.Math,
    scf.Scf,
    tensor.Tensor,
    Ktdp,
    Spyre,
    SpyreOp,
)
DRAM = "#ktdp.memory_space<global>"
LX = "#ktdp.memory_space<ct_local>"


def parse(text: str) -> ModuleOp:
    context = Context()
    for dialect in DIALECTS:
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def box(*extents: int | str) -> str:
    """The affine_set of a box; a name is the next symbol."""
    dims = ", ".join(f"d{i}" for i in range(len(extents)))
    names = [e for e in extents if isinstance(e, str)]
    symbols = f"[{', '.join(names)}]" if names else ""
    rules = ", ".join(f"d{i} >= 0, -d{i} + {e} - 1 >= 0" for i, e in enumerate(extents))
    return f"affine_set<({dims}){symbols} : ({rules})>"


def identity(rank: int) -> str:
    dims = ", ".join(f"d{i}" for i in range(rank))
    return f"affine_map<({dims}) -> ({dims})>"


def view(
    name: str,
    base: str,
    shape: Sequence[int],
    dtype: str,
    space: str = DRAM,
    strides: Sequence[int] | None = None,
    layout: DeviceLayout | None = None,
    coordinates: str | None = None,
) -> str:
    """A construct_memory_view line."""
    type_ = "x".join([*map(str, shape), dtype])
    if layout is not None:
        dims = ", ".join(map(str, layout.dims))
        type_ += f", #spyre.layout<array<i64: {dims}>>"
    if strides is None:
        strides = list(torch.empty(tuple(shape), device="meta").stride())
    return (
        f"%{name} = ktdp.construct_memory_view %{base}, sizes: {list(shape)}, "
        f"strides: {list(strides)} {{coordinate_set = {coordinates or box(*shape)}, "
        f"memory_space = {space}}} : memref<{type_}>\n"
    )


def tile(
    name: str, view_type: str, at: str, shape: Sequence[int], symbols: str = ""
) -> str:
    """A construct_access_tile line; `at` is `view[...]`."""
    extents = "x".join([*map(str, shape), "index"])
    return (
        f"%{name} = ktdp.construct_access_tile %{at} {symbols} "
        f"{{access_tile_set = {box(*shape)}, access_tile_order = "
        f"{identity(len(shape))}}} : {view_type} -> !ktdp.access_tile<{extents}>\n"
    )


def kernel(body: str, arguments: int = 3, grid: Sequence[int] = (1,)) -> ModuleOp:
    given = ", ".join(f"%a{i}: index" for i in range(arguments))
    return parse(
        f"func.func @k({given}) attributes {{grid = {list(grid)}}} {{\n"
        f"%c0 = arith.constant 0 : index\n{body}\nfunc.return\n}}\n"
    )


def dram_of(*tensors: Tensor, extra: int = 0) -> tuple[Tensor, list[int]]:
    """Bytes that hold the tensors back to back, and their element bases."""
    data = torch.cat([t.contiguous().reshape(-1).view(torch.uint8) for t in tensors])
    bases: list[int] = []
    offset = 0
    for value in tensors:
        bases.append(offset // value.element_size())
        offset += value.numel() * value.element_size()
    return torch.cat([data, torch.zeros(extra, dtype=torch.uint8)]), bases


def read(dram: Tensor, base: int, like: Tensor) -> Tensor:
    flat = dram.view(like.dtype)[base : base + like.numel()]
    return flat.reshape(like.shape)


def unary_module(shape: str, body: str, result: str | None = None) -> ModuleOp:
    """A one-core kernel: load argument 0, `body` from %x to %y, store argument 1."""
    source = [int(s) for s in shape.split("x")[:-1]]
    target = result or shape
    goal = [int(s) for s in target.split("x")[:-1]]
    zeros = ", ".join(["%c0"] * len(source))
    goal_zeros = ", ".join(["%c0"] * len(goal))
    element, goal_element = shape.split("x")[-1], target.split("x")[-1]
    return kernel(
        view("v", "a0", source, element)
        + tile("t", f"memref<{shape}>", f"v[{zeros}]", source)
        + f"%x = ktdp.load %t : {access(source)} -> tensor<{shape}>\n"
        + body
        + view("w", "a1", goal, goal_element)
        + tile("u", f"memref<{target}>", f"w[{goal_zeros}]", goal)
        + f"ktdp.store %y, %u : tensor<{target}>, {access(goal)}\n",
        arguments=2,
    )


def access(shape: Sequence[int]) -> str:
    return "!ktdp.access_tile<" + "x".join([*map(str, shape), "index"]) + ">"


def run_unary(module: ModuleOp, x: Tensor, like: Tensor) -> Tensor:
    dram, bases = dram_of(x.to(torch.int16) if x.dtype == torch.bool else x)
    start = -(-dram.numel() // 128) * 128
    dram = torch.cat([dram, torch.zeros(start + like.nbytes, dtype=torch.uint8)])
    out = start // like.element_size()
    run_kernel(module, [bases[0], out], dram)
    return read(dram, out, like)


def device_places(layout: DeviceLayout, shape: Sequence[int], eps: int) -> Tensor:
    """The published formula: where each host element lies, in device elements."""
    strides = layout.dim_strides(shape, eps)
    total = torch.zeros((), dtype=torch.int64)
    for dim, size in enumerate(shape):
        i = torch.arange(size).reshape(
            [-1 if d == dim else 1 for d in range(len(shape))]
        )
        if dim == layout.stick_dim:
            total = total + i // eps * strides[dim] + i % eps
        else:
            total = total + i * strides[dim]
    return total.expand(tuple(shape))


def generic(
    maps: Sequence[str], iterators: str, ins: str, outs: str, body: str, result: str
) -> str:
    listed = ", ".join(f"affine_map<{m}>" for m in maps)
    kinds = {"p": '"parallel"', "r": '"reduction"'}
    types = ", ".join(kinds[i] for i in iterators)
    return (
        f"%y = linalg.generic {{indexing_maps = [{listed}], iterator_types = "
        f"[{types}]}} ins({ins}) outs({outs}) {{\n{body}\n}} -> {result}\n"
    )
