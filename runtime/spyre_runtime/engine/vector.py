# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
What `dev.vector` means: a body of scalar functions, folded if it says so.

Values have the dimensions (core digits, axes), with size 1 where they do not vary.
Each step rounds to its type; nothing is rounded or copied that need not be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)

from spyre_mlir.algebra.access import Access, Step
from spyre_mlir.dialects import dev
from spyre_mlir.target.opfuncs import OPFUNCS

from .codec import COMPUTE, Run, is_native
from .errors import CardError, describe
from .moves import COMBINE, load_block, store_block
from .pieces import Block, split
from .site import Runs, Site, give, site_of

CHUNK_ELEMENTS = 1 << 16
"""Elements worked on at a time: a few f32 arrays of them fit the host's cache."""

EXACT = frozenset(
    ["identity", "neg", "abs", "relu", "sign", "maximum", "minimum", "where", "floor", "ceil", "round", "trunc"]
)
"""Functions whose result is representable where their operands are."""


@dataclass(frozen=True)
class Value:
    """An array in compute form; `dtype` says which values it may hold."""

    array: torch.Tensor
    dtype: str
    slot: str = ""
    """Working array that it occupies; empty for a view of the scratchpads."""


@register_impls
class VectorFunctions(InterpreterFunctions):
    @impl(dev.VectorOp)
    def bind_vector(
        self, interpreter: Interpreter, op: dev.VectorOp, args: PythonValues
    ) -> PythonValues:
        site = site_of(interpreter)
        fold = op.fold_data if op.combine.data else ()
        return give(
            interpreter, _Binder(site, op.steps_data, op.combine.data, fold).bind()
        )


class _Binder:
    """Binds one record at one site."""

    def __init__(
        self, site: Site, steps: tuple[Step, ...], combine: str, fold: Sequence[int]
    ):
        self.site = site
        self.steps = steps
        self.combine = combine
        self.fold = tuple(fold)
        self.out = site.record.writes[0]
        self.runs: list[Run] = []
        self.free: list[str] = []
        self.slots = 0

    def bind(self) -> Runs:
        for piece in self.site.pieces:
            kept = [e for a, e in enumerate(piece.extents) if a not in self.fold]
            if not all(kept):
                continue
            if not all(piece.extents):
                self._nothing_to_fold(piece)
                continue
            for block in self._chunks(piece):
                self._bind_block(block)
        return tuple(self.runs)

    def _chunks(self, piece: Block) -> list[Block]:
        record = self.site.record
        accesses = record.accesses
        axes = range(len(piece.ranges))
        if self._clashes():
            return [piece]
        grain = [max((a.eps for a in accesses if a.stick[x]), default=1) for x in axes]
        cuttable = [x not in self.fold for x in axes]
        return split(
            piece,
            CHUNK_ELEMENTS,
            lambda b: b.elements,
            [*(True for _ in piece.digits), *cuttable],
            [*(1 for _ in piece.digits), *grain],
        )

    def _clashes(self) -> bool:
        """The output lies across an input, so that all must be read before a write."""
        record, trips = self.site.record, self.site.trips
        here = record.offset(self.out, trips)
        for access in record.reads:
            there = record.offset(access, trips)
            if there == here and replace(access, base=0) == replace(self.out, base=0):
                continue
            if _may_overlap(there, _bytes(access, self), here, _bytes(self.out, self)):
                return True
        return False

    # ---------------------------------------------------------------- a block

    def _bind_block(self, block: Block) -> None:
        self.free = []
        self.slots = 0
        values: list[Value] = []
        loaded: dict[tuple[Access, int], Value] = {}
        for access, uniform in zip(
            self.site.record.reads, self.site.uniform, strict=True
        ):
            key = access, uniform
            if key not in loaded:
                loaded[key] = self._load(access, uniform, block)
            values.append(loaded[key])
        last = self._last_uses(len(values), loaded, values)
        for number, step in enumerate(self.steps):
            final = number == len(self.steps) - 1
            values.append(self._step(step, values, block, final))
            self._release(values, last, number)
        if values[-1].slot == "out":
            return
        self._finish(values[-1], block)

    def _last_uses(
        self,
        inputs: int,
        loaded: dict[tuple[Access, int], Value],
        values: list[Value],
    ) -> dict[int, int]:
        """Step after which each value is dead, by identity of the value."""
        last: dict[int, int] = {}
        for number, step in enumerate(self.steps):
            for operand in step.operands:
                if operand < inputs:
                    twin = values[operand]
                    for k in range(inputs):
                        if values[k] is twin:
                            last[k] = number
                else:
                    last[operand] = number
        return last

    def _release(self, values: list[Value], last: dict[int, int], number: int) -> None:
        freed = {values[k].slot for k, step in last.items() if step == number}
        live = {
            v.slot
            for k, v in enumerate(values)
            if last.get(k, -1) > number or k == len(values) - 1
        }
        self.free += sorted(s for s in freed - live - {"", "out"} if s not in self.free)

    def _slot(self) -> str:
        if self.free:
            return self.free.pop()
        self.slots += 1
        return f"vector {self.slots}"

    def _load(self, access: Access, uniform: int, block: Block) -> Value:
        site, machine = self.site, self.site.machine
        if access.space != "lx":
            raise CardError(f"vector operand in DRAM: {describe(site.record.op)}")
        varies = [not uniform >> d & 1 for d in range(len(site.record.grid))]
        along = [
            bool(step or stick)
            for step, stick in zip(access.strides, access.stick, strict=True)
        ]
        part = block.kept(varies, along)
        if is_native(access.dtype):
            view = machine.plain_view(site.record, access, site.trips, part)
            if view is not None and not self._spoils(access, part, block):
                dtype = machine.codec.storage(access.dtype)
                return Value(machine.tensor("lx", dtype, view), access.dtype)
        slot = self._slot()
        array = machine.scratch.take(slot, COMPUTE[access.dtype], part.shape)
        self.runs += load_block(site, access, part, array)
        return Value(array, access.dtype, slot)

    def _spoils(self, access: Access, part: Block, block: Block) -> bool:
        """Writing the output while reading the operand's own bytes would be wrong."""
        record, trips = self.site.record, self.site.trips
        same = replace(access, base=0) == replace(self.out, base=0)
        if same and record.offset(access, trips) == record.offset(self.out, trips):
            return part != block
        return self._clashes()

    # ---------------------------------------------------------------- steps

    def _step(
        self, step: Step, values: list[Value], block: Block, final: bool
    ) -> Value:
        if step.function == "constant":
            return self._constant(step)
        if step.function == "index":
            return self._index(step, block)
        operands = [values[o] for o in step.operands]
        compute = COMPUTE[step.dtype]
        shape = tuple(torch.broadcast_shapes(*(v.array.shape for v in operands)))
        exact = all(_holds(step.dtype, v.dtype) for v in operands)
        if step.function in ("identity", "cast") and exact:
            source = operands[0]
            if source.array.dtype is compute:
                return source
        out = self._direct_out(step, shape, block) if final else None
        value = Value(out, step.dtype, "out") if out is not None else None
        if value is None:
            slot = self._slot()
            array = self.site.machine.scratch.take(slot, compute, shape)
            value = Value(array, step.dtype, slot)
        function = OPFUNCS[step.function].evaluate
        arrays = [v.array for v in operands]
        self.runs.append(partial(function, torch, *arrays, out=value.array))
        narrow = not is_native(step.dtype) and compute is torch.float32
        stored = final and not self.fold and self.out.dtype == step.dtype
        known = exact and step.function in EXACT | {"cast"}
        if narrow and not stored and not known:
            self.runs += self.site.machine.codec.round(value.array, step.dtype)
        return value

    def _constant(self, step: Step) -> Value:
        compute = COMPUTE[step.dtype]
        array = torch.full((), step.values[0], dtype=compute, device="cpu")
        self._round_now(array, step.dtype)
        return Value(array, step.dtype)

    def _index(self, step: Step, block: Block) -> Value:
        record, trips = self.site.record, self.site.trips
        axis = int(step.values[0])
        digit = record.axes[axis].digit
        digits = [0] * len(record.grid)
        rows: list[list[int]] = []
        first, count = block.digits[digit] if digit >= 0 else (0, 1)
        start, extent = block.ranges[axis]
        for value in range(first, first + count):
            if digit >= 0:
                digits[digit] = value
            origin = record.axes[axis].start(digits, trips) + start
            rows.append(list(range(origin, origin + extent)))
        shape = [1] * len(block.shape)
        if digit >= 0:
            shape[digit] = count
        shape[len(block.digits) + axis] = extent
        array = torch.tensor(rows, dtype=torch.int64, device="cpu").view(shape)
        array = array.to(COMPUTE[step.dtype])
        self._round_now(array, step.dtype)
        return Value(array, step.dtype)

    def _round_now(self, array: torch.Tensor, dtype: str) -> None:
        if array.dtype is torch.float32:
            for run in self.site.machine.codec.round(array, dtype):
                run()

    # ---------------------------------------------------------------- results

    def _out_block(self, block: Block) -> Block:
        axes = [a not in self.fold for a in range(len(block.ranges))]
        return block.kept([True] * len(block.digits), axes)

    def _direct_out(
        self, step: Step, shape: tuple[int, ...], block: Block
    ) -> torch.Tensor | None:
        """The scratchpads themselves, where the last step can write to them."""
        if self.fold or self.site.adds or self.out.dtype != step.dtype:
            return None
        return self._direct(self._out_block(block), shape)

    def _direct(self, block: Block, shape: tuple[int, ...]) -> torch.Tensor | None:
        if not is_native(self.out.dtype) or shape != block.shape:
            return None
        machine = self.site.machine
        view = machine.plain_view(self.site.record, self.out, self.site.trips, block)
        if view is None:
            return None
        return machine.tensor("lx", machine.codec.storage(self.out.dtype), view)

    def _finish(self, value: Value, block: Block) -> None:
        site = self.site
        target = self._out_block(block)
        array = value.array
        if self.fold:
            array = self._folded(array, block, target)
            if array is None:
                return
        elif site.adds:
            array = self._accumulated(array, target)
            if array is None:
                return
        array = _with_rank(array, len(block.shape))
        self.runs += store_block(site, self.out, target, array)

    def _folded(
        self, array: torch.Tensor, block: Block, target: Block
    ) -> torch.Tensor | None:
        """Folds along the axes; None if the result is in place already."""
        machine = self.site.machine
        lead = len(block.digits)
        dims = [lead + a for a in self.fold]
        array = _with_rank(array, len(block.shape))
        full = list(array.shape)
        for dim in dims:
            full[dim] = block.shape[dim]
        array = array.expand(full)
        shape = tuple(1 if d in dims else n for d, n in enumerate(full))
        compute = COMPUTE[self.out.dtype]
        direct = None if self.site.adds else self._direct(target, shape)
        fits = direct is not None and direct.dtype is array.dtype
        out = direct if fits else machine.scratch.take("fold", array.dtype, shape)
        if self.combine == "sum":
            self.runs.append(
                partial(
                    torch.sum, array, dims, keepdim=True, dtype=array.dtype, out=out
                )
            )
        else:
            reduce = torch.amax if self.combine == "max" else torch.amin
            self.runs.append(partial(reduce, array, dims, keepdim=True, out=out))
        if fits:
            return None
        if out.dtype is not compute and not self.site.adds:
            return out
        return self._accumulated(out, target) if self.site.adds else out

    def _accumulated(self, part: torch.Tensor, target: Block) -> torch.Tensor | None:
        """Combines with what the output holds; None if that is done in place."""
        combine = COMBINE[self.combine or "sum"]
        direct = self._direct(target, target.shape)
        if direct is not None:
            self.runs.append(partial(combine, direct, part, out=direct))
            return None
        compute = COMPUTE[self.out.dtype]
        held = self.site.machine.scratch.take("held", compute, target.shape)
        self.runs += load_block(self.site, self.out, target, held)
        self.runs.append(partial(combine, held, part, out=held))
        return held

    def _nothing_to_fold(self, piece: Block) -> None:
        """A core without elements along a folded axis: the identity, once."""
        if self.site.adds:
            return
        compute = COMPUTE[self.out.dtype]
        array = torch.full((), _identity(self.combine, compute), dtype=compute)
        target = self._out_block(
            Block(piece.digits, tuple((s, max(n, 1)) for s, n in piece.ranges))
        )
        array = _with_rank(array, len(target.shape))
        self.runs += store_block(self.site, self.out, target, array)


def _with_rank(array: torch.Tensor, rank: int) -> torch.Tensor:
    return array if array.dim() == rank else array.view((1,) * rank)


def _identity(combine: str, dtype: torch.dtype) -> float | int | bool:
    if combine == "sum":
        return 0
    if dtype is torch.bool:
        return combine == "min"
    if dtype.is_floating_point:
        return float("-inf") if combine == "max" else float("inf")
    limits = torch.iinfo(dtype)
    return limits.min if combine == "max" else limits.max


def _holds(dtype: str, other: str) -> bool:
    """Every value of `other` is one of `dtype`."""
    if other == dtype:
        return True
    return dtype == "f32" and other in ("f16", "bf16")


def _bytes(access: Access, binder: _Binder) -> tuple[int, int]:
    """Lowest and highest byte reached from an access's offset."""
    extents = [
        max(p.extents[a] for p in binder.site.pieces)
        for a in range(len(access.strides))
    ]
    low = high = 0
    along = access.stick_offset
    for extent, step, stick in zip(extents, access.strides, access.stick, strict=True):
        reach = step * max(extent - 1, 0)
        low, high = low + min(0, reach), high + max(0, reach)
        along += abs(stick) * max(extent - 1, 0)
    high += along // access.eps * abs(access.stick_stride) + access.eps
    return low * access.itemsize, high * access.itemsize


def _may_overlap(
    a: int, reach_a: tuple[int, int], b: int, reach_b: tuple[int, int]
) -> bool:
    return a + reach_a[0] < b + reach_b[1] and b + reach_b[0] < a + reach_a[1]
