# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers on the card follow its own seed."""

from collections.abc import Callable

import pytest
import torch

from spyre_runtime import torch_spyre as spyre

DRAWS: dict[str, Callable[[], torch.Tensor]] = {
    "randn": lambda: torch.randn(50, device="spyre"),
    "rand": lambda: torch.rand(50, device="spyre"),
    "randint": lambda: torch.randint(0, 1000, (50,), device="spyre"),
    "randperm": lambda: torch.randperm(50, device="spyre"),
    "bernoulli": lambda: torch.full((50,), 0.5, device="spyre").bernoulli_(),
    "multinomial": lambda: torch.ones(50, device="spyre").multinomial(20),
    "dropout": lambda: torch.dropout(torch.ones(50, device="spyre"), 0.5, True),
}


@pytest.mark.parametrize("name", DRAWS)
def test_the_same_seed_draws_the_same(name: str) -> None:
    spyre.manual_seed(3)
    first, second = DRAWS[name]().cpu(), DRAWS[name]().cpu()
    torch.manual_seed(3)
    assert torch.equal(DRAWS[name]().cpu(), first)
    assert not torch.equal(first, second)


@pytest.mark.parametrize("name", DRAWS)
def test_the_host_generator_is_left_alone(name: str) -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    DRAWS[name]()
    assert torch.equal(torch.get_rng_state(), before)


def test_a_generator_of_ones_own() -> None:
    generator = torch.Generator("spyre")
    assert generator.device == torch.device("spyre", 0)
    generator.manual_seed(7)
    first = torch.randn(5, device="spyre", generator=generator).cpu()
    state = spyre.get_rng_state()
    generator.manual_seed(7)
    again = torch.randn(5, device="spyre", generator=generator).cpu()
    assert torch.equal(first, again)
    assert torch.equal(spyre.get_rng_state(), state)


def test_saving_and_restoring_the_state() -> None:
    state = spyre.get_rng_state()
    first = torch.rand(5, device="spyre").cpu()
    spyre.set_rng_state(state)
    assert torch.equal(torch.rand(5, device="spyre").cpu(), first)
    with torch.random.fork_rng(devices=[0], device_type="spyre"):
        torch.rand(5, device="spyre")
        inside = spyre.get_rng_state()
    assert not torch.equal(spyre.get_rng_state(), inside)


def test_a_compiled_function_may_keep_and_restore_the_state() -> None:
    def draw(x: torch.Tensor) -> torch.Tensor:
        state = spyre.get_rng_state()
        first = torch.rand_like(x)
        spyre.set_rng_state(state)
        return first - torch.rand_like(x)

    compiled = torch.compile(draw, backend="spyre_mlir", options={"fallback": "silent"})
    assert not compiled(torch.ones(3, 70, device="spyre")).cpu().any()
