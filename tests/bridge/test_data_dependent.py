# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes and numbers that depend on data: stages, assertions, and what they report."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.source import ConstantSource
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from spyre_mlir.config import Options
from spyre_mlir.torch_bridge.backend import compiled_graph
from spyre_mlir.torch_bridge.report import last_report
from spyre_mlir.torch_bridge.stages import split
from spyre_mlir.torch_bridge.summary import function_at_hand

from .checking import assert_same, backend, values
from .programs import counted_programs

CAPTURE: dict[str, Any] = {
    "capture_scalar_outputs": True,
    "capture_dynamic_output_shape_ops": True,
}


def _selected(x: torch.Tensor):
    y = x * 2 + 1
    z = y[y > 0]
    return (z * 3).sum(), z + 1, y.relu()


def _counted(x: torch.Tensor):
    count = int((x > 0).sum().item())
    torch._check(count < 1000)
    return torch.ones(count) * 2, x * 2, count


def _scaled(x: torch.Tensor):
    return x / x.max().item()


def _distinct(x: torch.Tensor):
    rounded = (x * 2).round().to(torch.int64)
    found, inverse = torch.unique(rounded, return_inverse=True)
    return found * 2, inverse + 1


def _repeated(x: torch.Tensor):
    return torch.repeat_interleave(x * 2, (x[:, 0] > 0).long() + 1, dim=0) + 1


def _twice(x: torch.Tensor):
    first = x[x > 0] * 2
    second = first[first > 1]
    return first, second + 1, torch.nonzero(second).reshape(-1) + 1


FUNCTIONS = [_selected, _counted, _scaled, _distinct, _repeated, _twice]


@pytest.fixture(autouse=True)
def captured():
    """Dynamo captures what it would otherwise break the graph at."""
    torch._dynamo.reset()
    with torch._dynamo.config.patch(CAPTURE):
        yield


def _compile(function: Any, dynamic: bool | None = None, **options: Any):
    return torch.compile(
        function,
        backend=backend(**{"fallback": "silent", "verify": True} | options),
        fullgraph=True,
        dynamic=dynamic,
    )


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_graph_goes_on_with_the_sizes_that_were_found(
    function: Callable[[torch.Tensor], Any], dynamic: bool | None
):
    run = _compile(function, dynamic)
    for seed, rows in ((0, 4), (1, 4), (2, 5)):
        x = values((rows, 6), torch.float32, seed)
        assert_same(f"seed {seed}", run(x), function(x))


def test_nothing_selected_and_everything_selected():
    run = _compile(_selected)
    for fill in (-3.0, 3.0):
        x = torch.full((4, 6), fill)
        assert_same(f"{fill}", run(x), _selected(x))


def test_one_compile_per_size():
    with counted_programs() as programs:
        run = _compile(_selected)
        for selected in (3, 5, 3, 5, 3):
            x = torch.arange(8.0) - 8 + selected
            assert_same("result", run(x), _selected(x))
    assert len(programs) == 3


def test_what_reads_the_data_is_host_work_and_the_rest_is_the_card_s():
    x = values((4, 6), torch.float32)
    _compile(_selected)(x)
    report = last_report()
    assert [op.op for op in report.host] == ["index.Tensor"]
    assert report.host[0].reason == "the size of its result depends on data"
    assert report.host[0].where is not None
    assert report.host[0].where.text == "z = y[y > 0]"
    assert report.card["mul.Tensor"] == 2 and report.card["relu.default"] == 1
    assert report.card_segments == 2


@pytest.mark.parametrize("function", [_selected, _counted, _distinct])
def test_error_refuses_the_operation_itself_with_a_true_way_out(
    function: Callable[[torch.Tensor], Any],
):
    x = values((4, 6), torch.float32)
    with pytest.raises(Exception, match="does not run on the card: ") as caught:
        _compile(function, fallback="error")(x)
    assert "note: from test_data_dependent.py:" in str(caught.value)
    assert 'pass options={"fallback": "warn"}' in str(caught.value)
    torch._dynamo.reset()
    assert_same("warn", _compile(function)(x), function(x))


def test_mutations_views_and_random_numbers_keep_their_order():
    def run(x: torch.Tensor, y: torch.Tensor):
        before = torch.rand_like(x)
        found = x[x > 0]
        x.mul_(2)
        drawn = torch.rand_like(found)
        y.add_(found.sum())
        return before, found.view(-1), found, drawn, torch.rand_like(x), x

    expected = [values((4, 6), torch.float32), values((3,), torch.float32, 1)]
    given = [t.clone() for t in expected]
    torch.manual_seed(5)
    want = run(*expected)
    compiled = _compile(run)
    torch.manual_seed(5)
    got = compiled(*given)
    assert_same("result", got, want)
    assert_same("inputs", given, expected)
    assert got[1].data_ptr() == got[2].data_ptr()
    assert got[5] is given[0]


def test_gradients():
    def run(x: torch.Tensor, w: torch.Tensor):
        return (x * w)[x > 0].exp().sum() + torch.nonzero(x).sum()

    inputs = [values((4, 6), torch.float32, k).requires_grad_() for k in range(2)]
    run(*inputs).backward()
    want = [x.grad for x in inputs]
    for x in inputs:
        x.grad = None
    _compile(run)(*inputs).backward()
    assert_same("gradients", [x.grad for x in inputs], want)


def test_experts_that_choose_their_rows():
    """All choices are made in one stage, and all experts run in the next."""

    def run(x: torch.Tensor, expert: torch.Tensor, w: torch.Tensor):
        out = torch.zeros_like(x)
        for k in range(3):
            rows = torch.nonzero(expert == k).squeeze(-1)
            out = out.index_add(0, rows, torch.relu(x[rows] @ w[k]))
        return out

    expert = torch.tensor([0, 2, 0, 2, 2])  # nobody goes to 1
    x, w = values((5, 6), torch.float32), values((3, 6, 6), torch.float32, 1)
    compiled = _compile(run)
    with torch.no_grad():
        assert_same("rows", compiled(x, expert, w), run(x, expert, w))
    assert last_report().card_segments == 2
    found: list[Any] = []
    for function in (run, compiled):
        leaf = w.clone().requires_grad_()
        function(x, expert, leaf).square().sum().backward()
        found.append(leaf.grad)
    assert_same("gradients", found[1], found[0])


def test_assertions_are_checked_but_are_no_work():
    def run(x: torch.Tensor):
        torch._assert_async((x > -100).all(), "far too small")
        return x * 2

    compiled = _compile(run, fallback="error")
    x = values((4, 6), torch.float32)
    assert_same("result", compiled(x), run(x))
    assert last_report().host == []
    with pytest.raises(RuntimeError, match="far too small"):
        compiled(torch.full((4, 6), -200.0))


def test_an_assertion_about_a_size_is_raised_before_the_size_is_used():
    def run(x: torch.Tensor):
        count = int((x > 0).sum().item())
        torch._check(count >= 2)
        return torch.ones(count)

    compiled = _compile(run)
    assert_same("result", compiled(torch.ones(3)), torch.ones(3))
    with pytest.raises(RuntimeError, match="Runtime assertion failed"):
        compiled(-torch.ones(3))


def test_exported_graphs_check_metadata_and_stay_on_the_card():
    class Doubled(torch.nn.Module):
        def forward(self, x: torch.Tensor):
            return x.to(torch.float32) * 2

    x = values((4, 6), torch.float16)
    module = torch.export.export(Doubled(), (x,), strict=False).module()
    assert "_assert_tensor_metadata" in str(module.graph)
    assert_same("result", _compile(module, fallback="error")(x), x.float() * 2)


def test_a_symbolic_number_without_a_symbol_waits_for_its_call():
    shapes = ShapeEnv()
    symbol = shapes.create_symbol(3, ConstantSource("n"))
    number = torch.SymInt(SymNode(symbol * 0 + 3, shapes, int, 3))
    graph = torch.fx.Graph()
    node = graph.placeholder("n")
    node.meta["val"] = number
    graph.output((node,))
    gm = torch.fx.GraphModule({}, graph)
    run = compiled_graph(gm, [number], Options(), function_at_hand())
    assert run([3]) == (3,)


def test_a_graph_of_known_sizes_is_not_cut():
    graphs: list[torch.fx.GraphModule] = []

    def collect(gm: torch.fx.GraphModule, inputs: list[Any]):
        graphs.append(gm)
        return gm

    for function in (_selected, lambda x: x + 1):
        torch.compile(
            function, backend=aot_autograd(fw_compiler=collect), fullgraph=True
        )(torch.ones(3))
    assert [len(split(gm)) for gm in graphs] == [2, 0]
