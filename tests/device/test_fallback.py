# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Eager operators on card tensors run on the host, and are counted."""

from collections.abc import Callable, Mapping, Sequence

import pytest
import torch

from spyre_runtime import torch_spyre as spyre


def test_each_operator_is_counted() -> None:
    tensor = torch.ones(3, device="spyre")
    spyre.reset_fallback_counts()
    tensor.exp()
    tensor.exp()
    tensor.sin_()
    assert spyre.fallback_counts() == {"aten::exp.out": 2, "aten::sin.out": 1}
    spyre.reset_fallback_counts()
    assert spyre.fallback_counts() == {}


def test_copies_views_and_fills_are_not_fallbacks() -> None:
    spyre.reset_fallback_counts()
    tensor = torch.zeros(3, 70, device="spyre")
    tensor.t()[1:].fill_(2)
    tensor.clone().view(-1).half().cpu()
    tensor[0, 0].item()
    torch.full((2, 2), 3.0, device="spyre")
    assert spyre.fallback_counts() == {}


MIXED: dict[str, Callable[[torch.Tensor, torch.Tensor], object]] = {
    "add": lambda card, host: card + host,
    "add reversed": lambda card, host: host * card,
    "in place": lambda card, host: host.add_(card),
    "cat": lambda card, host: torch.cat([host, card]),
    "matmul": lambda card, host: card @ host,
    "where": lambda card, host: torch.where(card > 0, card, host),
    "lerp": lambda card, host: torch.lerp(card, host, card),
    "foreach": lambda card, host: torch._foreach_add([card], [host]),
    "searchsorted": lambda card, host: torch.searchsorted(card, host),
}


@pytest.mark.parametrize("name", MIXED)
def test_mixed_devices_are_refused(name: str) -> None:
    card, host = torch.ones(4, device="spyre"), torch.ones(4)
    with pytest.raises(RuntimeError) as caught:
        MIXED[name](card, host)
    message = str(caught.value)
    assert "spyre:0" in message and "cpu" in message
    assert card.cpu().tolist() == host.tolist() == [1.0] * 4


def test_zero_dimensional_host_tensors_are_scalars() -> None:
    card = torch.ones(4, device="spyre")
    assert (card + torch.tensor(2.0)).cpu().tolist() == [3.0] * 4
    assert torch.where(card > 0, card, torch.tensor(0.0)).cpu().tolist() == [1.0] * 4


def test_index_tensors_may_stay_on_the_host() -> None:
    card = torch.arange(5.0, device="spyre")
    assert card[torch.tensor([3, 1])].cpu().tolist() == [3.0, 1.0]
    card[torch.tensor([0])] = 7
    assert card[0].item() == 7


def test_an_error_on_the_host_leaves_the_card_usable() -> None:
    card = torch.ones(3, 4, device="spyre")
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        torch.mm(card, card)
    assert (card + 1).sum().item() == 24


def test_dispatch_modes_do_not_see_the_runtime_inside() -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    seen: list[str] = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(
            self,
            func: Callable[..., object],
            types: Sequence[type],
            args: Sequence[object] = (),
            kwargs: Mapping[str, object] | None = None,
        ) -> object:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    with Log():
        (torch.ones(3).to("spyre") + 1).cpu()
    assert seen == [
        "aten.ones.default",
        "aten._to_copy.default",
        "aten.add.Tensor",
        "aten._to_copy.default",
    ]
