# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches, loops and regions; effects; states of random numbers; what reports say."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._higher_order_ops import map as map_rows
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils.checkpoint import checkpoint

from spyre_mlir.torch_bridge.report import last_report

from .card import on_card, on_host
from .checking import EXECUTOR, assert_same, backend, compiled, values
from .programs import counted_programs

rows: Any = map_rows
Place = Callable[[Any], Any]
PLACES = [lambda value: value, on_card]
both_places = pytest.mark.parametrize("place", PLACES, ids=["cpu", "card"])


def _compile(function: Any, **options: Any):
    torch._dynamo.reset()
    given = {"fallback": "silent", "verify": True} | options
    return torch.compile(function, backend=backend(**given), fullgraph=True)


def _gradients(function: Any, *inputs: torch.Tensor) -> list[torch.Tensor | None]:
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    function(*leaves).sum().backward()
    return [x.grad for x in leaves]


# ------------------------------------------------------------ branches and loops


def _branch(x: torch.Tensor):
    return torch.cond(x.sum() > 0, lambda x: (x * 2).relu(), lambda x: x.exp(), (x,))


def _eager_branch(x: torch.Tensor):
    return (x * 2).relu() if x.sum() > 0 else x.exp()


def _loop(x: torch.Tensor):
    def again(x: torch.Tensor):
        return x.sum() < 100

    def step(x: torch.Tensor):
        return (x * 2 + 1,)

    return while_loop(again, step, (x,))


@both_places
def test_bodies_run_on_the_card_and_the_host_reads_predicates(place: Place):
    run = _compile(_branch, fallback="error")
    for x in (torch.full((4, 6), 0.5), torch.full((4, 6), -0.5)):
        assert_same("branch", on_host(run(place(x))), _eager_branch(x))
    report = last_report()
    assert report.host == []
    assert dict(report.card) == {"sum.default": 1, "gt.Scalar": 1, "exp.default": 1}


@both_places
def test_loops_report_their_bodies_once_and_all_their_time(place: Place):
    run = _compile(_loop, fallback="error", executor="card")
    x = torch.zeros(4, 6)
    (got,) = run(place(x))
    assert_same("loop", on_host(got), torch.full((4, 6), 7.0))
    report = last_report()
    assert report.host == []
    assert report.card["mul.Tensor"] == 1 and report.card["sum.default"] == 1
    assert len(report.loaded) == 4 + 3  # predicates and steps


@both_places
def test_gradients_of_branches_and_regions(place: Place):
    region: Any = torch.compiler.nested_compile_region(lambda x: (x * 2).sin())

    def nested(x: torch.Tensor):
        return region(region(x)) + 1

    def eager(x: torch.Tensor):
        return ((x * 2).sin() * 2).sin() + 1

    x = values((4, 6), torch.float32)
    for function, plain in ((_branch, _eager_branch), (nested, eager)):
        got = _gradients(_compile(function, fallback="error"), place(x))
        assert_same("gradients", on_host(got), _gradients(plain, x))


def test_a_region_that_repeats_is_compiled_once():
    region: Any = torch.compiler.nested_compile_region(lambda x: (x * 2).sin())
    with counted_programs() as programs:
        run = _compile(lambda x: region(region(region(x))))
        run(values((4, 6), torch.float32))
    assert len(programs) == 2


def test_host_work_in_a_body_is_reported_and_refused():
    def run(x: torch.Tensor):
        return torch.cond(x.sum() > 0, lambda x: x.cumsum(0), lambda x: x + 1, (x,))

    x = torch.ones(4, 6)
    assert_same("branch", _compile(run)(x), x.cumsum(0))
    assert [op.op for op in last_report().host] == ["cumsum.default"]
    with pytest.raises(Exception, match=r"cumsum.default giving .* does not run"):
        _compile(run, fallback="error")(x)


def test_rows_are_cut_on_the_host_and_their_bodies_run_on_the_card():
    def run(x: torch.Tensor):
        total, _ = scan(lambda c, r: (c + r, c * r), torch.zeros(6), x, dim=0)
        return rows(lambda row: row * 2 + 1, x), total

    x = values((4, 6), torch.float32)
    assert_same("rows", _compile(run)(x), (x * 2 + 1, x.sum(0)))
    report = last_report()
    assert sorted(op.op for op in report.host) == ["map_impl", "scan"]
    assert report.card["mul.Tensor"] == 2


# ------------------------------------------------------------------------ effects


def _spd(x: torch.Tensor) -> torch.Tensor:
    return x @ x.T + 4 * torch.eye(4, device=x.device)


LINALG: list[Callable[[torch.Tensor], Any]] = [
    lambda x: torch.linalg.inv(_spd(x)) + 1,
    lambda x: torch.linalg.solve(_spd(x), x) + 1,
    lambda x: torch.linalg.cholesky(_spd(x)) + 1,
]


@both_places
@pytest.mark.parametrize("function", LINALG, ids=["inv", "solve", "cholesky"])
def test_linear_algebra_is_checked_and_counted(
    function: Callable[[torch.Tensor], Any], place: Place
):
    x = values((4, 6), torch.float32)
    run = _compile(function)
    torch.testing.assert_close(on_host(run(place(x))), function(x))
    (work,) = last_report().host
    assert "linalg" in work.op and "_ex" in work.op
    got = _gradients(run, place(x))
    torch.testing.assert_close(
        on_host(got), _gradients(function, x), rtol=1e-4, atol=1e-4
    )


@both_places
def test_a_failed_check_raises_what_eager_raises(place: Place):
    run = _compile(lambda x: torch.linalg.cholesky(x) + 1)
    with pytest.raises(torch.linalg.LinAlgError, match="not positive-definite"):
        run(place(-torch.eye(4)))


def test_weights_are_told_from_inputs_behind_a_token():
    weight = torch.nn.Parameter(torch.eye(4))
    run = _compile(lambda x: torch.linalg.inv(x + weight).sum(0), verify=False)
    for seed in (0, 1):
        x = _spd(values((4, 6), torch.float32, seed))
        for given in (x, x.T.contiguous().T):
            want = torch.linalg.inv(x + weight).sum(0)
            torch.testing.assert_close(run(given), want)


def test_printing_is_host_work(capfd: pytest.CaptureFixture[str]):
    def run(x: torch.Tensor):
        torch._print("hello")
        return x + 1

    assert_same("result", _compile(run)(torch.ones(3)), torch.full((3,), 2.0))
    (work,) = last_report().host
    assert str(work).startswith("_print.default: it prints (from test_control.py:")
    assert "hello" in capfd.readouterr().out


# ----------------------------------------------------------------- random numbers


def _dropped(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Its gradients tell the mask of the recomputation, its values that of the call."""
    return torch.nn.functional.dropout(x * w, 0.5).sin() * w


@both_places
def test_recomputation_draws_the_same_numbers(place: Place):
    x, w = values((8, 16), torch.float32).abs() + 1, torch.ones(8, 16)
    run = _compile(lambda x, w: checkpoint(_dropped, x, w, use_reentrant=False))
    for _ in range(2):
        leaves = [place(t.clone()).requires_grad_() for t in (x, w)]
        result = run(*leaves)
        for device in ("cpu", leaves[0].device):
            torch.rand(3, device=device)
        result.sum().backward()
        value, gradient = on_host(result.detach()), on_host(leaves[0].grad)
        kept = value != 0
        assert 0 < kept.sum() < kept.numel()
        want = torch.where(kept, 2 * (2 * x).cos(), torch.zeros(()))
        torch.testing.assert_close(gradient, want)
        torch.testing.assert_close(
            value, torch.where(kept, (2 * x).sin(), torch.zeros(()))
        )
    assert "native_dropout.default" in [op.op for op in last_report().host]


def test_a_recomputation_leaves_the_generator_as_it_was():
    def run(x: torch.Tensor, w: torch.Tensor):
        return checkpoint(_dropped, x, w, use_reentrant=False).sum()

    drawn: list[torch.Tensor] = []
    for function in (run, _compile(run)):
        leaves = [torch.ones(4, 6).requires_grad_() for _ in range(2)]
        torch.manual_seed(3)
        function(*leaves).backward()
        drawn.append(torch.rand(4))
    assert torch.equal(*drawn)


def test_checkpointed_attention_has_the_gradients_of_eager():
    attend: Any = torch.nn.functional.scaled_dot_product_attention

    def run(x: torch.Tensor):
        return checkpoint(attend, x, x, x, dropout_p=0.3, use_reentrant=False)

    x = values((1, 2, 4, 8), torch.float32)
    found: list[Any] = []
    for function in (run, _compile(run)):
        torch.manual_seed(3)
        found.append(_gradients(function, x))
    assert_same("gradients", found[1], found[0])


# --------------------------------------------------------------- recurrent layers


class Recurrent(torch.nn.Module):
    def __init__(self, kind: str):
        super().__init__()
        torch.manual_seed(0)
        layer: Any = getattr(torch.nn, kind)
        options: Any = {"num_layers": 2, "bidirectional": True, "batch_first": True}
        self.layer = layer(6, 5, **options)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        output, last = self.layer(x * 2)
        last = last if isinstance(last, torch.Tensor) else last[0] + last[1]
        return output.relu().sum(1) + last.sum(0).repeat(1, 2)


@both_places
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers_stay_whole_on_the_host(kind: str, place: Place):
    x = values((2, 7, 6), torch.float32)
    module, moved = Recurrent(kind), Recurrent(kind)
    moved.to(place(x).device)
    run = _compile(moved)
    with torch.no_grad():
        torch.testing.assert_close(on_host(run(place(x))), module(x))
    (work,) = last_report().host
    assert work.op == "spyre_mlir.recurrent.default"
    assert work.where is not None and work.where.text == (
        "output, last = self.layer(x * 2)"
    )
    torch.testing.assert_close(
        on_host(_gradients(run, place(x))), _gradients(module, x)
    )
    for got, want in zip(moved.parameters(), module.parameters(), strict=True):
        torch.testing.assert_close(on_host(got.grad), want.grad)


def test_recurrent_layers_are_refused_where_the_host_may_not_help():
    run = _compile(Recurrent("LSTM"), fallback="error")
    with pytest.raises(Exception, match=r"recurrent.* does not run on the card"):
        run(values((2, 7, 6), torch.float32))


# -------------------------------------------------------------- modes and devices


def test_modes_are_accepted_and_change_nothing():
    from spyre_mlir.torch_bridge.backend import MODES, _accept_mode

    _accept_mode.cache_clear()
    x = torch.ones(3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for mode in (*MODES, *MODES):
            torch._dynamo.reset()
            run = torch.compile(lambda x: x + 1, backend="spyre_mlir", mode=mode)
            assert_same(mode, run(x), x + 1)
    texts = [str(w.message) for w in caught if "changes nothing" in str(w.message)]
    assert len(texts) == len(set(texts)) == len(MODES) - 1
    torch._dynamo.reset()
    with pytest.raises(Exception, match=r"mode takes 'default', .* not 'fastest'"):
        torch.compile(lambda x: x + 1, backend="spyre_mlir", mode="fastest")(x)


def test_tensors_on_meta_give_tensors_on_meta():
    x = torch.empty(4, 6, device="meta")
    got = _compile(lambda x: (x + 1).t(), fallback="error")(x)
    assert got.device.type == "meta" and got.shape == (6, 4)


def test_fake_tensors_are_asked_for_shapes_alone():
    run = _compile(lambda x: (x @ x.T).relu())
    run(torch.ones(4, 6))
    with FakeTensorMode(allow_non_fake_inputs=True):
        got = run(torch.ones(4, 6))
    assert isinstance(got, FakeTensor) and got.shape == (4, 4)
    assert_same("real again", run(torch.ones(4, 6)), torch.full((4, 4), 6.0))


def test_card_and_host_tensors_in_one_training_graph():
    def run(x: torch.Tensor, y: torch.Tensor):
        return (x * 2).cpu() + y.exp()

    x, y = values((4, 6), torch.float32), values((4, 6), torch.float32, 1)
    leaves = [on_card(x).requires_grad_(), y.clone().requires_grad_()]
    _compile(run, fallback="error")(*leaves).sum().backward()
    got = [on_host(leaf.grad) for leaf in leaves]
    assert_same("gradients", got, [torch.full((4, 6), 2.0), y.exp()])


def test_a_graph_that_mutates_is_compiled_once():
    def run(x: torch.Tensor, count: torch.Tensor):
        count.add_(1)
        return x * count

    with counted_programs() as programs:
        function = compiled(run)
        count = torch.zeros(())
        for turn in (1, 2, 3):
            assert_same(
                "result", function(torch.ones(3), count), torch.full((3,), 1.0 * turn)
            )
    assert len(programs) == 1


@pytest.mark.skipif(EXECUTOR != "oracle", reason="does not depend on the executor")
def test_modes_of_autograd_meet_in_one_function():
    def run(x: torch.Tensor):
        y = x * 2
        with torch.no_grad():
            z = y * 3
        return y * z

    x = values((4, 6), torch.float32)
    function = _compile(run)
    assert_same("gradients", _gradients(function, x), _gradients(run, x))
    with torch.inference_mode():
        got = function(x)
    assert got.is_inference()
    assert_same("values", got, run(x))
    with torch.no_grad():
        assert_same("values", function(x), run(x))
