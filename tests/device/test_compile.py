# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What torch.compile needs of the device, with PyTorch's own back ends."""

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._subclasses import FakeTensorMode

DEVICE = torch.device("spyre", 0)


def test_fake_tensors() -> None:
    with FakeTensorMode() as mode:
        made = torch.empty(3, 4, device="spyre")
        assert made.device == DEVICE
        assert (made @ made.t()).device == DEVICE
        assert torch.randn(3).to("spyre").device == DEVICE
        assert made.cpu().device.type == "cpu"
    real = torch.randn(3, 4).to("spyre")
    fake = mode.from_tensor(real)
    assert (fake.device, fake.stride()) == (DEVICE, real.stride())


def test_forward_and_backward_through_aot_autograd() -> None:
    def function(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x @ w) + 1

    x, w = torch.randn(3, 4), torch.randn(4, 5, requires_grad=True)
    card = w.detach().to("spyre").requires_grad_()
    compiled = torch.compile(function, backend="aot_eager", fullgraph=True)
    found = compiled(x.to("spyre"), card)
    found.sum().backward()
    expected = function(x, w)
    expected.sum().backward()
    assert torch.allclose(found.cpu(), expected, atol=1e-5)
    assert card.grad is not None and w.grad is not None
    assert torch.allclose(card.grad.cpu(), w.grad, atol=1e-5)


def test_the_compiler_sees_the_card_and_its_constants() -> None:
    devices: list[torch.device] = []

    def compiler(
        module: torch.fx.GraphModule, examples: list[torch.Tensor]
    ) -> torch.fx.GraphModule:
        devices.extend(example.device for example in examples)
        return module

    backend = aot_autograd(fw_compiler=compiler)

    @torch.compile(backend=backend)
    def function(x: torch.Tensor) -> torch.Tensor:
        return x + torch.tensor([1.0, 2.0, 3.0], device="spyre")

    found = function(torch.ones(3, device="spyre"))
    assert found.cpu().tolist() == [2.0, 3.0, 4.0]
    assert set(devices) == {DEVICE}


def test_mutated_views_change_in_place() -> None:
    card = torch.zeros(4, 70, device="spyre")

    @torch.compile(backend="aot_eager")
    def function(x: torch.Tensor) -> None:
        x[1:3].add_(1)

    function(card.t())
    assert torch.equal(card.t().cpu()[1:3], torch.ones(2, 4))
    assert card.sum().item() == 8
