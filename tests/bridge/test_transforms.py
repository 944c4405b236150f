# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportMissingTypeStubs=false
"""Transforms of `torch.func` inside compiled functions, and writes into views."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd
from torch.func import (
    functional_call,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    vjp,
    vmap,
)
from torch.nn import functional

from spyre_mlir.torch_bridge.composites import composites_kept
from spyre_mlir.torch_bridge.decompositions import decomposition_table

from .checking import assert_same, backend, check, compiled, values

W, X, V = (values(s, torch.float32, k) for k, s in enumerate([(5, 4), (3, 4), (4,)]))
Q = values((2, 3, 8), torch.float32, 3)
LAYERS = torch.nn.Sequential(
    torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.LayerNorm(5), torch.nn.Linear(5, 2)
)
PARAMETERS = {
    name: values(tuple(p.shape), torch.float32, k)
    for k, (name, p) in enumerate(LAYERS.named_parameters())
}


def _loss(parameters: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    return functional_call(LAYERS, parameters, (x,)).square().sum()


def _attend(q: torch.Tensor) -> torch.Tensor:
    return functional.scaled_dot_product_attention(q, q, q).sin()


def _wave(v: torch.Tensor) -> torch.Tensor:
    return (W @ v).sin()


SUMS = (1 + torch.arange(3.0)).unsqueeze(1)
TRANSFORMED: dict[str, Callable[[torch.Tensor, torch.Tensor, torch.Tensor], Any]] = {
    "grad of matmul": lambda x, v, q: grad(lambda r: _wave(r).sum())(v),
    "grad of linear": lambda x, v, q: grad(
        lambda r: functional.linear(x, r).sin().sum()
    )(W),
    "grad of layer_norm": lambda x, v, q: grad(
        lambda r: (functional.layer_norm(r, (4,), v) * SUMS).sin().sum()
    )(x),
    "grad of rms_norm": lambda x, v, q: grad(
        lambda r: functional.rms_norm(r, (4,), v).sin().sum()
    )(x),
    "grad of group_norm": lambda x, v, q: grad(
        lambda r: functional.group_norm(r, 3).sin().sum()
    )(q),
    "grad of attention": lambda x, v, q: grad(lambda r: _attend(r).sum())(q),
    "grad of pad": lambda x, v, q: grad(
        lambda r: functional.pad(r, (1, 2)).sin().sum()
    )(x),
    "grad of grad": lambda x, v, q: grad(
        lambda r: grad(lambda s: _wave(s).sum())(r).square().sum()
    )(v),
    "grad of a module": lambda x, v, q: grad(_loss)(PARAMETERS, x),
    "grad for each sample": lambda x, v, q: vmap(grad(_loss), (None, 0))(PARAMETERS, x),
    "vjp": lambda x, v, q: vjp(_wave, v)[1](torch.ones(5)),
    "jvp": lambda x, v, q: jvp(_wave, (v,), (v * 2,)),
    "jvp of grad": lambda x, v, q: jvp(grad(lambda r: _wave(r).sum()), (v,), (v + 1,)),
    "jvp of attention": lambda x, v, q: jvp(_attend, (q,), (q + 1,)),
    "jacfwd of softmax": lambda x, v, q: jacfwd(lambda r: r.softmax(0))(v),
    "jacrev of log_softmax": lambda x, v, q: jacrev(lambda r: r.log_softmax(0))(v),
    "jacrev of attention": lambda x, v, q: jacrev(lambda r: _attend(r).sum(0))(q),
    "hessian of matmul": lambda x, v, q: hessian(lambda r: _wave(r).sum())(v),
    "hessian of softmax": lambda x, v, q: hessian(lambda r: r.softmax(0)[1])(v),
    "vmap": lambda x, v, q: vmap(_wave)(x),
    "vmap of vmap": lambda x, v, q: vmap(vmap(torch.dot, (None, 0)), (0, None))(x, x),
    "vmap of layer_norm": lambda x, v, q: vmap(
        lambda r: functional.layer_norm(r, (4,))
    )(x),
    "vmap of attention": lambda x, v, q: vmap(_attend)(q),
    "vmap of jacfwd": lambda x, v, q: vmap(jacfwd(lambda r: _wave(r).softmax(0)))(x),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transforms_give_what_eager_gives(name: str):
    check(TRANSFORMED[name], X, V, Q)


def test_transforms_nest_in_training():
    def run(w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        inner = grad(lambda r: functional.linear(x, r).sin().sum())(w)
        return functional.layer_norm(inner, (4,)).square().sum() + (x @ w.t()).sum()

    found = []
    for function in (run, compiled(run)):
        w = W.clone().requires_grad_()
        function(w, X).backward()
        found.append(w.grad)
    assert_same("gradient", found[1], found[0])


def test_composites_stay_whole_where_nobody_differentiates():
    """A frozen layer of a model that trains is one operation for the importer."""
    seen: list[str] = []

    def look(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        seen.extend(str(node.target) for node in graph.graph.nodes)
        return make_boxed_func(graph.forward)

    def run(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return functional.layer_norm(x, (4,)) @ functional.rms_norm(w, (5,))

    def trace(gm: torch.fx.GraphModule, inputs: Any) -> Any:
        aot = aot_autograd(fw_compiler=look, decompositions=decomposition_table())
        with composites_kept():
            return aot(gm, inputs)

    torch._dynamo.reset()
    torch.compile(run, backend=trace)(X, W.t().contiguous().requires_grad_())
    assert "aten.layer_norm.default" in seen
    assert "aten.rms_norm.default" not in seen


def _writes(view: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., Any]:
    def run(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x * 2
        view(y).add_(1)
        view(x).mul_(3)
        return y, x + 1

    return run


VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "diagonal": lambda x: x.diagonal(),
    "upper diagonal": lambda x: x.diagonal(1, 0, 2),
    "lower diagonal": lambda x: x.diagonal(-2, 2, 1),
    "as_strided": lambda x: x.as_strided((2, 3), (7, 2), 1),
    "slice": lambda x: x[:, 1:4:2],
    "select": lambda x: x[:, -1],
    "unfold": lambda x: x.unfold(2, 2, 2),
    "split": lambda x: x.split(2, 1)[1],
    "unbind": lambda x: x.unbind(2)[3],
    "reshaped": lambda x: x.view(-1)[3:9],
    "transposed": lambda x: x.transpose(0, 2)[1:],
    "permuted": lambda x: x.permute(2, 0, 1).flatten(1)[2],
    "squeezed": lambda x: x[:1].squeeze(0).unsqueeze(1),
}


@pytest.mark.parametrize("name", VIEWS)
def test_writes_into_views(name: str):
    check(_writes(VIEWS[name]), values((3, 5, 4), torch.float32), fallback="silent")


def test_scatters():
    def run(x: torch.Tensor, s: torch.Tensor) -> dict[str, torch.Tensor]:
        return {
            "diagonal": torch.diagonal_scatter(x, s[:3], 0),
            "upper": torch.diagonal_scatter(x, s[:3], 2),
            "lower": torch.diagonal_scatter(x, s[:3], -1, 1, 0),
            "select": torch.select_scatter(x, s[:5], 0, -1),
            "slice": torch.slice_scatter(x, s[:5].expand(1, 5), 0, 1, 2),
            "strided": torch.as_strided_scatter(x, s[:4].view(2, 2), (2, 2), (4, 1), 2),
        }

    x = values((3, 5), torch.float16)
    x[0, 0] = float("nan")
    check(run, x, values((6,), torch.float16, 1), fallback="silent")


def test_gradients_of_views():
    def run(x: torch.Tensor) -> torch.Tensor:
        return x.diagonal().square().sum() + x.unfold(1, 2, 1).sin().sum()

    found: list[Any] = []
    for function in (run, torch.compile(run, backend=backend(fallback="silent"))):
        x = values((4, 5), torch.float32).requires_grad_()
        function(x).backward()
        found.append(x.grad)
    assert_same("gradient", found[1], found[0])
