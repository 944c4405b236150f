# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
What the `spyre` dialect means, on torch tensors: the oracle of every lower level.

Values are logical tensors; layouts and decisions change no value. Floats compute in
f32, and each operation, also each function of a map's body, rounds to its result
type. Sums and matmuls accumulate in f32.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.interpreters.func import FuncFunctions
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import InterpretationError

from spyre_mlir.algebra.linear import Linear
from spyre_mlir.dialects import spyre
from spyre_mlir.dialects.spyre import ConstantOp, FnOp, YieldOp, dtype_name, tensor_of
from spyre_mlir.target.opfuncs import OPFUNCS

if TYPE_CHECKING:
    import torch

    Tensor: TypeAlias = torch.Tensor

COMPUTE = {"f16": "f32", "bf16": "f32"}
"""Types that compute in a wider one."""

_TORCH_NAMES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "i32": "int32",
    "i64": "int64",
    "i1": "bool",
}


@cache
def torch_dtype(name: str) -> torch.dtype:
    """The torch dtype of a dtype name."""
    import torch

    return getattr(torch, _TORCH_NAMES[name])


def convert(value: Tensor, source: str, target: str) -> Tensor:
    """
    A value in the compute type of `source`, rounded to `target`, in the compute type
    of `target`. To i1 tests against zero, float to integer truncates.
    """
    if target == "i1":
        return value if source == "i1" else value != 0
    rounded = value.to(torch_dtype(target))
    return rounded.to(torch_dtype(COMPUTE.get(target, target)))


def widen(value: Tensor, dtype: str) -> Tensor:
    """A stored value in the compute type of its dtype."""
    return value.to(torch_dtype(COMPUTE.get(dtype, dtype)))


def spread(value: Tensor, map_: Sequence[Linear], sizes: Sequence[int]) -> Tensor:
    """An operand over all iterators: its coordinates are iterators or constants."""
    strides = [0] * len(sizes)
    offset = int(value.storage_offset())
    for coordinate, stride in zip(map_, value.stride(), strict=True):
        offset += coordinate.offset * stride
        for iterator in coordinate.used:
            strides[iterator] += coordinate.coefficients[iterator] * stride
    return _strided(value, sizes, strides, offset)


def _strided(
    value: Tensor, sizes: Sequence[int], strides: Sequence[int], offset: int
) -> Tensor:
    """as_strided that takes negative strides; those dimensions are copied."""
    flips = [k for k, s in enumerate(strides) if s < 0]
    for k in flips:
        offset += strides[k] * (sizes[k] - 1)
    view = value.as_strided(tuple(sizes), tuple(abs(s) for s in strides), offset)
    return view.flip(flips) if flips else view


def _scatter(
    target: Tensor, map_: Sequence[Linear], sizes: Sequence[int], value: Tensor
) -> None:
    """Writes a value over all iterators at a piece's target coordinates."""
    strides = [0] * len(sizes)
    offset = 0
    for coordinate, stride in zip(map_, target.stride(), strict=True):
        offset += coordinate.offset * stride
        for iterator in coordinate.used:
            strides[iterator] += coordinate.coefficients[iterator] * stride
    flips = [k for k, s in enumerate(strides) if s < 0]
    for k in flips:
        offset += strides[k] * (sizes[k] - 1)
    steps = tuple(abs(s) for s in strides)
    view = target.as_strided(tuple(sizes), steps, offset)
    view.copy_(value.flip(flips) if flips else value)


def run_body(op: spyre.MapOp, arguments: Sequence[Tensor]) -> Tensor:
    """A map's body on values in compute types; the result is in its compute type."""
    import torch

    values: dict[SSAValue, Any] = dict(zip(op.body.block.args, arguments, strict=True))
    for step in op.body.block.ops:
        if isinstance(step, ConstantOp):
            dtype = dtype_name(step.result.type)
            number = torch.tensor(step.number, dtype=torch_dtype(dtype))
            values[step.result] = widen(number, dtype)
        elif isinstance(step, FnOp):
            values[step.result] = _run_fn(step, [values[a] for a in step.arguments])
        else:
            return values[cast(YieldOp, step).value]
    raise InterpretationError("a map's body has no yield")


def _run_fn(step: FnOp, arguments: Sequence[Tensor]) -> Tensor:
    import torch

    name = step.function.data
    target = dtype_name(step.result.type)
    value = OPFUNCS[name].evaluate(torch, *arguments)
    if name == "cast":
        return convert(value, dtype_name(step.arguments[0].type), target)
    return convert(value, target, target)


@register_impls
class SpyreFunctions(InterpreterFunctions):
    """The meaning of each operation on logical tensors."""

    @impl(spyre.MatmulOp)
    def run_matmul(
        self, interpreter: Interpreter, op: spyre.MatmulOp, args: PythonValues
    ) -> PythonValues:
        import torch

        letters = "abcdefghijklmnopqrstuvwxyz"
        terms: list[str] = []
        arrays: list[Tensor] = []
        maps = op.maps()
        for value, map_ in zip(args, maps[:2], strict=True):
            used = [c.single for c in map_]
            kept = [d for d, i in enumerate(used) if i is not None]
            terms.append("".join(letters[i] for i in used if i is not None))
            shape = [value.shape[d] for d in kept]
            arrays.append(value.to(torch.float32).reshape(shape))
        result = tensor_of(op.result)
        out = "".join(letters[c.single] for c in maps[2] if c.single is not None)
        total = torch.einsum(f"{terms[0]},{terms[1]}->{out}", *arrays)
        shaped = total.reshape(result.get_shape())
        return (shaped.to(torch_dtype(dtype_name(result))),)

    @impl(spyre.MapOp)
    def run_map(
        self, interpreter: Interpreter, op: spyre.MapOp, args: PythonValues
    ) -> PythonValues:
        sizes = op.sizes()
        operands = [
            widen(spread(value, map_, sizes), dtype_name(ssa.type))
            for value, map_, ssa in zip(args, op.maps()[:-1], op.inputs, strict=True)
        ]
        value = run_body(op, operands).expand(sizes)
        return (value.to(torch_dtype(dtype_name(op.result.type))).contiguous(),)

    @impl(spyre.ReduceOp)
    def run_reduce(
        self, interpreter: Interpreter, op: spyre.ReduceOp, args: PythonValues
    ) -> PythonValues:
        import torch

        target = torch_dtype(dtype_name(op.result.type))
        source = widen(args[0], dtype_name(op.source.type))
        if not op.dims_data:
            return (source.to(target),)
        if op.kind.data == "sum":
            wide = torch.float32 if target.is_floating_point else target
            total = torch.sum(source, op.dims_data, keepdim=True, dtype=wide)
        else:
            fold = torch.amax if op.kind.data == "max" else torch.amin
            total = fold(source, op.dims_data, keepdim=True)
        return (total.to(target),)

    @impl(spyre.ReindexOp)
    def run_reindex(
        self, interpreter: Interpreter, op: spyre.ReindexOp, args: PythonValues
    ) -> PythonValues:
        import torch

        type_ = tensor_of(op.result)
        dtype = torch_dtype(dtype_name(type_))
        fill = 0 if op.fill is None else spyre.number_of(op.fill)
        result = torch.full(type_.get_shape(), fill, dtype=dtype)
        for piece, source in enumerate(args):
            sizes = op.piece_sizes(piece)
            if 0 in sizes:
                continue
            from_, to = op.piece_maps(piece)
            _scatter(result, to, sizes, spread(source, from_, sizes))
        return (result,)

    @impl(spyre.GatherOp)
    def run_gather(
        self, interpreter: Interpreter, op: spyre.GatherOp, args: PythonValues
    ) -> PythonValues:
        import torch

        source, index = args
        sizes = op.sizes()
        from_, at, _ = op.maps()
        size = source.shape[op.axis_data]
        chosen = spread(index, at, sizes).to(torch.int64)
        low, high = (int(v) for v in torch.aminmax(index)) if index.numel() else (0, 0)
        if low < 0 or high >= size:
            bad = low if low < 0 else high
            raise IndexError(f"index {bad} is outside [0, {size})")
        source = source.contiguous()
        flat = chosen * source.stride(op.axis_data)
        for coordinate, stride in zip(from_, source.stride(), strict=True):
            flat = flat + coordinate.offset * stride
            for iterator in coordinate.used:
                steps = torch.arange(sizes[iterator])
                shape = [1] * len(sizes)
                shape[iterator] = -1
                factor = coordinate.coefficients[iterator] * stride
                flat = flat + (steps * factor).reshape(shape)
        return (source.reshape(-1)[flat.expand(sizes)],)

    @impl(spyre.FullOp)
    def run_full(
        self, interpreter: Interpreter, op: spyre.FullOp, args: PythonValues
    ) -> PythonValues:
        import torch

        type_ = tensor_of(op.result)
        dtype = torch_dtype(dtype_name(type_))
        return (torch.full(type_.get_shape(), op.number, dtype=dtype),)

    @impl(spyre.IotaOp)
    def run_iota(
        self, interpreter: Interpreter, op: spyre.IotaOp, args: PythonValues
    ) -> PythonValues:
        import torch

        type_ = tensor_of(op.result)
        shape, dim = type_.get_shape(), op.dim.value.data
        dtype = dtype_name(type_)
        wide = torch.float32 if spyre.is_float(dtype) else torch.int64
        steps = torch.arange(shape[dim]).to(wide)
        line = steps * spyre.number_of(op.step) + spyre.number_of(op.start)
        view = [1] * len(shape)
        view[dim] = -1
        full = line.reshape(view).expand(tuple(shape))
        return (full.to(torch_dtype(dtype)).contiguous(),)


def interpret(
    module: ModuleOp, arguments: Sequence[Tensor], function: str = "main"
) -> list[Tensor]:
    """Runs a function of a module on logical tensors."""
    interpreter = Interpreter(module)
    interpreter.register_implementations(FuncFunctions())
    interpreter.register_implementations(SpyreFunctions())
    return list(interpreter.call_op(function, tuple(arguments)))
