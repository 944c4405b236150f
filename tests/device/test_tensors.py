# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a user does with a tensor on the card."""

import copy
import io
import pickle

import pytest
import torch

DTYPES = [
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.int8,
    torch.int32,
    torch.int64,
    torch.bool,
    torch.complex64,
]

SHAPES = [(), (0,), (3, 70), (2, 0, 3), (2, 1, 3, 1, 2, 1, 65)]


def sample(*shape: int, dtype: torch.dtype = torch.float16) -> torch.Tensor:
    values = torch.randn(shape, generator=torch.Generator().manual_seed(0)) * 5
    return values > 0 if dtype == torch.bool else values.to(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape", [(), (0,), (3, 70), (2, 0, 3), (2, 1, 3, 1, 2, 1, 65)]
)
def test_there_and_back(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    host = sample(*shape, dtype=dtype)
    card = host.to("spyre")
    assert card.device == torch.device("spyre", 0)
    assert (card.shape, card.stride(), card.dtype) == (
        host.shape,
        host.stride(),
        host.dtype,
    )
    assert torch.equal(card.cpu(), host)


def test_conversion_on_the_way() -> None:
    host = sample(3, 70, dtype=torch.float32)
    card = host.to("spyre", torch.float16)
    assert torch.equal(card.cpu(), host.half())
    assert torch.equal(card.to(torch.int32).cpu(), host.half().to(torch.int32))
    assert torch.equal(card.to("cpu", torch.float32), host.half().float())


def test_a_copy_broadcasts() -> None:
    card = torch.zeros(3, 70, device="spyre")
    card.copy_(torch.arange(70.0))
    assert torch.equal(card.cpu(), torch.arange(70.0).expand(3, 70))


def test_channels_last_keeps_its_strides() -> None:
    host = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    card = host.to("spyre")
    assert card.stride() == host.stride()
    assert torch.equal(card.cpu(), host)


def test_lazy_conjugation_and_negation() -> None:
    host = sample(3, 4, dtype=torch.complex64)
    card = host.to("spyre")
    assert torch.equal(card.conj().cpu(), host.conj().resolve_conj())
    assert torch.equal(host.conj().to("spyre").cpu(), host.conj().resolve_conj())
    assert torch.equal(card.conj().imag.cpu(), host.conj().imag.resolve_neg())
    target = torch.zeros_like(card)
    target.conj().copy_(card)
    assert torch.equal(target.cpu(), host.conj().resolve_conj())


def test_printing() -> None:
    text = repr(torch.tensor([[1.5, -2.0], [0.25, 8.0]]).to("spyre"))
    assert "1.5000" in text and "device='spyre:0'" in text
    assert "True" in repr(torch.tensor([True]).to("spyre"))


def test_numpy_is_refused() -> None:
    with pytest.raises(TypeError, match="spyre"):
        torch.ones(3, device="spyre").numpy()


def test_a_missing_card_is_named() -> None:
    with pytest.raises(RuntimeError, match="no card spyre:9"):
        torch.ones(3, device="spyre:9")


def test_deepcopy_has_memory_of_its_own() -> None:
    host = sample(4, 66)
    card = host.to("spyre")
    twin = copy.deepcopy(card)
    twin.zero_()
    assert torch.equal(card.cpu(), host)
    part = copy.deepcopy(card[1:, 3:9])
    assert torch.equal(part.cpu(), host[1:, 3:9])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bool, torch.int64, torch.int8])
def test_saving_and_loading(dtype: torch.dtype) -> None:
    host = sample(3, 70, dtype=dtype)
    card = host.to("spyre")
    file = io.BytesIO()
    torch.save({"whole": card, "part": card[1:]}, file)
    for place, kind in ((None, "spyre"), ("cpu", "cpu"), ("spyre:0", "spyre")):
        file.seek(0)
        found = torch.load(file, map_location=place)
        assert found["whole"].device.type == kind
        assert torch.equal(found["whole"].cpu(), host)
        assert torch.equal(found["part"].cpu(), host[1:])
        whole, part = (found[k].untyped_storage() for k in ("whole", "part"))
        assert whole.data_ptr() == part.data_ptr()
    assert torch.equal(pickle.loads(pickle.dumps(card)).cpu(), host)


def test_bytes_of_a_tiled_block_are_in_host_order() -> None:
    host = sample(3, 70)
    storage = host.to("spyre").untyped_storage()
    assert storage.nbytes() == 420
    assert bytes(storage.cpu()) == host.numpy().tobytes()


def test_untyped_storage() -> None:
    storage = torch.UntypedStorage(100, device="spyre")
    storage.copy_(torch.full((100,), 7, dtype=torch.uint8).untyped_storage())
    assert set(bytes(storage.cpu())) == {7}
    storage.resize_(300)
    assert set(bytes(storage.cpu())[:100]) == {7}


def test_resize_keeps_the_elements_in_host_order() -> None:
    host = sample(3, 70)
    card = host.to("spyre")
    card.resize_(6, 70)
    assert torch.equal(card[:3].cpu(), host)
    card.resize_(2, 2)
    assert torch.equal(card.cpu(), host.view(-1)[:4].view(2, 2))


def test_set_and_data() -> None:
    card = torch.empty(0, device="spyre")
    source = torch.ones(4, 5, device="spyre")
    card.set_(source.untyped_storage(), 0, (4, 5), (5, 1))
    assert card.shape == (4, 5)
    card.data = torch.zeros(3, device="spyre")
    assert card.cpu().tolist() == [0, 0, 0]


def test_a_module_keeps_its_parameters_and_ties() -> None:
    first, second = torch.nn.Embedding(9, 6), torch.nn.Linear(6, 9, bias=False)
    second.weight = first.weight
    model = torch.nn.ModuleList([first, second])
    before, values = first.weight, first.weight.detach().clone()
    model.to("spyre")
    assert second.weight is first.weight is before
    assert torch.equal(before.detach().cpu(), values)
    assert model.cpu()[0].weight is before


def test_training_matches_the_host() -> None:
    torch.manual_seed(0)
    host = torch.nn.Sequential(
        torch.nn.Linear(5, 7), torch.nn.GELU(), torch.nn.LayerNorm(7)
    )
    card = copy.deepcopy(host).to("spyre")
    for model, device in ((host, "cpu"), (card, "spyre")):
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
        inputs = torch.arange(20.0).view(4, 5).to(device) / 10
        for _ in range(2):
            optimizer.zero_grad()
            model(inputs).pow(3).mean().backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
    for expected, found in zip(host.parameters(), card.parameters(), strict=True):
        assert torch.allclose(found.cpu(), expected, atol=1e-5)


def test_default_device() -> None:
    with torch.device("spyre"):
        made = torch.tensor([1.0, 2.0])
        assert made.device.type == "spyre"
        assert made.cpu().tolist() == [1.0, 2.0]


def test_inference_mode() -> None:
    with torch.inference_mode():
        card = torch.ones(3, device="spyre")
        card.add_(1)
        assert card.cpu().tolist() == [2.0] * 3


def test_pinned_memory_is_told_apart() -> None:
    pinned = torch.arange(4.0).pin_memory()
    assert pinned.is_pinned()
    assert pinned[2:].is_pinned()
    assert not torch.arange(4.0).is_pinned()
    assert torch.equal(pinned.to("spyre", non_blocking=True).cpu(), pinned)
