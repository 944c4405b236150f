# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled calls on card tensors: views, aliases, mutations, layouts, copies."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from spyre_mlir.torch_bridge.report import last_report
from spyre_runtime import torch_spyre
from spyre_runtime.card import card
from spyre_runtime.device import address_of, block_of

from .card import check_on_card, compiled, counted_copies, moved, on_card
from .checking import values

Views = dict[str, Callable[[torch.Tensor], torch.Tensor]]

DIRECT: Views = {
    "whole": lambda x: x,
    "transposed": lambda x: x.t(),
    "columns from a stick on": lambda x: x[:, 64:128],
    "new dimensions": lambda x: x[None, :, None],
}
GATHERED: Views = {
    "rows": lambda x: x[3:7],
    "columns inside a stick": lambda x: x[:, 3:60],
    "every other column": lambda x: x[:, ::2],
    "flat": lambda x: x.view(-1),
    "expanded": lambda x: x[:, None].expand(10, 3, 192),
    "split": lambda x: x.view(10, 3, 64).transpose(0, 1),
    "diagonal": lambda x: x.diagonal(),
}


@pytest.mark.parametrize("name", [*DIRECT, *GATHERED])
def test_views_are_read_as_they_are(name: str) -> None:
    view = (DIRECT | GATHERED)[name]
    base = values((10, 192), torch.float16)
    run = compiled(lambda x: x * 2 + 1)
    found = run(view(on_card(base)))
    assert torch.equal(found.cpu(), view(base) * 2 + 1)
    assert found.stride() == (view(base) * 2 + 1).stride()
    gathers = 0 if name in DIRECT else 1
    assert moved() == ({"gathers": gathers} if gathers else {})


def test_an_offset_at_a_stick_needs_no_new_program() -> None:
    base = values((4, 640), torch.float16)
    given = on_card(base)
    run = compiled(lambda x: x.exp())
    for begin in (0, 64, 128, 64, 576):
        part = slice(begin, begin + 64)
        torch.testing.assert_close(
            run(given[:, part]).cpu(), base[:, part].exp(), rtol=1e-3, atol=1e-3
        )
        assert moved() == {}
    assert last_report().calls == 5


def test_a_module_on_the_card() -> None:
    torch.manual_seed(0)
    first = nn.Linear(100, 130)
    module = nn.Sequential(first, nn.GELU(), nn.Linear(130, 70)).half()
    x = values((9, 100), torch.float16)
    with torch.no_grad():
        want = module(x)
        module.to("spyre")
        run = compiled(module)
        for _ in range(4):
            got = run(on_card(x))
            assert got.device == torch.device("spyre", 0)
            torch.testing.assert_close(got.cpu(), want, rtol=2e-3, atol=2e-3)
        assert moved() == {}
        first.weight.mul_(2)
        first.bias.mul_(2)
        want = nn.Sequential(*module).cpu()(x)
        module.to("spyre")
        torch.testing.assert_close(run(on_card(x)).cpu(), want, rtol=2e-3, atol=2e-3)


def test_weights_change_layout_once_they_have_stayed_the_same() -> None:
    module = nn.Linear(128, 64, bias=False).half().to("spyre").requires_grad_(False)
    x = on_card(values((4, 128), torch.float16))
    run = compiled(module)
    found = []
    for _ in range(3):
        run(x)
        found.append(moved().get("gathers", 0))
    module.weight.mul_(2)
    for _ in range(3):
        run(x)
        found.append(moved().get("gathers", 0))
    assert found == [1, 1, 0, 1, 1, 0]
    torch.testing.assert_close(
        run(x).cpu(), x.cpu() @ module.weight.cpu().t(), rtol=2e-3, atol=2e-3
    )


def test_warm_calls_move_nothing() -> None:
    torch.manual_seed(0)
    module = nn.TransformerEncoderLayer(64, 2, 128, batch_first=True).half().eval()
    module.requires_grad_(False).to("spyre")
    state = torch.zeros(64, 64, dtype=torch.float16, device="spyre")

    def function(x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        state.add_(1)
        return module(x).relu() + state[0]

    run = compiled(function)
    x = on_card(values((2, 10, 64), torch.float16))
    for _ in range(3):
        run(x, state)
    torch_spyre.reset_fallback_counts()
    with counted_copies() as copies:
        run(x, state)
    assert copies == []
    assert moved() == {}
    assert torch_spyre.fallback_counts() == {}
    assert torch.equal(state.cpu(), torch.full((64, 64), 4, dtype=torch.float16))


def test_results_have_the_strides_of_eager() -> None:
    def function(x: torch.Tensor) -> list[torch.Tensor]:
        return [
            x.t() + 1,
            x.permute(2, 0, 1).relu() if x.ndim == 3 else x.t().relu(),
            torch.empty_strided((4, 100), (200, 1), device=x.device).copy_(x),
        ]

    x = values((4, 100), torch.float32)
    found = compiled(function, fallback="silent")(on_card(x))
    for got, want in zip(found, function(x), strict=True):
        assert got.stride() == want.stride()
        assert torch.equal(got.cpu(), want)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool])
def test_results_that_are_permuted(dtype: torch.dtype) -> None:
    check_on_card(
        lambda x: (x.permute(2, 0, 1).clone(), torch.cat([x, x]).permute(1, 2, 0)),
        values((3, 5, 70), dtype),
        exact=True,
    )


def test_mutated_inputs_change_in_place() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        y.copy_(x + 1)
        return x + y

    x, y = values((5, 70), torch.float32), values((5, 70), torch.float32, 1)
    given = on_card(x), on_card(y)
    places = [address_of(t) for t in given]
    epochs = [block_of(t).write_epoch for t in given]
    found = compiled(function)(*given)
    assert torch.equal(found.cpu(), x * 2 + (x * 2 + 1))
    assert torch.equal(given[0].cpu(), x * 2)
    assert torch.equal(given[1].cpu(), x * 2 + 1)
    assert [address_of(t) for t in given] == places
    assert all(block_of(t).write_epoch > e for t, e in zip(given, epochs, strict=True))


def test_mutated_views_change_what_they_show_alone() -> None:
    base = torch.zeros(6, 200, dtype=torch.float16)

    def function(x: torch.Tensor) -> torch.Tensor:
        return x.add_(1)

    views: list[Callable[[torch.Tensor], torch.Tensor]] = [
        lambda t: t[1:3, 5:150],
        lambda t: t.t()[64:128, 2:4],
    ]
    for view in views:
        on_host, given = base.clone(), on_card(base)
        function(view(on_host))
        out = compiled(function)(view(given))
        assert torch.equal(given.cpu(), on_host)
        assert torch.equal(out.cpu(), view(on_host))


def test_inputs_given_twice_and_inputs_that_overlap() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(y)
        return x * y

    x = values((4, 66), torch.float32)
    on_host, given = x.clone(), on_card(x)
    want = function(on_host, on_host)
    assert torch.equal(compiled(function)(given, given).cpu(), want)
    assert torch.equal(given.cpu(), on_host)
    on_host, given = x.clone(), on_card(x)
    want = function(on_host[1:], on_host[:-1].clone())
    assert torch.equal(compiled(function)(given[1:], given[:-1].clone()).cpu(), want)
    assert torch.equal(given.cpu(), on_host)


def test_results_alias_as_eager_results_do() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x + 1
        return x, y, y, y.t(), x.t(), y.clone()

    given = on_card(values((4, 66), torch.float32))
    found = compiled(function)(given)
    pointers = [t.untyped_storage().data_ptr() for t in found]
    shown = given.untyped_storage().data_ptr()
    assert found[0] is given
    assert found[1] is found[2]
    assert pointers[3] == pointers[1] and pointers[4] == shown
    assert pointers[5] not in (shown, pointers[1])


def test_none_and_numbers_pass_through() -> None:
    def function(
        x: torch.Tensor, n: int, f: float, nothing: None
    ) -> tuple[object, ...]:
        return x * n + f, nothing, n

    found = compiled(function)(on_card(torch.ones(3, 65)), 2, 0.5, None)
    assert torch.equal(found[0].cpu(), torch.full((3, 65), 2.5))
    assert found[1:] == (None, 2)


def test_cpu_numbers_go_with_card_tensors() -> None:
    found = compiled(torch.mul)(on_card(torch.ones(2, 70)), torch.tensor(3.0))
    assert found.device.type == "spyre"
    assert torch.equal(found.cpu(), torch.full((2, 70), 3.0))


def test_numbers_on_the_card_are_read_in_place() -> None:
    run = compiled(torch.mul)
    scale = on_card(torch.tensor(3.0))
    found = run(on_card(torch.ones(2, 70)), scale)
    assert torch.equal(found.cpu(), torch.full((2, 70), 3.0))
    assert moved() == {}
    assert run(scale, scale.view(1)).cpu().tolist() == [9.0]
    assert moved() == {}


def test_empty_card_tensors() -> None:
    check_on_card(lambda x: (x + 1, x.sum(0), torch.cat([x, x])), torch.zeros(0, 70))


def test_open_and_linear_blocks() -> None:
    never_written = torch.empty(4, 70, device="spyre")
    compiled(lambda x: x * 0)(never_written)
    storage = torch.UntypedStorage(4 * 70 * 4, device="spyre")
    linear = torch.empty(0, device="spyre").set_(storage, 0, (4, 70), (70, 1))
    linear.copy_(values((4, 70), torch.float32))
    assert block_of(linear).layout == "linear"
    found = compiled(lambda x: x + 1)(linear)
    assert torch.equal(found.cpu(), values((4, 70), torch.float32) + 1)
    assert moved() == {"gathers": 1}


def test_mixed_devices_are_refused() -> None:
    with pytest.raises(RuntimeError, match="device"):
        compiled(torch.add)(on_card(torch.ones(3)), torch.ones(3))


def test_a_graph_with_both_devices_runs_each_where_it_is() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x + 1, y.cumsum(0), (y * 2).to(x.device) + x

    x, y = values((3, 70), torch.float32), values((3, 70), torch.float32, 1)
    found = compiled(function)(on_card(x), y)
    assert [t.device.type for t in found] == ["spyre", "cpu", "spyre"]
    for got, want in zip(found, function(x, y), strict=True):
        torch.testing.assert_close(got.cpu(), want)


def test_host_operations_among_card_tensors() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return (x * 2).cumsum(1) + 1

    x = values((3, 70), torch.float32)
    found = compiled(function, fallback="silent")(on_card(x))
    assert [op.op for op in last_report().host] == ["cumsum.default"]
    assert found.device.type == "spyre"
    torch.testing.assert_close(found.cpu(), function(x))


def test_gradients_on_the_card() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(70, 40), nn.Tanh(), nn.Linear(40, 1))
    x = values((6, 70), torch.float32)
    module(x).sum().backward()
    want = [p.grad.clone() for p in module.parameters() if p.grad is not None]
    module.zero_grad()
    module.to("spyre")
    run = compiled(module, fallback="silent")
    run(on_card(x)).sum().backward()
    for parameter, grad in zip(module.parameters(), want, strict=True):
        assert parameter.grad is not None and parameter.grad.device.type == "spyre"
        torch.testing.assert_close(parameter.grad.cpu(), grad, rtol=1e-3, atol=1e-4)


def test_inference_mode() -> None:
    x = values((3, 70), torch.float32)
    run = compiled(lambda x: x * 2)
    with torch.inference_mode():
        inside = run(on_card(x))
    outside = run(on_card(x))
    assert torch.equal(inside.cpu(), x * 2) and torch.equal(outside.cpu(), x * 2)


def test_the_clock_moves_by_the_time_of_each_launch() -> None:
    x = on_card(values((64, 64), torch.float16))
    run = compiled(lambda x: x @ x)
    run(x)
    before = card().elapsed_picoseconds
    run(x)
    run(x)
    spent = last_report().simulated_picoseconds
    assert spent > 0
    assert card().elapsed_picoseconds - before == 2 * spent
    device = last_report().device
    assert device.total_ps == spent
    assert device.dram_read_bytes >= 64 * 64 * 2
    assert any("matmul" in row.name or "mm" in row.name for row in device.operations)
    assert "test_card_tensors.py" in device.operations[0].name


def test_without_timing_the_clock_stands() -> None:
    x = on_card(values((64, 64), torch.float16))
    run = compiled(lambda x: x @ x, timing=False)
    before = card().elapsed_picoseconds
    run(x)
    assert card().elapsed_picoseconds == before


STATISTICS: dict[str, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    "layer norm": lambda x, c: torch.native_layer_norm(x, (5,), None, None, 1e-5),
    "batch norm, evaluating": lambda x, c: torch.ops.aten.native_batch_norm(
        x, c, c, c, c, False, 0.1, 1e-5
    ),
    "batch norm, training": lambda x, c: torch.ops.aten.native_batch_norm(
        x, c, c, c.clone(), c.clone(), True, 0.1, 1e-5
    ),
    "batch norm of its own": lambda x, c: torch.ops.aten._native_batch_norm_legit(
        x, c, c, True, 0.1, 1e-5
    ),
    "no training": lambda x, c: torch.ops.aten._native_batch_norm_legit_no_training(
        x, c, c, c, c, 0.1, 1e-5
    ),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("shape", [(4, 3, 2, 5), (4, 5)])
@pytest.mark.parametrize("name", STATISTICS)
def test_statistics_are_those_of_the_host(
    name: str, shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    function = STATISTICS[name]
    x, channel = values(shape, dtype), values((shape[1],), dtype).abs() + 1
    expected = function(x, channel)
    given = (x.to("spyre"), channel.to("spyre"))
    for found in (function(*given), compiled(function)(*given)):
        for one, other in zip(found, expected, strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
            assert torch.allclose(one.cpu(), other, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("shape", [(4, 3, 2, 5), (4, 3)])
def test_batch_norm_that_evaluates(shape: tuple[int, ...]) -> None:
    norm = (nn.BatchNorm2d if len(shape) == 4 else nn.BatchNorm1d)(3).eval()
    x = values(shape, torch.float32)
    expected = norm(x)
    norm.to("spyre")
    found = compiled(norm)(x.to("spyre"))
    assert torch.allclose(found.cpu(), expected, atol=1e-5)
    with torch.no_grad():
        assert torch.equal(compiled(norm)(x.to("spyre")).cpu(), found.detach().cpu())
