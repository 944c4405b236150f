# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportUnknownLambdaType=false
# PyTorch leaves the results of unflatten and split unknown.
"""Every kind of movement against eager, on the oracle."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from spyre_mlir.dialects.spyre import tensor_type
from spyre_mlir.interpreters.spyre import interpret
from spyre_mlir.torch_bridge.emit import Emitter
from spyre_mlir.torch_bridge.ops.movement import reshape

from .checking import check, values

DTYPES = [torch.float16, torch.int64, torch.bool]

MOVES: dict[str, Callable[[torch.Tensor], Any]] = {
    "view": lambda x: x.view(2, 12, 5, 13),
    "view_across": lambda x: x.reshape(15, 104),
    "view_minus": lambda x: x.view(-1, 65),
    "flatten": lambda x: x.flatten(1),
    "unflatten": lambda x: x.unflatten(1, (4, 3)) if x.shape[1] == 12 else x,
    "unsqueeze": lambda x: x.unsqueeze(1).unsqueeze(-1),
    "squeeze": lambda x: x.unsqueeze(1).squeeze(1),
    "squeeze_all": lambda x: x.unsqueeze(0).squeeze(),
    "permute": lambda x: x.permute(2, 0, 1),
    "transpose": lambda x: x.transpose(-1, 0),
    "mT": lambda x: x.mT,
    "movedim": lambda x: x.movedim(0, -1),
    "slice": lambda x: x[:, 2:7],
    "slice_step": lambda x: x[:, 1::3, ::2],
    "slice_end": lambda x: x[..., -5:],
    "select": lambda x: (x[0], x[:, -1], x.select(2, 3)),
    "narrow": lambda x: x.narrow(2, 3, 10),
    "split": lambda x: x.split(7, 1),
    "split_sizes": lambda x: x.split([1, 0, 64], 2),
    "chunk": lambda x: x.chunk(3, 2),
    "unbind": lambda x: x.unbind(0),
    "expand": lambda x: x[:1].expand(3, -1, -1),
    "expand_new": lambda x: x[0, 0].expand(2, 3, 65),
    "repeat": lambda x: x.repeat(2, 1, 3),
    "tile": lambda x: x.tile((2,)),
    "repeat_interleave": lambda x: x.repeat_interleave(3, 1),
    "repeat_flat": lambda x: x.repeat_interleave(2),
    "cat": lambda x: torch.cat([x, x[:, :3], x[:, 5:6]], 1),
    "cat_last": lambda x: torch.cat([x, x, x[..., :1]], -1),
    "stack": lambda x: (torch.stack([x, x], 0), torch.stack([x, x], -1)),
    "flip": lambda x: (x.flip(0), x.flip(1, 2)),
    "roll": lambda x: (x.roll(3, 1), x.roll((1, -2), (0, 2)), x.roll(5)),
    "pad": lambda x: functional.pad(x, (1, 2, 0, 3)),
    "pad_value": lambda x: functional.pad(x, (0, 1), value=1),
    "pad_negative": lambda x: functional.pad(x, (-1, 2, 3, -2)),
    "tril": lambda x: (x.tril(), x.tril(-1)),
    "triu": lambda x: (x.triu(), x.triu(2)),
    "diagonal": lambda x: (x.diagonal(0, 1, 2), x.diagonal(-2, 1, 2)),
    "unfold": lambda x: x.unfold(2, 5, 3),
    "as_strided": lambda x: x.as_strided((3, 4), (65, 2), 1),
    "clone": lambda x: x.transpose(0, 1).contiguous(),
    "rot90": lambda x: x.rot90(1, (0, 1)),
    "swap_rows": lambda x: torch.cat([x[1:], x[:1]]),
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_moves(dtype: torch.dtype):
    def run(x: torch.Tensor):
        return {name: move(x) for name, move in MOVES.items()}

    check(run, values((2, 12, 65), dtype), exact=True)


def test_moves_of_scalars():
    def run(x: torch.Tensor):
        return x.view(1, 1), x.unsqueeze(0), x.expand(3, 2), x.reshape(-1), x.flatten()

    check(run, torch.tensor(2.5), exact=True)


def test_inputs_with_strides():
    base = values((6, 130), torch.float32)
    for x in (base[:, 1::2], base.t(), base[1:, 3:].t(), base[:1].expand(4, 130)):
        check(lambda x: (x + 1, x.reshape(-1), x.t() * 2), x, exact=True)


def test_scatters_of_slices():
    def run(x: torch.Tensor, y: torch.Tensor):
        x = x.clone()
        x[:, 1:4] = y[:, :3]
        x[:, 5] = 7
        x[::2, -1] = y[::2, 0]
        x[:, 1::3] = 2
        return (
            x,
            torch.slice_scatter(x, y, 1, 2, 7),
            torch.select_scatter(x, y[:, 0], 1, 1),
        )

    check(run, values((5, 9), torch.float16, 1), values((5, 5), torch.float16, 2))


def test_inplace_writes_reach_inputs():
    def run(x: torch.Tensor, y: torch.Tensor):
        x[1:3].add_(1)
        y.t().mul_(2)
        return x.sum()

    check(run, values((4, 65), torch.float32), values((3, 5), torch.float16))


SIZES = st.sampled_from([1, 2, 3, 4, 6, 8, 12])


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(SIZES, max_size=4), st.data())
def test_reshape_is_row_major(shape: list[int], data: st.DataObject):
    total = int(torch.tensor(shape).prod()) if shape else 1
    target = []
    left = total
    while left > 1:
        divisors = [d for d in range(1, left + 1) if left % d == 0]
        size = data.draw(st.sampled_from(divisors))
        target.append(size)
        left //= size
        if len(target) == 5:
            target[-1] *= left
            break
    block = Block(arg_types=[tensor_type(shape, "i64")])
    value = reshape(Emitter(block), block.args[0], target)
    block.add_op(ReturnOp(value))
    function = FuncOp("main", ([block.args[0].type], [value.type]), Region(block))
    module = ModuleOp([function])
    module.verify()
    x = torch.arange(total).reshape(shape)
    assert torch.equal(interpret(module, [x])[0], x.reshape(target))
