# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The contract of a compiled call: outputs, mutations, keys, options, host segments."""

import warnings
from typing import Any

import pytest
import torch

from spyre_mlir.torch_bridge.backend import spyre_mlir
from spyre_mlir.torch_bridge.report import FallbackWarning, last_report

from .checking import EXECUTOR, assert_same, backend, check, compiled, values


def test_empty_tensors_stay_on_the_host():
    def run(x: torch.Tensor, e: torch.Tensor) -> dict[str, Any]:
        a, b, c = x.split([3, 0, 2], dim=1)
        return {
            "pieces": (a + 1, b * 2, c),
            "cat": torch.cat([x, e], 0),
            "sum": (e.sum(), e.sum(0), e.mean(), e.any(), e.all()),
            "relu": torch.relu(e),
            "matmul": b @ torch.ones(0, 4),
            "linear": torch.nn.functional.linear(b, torch.ones(6, 0), torch.ones(6)),
            "addmm": torch.addmm(torch.ones(4), b, torch.ones(0, 4)),
            "pad": torch.nn.functional.pad(e, (0, 0, 1, 2), value=3),
            "view": e.view(5, 0),
            "arange": torch.arange(0),
            "index": x[torch.zeros(0, dtype=torch.int64)],
            "norm": torch.nn.functional.layer_norm(e, (5,)),
            "softmax": e.softmax(0),
        }

    check(run, values((4, 5), torch.float32), torch.zeros(0, 5))


@pytest.mark.filterwarnings("ignore:var")
def test_variance_of_nothing():
    check(lambda e: (e.var(), e.std(0), torch.var_mean(e, 0)), torch.zeros(0, 5))


def test_batch_statistics_are_updated():
    torch.manual_seed(0)
    module = torch.nn.BatchNorm1d(8)
    other = torch.nn.BatchNorm1d(8)
    x = values((6, 8), torch.float32)
    with torch.no_grad():
        assert_same("result", compiled(other)(x), module(x))
    assert_same("state", dict(other.state_dict()), dict(module.state_dict()))


def test_strides_are_those_of_eager():
    def run(x: torch.Tensor):
        return x.t() + 1, (x * 2).t(), (x + 1).expand(3, 4, 6), x.permute(1, 0).relu()

    x = values((4, 6), torch.float32)
    for got, want in zip(check(run, x), run(x), strict=True):
        assert got.stride() == want.stride()


def test_outputs_keep_their_identity():
    def run(x: torch.Tensor, y: torch.Tensor):
        z = x + 1
        return z, z, None, x, z.clone(), 3, y.t(), z.t(), x.clone(), x.clone()

    x, y = values((3, 5), torch.float32), values((3, 5), torch.float32, 1)
    got = check(run, x, y)
    got = compiled(run)(x, y)
    assert got[3] is x
    assert got[0] is got[1]
    pointers = [t.data_ptr() for t in (got[0], got[4], got[8], got[9], x)]
    assert len(set(pointers)) == 5
    assert got[6].data_ptr() == y.data_ptr()
    assert got[7].data_ptr() == got[0].data_ptr()


def test_mutations_reach_inputs_and_swaps_work():
    def run(a: torch.Tensor, b: torch.Tensor):
        old = a.clone()
        a.copy_(b)
        b.copy_(old)
        return a + b

    check(run, values((3, 5), torch.float32), values((3, 5), torch.float32, 1))


def test_module_state_is_updated():
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.count: torch.Tensor
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x: torch.Tensor):
            self.count.add_(1)
            return x * self.count

    module = Counter()
    run = compiled(module)
    with torch.no_grad():
        assert_same("first", run(torch.ones(3)), torch.ones(3))
        assert_same("second", run(torch.ones(3)), torch.full((3,), 2.0))
    assert module.count == 2


def test_symbolic_sizes_are_resolved_at_the_call():
    compiles: list[torch.fx.GraphModule] = []

    def counting(gm: torch.fx.GraphModule, inputs: list[torch.Tensor], **kwargs: Any):
        compiles.append(gm)
        options = {"fallback": "error", "verify": True, "executor": EXECUTOR}
        return spyre_mlir(gm, inputs, options=options)

    def run(x: torch.Tensor):
        half = x.shape[0] // 2
        return x[:half].reshape(-1) + x.shape[0], x.new_zeros(half), half

    torch._dynamo.reset()
    function = torch.compile(run, backend=counting, dynamic=True)
    for rows in (4, 6, 10, 7):
        x = values((rows, 65), torch.float32, rows)
        assert_same(f"{rows} rows", function(x), run(x))
    assert len(compiles) == 1


def test_floats_that_change():
    def run(x: torch.Tensor, scale: float):
        return x * scale + 1

    torch._dynamo.reset()
    function = torch.compile(run, backend=backend(fallback="error"))
    x = values((5,), torch.float32)
    for scale in (0.5, 0.25, 3.0):
        assert_same("scaled", function(x, scale), run(x, scale))


@pytest.mark.parametrize("rows", [1, 5])
def test_training_gives_the_gradients_of_eager(rows: int):
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Linear(8, 16),
        torch.nn.GELU(),
        torch.nn.LayerNorm(16),
        torch.nn.Linear(16, 4),
        torch.nn.Softmax(-1),
    )
    x = values((rows, 8), torch.float32).requires_grad_()
    (module(x) ** 2).sum().backward()
    want = [x.grad, *(p.grad for p in module.parameters())]
    x.grad = None
    module.zero_grad()
    torch._dynamo.reset()
    function = torch.compile(module, backend=backend(fallback="error", verify=True))
    (function(x) ** 2).sum().backward()
    assert_same("gradients", [x.grad, *(p.grad for p in module.parameters())], want)


def test_training_of_attention():
    torch.manual_seed(0)
    sdpa: Any = torch.nn.functional.scaled_dot_product_attention
    inputs = [values((2, 3, 5, 8), torch.float32, k).requires_grad_() for k in range(3)]
    q, k, v = inputs
    sdpa(q, k, v, is_causal=True).square().sum().backward()
    want = [x.grad for x in inputs]
    for x in inputs:
        x.grad = None
    torch._dynamo.reset()
    function = torch.compile(sdpa, backend=backend(fallback="error", verify=True))
    function(q, k, v, is_causal=True).square().sum().backward()
    assert_same("gradients", [x.grad for x in inputs], want)


# ---------------------------------------------------------------- host segments


def _mixed(x: torch.Tensor):
    y = torch.cumsum(x + 1, 0)
    return torch.lgamma(y.abs() + 1).relu(), x.double() * 2


def test_one_warning_lists_the_host_operations():
    torch._dynamo.reset()
    function = torch.compile(_mixed, backend=backend())
    x = values((5, 3), torch.float32)
    with pytest.warns(FallbackWarning) as caught:
        got = function(x)
    assert len(caught) == 1
    text = str(caught[0].message)
    assert "cumsum" in text and "lgamma" in text and "float64" in text
    assert_same("mixed", got, _mixed(x))
    report = last_report()
    assert report.card["add.Tensor"] == 2
    assert {op.op for op in report.host_floats} >= {"cumsum.default", "lgamma.default"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function(x)


def test_silent_says_nothing():
    torch._dynamo.reset()
    function = torch.compile(_mixed, backend=backend(fallback="silent"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function(values((5, 3), torch.float32))


def test_few_segments():
    def run(x: torch.Tensor):
        a = torch.cumsum(x, 0)
        b = torch.cumsum(x + 1, 0)
        return (a * 2 + b).relu(), x * 3

    torch._dynamo.reset()
    function = torch.compile(run, backend=backend(fallback="silent"))
    x = values((5, 3), torch.float32)
    assert_same("run", function(x), run(x))
    report = last_report()
    assert (report.card_segments, report.host_segments) == (2, 1)


def test_views_between_host_operations_stay_there():
    def run(x: torch.Tensor):
        return torch.cumsum(torch.cumsum(x, 0).t().reshape(-1, 5), 1)

    torch._dynamo.reset()
    function = torch.compile(run, backend=backend(fallback="silent"))
    x = values((5, 3), torch.float32)
    assert_same("run", function(x), run(x))
    assert last_report().card_segments == 0


def test_random_operations_keep_their_order():
    def run(x: torch.Tensor):
        a = torch.rand_like(x)
        b = torch.rand_like(torch.cumsum(x * 2, 0))
        return a, b, torch.rand_like(x)

    x = values((5, 3), torch.float32)
    torch.manual_seed(3)
    want = run(x)
    torch._dynamo.reset()
    function = torch.compile(run, backend=backend(fallback="silent"))
    torch.manual_seed(3)
    assert_same("run", function(x), want)


# ------------------------------------------------------------------- bad input


def test_unsupported_names_op_type_shape_line_and_way_out():
    def run(x: torch.Tensor):
        return torch.cumsum(x, 0)

    with pytest.raises(Exception, match="does not run on the card") as caught:
        compiled(run)(values((5, 3), torch.float32))
    text = str(caught.value)
    assert "cumsum.default giving f32[5, 3] does not run on the card" in text
    assert "test_backend.py" in text and "return torch.cumsum(x, 0)" in text
    assert 'options={"fallback": "warn"}' in text


def test_rank_and_dtype_are_refused():
    with pytest.raises(Exception, match="7 dimensions, the card takes 6"):
        compiled(lambda x: x + 1)(torch.zeros(1, 1, 1, 1, 1, 1, 2))
    with pytest.raises(Exception, match="the card has no int8"):
        compiled(lambda x: x + 1)(torch.zeros(3, dtype=torch.int8))
    with pytest.raises(Exception, match="the card has no complex64"):
        compiled(lambda x: x + 1)(torch.zeros(3, dtype=torch.complex64))


def test_unknown_options_are_refused_with_the_known_ones():
    def run(x: torch.Tensor):
        return x + 1

    for options, text in (
        ({"fallbak": "warn"}, "unknown option 'fallbak'.*cpu_weights.*fallback"),
        ({"fallback": "maybe"}, "'fallback' takes 'error', 'warn', 'silent'"),
        ({"verify": 3}, "'verify' takes a bool"),
        ({"chip": "nope", "executor": "card"}, "'chip' takes 'spyre', not 'nope'"),
    ):
        torch._dynamo.reset()
        with pytest.raises(Exception, match=text):
            torch.compile(run, backend=backend(**options))(torch.ones(3))


def test_environment_sets_options(monkeypatch: pytest.MonkeyPatch):
    from spyre_mlir.config import Options

    monkeypatch.setenv("SPYRE_FALLBACK", "silent")
    monkeypatch.setenv("SPYRE_VERIFY", "1")
    assert Options.parse() == Options(fallback="silent", verify=True)
    assert Options.parse({"fallback": "error"}).fallback == "error"
