# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every dtype into every other, on all ways between host and card."""

from collections.abc import Callable, Iterator

import pytest
import torch

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
    torch.complex128,
]
SMALL = [0.0, -0.0, 0.3, -1.7, 2.5, 3.5, 0.999, -0.5, 127.0, -127.0]
FLOATS = [*SMALL, float("nan"), float("inf"), -float("inf"), 1e-45, 65536.0, 1e30]
INTEGERS = [0, 1, -1, 127, 128, 256, 257, -256, 65536, 2**31 - 1, 2**40, -(2**63)]

FORMS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "flat": lambda t: t,
    "rows": lambda t: t.view(2, 65),
    "transposed": lambda t: t.view(2, 65).t(),
    "every second": lambda t: t[1::2],
    "from an offset": lambda t: t[3:70],
    "diagonal": lambda t: t.view(10, 13).diagonal(),
    "expanded": lambda t: t[:66].view(1, 66).expand(3, 66),
    "empty": lambda t: t[:0],
}


def values(source: torch.dtype, target: torch.dtype) -> torch.Tensor:
    """
    Hard ones, 130 of them; but what a float outside of an integer's range becomes is
    up to the kernel that converts it.
    """
    if source.is_floating_point or source.is_complex or source == torch.bool:
        is_whole = not target.is_floating_point and not target.is_complex
        unsigned = target == torch.uint8
        kept = SMALL if is_whole and target != torch.bool else FLOATS
        kept = [abs(x) for x in kept] if unsigned else kept
        made = torch.tensor(kept, dtype=torch.float64)
        if source.is_complex:
            made = torch.complex(made, made.flip(0))
        made = made != 0 if source == torch.bool else made.to(source)
    else:
        made = torch.tensor(INTEGERS).to(source)
    return made.repeat(130)[:130]


def assert_same(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found.cpu(), expected, rtol=0, atol=0, equal_nan=True)


Way = Callable[[torch.Tensor, torch.Tensor, torch.dtype], torch.Tensor]


def zeros(like: torch.Tensor, dtype: torch.dtype, device: str) -> torch.Tensor:
    return torch.zeros(like.shape, dtype=dtype, device=device)


WAYS: dict[str, Way] = {
    "on the card": lambda host, card, to: card.to(to),
    "to the card": lambda host, card, to: host.to("spyre", to),
    "to the host": lambda host, card, to: card.to("cpu", to),
    "copied on the card": lambda h, c, to: zeros(h, to, "spyre").copy_(c),
    "copied to the card": lambda h, c, to: zeros(h, to, "spyre").copy_(h),
    "copied to the host": lambda h, c, to: zeros(h, to, "cpu").copy_(c),
    "into a wider one": lambda h, c, to: torch.zeros(
        (2, *h.shape), dtype=to, device="spyre"
    ).copy_(c)[1],
    "into every second": lambda h, c, to: torch.zeros(
        (*h.shape, 2), dtype=to, device="spyre"
    )[..., 1].copy_(h),
    "into a transposed one": lambda h, c, to: (
        torch.zeros(h.shape[::-1], dtype=to, device="spyre").mT.copy_(c)
        if h.ndim == 2
        else c.to(to)
    ),
}


def cases() -> Iterator[tuple[str, str]]:
    yield from ((way, form) for way in WAYS for form in FORMS)


@pytest.mark.parametrize("source", DTYPES, ids=str)
@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_conversion(source: torch.dtype) -> None:
    for target in DTYPES:
        whole = values(source, target)
        on_card = whole.to("spyre")
        for way, form in cases():
            host, card = FORMS[form](whole), FORMS[form](on_card)
            assert_same(WAYS[way](host, card, target), host.to(target))


@pytest.mark.parametrize("value", [0.5, float("nan"), -1e-30, 65536, 2**40, 1j])
def test_an_element_of_a_bool_tensor(value: complex) -> None:
    card = torch.zeros(3, dtype=torch.bool, device="spyre")
    card[0] = torch.tensor(value)
    card[1] = value if not isinstance(value, complex) else True
    card[2:].copy_(torch.tensor([value]))
    assert card.tolist() == [True] * 3


def test_bytes_of_a_bool_are_zero_or_one() -> None:
    card = torch.tensor([0.3, 0.0, float("nan"), -7.0]).to("spyre").bool()
    assert card.view(torch.uint8).tolist() == [1, 0, 1, 1]
    assert (card.float() * 3).sum().item() == 9


@pytest.mark.parametrize("shape", [(1,), (1, 1), (1, 1, 1, 1, 1, 1)])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_one_element_of_any_rank_is_a_number(
    shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    host = torch.full(shape, 3).to(dtype)
    card = torch.stack([host * 0, host]).to("spyre")[1]
    assert card.item() == host.item()
    assert card.tolist() == host.tolist()
    assert bool(card) and complex(card) == complex(host)
    assert (3 in card) == (3 in host)
    if not dtype.is_complex:
        assert float(card) == float(host) and int(card) == int(host)
    if not dtype.is_complex and not dtype.is_floating_point and len(shape) == 1:
        assert [5, 6, 7, 8][card] == [5, 6, 7, 8][host]


def test_more_or_fewer_elements_than_one_are_no_number() -> None:
    for shape in ((2,), (0,), (1, 2)):
        with pytest.raises(RuntimeError, match="cannot be converted to Scalar"):
            torch.zeros(shape, device="spyre").item()


@pytest.mark.parametrize("device", ["spyre", "cpu"])
@pytest.mark.parametrize("source", [torch.float32, torch.bfloat16, torch.int64])
def test_compiled_conversions(source: torch.dtype, device: str) -> None:
    def convert(t: torch.Tensor) -> list[torch.Tensor]:
        flags = torch.zeros(*t.shape, 2, dtype=torch.bool, device=t.device)
        flags[..., 1] = t
        return [flags, *(t.to(dtype) for dtype in DTYPES)]

    compiled = torch.compile(
        convert, backend="spyre_mlir", options={"fallback": "silent"}
    )
    whole = values(source, torch.uint8)
    for form in ("rows", "every second"):
        host = FORMS[form](whole)
        found = compiled(FORMS[form](whole.to(device)))
        for one, other in zip(found, convert(host), strict=True):
            assert_same(one, other)
