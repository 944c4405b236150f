# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Storages of card tensors behave as those of CPU tensors, in bytes of host order."""

import copy
import io
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

UntypedStorage = torch.UntypedStorage

Use = Callable[[torch.Tensor], Any]
"""What is done with a tensor of 2 x 65; its result, or the tensor, is compared."""


def halves(device: str) -> torch.Tensor:
    return (torch.arange(130.0).view(2, 65).half()).to(device)


def stored(tensor: torch.Tensor) -> Any:
    return tensor.untyped_storage()


def typed(tensor: torch.Tensor) -> Any:
    with warnings.catch_warnings(action="ignore"):
        return tensor._typed_storage()


def over(
    storage: UntypedStorage, *place: Any, dtype: torch.dtype = torch.float16
) -> torch.Tensor:
    return torch.empty(0, dtype=dtype, device=storage.device).set_(storage, *place)


def set_(tensor: Any, *source: torch.Tensor) -> torch.Tensor:
    return tensor.set_(*source)


def reloaded(value: Any) -> Any:
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


READS: dict[str, Use] = {
    "slice": lambda t: stored(t)[130:140].tolist(),
    "slice of a slice": lambda t: stored(t)[100:160][30:35].tolist(),
    "index": lambda t: [stored(t)[131], stored(t)[-3]],
    "sizes": lambda t: [len(stored(t)), stored(t[1:]).nbytes(), stored(t).size()],
    "clone": lambda t: stored(t).clone().tolist(),
    "clone of a slice": lambda t: stored(t)[133:140].clone().tolist(),
    "cpu of a slice": lambda t: stored(t)[133:140].cpu().tolist(),
    "copy to the host": lambda t: UntypedStorage(7).copy_(stored(t)[133:140]).tolist(),
    "deepcopy": lambda t: copy.deepcopy(stored(t)[133:140]).tolist(),
    "saved": lambda t: reloaded(stored(t)).tolist(),
    "saved view": lambda t: reloaded(t[1:, 3:7]),
    "as float": lambda t: stored(t).float().tolist(),
    "as bool": lambda t: stored(t).bool().tolist(),
    "typed": lambda t: typed(t).tolist(),
    "typed slice": lambda t: typed(t)[64:70].tolist(),
    "typed index": lambda t: [typed(t)[66], typed(t)[-1]],
    "typed float": lambda t: typed(t).float().tolist(),
    "typed bool": lambda t: typed(t).bool().tolist(),
    "typed pickle": lambda t: pickle.loads(pickle.dumps(typed(t))).tolist(),
    "set_": lambda t: over(stored(t), 60, (3, 4), (4, 1)),
    "set_ on a slice": lambda t: over(stored(t)[120:160], 2, (3, 4), (4, 1)),
    "set_ on an odd slice": lambda t: over(stored(t)[121:161]),
    "set_ as another dtype": lambda t: over(
        stored(t), 3, (5,), (1,), dtype=torch.int64
    ),
    "set_ on an odd slice as another dtype": lambda t: over(
        stored(t)[131:163], 1, (2,), (1,), dtype=torch.int64
    ),
    "set_ to a tensor": lambda t: set_(torch.empty_like(t), t[1:, 3:]),
    "set_ to nothing": lambda t: set_(t).shape,
    "outside": lambda t: stored(t)[260],
    "negative offset": lambda t: over(stored(t), -1, (3,), (1,)),
    "negative stride": lambda t: over(stored(t), 0, (3,), (-1,)),
    "another dtype": lambda t: set_(t, t.float()),
    "a slice that grows": lambda t: stored(t)[1:3].resize_(9),
}

WRITES: dict[str, Use] = {
    "index": lambda t: stored(t).__setitem__(131, 60),
    "slice": lambda t: stored(t).__setitem__(slice(130, 140), 60),
    "fill_": lambda t: stored(t).fill_(60),
    "fill_ of a slice": lambda t: stored(t)[129:135].fill_(60),
    "copy_": lambda t: stored(t).copy_(stored(t * 2)),
    "copy_ into a slice": lambda t: stored(t)[130:140].copy_(stored(t)[:10].clone()),
    "copy_ from the host": lambda t: stored(t)[130:140].copy_(
        torch.full((10,), 60, dtype=torch.uint8).untyped_storage()
    ),
    "typed index": lambda t: typed(t).__setitem__(66, -1.0),
    "typed slice": lambda t: typed(t).__setitem__(slice(60, 66), -1.0),
    "typed fill_": lambda t: typed(t).fill_(4),
    "typed copy_": lambda t: typed(t).copy_(typed(t.float() + 1)),
    "set_ on a slice": lambda t: over(stored(t)[120:160], 2, (3, 4), (4, 1)).fill_(5),
    "set_ on an odd slice": lambda t: over(stored(t)[121:161]).copy_(torch.arange(20)),
    "emptied and grown": lambda t: (
        stored(t).resize_(0),
        stored(t).resize_(260),
        t.fill_(2),
    ),
    "grown": lambda t: stored(t).resize_(600),
}


def outcome(use: Use, device: str, *, is_write: bool) -> Any:
    tensor = halves(device)
    with warnings.catch_warnings(action="ignore"):
        try:
            result = use(tensor)
        except (RuntimeError, IndexError) as error:
            return type(error), str(error).split(".")[0]
    result = tensor if is_write else result
    if isinstance(result, torch.Tensor):
        assert result.device.type == device
        return result.shape, result.dtype, result.cpu().view(torch.uint8).tolist()
    return result


@pytest.mark.parametrize("name", READS)
def test_reading(name: str) -> None:
    use = READS[name]
    expected = outcome(use, "cpu", is_write=False)
    assert outcome(use, "spyre", is_write=False) == expected


@pytest.mark.parametrize("name", WRITES)
def test_writing(name: str) -> None:
    use = WRITES[name]
    expected = outcome(use, "cpu", is_write=True)
    assert outcome(use, "spyre", is_write=True) == expected


def test_slices_share_memory_and_know_where_they_begin() -> None:
    whole = stored(halves("spyre"))
    part = whole[130:140]
    assert part.data_ptr() == whole.data_ptr() + 130
    part.fill_(7)
    before = stored(halves("cpu")).tolist()
    assert whole.tolist() == [*before[:130], *[7] * 10, *before[140:]]


def test_a_compiled_function_reads_a_slice_of_a_storage() -> None:
    compiled = torch.compile(lambda t: t + 1, backend="spyre_mlir")
    for start in (120, 128, 121):
        card = over(stored(halves("spyre"))[start : start + 130], 1, (2, 32), (32, 1))
        host = over(stored(halves("cpu"))[start : start + 130], 1, (2, 32), (32, 1))
        torch.testing.assert_close(compiled(card).cpu(), host + 1, equal_nan=True)
