# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that the CPU has no kernel for, or whose schema hides what they do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils import _pytree as pytree

from spyre_runtime import torch_spyre as spyre

Make = Callable[[], nn.Module | Callable[..., object]]
Case = tuple[Make, tuple[int, ...]]


class Packed(nn.Module):
    """A recurrent layer on sequences of several lengths."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(values, [4, 3, 2])
        return nn.utils.rnn.pad_packed_sequence(self.layer(packed)[0])[0]


def attend(values: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(values, values, values, dropout_p=0.3)


def connect(values: torch.Tensor) -> torch.Tensor:
    labels = torch.tensor([[1, 2, 2, 3], [4, 1, 3, 2], [1, 1, 2, 4]])
    lengths = torch.tensor([9, 8, 7]), torch.tensor([4, 3, 2])
    return F.ctc_loss(values.log_softmax(2), labels.to(values.device), *lengths)


CASES: dict[str, Case] = {
    "conv1d": (lambda: nn.Conv1d(3, 4, 3, padding=1, stride=2), (2, 3, 9)),
    "conv2d groups": (lambda: nn.Conv2d(4, 8, 3, groups=2, dilation=2), (2, 4, 9, 9)),
    "conv2d unbatched": (lambda: nn.Conv2d(4, 8, 3, bias=False), (4, 9, 9)),
    "conv2d circular": (
        lambda: nn.Conv2d(4, 8, 3, padding="same", padding_mode="circular"),
        (2, 4, 5, 5),
    ),
    "conv3d": (lambda: nn.Conv3d(2, 3, 2), (2, 2, 4, 4, 4)),
    "conv1d transposed": (
        lambda: nn.ConvTranspose1d(3, 4, 3, stride=2, output_padding=1),
        (2, 3, 5),
    ),
    "conv2d transposed": (
        lambda: nn.ConvTranspose2d(4, 4, 3, groups=2, padding=1),
        (2, 4, 5, 4),
    ),
    "conv3d transposed": (lambda: nn.ConvTranspose3d(2, 3, 2), (2, 2, 3, 4, 3)),
    "lstm": (
        lambda: nn.LSTM(5, 6, num_layers=2, bidirectional=True, dropout=0.5),
        (4, 3, 5),
    ),
    "lstm projected": (lambda: nn.LSTM(5, 6, proj_size=3), (4, 3, 5)),
    "lstm packed": (lambda: Packed(nn.LSTM(5, 6)), (4, 3, 5)),
    "gru": (lambda: nn.GRU(5, 6, bias=False, batch_first=True), (4, 3, 5)),
    "gru packed": (lambda: Packed(nn.GRU(5, 6, bidirectional=True)), (4, 3, 5)),
    "rnn": (lambda: nn.RNN(5, 6, num_layers=2, dropout=0.5), (4, 3, 5)),
    "lstm cell": (lambda: nn.LSTMCell(5, 6), (3, 5)),
    "gru cell": (lambda: nn.GRUCell(5, 6), (3, 5)),
    "rnn cell": (lambda: nn.RNNCell(5, 6), (3, 5)),
    "batch norm 1d": (lambda: nn.BatchNorm1d(4), (5, 4)),
    "batch norm 2d": (lambda: nn.BatchNorm2d(4, momentum=None), (3, 4, 5, 5)),
    "batch norm eval": (lambda: nn.BatchNorm3d(4).eval(), (3, 4, 2, 2, 2)),
    "instance norm": (
        lambda: nn.InstanceNorm2d(4, affine=True, track_running_stats=True),
        (3, 4, 5, 5),
    ),
    "group norm": (lambda: nn.GroupNorm(2, 4), (2, 4, 3, 3)),
    "group norm of channels last": (
        lambda: lambda v: F.group_norm(v.permute(0, 3, 1, 2), 2),
        (2, 3, 3, 4),
    ),
    "dropout": (lambda: nn.Dropout(0.3), (50, 20)),
    "dropout of a transpose": (lambda: lambda v: F.dropout(v.t(), 0.3), (50, 20)),
    "dropout of all": (lambda: nn.Dropout(1.0), (5, 4)),
    "alpha dropout": (lambda: nn.AlphaDropout(0.4), (5, 20)),
    "dropout of channels": (lambda: nn.Dropout2d(0.4), (5, 20, 3, 3)),
    "rrelu": (nn.RReLU, (5, 20)),
    "attention with dropout": (lambda: attend, (2, 3, 5, 8)),
    "transformer layer": (lambda: nn.TransformerEncoderLayer(8, 2, 16), (5, 2, 8)),
    "ctc loss": (lambda: connect, (9, 3, 5)),
    "gumbel softmax": (lambda: F.gumbel_softmax, (4, 6)),
}


def _train(make: Make, shape: Sequence[int], device: str) -> list[torch.Tensor]:
    """Results, gradients and state of one step, drawn from one seed."""
    torch.manual_seed(0)
    layer = make()
    module = layer.to(device) if isinstance(layer, nn.Module) else nn.Module()
    values = torch.randn(*shape).to(device).requires_grad_()
    torch.manual_seed(7)
    made = layer(values)
    results = [
        leaf for leaf in pytree.tree_leaves(made) if isinstance(leaf, torch.Tensor)
    ]
    weighted = [
        (leaf * torch.linspace(0, 1, leaf.numel()).view(leaf.shape).to(device)).sum()
        for leaf in results
    ]
    torch.stack(weighted).sum().backward()
    gradients = [values.grad, *(parameter.grad for parameter in module.parameters())]
    assert all(leaf.device.type == device for leaf in results)
    found = (*results, *gradients, *module.state_dict().values())
    return [each.detach().cpu() for each in found if each is not None]


@pytest.mark.parametrize("name", CASES)
def test_a_training_step_is_the_cpus(name: str) -> None:
    make, shape = CASES[name]
    for ours, theirs in zip(
        _train(make, shape, "spyre"), _train(make, shape, "cpu"), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=3e-6)


def _device_only() -> list[str]:
    """Operators that PyTorch keeps for devices, by its own naming."""
    return sorted(
        {
            schema.name.removeprefix("aten::")
            for schema in torch._C._jit_get_all_schemas()
            if schema.name.startswith("aten::")
            and ("_overrideable" in schema.name or "::_thnn_fused" in schema.name)
        }
    )


def test_every_operator_for_devices_alone_has_a_kernel() -> None:
    def is_made(name: str) -> bool:
        op = f"aten::{name}"
        keys = ("PrivateUse1", "CompositeImplicitAutograd")
        return any(
            torch._C._dispatch_has_kernel_for_dispatch_key(op, key) for key in keys
        )

    names = _device_only()
    assert len(names) >= 9
    assert [name for name in names if not is_made(name)] == []


def test_stand_ins_are_counted_under_their_own_name() -> None:
    spyre.reset_fallback_counts()
    torch.conv1d(torch.ones(1, 1, 4, device="spyre"), torch.ones(1, 1, 2).to("spyre"))
    assert spyre.fallback_counts() == {"aten::convolution_overrideable": 1}


def test_second_derivatives_through_a_cell() -> None:
    torch.manual_seed(0)
    cell, values = nn.LSTMCell(3, 3), torch.randn(2, 3)

    def second(device: str) -> torch.Tensor:
        given = values.to(device).requires_grad_()
        out = cell.to(device)(given)[0].sin().sum()
        (first,) = torch.autograd.grad(out, given, create_graph=True)
        return torch.autograd.grad(first.square().sum(), given)[0].cpu()

    torch.testing.assert_close(second("spyre"), second("cpu"))


@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("is_causal", [False, True])
def test_fused_attention_for_devices(dropout: float, is_causal: bool) -> None:
    """Called by its own name; the reference gets the mask that was drawn."""
    torch.manual_seed(1)
    query, key, value = (torch.randn(2, 3, 5, 8) for _ in range(3))
    bias = torch.zeros(5, 5) if is_causal else torch.randn(5, 5)
    given = [each.to("spyre") for each in (query, key, value, bias)]
    ops = torch.ops.aten
    made = ops._scaled_dot_product_fused_attention_overrideable(
        *given, dropout, is_causal
    )
    out, logsumexp, seed, offset = made[0], made[1], made[6], made[7]
    leaves = [each.clone().requires_grad_() for each in (query, key, value, bias)]
    scores = leaves[0] @ leaves[1].transpose(-2, -1) / 8**0.5 + leaves[3]
    if is_causal:
        scores = scores.masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf)
    weights = scores.softmax(-1)
    kept = weights * seed.cpu() / (1 - dropout) if dropout else weights
    expected = kept @ leaves[2]
    torch.testing.assert_close(out.cpu(), expected)
    torch.testing.assert_close(logsumexp.cpu(), scores.logsumexp(-1))
    upstream = torch.randn(2, 3, 5, 8)
    expected.backward(upstream)
    gradients = ops._scaled_dot_product_fused_attention_overrideable_backward(
        upstream.to("spyre"),
        *given,
        [True] * 4,
        out,
        logsumexp,
        *made[2:6],
        dropout,
        is_causal,
        seed,
        offset,
    )
    for ours, leaf in zip(gradients, leaves, strict=True):
        torch.testing.assert_close(ours.cpu(), leaf.grad, rtol=1e-5, atol=3e-6)


def test_running_statistics_of_an_update_alone() -> None:
    torch.manual_seed(0)
    values = torch.randn(6, 4)
    states = [
        (torch.zeros(4, device=device), torch.ones(4, device=device))
        for device in ("spyre", "cpu")
    ]
    for state in states:
        torch.batch_norm_update_stats(values.to(state[0].device), *state, 0.1)
    for ours, theirs in zip(*states, strict=True):
        torch.testing.assert_close(ours.cpu(), theirs)
        assert not torch.equal(theirs, torch.ones(4))


def _updated(device: str) -> list[torch.Tensor]:
    tensors = [torch.arange(4.0).to(device), torch.ones(2, 3).to(device)]
    torch._foreach_add_(tensors, 2)
    torch._foreach_mul_(tensors, tensors)
    out = torch.empty(0, device=device)
    torch.add(tensors[1], tensors[1], out=out)
    grid = torch.zeros(3, 2, device=device)
    torch.add(tensors[1].t(), 1, out=grid.t().t())
    parameter = torch.ones(3, device=device, requires_grad=True)
    parameter.grad = torch.full((3,), 0.5, device=device)
    for fused in (torch.optim.AdamW([parameter]), torch.optim.SGD([parameter], 0.1)):
        fused.step()
    return [each.detach().cpu() for each in (*tensors, out, grid, parameter)]


def test_lists_and_out_arguments_are_written() -> None:
    for ours, theirs in zip(_updated("spyre"), _updated("cpu"), strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool])
def test_deterministic_mode_fills_new_memory(dtype: torch.dtype) -> None:
    def made(device: str) -> list[torch.Tensor]:
        grown = torch.ones(2, dtype=dtype, device=device).resize_(4)
        strided = torch.empty_strided((2, 2), (1, 2), dtype=dtype, device=device)
        return [
            grown.cpu(),
            strided.cpu(),
            torch.empty(3, dtype=dtype, device=device).cpu(),
        ]

    torch.use_deterministic_algorithms(True)
    try:
        for ours, theirs in zip(made("spyre"), made("cpu"), strict=True):
            torch.testing.assert_close(ours, theirs, equal_nan=True)
    finally:
        torch.use_deterministic_algorithms(False)
