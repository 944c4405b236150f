# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Eager results have the strides that the CPU's have."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

Operation = Callable[[torch.Tensor], torch.Tensor]


def count(device: str, *shape: int) -> torch.Tensor:
    return torch.arange(float(torch.Size(shape).numel())).view(shape).to(device)


def channels_last(device: str, *shape: int) -> torch.Tensor:
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return count(device, *shape).to(memory_format=formats[len(shape)])


INPUTS: dict[str, Callable[[str], torch.Tensor]] = {
    "contiguous": lambda device: count(device, 2, 4, 5, 6),
    "channels last": lambda device: channels_last(device, 2, 4, 5, 6),
    "channels last 3d": lambda device: channels_last(device, 2, 4, 5, 2, 3),
    "permuted": lambda device: count(device, 3, 4, 5, 2).permute(2, 1, 0, 3),
    "with gaps": lambda device: count(device, 4, 5, 6, 4)[:, ::2].transpose(0, 1),
    "expanded": lambda device: count(device, 5, 1, 2, 1).expand(5, 4, 2, 3),
}


def fresh(like: torch.Tensor, *shape: int) -> torch.Tensor:
    return torch.empty(shape, device=like.device)


OPERATIONS: dict[str, Operation] = {
    "sigmoid": torch.sigmoid,
    "abs": torch.abs,
    "logical_not": torch.logical_not,
    "complex": lambda t: torch.complex(t, t).imag + 0,
    "add": lambda t: t + 1,
    "add contiguous": lambda t: t + t.contiguous(),
    "compare": lambda t: t > 3,
    "where": lambda t: torch.where(t > 3, t, t * 2),
    "clone": torch.clone,
    "contiguous clone": lambda t: t.clone(memory_format=torch.contiguous_format),
    "contiguous": lambda t: t.contiguous(),
    "half": lambda t: t.half(),
    "bool": lambda t: t.bool(),
    "zeros_like": torch.zeros_like,
    "contiguous zeros_like": lambda t: torch.zeros_like(
        t, memory_format=torch.contiguous_format
    ),
    "resize_as_": lambda t: torch.resize_as_(
        fresh(t, 0), t, memory_format=torch.preserve_format
    ).zero_(),
    "out of no elements": lambda t: torch.sigmoid(t, out=fresh(t, 0)),
    "out that fits": lambda t: torch.sigmoid(t, out=torch.zeros_like(t)),
    "contiguous out": lambda t: torch.sigmoid(t, out=fresh(t, *t.shape)),
    "cat out": lambda t: torch.cat([t, t], out=fresh(t, 0)),
    "sum": lambda t: t.sum(1),
    "sum out": lambda t: torch.sum(t, 1, out=fresh(t, 0)),
    "softmax": lambda t: t.softmax(1),
    "cumsum": lambda t: t.cumsum(1),
    "cat": lambda t: torch.cat([t, t], 1),
    "sort": lambda t: t.sort(1)[0],
    "index": lambda t: t[:, torch.tensor([1, 0], device=t.device)],
    "flip": lambda t: t.flip(0),
    "masked_fill": lambda t: t.masked_fill(t > 3, 0.0),
    "in place": lambda t: t.clone().add_(1),
    "foreach": lambda t: torch._foreach_add([t, t], 1)[0],
    "group_norm": lambda t: F.group_norm(t, 2),
    "layer_norm": lambda t: F.layer_norm(t, t.shape[-1:]),
    "as_strided_scatter": lambda t: torch.as_strided_scatter(
        t, fresh(t, 2, 2).zero_(), (2, 2), (2, 1), 1
    ),
}

OF_IMAGES: dict[str, Operation] = {
    "to": lambda t: t.to(memory_format=torch.channels_last),
    "to half": lambda t: t.to(torch.float16, memory_format=torch.channels_last),
    "clone": lambda t: t.clone(memory_format=torch.channels_last),
    "contiguous": lambda t: t.contiguous(memory_format=torch.channels_last),
    "zeros_like": lambda t: torch.zeros_like(t, memory_format=torch.channels_last),
    "max_pool": lambda t: F.max_pool2d(t, 2),
    "avg_pool": lambda t: F.avg_pool2d(t, 2),
    "interpolate": lambda t: F.interpolate(t, scale_factor=2),
    "pixel_shuffle": lambda t: F.pixel_shuffle(t, 2),
}


def check(operation: Operation, made: Callable[[str], torch.Tensor]) -> None:
    expected, found = operation(made("cpu")), operation(made("spyre"))
    assert found.device.type == "spyre"
    assert (found.shape, found.stride()) == (expected.shape, expected.stride())
    torch.testing.assert_close(found.cpu(), expected)


@pytest.mark.filterwarnings("ignore:An output with one or more")
@pytest.mark.parametrize("given", INPUTS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_strides(name: str, given: str) -> None:
    check(OPERATIONS[name], INPUTS[given])


@pytest.mark.parametrize("given", ["contiguous", "channels last"])
@pytest.mark.parametrize("name", OF_IMAGES)
def test_strides_of_images(name: str, given: str) -> None:
    check(OF_IMAGES[name], INPUTS[given])


def test_group_norm_of_channels_last_has_its_gradient() -> None:
    found: list[torch.Tensor] = []
    for device in ("cpu", "spyre"):
        given = (INPUTS["channels last"](device) / 240).requires_grad_()
        F.group_norm(given, 2).pow(3).sum().backward()
        assert given.grad is not None
        found.append(given.grad.cpu())
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-4)
