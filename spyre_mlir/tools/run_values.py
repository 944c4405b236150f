# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors that a program is run on: from files, or seeded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import torch
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue

from spyre_mlir.diagnostics import SpyreError
from spyre_mlir.dialects.spyre import GatherOp, SpyreTensor, dtype_name, tensor_of
from spyre_mlir.interpreters.spyre import torch_dtype

DEFAULT_LIMIT = 2
"""Seeded whole numbers lie below it, unless they index something that is larger."""


def load_array(path: str) -> torch.Tensor:
    """The array of a `.npy` file."""
    if not Path(path).is_file():
        raise SpyreError(f"{path}: no such file")
    try:
        return torch.from_numpy(np.load(path, allow_pickle=False))
    except ValueError as error:
        raise SpyreError(f"{path}: {error}") from error


def fit(value: torch.Tensor, type_: Attribute, name: str) -> torch.Tensor:
    """A given array as an argument of this type."""
    tensor = cast(SpyreTensor, type_)
    shape = tuple(tensor.get_shape())
    if tuple(value.shape) != shape:
        raise SpyreError(
            f"{name} has shape {list(value.shape)}, the argument {list(shape)}"
        )
    return value.to(torch_dtype(dtype_name(tensor))).contiguous()


def seeded(
    type_: Attribute, generator: torch.Generator, limit: int = DEFAULT_LIMIT
) -> torch.Tensor:
    """Normal numbers, or whole ones in [0, limit)."""
    tensor = cast(SpyreTensor, type_)
    shape, dtype = tuple(tensor.get_shape()), torch_dtype(dtype_name(tensor))
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator).to(dtype)
    return torch.randint(0, limit, shape, generator=generator).to(dtype)


def index_limit(value: SSAValue) -> int:
    """Below what whole numbers of an argument should lie: they may be indices."""
    sizes = [
        tensor_of(use.operation.source).get_shape()[use.operation.axis_data]
        for use in value.uses
        if isinstance(use.operation, GatherOp) and use.operation.index is value
    ]
    return max(1, min(sizes)) if sizes else DEFAULT_LIMIT


def arguments_of(
    types: Sequence[Attribute],
    given: Sequence[str],
    seed: int | None,
    limits: Sequence[int] | None = None,
) -> list[torch.Tensor]:
    """Arguments from files in order, the rest seeded."""
    if len(given) > len(types):
        raise SpyreError(f"{len(given)} inputs for {len(types)} arguments")
    if seed is None and len(given) < len(types):
        missing = types[len(given)]
        raise SpyreError(
            f"{len(given)} inputs for {len(types)} arguments; the next is {missing}",
            ("give it by --input FILE.npy, or all that miss by --random SEED",),
        )
    generator = torch.Generator().manual_seed(seed or 0)
    limits = limits or [DEFAULT_LIMIT] * len(types)
    values: list[torch.Tensor] = []
    for number, (type_, limit) in enumerate(zip(types, limits, strict=True)):
        if number < len(given):
            name = given[number]
            values.append(fit(load_array(name), type_, name))
        else:
            values.append(seeded(type_, generator, limit))
    return values


def function_arguments(
    function: FuncOp, given: Sequence[str], seed: int | None
) -> list[torch.Tensor]:
    """Arguments for a function on tensors."""
    args = function.body.block.args
    for argument in args:
        if not isinstance(argument.type, TensorType):
            raise SpyreError(
                f"@{function.sym_name.data} takes {argument.type}, which is no tensor"
            )
        if not argument.type.has_static_shape():
            raise SpyreError(
                f"@{function.sym_name.data} takes {argument.type}, whose size is open"
            )
    limits = [index_limit(a) for a in args]
    return arguments_of([a.type for a in args], given, seed, limits)


def difference(left: torch.Tensor, right: torch.Tensor) -> tuple[str, bool]:
    """How two results differ, and whether they are equal up to the order of sums."""
    unequal = left != right
    if left.is_floating_point():
        unequal &= ~(left.isnan() & right.isnan())
    count = int(unequal.sum())
    if not count:
        return "the same", True
    place = tuple(int(index) for index in unequal.nonzero()[0])
    a, b = left.double(), right.double()
    worst = float((a - b).abs().nan_to_num(float("inf"))[unequal].max())
    rtol, atol = _TOLERANCES.get(left.dtype, (0.0, 0.0))
    close = torch.allclose(a, b, rtol, atol, equal_nan=True)
    verdict = "as the order of sums may make them" if close else "WRONG"
    text = (
        f"{count} of {left.numel()} elements differ, {verdict}: by at most "
        f"{worst:.3g}, first {list(place)}: {left[place]} on the card, "
        f"{right[place]} by the interpreter"
    )
    return text, close


_TOLERANCES = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1e-5, 1e-6),
}
"""Relative and absolute: a rounding of the type either way."""
