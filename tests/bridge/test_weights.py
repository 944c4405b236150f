# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Static inputs: where they lie between calls, and that every change is seen."""

import copy
import gc
from collections.abc import Callable

import pytest
import torch
from torch import nn

from spyre_mlir.algebra.layout import DeviceLayout
from spyre_mlir.torch_bridge.report import last_report
from spyre_mlir.torch_bridge.residents import digest_of, residents_of
from spyre_runtime.card import card

from .card import compiled, moved

Run = Callable[[torch.Tensor], torch.Tensor]
MODES = ("verify", "version", "always")


def model(width: int = 96, layers: int = 1) -> nn.Sequential:
    torch.manual_seed(0)
    parts: list[nn.Module] = []
    for _ in range(layers):
        parts += [nn.Linear(width, width), nn.LayerNorm(width)]
    return nn.Sequential(*parts).eval().requires_grad_(False)


def linear(module: nn.Sequential) -> nn.Linear:
    """The first layer of a model."""
    found = module[0]
    assert isinstance(found, nn.Linear)
    return found


def assert_follows(module: nn.Module, run: Run, x: torch.Tensor) -> None:
    with torch.no_grad():
        want = module(x)
    torch.testing.assert_close(run(x), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mode", MODES)
def test_weights_stay_on_the_card(mode: str) -> None:
    module, x = model(), torch.randn(5, 96)
    run = compiled(module, cpu_weights=mode)
    with torch.no_grad():
        for expected in (5, 5 if mode == "always" else 1):
            assert_follows(module, run, x)
            assert moved() == {"uploads": expected, "downloads": 1}


@pytest.mark.parametrize("mode", MODES)
def test_writes_in_place_are_seen(mode: str) -> None:
    module, x = model(), torch.randn(5, 96)
    run = compiled(module, cpu_weights=mode)
    with torch.no_grad():
        assert_follows(module, run, x)
        linear(module).weight.mul_(2)
        linear(module).bias.add_(1)
        assert_follows(module, run, x)


def test_writes_through_data_and_numpy_are_seen() -> None:
    module, x = model(), torch.randn(5, 96)
    run = compiled(module)
    with torch.no_grad():
        assert_follows(module, run, x)
        linear(module).weight.data[3] = 7
        assert_follows(module, run, x)
        linear(module).bias.numpy()[:] = 3
        assert_follows(module, run, x)
        assert moved()["uploads"] == 2


@pytest.mark.parametrize("mode", MODES)
def test_replaced_weights_are_seen(mode: str) -> None:
    module, x = model(), torch.randn(5, 96)
    run = compiled(module, cpu_weights=mode)
    with torch.no_grad():
        assert_follows(module, run, x)
        linear(module).weight.data = torch.randn(96, 96)
        assert_follows(module, run, x)
        linear(module).weight = nn.Parameter(torch.randn(96, 96), requires_grad=False)
        assert_follows(module, run, x)
        module.load_state_dict(model(96).state_dict())
        assert_follows(module, run, x)


def test_not_a_number_does_not_count_as_a_change() -> None:
    module, x = model(), torch.randn(5, 96)
    linear(module).bias.data[0] = float("nan")
    run = compiled(module)
    with torch.no_grad():
        run(x)
        run(x)
    assert moved() == {"uploads": 1, "downloads": 1}
    a = torch.tensor([0.0, 1.0])
    assert digest_of(a) != digest_of(-a)


def test_the_card_lets_go_of_dead_weights() -> None:
    module, x = model(256), torch.randn(5, 256)
    run = compiled(module)
    memory = card().memory
    with torch.no_grad():
        run(x)
    before = memory.stats().allocated
    other = copy.deepcopy(linear(module).weight)
    linear(module).weight = other
    gc.collect()
    assert before - memory.stats().allocated >= 256 * 256 * 4
    with torch.no_grad():
        assert_follows(module, run, x)


def test_pressure_drops_weights_and_the_next_call_brings_them_back() -> None:
    module, x = model(), torch.randn(5, 96)
    run = compiled(module)
    with torch.no_grad():
        run(x)
        residents_of(card()).drop()
        assert_follows(module, run, x)
        assert moved()["uploads"] == 5
        assert_follows(module, run, x)
        assert moved()["uploads"] == 1


def test_one_compile_serves_two_modules() -> None:
    first, second, x = model(), model(), torch.randn(5, 96)
    linear(second).weight.data.neg_()

    def apply(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return module(x)

    run = compiled(apply)
    with torch.no_grad():
        for module in (first, second, first):
            torch.testing.assert_close(run(module, x), module(x), rtol=1e-4, atol=1e-4)


def test_buffers_that_the_graph_changes_are_written_back() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.total = nn.Buffer(torch.zeros(64, 64))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.total.add_(x)
            return self.total * 2

    module, x = Counter(), torch.ones(64, 64)
    run = compiled(module)
    with torch.no_grad():
        for call in (1, 2, 3):
            assert torch.equal(run(x), torch.full((64, 64), 2.0 * call))
            assert torch.equal(module.total, torch.full((64, 64), float(call)))


def test_training_sees_each_step() -> None:
    torch.manual_seed(0)
    module = nn.Linear(64, 64)
    twin = copy.deepcopy(module)
    run = compiled(module, fallback="silent")
    x = torch.randn(8, 64)
    for part, forward in ((module, run), (twin, twin)):
        optimizer = torch.optim.SGD(part.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            forward(x).square().mean().backward()
            optimizer.step()
    torch.testing.assert_close(module.weight, twin.weight, rtol=1e-4, atol=1e-5)


def test_layers_share_programs_and_the_layouts_of_their_weights() -> None:
    module = model(128, layers=4).half()
    run = compiled(module)
    with torch.no_grad():
        run(torch.randn(256, 128).half())
    (loaded,) = last_report().loaded
    assert len(loaded.image.programs) < len(loaded.image.calls)
    weights = [b for b in loaded.arguments if b.shape == (128, 128)]
    features = DeviceLayout.with_stick(2, 0)  # what the result's sticks run along
    assert [b.dims for b in weights] == [features.dims] * 4


def wrapped_anew(weight: torch.Tensor, step: int) -> nn.Parameter:
    """Another Parameter of the same storage, in which something else is now."""
    made = nn.Parameter(torch.empty(0), requires_grad=False)
    made.data = weight.data.view(weight.shape)
    made.data[step % 7] = step
    return made


@pytest.mark.parametrize("mode", MODES)
def test_a_storage_that_is_wrapped_anew_is_never_stale(mode: str) -> None:
    module, x = model(32), torch.randn(5, 32)
    run = compiled(module, cpu_weights=mode)
    with torch.no_grad():
        for step in range(20):
            linear(module).weight = wrapped_anew(linear(module).weight, step)
            assert_follows(module, run, x)


@pytest.mark.parametrize("mode", MODES)
def test_a_storage_that_was_resized_is_seen(mode: str) -> None:
    module, x = model(32), torch.randn(5, 32)
    run = compiled(module, cpu_weights=mode)
    weight = linear(module).weight
    with torch.no_grad():
        assert_follows(module, run, x)
        nbytes = weight.untyped_storage().nbytes()
        weight.untyped_storage().resize_(0)
        weight.untyped_storage().resize_(nbytes)
        weight.copy_(torch.randn(32, 32))
        assert_follows(module, run, x)
        weight.data = torch.randn(32, 32)
        assert_follows(module, run, x)


def test_strided_weights_are_hashed_by_what_they_are() -> None:
    base = torch.arange(64.0).view(8, 8)
    dense, sparse = base.t(), base[:, ::2]
    before = digest_of(dense), digest_of(sparse)
    base[0, 1] = -1  # in one of the two only
    assert digest_of(dense) != before[0]
    assert digest_of(sparse) == before[1]
    assert digest_of(torch.tensor(3)) != digest_of(torch.tensor(4))


def test_verified_weights_are_not_kept_twice() -> None:
    module, x = model(512, layers=4), torch.randn(5, 512)
    run = compiled(module)
    with torch.no_grad():
        run(x)
        (resident,) = (
            found
            for owner, found in residents_of(card())._found.values()
            if owner() is linear(module).weight.untyped_storage()
        )
    tensors = [v for v in vars(resident).values() if isinstance(v, torch.Tensor)]
    assert not tensors
