# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
What `dev.vector` means: a body of scalar functions, folded if it says so.

Values have the dimensions of a frame, with size 1 where they do not vary. Each step
rounds to its type; nothing is rounded or copied that need not be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import cast

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

from .codec import COMPUTE, Run
from .errors import CardError, describe
from .frame import frame, is_full
from .moves import COMBINE, load_block, store_block
from .pieces import Block, split
from .site import Runs, Site, give, site_of
from .values import SHORT, Value, Values

CHUNK_ELEMENTS = 1 << 17
"""Elements worked on at a time: a few arrays of them fit the host's cache."""

LONG_RUNS_ONLY = frozenset(
    "exp expm1 log log2 log10 sin cos tan erf tanh sqrt".split()  # noqa: SIM905
)
"""
Torch calls a vector library for these once per run of neighbours: on the sticks of a
scratchpad tile that costs several times the function.
"""


@register_impls
class VectorFunctions(InterpreterFunctions):
    @impl(dev.VectorOp)
    def bind_vector(
        self, interpreter: Interpreter, op: dev.VectorOp, args: PythonValues
    ) -> PythonValues:
        site = site_of(interpreter)
        fold = op.fold_data if op.combine.data else ()
        record = _Record(site, op.steps_data, op.combine.data, fold)
        return give(interpreter, record.bind())


class _Record:
    """Binds one record at one site."""

    def __init__(
        self, site: Site, steps: tuple[Step, ...], combine: str, fold: Sequence[int]
    ):
        self.site = site
        self.steps = steps
        self.combine = combine
        self.fold = tuple(fold)
        self.out = site.record.writes[0]
        self.clashes = _clashes(site)
        self.runs: list[Run] = []
        if any(a.space != "lx" for a in site.record.accesses):
            raise CardError(f"vector operand in DRAM: {describe(site.record.op)}")

    def bind(self) -> Runs:
        for piece in self.site.pieces:
            kept = [e for a, e in enumerate(piece.extents) if a not in self.fold]
            if not all(kept):
                continue
            if not all(piece.extents):
                self._nothing_to_fold(piece)
                continue
            for part in self._whole_sticks(piece):
                for block in self._chunks(part):
                    _Body(self, block).bind()
        return tuple(self.runs)

    def _whole_sticks(self, piece: Block) -> list[Block]:
        """Cuts the last, ragged stick of an axis off, so that the rest is even."""
        main = next((a for a in self.site.record.accesses if is_full(a, piece)), None)
        axes = [a for a, s in enumerate(main.stick) if s] if main else []
        if self.clashes or main is None or len(axes) != 1 or axes[0] in self.fold:
            return [piece]
        (axis,) = axes
        start, size = piece.ranges[axis]
        rest = size % main.eps
        if size <= main.eps or not rest or main.stick_stride == main.eps:
            return [piece]
        parts = ((start, size - rest), (start + size - rest, rest))
        before, after = piece.ranges[:axis], piece.ranges[axis + 1 :]
        return [Block(piece.digits, (*before, p, *after)) for p in parts]

    def _chunks(self, piece: Block) -> list[Block]:
        if self.clashes:
            return [piece]
        accesses = self.site.record.accesses
        axes = range(len(piece.ranges))
        grain = [max((a.eps for a in accesses if a.stick[x]), default=1) for x in axes]
        cuttable = [x not in self.fold for x in axes]
        return split(
            piece,
            CHUNK_ELEMENTS,
            lambda b: b.elements,
            [*(True for _ in piece.digits), *cuttable],
            [*(1 for _ in piece.digits), *grain],
        )

    def out_block(self, block: Block) -> Block:
        axes = [a not in self.fold for a in range(len(block.ranges))]
        return block.kept([True] * len(block.digits), axes)

    def _nothing_to_fold(self, piece: Block) -> None:
        """A core without elements along a folded axis: the identity, once."""
        if self.site.adds:
            return
        compute = COMPUTE[self.out.dtype]
        ranges = tuple((s, max(n, 1)) for s, n in piece.ranges)
        target = self.out_block(Block(piece.digits, ranges))
        arrangement = frame(target, ())
        array = torch.full(
            (1,) * arrangement.rank,
            _identity(self.combine, compute),
            dtype=compute,
            device="cpu",
        )
        placed = arrangement.placed(array)
        self.runs += store_block(self.site, self.out, target, placed)


class _Body:
    """Binds one record for one block."""

    def __init__(self, record: _Record, block: Block):
        self.record = record
        self.site = record.site
        self.codec = self.site.machine.codec
        self.out = record.out
        self.block = block
        self.target = record.out_block(block)
        self.runs = record.runs
        self.frame = frame(block, self.site.record.accesses)
        can_view = not record.clashes
        self.values = Values(self.site, self.frame, self.runs, can_view)
        self.done = False
        """The last step has written to the scratchpads itself."""

    def bind(self) -> None:
        known = self._inputs()
        steps = self.record.steps
        for number, step in enumerate(steps):
            value = self._step(step, known, number == len(steps) - 1)
            known.append(value)
            for operand in {known[o] for o in step.operands}:
                if self._last_use(known, operand) == number:
                    self.values.release(operand)
        if not self.done:
            self._finish(known[-1])

    def _inputs(self) -> list[Value]:
        record, trips = self.site.record, self.site.trips
        loaded: dict[tuple[Access, int], Value] = {}
        here = record.offset(self.out, trips)
        for key in zip(record.reads, self.site.uniform, strict=True):
            access, uniform = key
            if key not in loaded:
                # A view of what the output overwrites must be element by element.
                own = record.offset(access, trips) == here
                loaded[key] = self.values.input(access, uniform, self.block, own)
        return [loaded[k] for k in zip(record.reads, self.site.uniform, strict=True)]

    def _last_use(self, known: list[Value], value: Value) -> int:
        """Number of the last step that reads a value; the result lives on."""
        steps = self.record.steps
        names = {k for k, v in enumerate(known) if v is value}
        if len(self.site.record.reads) + len(steps) - 1 in names:
            return len(steps)
        return max(n for n, s in enumerate(steps) if names & set(s.operands))

    # ---------------------------------------------------------------- steps

    def _step(self, step: Step, known: list[Value], final: bool) -> Value:
        if step.function == "constant":
            return self._generated(step, torch.tensor(step.values[0], device="cpu"))
        if step.function == "index":
            return self._generated(step, self._coordinates(int(step.values[0])))
        operands = [known[o] for o in step.operands]
        if step.function in ("identity", "cast") and operands[0].dtype == step.dtype:
            return operands[0]
        short = step.dtype in SHORT
        function = OPFUNCS[step.function].evaluate
        if short and self._is_native(step, operands):
            arrays = [
                self.values.stored(v) if v.dtype in SHORT else self.values.computed(v)
                for v in operands
            ]
            storage = self.codec.storage(step.dtype)
            value = Value(step.dtype)
            value.stored = self._result(value, step, arrays, storage, final)
            self.runs.append(partial(function, torch, *arrays, out=value.stored))
            return value
        arrays = [self.values.computed(v) for v in operands]
        value = Value(step.dtype)
        compute = COMPUTE[step.dtype]
        if step.function == "cast" and arrays[0].dtype is compute and short:
            return self._rounded(value, arrays[0], final)
        if step.function == "cast" and arrays[0].dtype is compute:
            # Both share the array, which no later value may then take.
            value.computed = arrays[0]
            operands[0].slots = []
            return value
        result = self._result(value, step, arrays, compute, final and not short)
        self.runs.append(partial(function, torch, *arrays, out=result))
        if short:
            return self._rounded(value, result, final)
        value.computed = result
        return value

    def _is_native(self, step: Step, operands: list[Value]) -> bool:
        """Torch gives the same bits on the stored form."""
        if not self.codec.computes_stored(step.function):
            return False
        return all(v.dtype in (step.dtype, "i1") for v in operands)

    def _result(
        self,
        value: Value,
        step: Step,
        arrays: list[torch.Tensor],
        dtype: torch.dtype,
        final: bool,
    ) -> torch.Tensor:
        """Where a step's result goes: a working array or the scratchpads."""
        shape = tuple(cast(torch.Size, torch.broadcast_shapes(*map(_shape, arrays))))
        record = self.record
        plain = final and not record.fold and not self.site.adds
        if plain and step.function not in LONG_RUNS_ONLY:
            direct = self._direct(shape, dtype)
            if direct is not None and self.out.dtype == step.dtype:
                self.done = True
                return direct
        return self.values.take(value, dtype, shape)

    def _rounded(self, value: Value, result: torch.Tensor, final: bool) -> Value:
        """A 16-bit result that was computed in f32."""
        plain = final and not self.record.fold and not self.site.adds
        if plain and self.out.dtype == value.dtype:
            self._store(result)
            return value
        storage = self.codec.storage(value.dtype)
        value.stored = self.values.take(value, storage, result.shape)
        self.runs += self.codec.store(value.stored, result, value.dtype)
        return value

    def _generated(self, step: Step, array: torch.Tensor) -> Value:
        """A value that is known when the plan is bound."""
        computed = array.to(COMPUTE[step.dtype])
        if array.dim() == 0:
            # Scalars stay so: they broadcast without a stride.
            computed = computed.clone()
        if step.dtype not in SHORT:
            return Value(step.dtype, None, computed)
        stored = torch.empty_like(computed, dtype=self.codec.storage(step.dtype))
        for run in self.codec.store(stored, computed, step.dtype):
            run()
        for run in self.codec.load(computed, stored, step.dtype):
            run()
        return Value(step.dtype, stored, computed)

    def _coordinates(self, axis: int) -> torch.Tensor:
        """Coordinates of an axis in the whole operation."""
        record, trips, block = self.site.record, self.site.trips, self.block
        digit = record.axes[axis].digit
        digits = [0] * len(record.grid)
        first, count = block.digits[digit] if digit >= 0 else (0, 1)
        start, extent = block.ranges[axis]
        origins: list[int] = []
        for number in range(first, first + count):
            if digit >= 0:
                digits[digit] = number
            origins.append(record.axes[axis].start(digits, trips) + start)
        shape = [1] * self.frame.rank
        if digit >= 0:
            shape[digit] = count
        for dim in self.frame.dims(axis):
            shape[dim] = self.frame.shape(block)[dim]
        inner = torch.arange(extent, dtype=torch.int64, device="cpu")
        outer = torch.tensor(origins, dtype=torch.int64, device="cpu")
        return (outer[:, None] + inner[None, :]).view(shape)

    # ---------------------------------------------------------------- results

    def _direct(self, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor | None:
        """The scratchpads where the output goes, if a function can write there."""
        if self.record.clashes or tuple(shape) != self.frame.shape(self.target):
            return None
        if self.codec.storage(self.out.dtype) is not dtype:
            return None
        return self.values.view(self.out, self.target)

    def _store(self, array: torch.Tensor) -> None:
        if array.dim() != self.frame.rank:
            array = array.view((1,) * self.frame.rank)
        placed = self.frame.placed(array)
        self.runs += store_block(self.site, self.out, self.target, placed)
        self.done = True

    def _finish(self, value: Value) -> None:
        combine = self.record.combine
        exact = combine in ("max", "min") and self.codec.computes_stored("maximum")
        if self.record.fold and exact and value.dtype in SHORT:
            array: torch.Tensor | None = self.values.stored(value)
        else:
            array = self.values.computed(value)
        assert array is not None
        if array.dim() != self.frame.rank:
            array = array.view((1,) * self.frame.rank)
        if self.record.fold:
            array = self._folded(array)
        if array is not None and self.site.adds:
            array = self._accumulated(array)
        if array is not None:
            self._store(array)

    def _folded(self, array: torch.Tensor) -> torch.Tensor | None:
        """Folds along the axes; None if the result is in place already."""
        dims = [d for a in self.record.fold for d in self.frame.dims(a)]
        full, whole = list(array.shape), self.frame.shape(self.block)
        for dim in dims:
            full[dim] = whole[dim]
        array = array.expand(full)
        shape = tuple(1 if d in dims else n for d, n in enumerate(full))
        direct = None if self.site.adds else self._direct(shape, array.dtype)
        lanes = self.frame.lanes
        if lanes in dims and len(dims) > 1:
            # Whole sticks first: that runs along consecutive elements.
            dims.remove(lanes)
            kept = tuple(1 if d in dims else n for d, n in enumerate(full))
            array = self._fold_dims(array, dims, self._taken("fold", array, kept))
            dims = [lanes]
        out = self._taken("folded", array, shape) if direct is None else direct
        self._fold_dims(array, dims, out)
        return out if direct is None else None

    def _taken(
        self, name: str, like: torch.Tensor, shape: Sequence[int]
    ) -> torch.Tensor:
        return self.frame.take(self.site.machine.scratch, name, like.dtype, shape)

    def _fold_dims(
        self, array: torch.Tensor, dims: list[int], out: torch.Tensor
    ) -> torch.Tensor:
        if self.record.combine == "sum":
            run = partial(
                torch.sum, array, dims, keepdim=True, dtype=array.dtype, out=out
            )
        else:
            reduce = torch.amax if self.record.combine == "max" else torch.amin
            run = partial(reduce, array, dims, keepdim=True, out=out)
        self.runs.append(run)
        return out

    def _accumulated(self, part: torch.Tensor) -> torch.Tensor | None:
        """Combines with what the output holds; None if that is done in place."""
        combine = COMBINE[self.record.combine or "sum"]
        shape, compute = self.frame.shape(self.target), COMPUTE[self.out.dtype]
        direct = self._direct(shape, compute)
        if direct is not None:
            self.runs.append(partial(combine, direct, part, out=direct))
            return None
        held = self.frame.take(self.site.machine.scratch, "held", compute, shape)
        placed = self.frame.placed(held)
        self.runs += load_block(self.site, self.out, self.target, placed)
        self.runs.append(partial(combine, held, part, out=held))
        return held


def _shape(array: torch.Tensor) -> torch.Size:
    return array.shape


def _identity(combine: str, dtype: torch.dtype) -> float | int | bool:
    if combine == "sum":
        return 0
    if dtype is torch.bool:
        return combine == "min"
    if dtype.is_floating_point:
        return float("-inf") if combine == "max" else float("inf")
    limits = torch.iinfo(dtype)
    return limits.min if combine == "max" else limits.max


def _clashes(site: Site) -> bool:
    """The output lies across an input: all must be read before anything is written."""
    record, trips = site.record, site.trips
    (out,) = record.writes
    here = record.offset(out, trips)
    for access in record.reads:
        there = record.offset(access, trips)
        if there == here and _alike(access, out):
            continue
        (low, high), (first, end) = _reach(access, site), _reach(out, site)
        if there + low < here + end and here + first < there + high:
            return True
    return False


def _alike(a: Access, b: Access) -> bool:
    """Equal but for what the offset says."""
    plain = dict(base=0, loop_strides=(), depth=1, stage_bytes=0, stage_levels=0)
    return replace(a, **plain) == replace(b, **plain)


def _reach(access: Access, site: Site) -> tuple[int, int]:
    """Lowest and highest byte that an access reaches from its offset."""
    low = high = 0
    along = access.stick_offset
    for axis, (step, stick) in enumerate(
        zip(access.strides, access.stick, strict=True)
    ):
        most = max(max(p.extents[axis] for p in site.pieces) - 1, 0)
        low, high = low + min(0, step * most), high + max(0, step * most)
        along += abs(stick) * most
    high += along // access.eps * abs(access.stick_stride) + access.eps
    return low * access.itemsize, high * access.itemsize
