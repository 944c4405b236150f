# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What goes wrong on the card names the user's line, and loses nothing."""

import warnings
from collections.abc import Generator
from contextlib import contextmanager

import pytest
import torch
from torch import nn
from torch._dynamo.exc import BackendCompilerFailed
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from spyre_mlir.diagnostics import Unsupported
from spyre_mlir.dialects.spyre import FnOp, MapOp
from spyre_mlir.torch_bridge.report import FallbackWarning, last_report
from spyre_mlir.torch_bridge.residents import residents_of
from spyre_mlir.transforms._errors import PassError
from spyre_mlir.transforms.plan_tiles import PlanTilesPass
from spyre_runtime.card import card

from .card import compiled, on_card
from .checking import values


class Lookups(nn.Module):
    """Two alike layers, which become two calls of one function."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(50, 64) for _ in range(2))
        self.layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(2))

    def forward(self, x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        for table, layer in zip(self.tables, self.layers, strict=True):
            x = torch.relu(layer(x) + table(index))
            index = index * 3
        return x


@pytest.mark.parametrize("device", ["cpu", "spyre"])
def test_an_index_out_of_range(device: str) -> None:
    torch.manual_seed(0)
    module = Lookups().requires_grad_(False)
    x, good = torch.randn(3, 64), torch.tensor([0, 1, 2])
    want = module(x, good)
    module.to(device)
    run = compiled(module)
    for bad, value in ((60, 60), (20, 60), (-1, -1)):
        with pytest.raises(IndexError) as caught:
            run(x.to(device), torch.tensor([0, bad, 2]).to(device))
        text = str(caught.value)
        assert f"index {value} is outside [0, 50)" in text
        assert "test_card_errors.py" in text
        assert f"tables.{int(bad == 20)}" in text
        torch.testing.assert_close(
            run(x.to(device), good.to(device)).cpu(), want, rtol=1e-4, atol=1e-4
        )


@pytest.mark.parametrize("bad", [10, -11])
def test_an_index_by_brackets_out_of_range(bad: int) -> None:
    table, index = values((10, 64), torch.float32), torch.tensor([0, -10, 9])
    run = compiled(lambda table, index: table[index])
    assert torch.equal(run(table, index), table[index])
    with pytest.raises(IndexError, match=rf"index {bad} is outside \[0, 10\)"):
        run(table, torch.tensor([0, bad, 9]))


def test_a_failed_call_changes_no_input() -> None:
    table = on_card(values((10, 64), torch.float32))
    state = torch.zeros(64, device="spyre")

    def function(index: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        state.add_(1)
        return nn.functional.embedding(index, table) + state

    run = compiled(function)
    run(on_card(torch.tensor([1, 2])), state)
    with pytest.raises(IndexError):
        run(on_card(torch.tensor([1, 12])), state)
    assert torch.equal(state.cpu(), torch.ones(64))


@contextmanager
def all_but(nbytes: int) -> Generator[None]:
    """Leaves so many bytes of the card's memory free, in one range."""
    memory = card().memory
    residents_of(card()).drop()
    blocks = []
    while memory._holes:
        largest = max(room for _, room in memory._holes)
        if memory.free_bytes() - largest < nbytes and len(memory._holes) == 1:
            blocks.append(memory.allocate(largest - nbytes))
            break
        blocks.append(memory.allocate(min(room for _, room in memory._holes)))
    try:
        yield
    finally:
        for block in blocks:
            memory.free(block)


@pytest.mark.parametrize("device", ["cpu", "spyre"])
def test_out_of_card_memory(device: str) -> None:
    x, kept = torch.ones(256, 256).to(device), torch.ones(4, 70).to("spyre")
    run = compiled(lambda x: torch.cat([x * 2, x * 3]))
    before = card().memory.stats().allocated
    with all_but(200_000), pytest.raises(torch.OutOfMemoryError) as caught:
        run(x)
    for word in ("asked for", "used", "free"):
        assert word in str(caught.value)
    del caught
    assert card().memory.stats().allocated <= before
    assert torch.equal(run(x).cpu(), torch.cat([x.cpu() * 2, x.cpu() * 3]))
    assert torch.equal(kept.cpu(), torch.ones(4, 70))


def test_weights_go_before_memory_is_refused() -> None:
    module = nn.Linear(256, 256).requires_grad_(False)
    x = torch.randn(4, 256)
    run = compiled(module)
    run(x)
    memory = card().memory
    allocations = memory.stats().out_of_memory
    with all_but(300_000):
        run(x)
        block = memory.allocate(250_000)
        memory.free(block)
        torch.testing.assert_close(run(x), module(x), rtol=1e-4, atol=1e-4)
    assert memory.stats().out_of_memory == allocations


@pytest.fixture
def no_exp(monkeypatch: pytest.MonkeyPatch) -> None:
    """A card whose planner refuses every exponential."""
    original = PlanTilesPass.apply

    def apply(self: PlanTilesPass, ctx: Context, module: ModuleOp) -> None:
        for op in module.walk():
            if isinstance(op, FnOp) and op.function.data == "exp":
                owner = op.parent_op()
                assert isinstance(owner, MapOp)
                raise PassError("spyre.map: does not fit", owner.location)
        original(self, ctx, module)

    monkeypatch.setattr(PlanTilesPass, "apply", apply)


def _with_exp(x: torch.Tensor) -> torch.Tensor:
    return (x @ x).exp() @ x


@pytest.mark.usefixtures("no_exp")
def test_what_does_not_fit_runs_on_the_host() -> None:
    x = values((64, 64), torch.float32) / 8
    run = compiled(_with_exp, fallback="warn")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = run(x)
    torch.testing.assert_close(found, _with_exp(x), rtol=1e-4, atol=1e-4)
    (op,) = last_report().host
    assert op.op == "exp.default"
    assert "does not fit" in op.reason
    (warning,) = [w for w in caught if w.category is FallbackWarning]
    assert "exp.default" in str(warning.message)


@pytest.mark.usefixtures("no_exp")
def test_what_does_not_fit_is_refused_at_the_users_line() -> None:
    with pytest.raises(BackendCompilerFailed) as caught:
        compiled(_with_exp)(values((64, 64), torch.float32))
    error = caught.value.inner_exception
    assert isinstance(error, Unsupported)
    assert "does not fit" in str(error)
    assert error.where is not None
    assert error.where.text == "return (x @ x).exp() @ x"
