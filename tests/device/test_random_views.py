# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random chains of views, writes and conversions: a card tensor is as a CPU tensor."""

import random
import warnings
from collections.abc import Callable
from math import prod

import pytest
import torch

Step = Callable[[torch.Tensor], torch.Tensor]
"""Gives a new tensor, or the same one after a write."""

DTYPES = [
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.complex64,
]
SIZES = [0, 1, 1, 2, 3, 5, 63, 64, 65, 128]
MOST_ELEMENTS = 40_000


def numbers(
    rng: random.Random, shape: tuple[int, ...], dtype: torch.dtype
) -> torch.Tensor:
    """Small whole numbers, which every dtype holds and every kernel treats alike."""
    made = torch.Generator().manual_seed(rng.randrange(1 << 30))
    found = torch.randint(0, 7, shape, generator=made)
    return (found % 2 if dtype == torch.bool else found).to(dtype)


def some_shape(rng: random.Random) -> tuple[int, ...]:
    while True:
        shape = tuple(rng.choice(SIZES) for _ in range(rng.randint(0, 6)))
        if prod(shape) <= MOST_ELEMENTS:
            return shape


def a_view(rng: random.Random, tensor: torch.Tensor) -> Step:
    shape = tensor.shape
    dim = rng.randrange(max(tensor.ndim, 1))
    other = rng.randrange(max(tensor.ndim, 1))
    size = shape[dim] if shape else 0
    begin = rng.randint(0, max(size - 1, 0))
    length = rng.randint(0 if rng.random() < 0.1 else 1, max(size - begin, 1))
    step = rng.choice([1, 2, 3, 64])
    order = rng.sample(range(tensor.ndim), tensor.ndim)
    dtype = rng.choice(DTYPES[1:])  # bytes that are no bools are nobody's contract
    return rng.choice(
        [
            lambda t: t.transpose(dim, other),
            lambda t: t.permute(order),
            lambda t: t.narrow(dim, begin, length),
            lambda t: t.select(dim, begin),
            lambda t: t[(slice(None),) * dim + (slice(begin, None, step),)],
            lambda t: t.unsqueeze(dim),
            lambda t: t.squeeze(),
            lambda t: t.unsqueeze(dim).expand(*shape[:dim], 3, *shape[dim:]),
            lambda t: t.diagonal(0, dim, other),
            lambda t: t.unfold(dim, length, step),
            lambda t: t.view(-1),
            lambda t: t.reshape(*shape[:dim], -1, *shape[dim + 2 :]),
            lambda t: t.view(dtype),
            lambda t: t.chunk(2, dim)[-1],
            lambda t: t.conj(),
            lambda t: t.imag if t.is_complex() else t.real,
            lambda t: torch.view_as_real(t),
            lambda t: t.detach(),
            lambda t: t[..., None].transpose(0, -1),
        ]
    )


def a_window(rng: random.Random, tensor: torch.Tensor) -> Step:
    """`as_strided`, within the storage or just past its end."""
    held = tensor.untyped_storage().nbytes() // tensor.itemsize
    sizes = tuple(rng.choice([1, 2, 3, 65]) for _ in range(rng.randint(0, 3)))
    strides = tuple(rng.choice([0, 1, 1, 2, 64, 65]) for _ in sizes)
    reach = sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    offset = rng.randint(0, max(held - reach - 1, 0))
    return lambda t: t.as_strided(sizes, strides, offset)


def a_write(rng: random.Random, tensor: torch.Tensor) -> Step:
    values = numbers(rng, tuple(tensor.shape), rng.choice(DTYPES))
    row = values[:1] if values.ndim else values
    mask = numbers(rng, tuple(tensor.shape), torch.bool)
    number = rng.choice([0, 1, 2, 0.5, True])
    at = rng.randrange(max(len(tensor), 1)) if tensor.ndim else 0

    def masked(t: torch.Tensor) -> torch.Tensor:
        t[mask.to(t.device)] = number
        return t

    def indexed(t: torch.Tensor) -> torch.Tensor:
        t[at] = number
        return t

    def from_itself(t: torch.Tensor) -> torch.Tensor:
        # With gaps, what is read after it was written is up to the kernel.
        return t[1:].copy_(t[:-1] if t.is_contiguous() else t[:-1].clone())

    return rng.choice(
        [
            lambda t: t.copy_(values),
            lambda t: t.copy_(values.to(t.device)),
            lambda t: t.copy_(row.to(t.device)),
            lambda t: t.copy_(t),
            from_itself,
            lambda t: t.fill_(number),
            lambda t: t.zero_(),
            lambda t: t.fill_(row.view(-1)[0].to(t.device)),
            lambda t: t.add_(1),
            lambda t: t.mul_(t),
            lambda t: t.logical_not_(),
            lambda t: t.masked_fill_(mask.to(t.device), number),
            masked,
            indexed,
        ]
    )


def a_conversion(rng: random.Random, _: torch.Tensor) -> Step:
    dtype = rng.choice(DTYPES)
    return rng.choice(
        [
            lambda t: t.to(dtype),
            lambda t: t.clone().to("cpu", dtype).to(t.device),
            lambda t: t.clone(),
            lambda t: t.contiguous(),
            lambda t: t.clone(memory_format=torch.contiguous_format),
            lambda t: torch.zeros_like(t).copy_(t),
            lambda t: t + 0 if t.dtype != torch.bool else ~t,
            lambda t: torch.cat([t, t]),
            lambda t: t.flip(0),
            lambda t: t.new_zeros(t.shape, dtype=dtype).copy_(t),
        ]
    )


def outcome(step: Step, tensor: torch.Tensor) -> torch.Tensor | type[Exception]:
    try:
        return step(tensor)
    except (RuntimeError, IndexError, TypeError) as error:
        return type(error)


def same(card: torch.Tensor, host: torch.Tensor) -> bool:
    """Bit for bit and place for place, or NaN in the same places."""
    placed = (card.shape, card.dtype, card.stride(), card.storage_offset()) == (
        host.shape,
        host.dtype,
        host.stride(),
        host.storage_offset(),
    )
    return placed and torch.allclose(card.cpu(), host, rtol=0, atol=0, equal_nan=True)


def run(seed: int) -> None:
    rng = random.Random(seed)
    dtype = rng.choice(DTYPES)
    base = numbers(rng, some_shape(rng), dtype)
    base_on_card = base.to("spyre")
    host, card = base, base_on_card
    makers = [a_view, a_view, a_view, a_window, a_write, a_write, a_conversion]
    for _ in range(rng.randint(2, 8)):
        step = rng.choice(makers)(rng, host)
        left, right = outcome(step, host), outcome(step, card)
        if not isinstance(left, torch.Tensor) or not isinstance(right, torch.Tensor):
            assert left is right, (seed, left, right)
            continue
        assert right.device.type == "spyre"
        assert same(right, left), seed
        assert same(base_on_card, base), seed
        if left.numel() <= MOST_ELEMENTS:
            host, card = left, right


@pytest.mark.parametrize("part", range(4))
def test_chains(part: int) -> None:
    with warnings.catch_warnings(action="ignore"):
        for seed in range(150 * part, 150 * (part + 1)):
            run(seed)
