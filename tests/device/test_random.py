# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers on the card follow its own seed."""

import copy
import pickle
import threading
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


@pytest.mark.parametrize("name", DRAWS)
def test_the_numbers_are_those_of_the_cpu(name: str) -> None:
    torch.manual_seed(11)
    found = DRAWS[name]().cpu()
    torch.manual_seed(11)
    with pytest.MonkeyPatch.context() as patch:
        for maker in ("randn", "rand", "randint", "randperm", "full", "ones"):
            patch.setattr(torch, maker, _on_the_cpu(getattr(torch, maker)))
        expected = DRAWS[name]()
    assert expected.device.type == "cpu"
    assert torch.equal(found, expected)


def _on_the_cpu(make: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    return lambda *arguments, device: make(*arguments, device="cpu")


def test_an_error_leaves_all_generators_alone() -> None:
    host, card = torch.get_rng_state(), spyre.get_rng_state()
    with pytest.raises(RuntimeError):
        torch.full((3,), -1.0, device="spyre").multinomial(2)
    with pytest.raises(RuntimeError):
        torch.zeros(3, device="spyre").bernoulli_(7.0)
    assert torch.equal(torch.get_rng_state(), host)
    assert torch.equal(spyre.get_rng_state(), card)


def test_dropout_in_another_thread_leaves_the_host_stream_alone() -> None:
    values, done = torch.ones(64, device="spyre"), threading.Event()

    def draw() -> None:
        while not done.is_set():
            torch.dropout(values, 0.5, True)

    torch.manual_seed(2)
    expected = torch.rand(4000)
    torch.manual_seed(2)
    thread = threading.Thread(target=draw)
    thread.start()
    try:
        found = torch.cat([torch.rand(16) for _ in range(250)])
    finally:
        done.set()
        thread.join()
    assert torch.equal(found, expected)


def test_threads_share_one_generator() -> None:
    """Each number is drawn once, whichever thread gets it."""
    generator = torch.Generator("spyre").manual_seed(5)
    parts: list[torch.Tensor] = []

    def draw() -> None:
        for _ in range(20):
            drawn = torch.empty(1, dtype=torch.int64, device="spyre")
            parts.append(drawn.random_(generator=generator).cpu())

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = torch.Generator().manual_seed(5)
    expected = [
        torch.empty(1, dtype=torch.int64).random_(generator=alone) for _ in range(80)
    ]
    found = torch.cat(parts).sort().values
    assert torch.equal(found, torch.cat(expected).sort().values)


@pytest.mark.parametrize(
    "copied",
    [
        lambda generator: pickle.loads(pickle.dumps(generator)),
        copy.deepcopy,
        torch.Generator.clone_state,
    ],
    ids=["pickle", "deepcopy", "clone_state"],
)
def test_copies_of_a_generator(
    copied: Callable[[torch.Generator], torch.Generator],
) -> None:
    first = torch.Generator("spyre").manual_seed(3)
    torch.randn(3, device="spyre", generator=first)
    second = copied(first)
    assert second.device == first.device
    assert second.initial_seed() == 3
    drawn = [torch.randn(5, device="spyre", generator=g) for g in (first, second)]
    assert torch.equal(drawn[0].cpu(), drawn[1].cpu())


def test_all_cards_at_once() -> None:
    states = spyre.get_rng_state_all()
    assert len(states) == spyre.device_count()
    first = torch.rand(5, device="spyre").cpu()
    spyre.seed_all()
    assert not torch.equal(spyre.get_rng_state(), states[0])
    spyre.set_rng_state_all(states)
    assert torch.equal(torch.rand(5, device="spyre").cpu(), first)


def test_a_generator_of_the_host_is_refused() -> None:
    with pytest.raises(RuntimeError, match="expected a generator on a card"):
        torch.empty(3, device="spyre").uniform_(generator=torch.Generator())
