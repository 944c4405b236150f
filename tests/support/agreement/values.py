# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Inputs of random modules, and whether two results agree.

Bits must be equal. Where a sum of floats depends on its order, and only there, results
may differ by what the order can do; `Exactness` finds out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.interpreters.func import FuncFunctions
from xdsl.ir import Operation

from spyre_mlir.dialects import spyre
from spyre_mlir.dialects.spyre import dtype_name, is_float, tensor_of
from spyre_mlir.interpreters.spyre import SpyreFunctions, spread, torch_dtype

SPECIAL = (float("nan"), float("inf"), float("-inf"), -0.0, 65504.0, 6e-8, 1e30, 0.1)


def inputs_of(
    module: ModuleOp, limits: dict[int, int], special: bool, seed: int
) -> list[Tensor]:
    """Arguments of `main`: small whole numbers, or special ones among normal ones."""
    generator = torch.Generator().manual_seed(seed)
    function = next(f for f in module.ops if isinstance(f, FuncOp))
    made = []
    for position, argument in enumerate(function.body.block.args):
        shape, dtype = tensor_of(argument).get_shape(), dtype_name(argument.type)
        low, high = -3, 4
        if position in limits:
            low, high = 0, limits[position]
        elif dtype == "i1":
            low, high = 0, 2
        value = torch.randint(low, high, shape, generator=generator)
        if special and is_float(dtype):
            value = _special(shape, generator)
        made.append(value.to(torch_dtype(dtype)))
    return made


def _special(shape: Sequence[int], generator: torch.Generator) -> Tensor:
    value = torch.randn(tuple(shape), generator=generator)
    which = torch.randint(0, 8 * len(SPECIAL), tuple(shape), generator=generator)
    for number, special in enumerate(SPECIAL):
        value = torch.where(which == number, special, value)
    return value


def bits(tensor: Tensor) -> Tensor:
    """The bits of a tensor, all NaN made one."""
    whole = {2: torch.int16, 4: torch.int32, 8: torch.int64, 1: torch.uint8}
    if tensor.is_floating_point():
        tensor = torch.where(tensor.isnan(), torch.nan, tensor)
    return tensor.contiguous().view(whole[tensor.element_size()])


# ---- exact sums


def _quantum(value: Tensor) -> float:
    """The largest power of two that all (finite) elements are multiples of."""
    found = value.double()
    found = found[found.isfinite() & (found != 0)]
    if not found.numel():
        return 1.0
    mantissa, exponent = torch.frexp(found)
    whole = (mantissa * 2.0**53).long()
    return float(torch.ldexp((whole & -whole).double(), exponent - 53).min())


def _sum_is_exact(total_of_sizes: Tensor, quantum: float) -> bool:
    """Whether all partial sums are multiples of `quantum` that f32 holds."""
    if not total_of_sizes.numel():
        return True
    return float(total_of_sizes.max()) <= 2.0**24 * quantum


def _has_signed_zeros(total_of_sizes: Tensor, terms: Sequence[Tensor]) -> bool:
    """Whether a sum may be of zeros alone: its sign depends on where it starts."""
    return bool((total_of_sizes == 0).any()) and any(
        bool(t.signbit().any()) for t in terms
    )


class Exactness(Interpreter.Listener):
    """Watches a run: whether the order of some sum of floats could show."""

    def __init__(self) -> None:
        self.exact = True

    def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
        if isinstance(op, spyre.ReduceOp):
            if op.kind.data == "sum" and is_float(dtype_name(op.source.type)):
                sizes = args[0].double().abs().nan_to_num(0, 0, 0)
                total = sizes.sum(op.dims_data) if op.dims_data else sizes.new_zeros(1)
                self.exact &= _sum_is_exact(total, _quantum(args[0]))
                self.exact &= not _has_signed_zeros(total, args)
        elif isinstance(op, spyre.MatmulOp):
            maps, rank = op.maps(), op.sizes()
            one, other = (
                spread(value.double().abs().nan_to_num(0, 0, 0).contiguous(), m, rank)
                for value, m in zip(args, maps[:2], strict=True)
            )
            total = one * other
            if op.reduction_iterators():
                total = total.sum(op.reduction_iterators())
            quantum = _quantum(args[0]) * _quantum(args[1])
            self.exact &= _sum_is_exact(total, quantum)
            self.exact &= not _has_signed_zeros(total, args)


@dataclass(frozen=True)
class Reference:
    """What a module means on some arguments."""

    results: list[Tensor]
    exact: bool
    """No sum depends on its order."""


def reference(module: ModuleOp, arguments: Sequence[Tensor]) -> Reference:
    """The `spyre` interpreter's results."""
    watch = Exactness()
    interpreter = Interpreter(module, listeners=(watch,))
    interpreter.register_implementations(FuncFunctions())
    interpreter.register_implementations(SpyreFunctions())
    results = interpreter.call_op("main", tuple(arguments))
    return Reference(list(results), watch.exact)


# ---- comparing

LOOSE = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 1e-3}
"""
Relative to the largest magnitude, where sums depend on their order. An order moves a
sum by some 1e-7 of its terms; the operations after it may amplify that.
"""


def difference(found: Sequence[Tensor], wanted: Reference) -> str | None:
    """What is different, in words, or None."""
    for number, (a, b) in enumerate(zip(found, wanted.results, strict=True)):
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"result {number} is {a.dtype} {list(a.shape)}"
        wrong = bits(a) != bits(b)
        if not wanted.exact:
            wrong &= ~_is_near(a, b)
        if bool(wrong.any()):
            place = [int(i) for i in wrong.nonzero()[0]]
            return (
                f"result {number}, {b.dtype} {list(b.shape)}: {int(wrong.sum())} "
                f"elements differ, first at {place}: {a[tuple(place)].item()} "
                f"instead of {b[tuple(place)].item()}"
            )
    return None


def _is_near(a: Tensor, b: Tensor) -> Tensor:
    if not b.is_floating_point():
        return torch.ones_like(b, dtype=torch.bool)
    one, other = a.double(), b.double()
    finite = other[other.isfinite()]
    scale = float(finite.abs().max()) if finite.numel() else 1.0
    name = str(b.dtype).removeprefix("torch.")
    near = (one - other).abs() <= LOOSE[name] * max(scale, 1e-3)
    return near | (one == other) | (one.isnan() & other.isnan())
