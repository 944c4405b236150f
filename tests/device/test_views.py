# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Views of card tensors against the same views of a CPU tensor."""

import random
from collections.abc import Callable

import pytest
import torch

View = Callable[[torch.Tensor], torch.Tensor]

VIEWS: dict[str, View] = {
    "rows": lambda t: t[1:3],
    "columns at a stick": lambda t: t[:, 64:128],
    "columns inside a stick": lambda t: t[:, 5:70],
    "one stick's middle": lambda t: t[:, 3:9],
    "every third column": lambda t: t[:, ::3],
    "every second column, odd": lambda t: t[:, 1::2],
    "every 64th column": lambda t: t[:, 7::64],
    "transposed": lambda t: t.t()[2:100],
    "row": lambda t: t[2],
    "element": lambda t: t[1, 65],
    "flattened": lambda t: t.view(-1)[7:300:5],
    "reshaped whole": lambda t: t.view(5, 78),
    "heads": lambda t: t.view(3, 2, 65).transpose(0, 1),
    "diagonal": lambda t: t.diagonal(),
    "new dimensions": lambda t: t[None, :, None],
    "empty": lambda t: t[1:1],
}


def pair(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    host = torch.arange(390).view(3, 130) % 100
    host = host % 2 > 0 if dtype == torch.bool else host.to(dtype)
    return host.clone(), host.to("spyre")


@pytest.mark.parametrize("dtype", [torch.float16, torch.int64, torch.bool, torch.int8])
@pytest.mark.parametrize("name", VIEWS)
def test_reading(name: str, dtype: torch.dtype) -> None:
    host, card = pair(dtype)
    view = VIEWS[name]
    assert torch.equal(view(card).cpu(), view(host))


@pytest.mark.parametrize("dtype", [torch.float16, torch.int64, torch.bool, torch.int8])
@pytest.mark.parametrize("name", VIEWS)
def test_writing_touches_exactly_the_view(name: str, dtype: torch.dtype) -> None:
    host, card = pair(dtype)
    view = VIEWS[name]
    values = torch.randint(0, 2, view(host).shape).to(dtype)
    view(host).copy_(values)
    view(card).copy_(values)
    assert torch.equal(card.cpu(), host)


OVERLAPPING: dict[str, View] = {
    "expand": lambda t: t[1].expand(4, 130),
    "unfold": lambda t: t.unfold(1, 64, 3),
}


@pytest.mark.parametrize("name", OVERLAPPING)
def test_overlapping_views_are_read(name: str) -> None:
    host, card = pair(torch.float16)
    assert torch.equal(OVERLAPPING[name](card).cpu(), OVERLAPPING[name](host))


def test_views_share_the_block_and_know_their_base() -> None:
    _, card = pair(torch.float16)
    part = card[1:, 3:]
    assert part._base is card
    assert part.untyped_storage().data_ptr() == card.untyped_storage().data_ptr()
    version = card._version
    part.add_(1)
    assert card._version == version + 1


WRITES: dict[str, View] = {
    "over itself": lambda t: t[1:3].copy_(t[0:2]),
    "from its own columns": lambda t: t[:, 1:].copy_(t[:, :-1].clone()),
    "copy into repeated rows": lambda t: t[1].expand(4, 130).copy_(t[:1]),
    "copy into a repeated element": lambda t: t[:1, :1].expand(1, 7).copy_(t[:1, :7]),
    "fill repeated rows": lambda t: t[1].expand(4, 130).fill_(3),
    "zero repeated columns": lambda t: t[:, 2:3].expand(3, 9).zero_(),
    "fill overlapping windows": lambda t: t.unfold(1, 64, 3).fill_(3),
    "add to repeated rows": lambda t: t[1].expand(4, 130).add_(1),
    "add out repeated rows": lambda t: torch.add(t, 1, out=t[1].expand(3, 130)),
    "index_put": lambda t: (
        t[1].expand(4, 130).index_put_((torch.tensor([0], device=t.device),), t[2:])
    ),
    "index_fill": lambda t: (
        t[1].expand(4, 130).index_fill_(0, torch.tensor([0], device=t.device), 5)
    ),
    "masked_fill": lambda t: t[1].expand(4, 130).masked_fill_(t[:1] > 9, 5),
    "as_strided": lambda t: t.as_strided((2, 3), (130, 2), 5).add_(7),
    "as_strided of a view": lambda t: t[1:, 3:].as_strided((2, 3), (1, 70), 1).fill_(7),
    "as_strided without an offset": lambda t: t[1, 3:].as_strided((4,), (2,)).mul_(2),
    "as_strided_": lambda t: t[1:].as_strided_((3, 2), (2, 1), 131).add_(7),
    "as_strided past the end": lambda t: t[1:].as_strided((3,), (200,)).fill_(1),
    "negative stride": lambda t: t.as_strided((3,), (-1,), 5).fill_(1),
    "repeated as_strided": lambda t: t.as_strided((3, 4), (0, 1), 64).fill_(1),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.filterwarnings("ignore:Use of .* on expanded tensors")
def test_writing_in_place_does_and_refuses_what_it_does_on_the_host(name: str) -> None:
    host, card = pair(torch.float16)
    outcomes: list[object] = []
    for tensor in (host, card):
        try:
            outcomes.append(WRITES[name](tensor).cpu().tolist())
        except RuntimeError as error:
            outcomes.append(str(error).split(".")[0].replace("cpu", "spyre:0"))
    assert outcomes[1] == outcomes[0]
    assert torch.equal(card.cpu(), host)


@pytest.mark.parametrize("dtype", [torch.int16, torch.uint8, torch.float32])
def test_views_as_another_dtype(dtype: torch.dtype) -> None:
    host, card = pair(torch.float16)
    assert torch.equal(card.view(dtype).cpu(), host.view(dtype))
    host.view(dtype)[1, 3:20] = 5
    card.view(dtype)[1, 3:20] = 5
    assert torch.equal(card.cpu(), host)


def test_random_chains_of_views() -> None:
    rng = random.Random(0)
    for _ in range(150):
        shape = tuple(rng.choice([1, 2, 5, 64, 70]) for _ in range(rng.randint(1, 3)))
        host = torch.randn(shape).half()
        card = host.to("spyre")
        left, right = host, card
        for _ in range(rng.randint(1, 4)):
            left, right = _step(rng, left, right)
        assert torch.equal(right.cpu(), left)
        if left.numel() and not _overlaps(left):
            values = torch.randn(left.shape).half()
            left.copy_(values)
            right.copy_(values)
            assert torch.equal(card.cpu(), host)


def _step(
    rng: random.Random, left: torch.Tensor, right: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    if left.ndim == 0 or left.numel() == 0:
        return left, right
    dim = rng.randrange(left.ndim)
    size = left.shape[dim]
    begin = rng.randrange(size)
    length = rng.randint(1, size - begin)
    other = rng.randrange(left.ndim)
    step = rng.choice([1, 2, 3, 64])
    choices: list[View] = [
        lambda t: t.transpose(dim, other),
        lambda t: t.narrow(dim, begin, length),
        lambda t: t.select(dim, begin),
        lambda t: t[(slice(None),) * dim + (slice(begin, None, step),)],
        lambda t: t.unsqueeze(dim).expand(*t.shape[:dim], 3, *t.shape[dim:]),
    ]
    if left.is_contiguous():
        choices.append(lambda t: t.view(-1))
    chosen = rng.choice(choices)
    return chosen(left), chosen(right)


def _overlaps(tensor: torch.Tensor) -> bool:
    return any(
        n > 1 and s == 0 for n, s in zip(tensor.shape, tensor.stride(), strict=True)
    )
