# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The meaning of each record again, the slow and plain way: one core, one trip, one
element at a time, by `Access.element` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from math import prod

import torch

from spyre_mlir.algebra.access import Access, Step
from spyre_mlir.dialects import dev
from spyre_mlir.target.opfuncs import OPFUNCS
from spyre_runtime.engine.codec import COMPUTE, STORAGE
from spyre_runtime.engine.records import Record, decode
from spyre_runtime.engine.walk import walk

Ints = Sequence[int]


@cache
def elements(access: Access, extents: tuple[int, ...]) -> torch.Tensor:
    every = product(*(range(e) for e in extents))
    return torch.tensor([access.element(c) for c in every], dtype=torch.int64)


class Reference:
    def __init__(self, memory: torch.Tensor, lx: torch.Tensor):
        self.memory = memory
        self.lx = lx

    def run(self, program: dev.ProgramOp, symbols: Sequence[int] = ()) -> None:
        self.symbols = symbols
        self.grid = program.grid_data
        for record, trips in walk(decode(program)):
            self.record, self.trips = record, trips
            if isinstance(record.op, dev.RingReduceOp):
                self.ring(record)
                continue
            for core in range(prod(self.grid)):
                self.core(record, core)

    def digits(self, core: int) -> tuple[int, ...]:
        result = []
        for parts in self.grid:
            core, digit = divmod(core, parts)
            result.append(digit)
        return tuple(result)

    def core(self, record: Record, core: int) -> None:
        digits = self.digits(core)
        extents = [a.extent(digits, self.trips) for a in record.axes]
        method = getattr(self, record.op.name.replace("dev.", "run_"))
        method(record, core, digits, extents)

    def bytes_of(
        self, access: Access, core: int, digits: Ints, coordinates: Ints
    ) -> int:
        start = access.offset(digits, self.trips, self.record.nest)
        byte = start + access.element(coordinates) * access.itemsize
        return byte + (self.symbols[access.symbol] if access.space == "dram" else 0)

    def indices(
        self, access: Access, core: int, digits: Ints, extents: Ints
    ) -> torch.Tensor:
        first = self.bytes_of(access, core, digits, [0] * len(extents))
        origin = access.element([0] * len(extents))
        inside = elements(access, tuple(extents)) - origin
        return first // access.itemsize + inside

    def flat(self, access: Access, core: int) -> torch.Tensor:
        raw = self.memory if access.space == "dram" else self.lx[core]
        return raw.view(STORAGE[access.dtype])

    def read(
        self, access: Access, core: int, digits: Ints, extents: Ints
    ) -> torch.Tensor:
        stored = self.flat(access, core)[self.indices(access, core, digits, extents)]
        if access.dtype == "i1":
            stored = stored != 0
        return stored.to(COMPUTE[access.dtype]).view(extents)

    def write(
        self, access: Access, core: int, digits: Ints, value: torch.Tensor
    ) -> None:
        where = self.indices(access, core, digits, list(value.shape))
        stored = value.to(STORAGE[access.dtype]).reshape(-1)
        self.flat(access, core)[where] = stored

    def run_transfer(
        self, record: Record, core: int, digits: Ints, extents: Ints
    ) -> None:
        (source,), (target,) = record.reads, record.writes
        moved = [
            -(-e // source.eps) * source.eps if s else e
            for e, s in zip(extents, source.stick, strict=True)
        ]
        if 0 in extents:
            return
        of = self.indices(source, core, digits, moved)
        to = self.indices(target, core, digits, moved)
        lanes = 1 if any(source.stick) else source.eps
        for lane in range(lanes):
            self.flat(target, core)[to + lane] = self.flat(source, core)[of + lane]

    def run_shuffle(
        self, record: Record, core: int, digits: Ints, extents: Ints
    ) -> None:
        (source,), (target,) = record.reads, record.writes
        of = self.indices(source, core, digits, extents)
        to = self.indices(target, core, digits, extents)
        self.flat(target, core)[to] = self.flat(source, core)[of]

    def run_gather(
        self, record: Record, core: int, digits: Ints, extents: Ints
    ) -> None:
        source, index = record.reads
        (target,) = record.writes
        op = record.op
        assert isinstance(op, dev.GatherOp)
        picked = self.read(index, core, digits, extents)
        for c in product(*(range(e) for e in extents)):
            chosen = int(picked[c])
            along = source.stick_offset + chosen * op.index_stick.value.data
            along += sum(s * i for s, i in zip(source.stick, c, strict=True))
            element = chosen * op.index_stride.value.data
            element += sum(s * i for s, i in zip(source.strides, c, strict=True))
            element += along // source.eps * source.stick_stride + along % source.eps
            start = source.offset(digits, self.trips, record.nest)
            start += self.symbols[source.symbol]
            value = self.flat(source, core)[start // source.itemsize + element]
            to = self.bytes_of(target, core, digits, c) // target.itemsize
            self.flat(target, core)[to] = value

    def run_matmul(
        self, record: Record, core: int, digits: Ints, extents: Ints
    ) -> None:
        lhs, rhs = record.reads
        (out,) = record.writes
        assert isinstance(record.op, dev.MatmulOp)
        roles = record.op.roles.data
        if any(not e for e, r in zip(extents, roles, strict=True) if r != "k"):
            return
        left = self.read(lhs, core, digits, extents)
        right = self.read(rhs, core, digits, extents)
        # Axes that an operand lacks repeat its elements, so that products are right.
        fold = [a for a, r in enumerate(roles) if r == "k"]
        total = (left.double() * right.double()).sum(fold, keepdim=True)
        self.accumulate(record, out, core, digits, total.float(), "sum")

    def run_vector(
        self, record: Record, core: int, digits: Ints, extents: Ints
    ) -> None:
        op = record.op
        assert isinstance(op, dev.VectorOp)
        fold = op.fold_data if op.combine.data else ()
        if any(not e for a, e in enumerate(extents) if a not in fold):
            return
        values = [self.read(a, core, digits, extents) for a in record.reads]
        for step in op.steps_data:
            values.append(self.step(step, values, record, digits, extents))
        value = values[-1].expand(extents)
        if op.combine.data:
            value = self.fold(value, fold, op.combine.data)
        (out,) = record.writes
        self.accumulate(record, out, core, digits, value, op.combine.data)

    def step(
        self,
        step: Step,
        values: list[torch.Tensor],
        record: Record,
        digits: Ints,
        extents: Ints,
    ) -> torch.Tensor:
        compute = COMPUTE[step.dtype]
        if step.function == "constant":
            value = torch.full(extents, step.values[0], dtype=compute)
        elif step.function == "index":
            axis = int(step.values[0])
            start = record.axes[axis].start(digits, self.trips)
            view = [-1 if a == axis else 1 for a in range(len(extents))]
            value = torch.arange(start, start + extents[axis]).view(view)
        else:
            args = [values[o] for o in step.operands]
            value = OPFUNCS[step.function].evaluate(torch, *args)
        if step.dtype != "i1":
            value = value.to(STORAGE[step.dtype])
        return value.to(compute).expand(extents)

    def fold(self, value: torch.Tensor, axes: Ints, combine: str) -> torch.Tensor:
        for axis in axes:
            if combine == "sum":
                value = value.sum(axis, keepdim=True, dtype=value.dtype)
            elif value.shape[axis] == 0:
                shape = [1 if a == axis else n for a, n in enumerate(value.shape)]
                limit = float("-inf") if combine == "max" else float("inf")
                value = torch.full(shape, limit, dtype=value.dtype)
            else:
                reduce = torch.amax if combine == "max" else torch.amin
                value = reduce(value, axis, keepdim=True)
        return value

    def accumulate(
        self,
        record: Record,
        out: Access,
        core: int,
        digits: Ints,
        value: torch.Tensor,
        combine: str,
    ) -> None:
        if record.adds(self.trips):
            held = self.read(out, core, digits, list(value.shape))
            functions = {"max": torch.maximum, "min": torch.minimum}
            value = functions.get(combine, torch.add)(held, value)
        self.write(out, core, digits, value)

    def ring(self, record: Record) -> None:
        (source,), (target,) = record.reads, record.writes
        op = record.op
        assert isinstance(op, dev.RingReduceOp)
        groups: dict[tuple[int, ...], list[int]] = {}
        for core in range(prod(self.grid)):
            rest = tuple(
                d for k, d in enumerate(self.digits(core)) if k not in op.digits_data
            )
            groups.setdefault(rest, []).append(core)
        combine = {"max": torch.maximum, "min": torch.minimum, "sum": torch.add}
        for cores in groups.values():
            total: torch.Tensor | None = None
            for core in cores:
                digits = self.digits(core)
                extents = [a.extent(digits, self.trips) for a in record.axes]
                part = self.read(source, core, digits, extents)
                total = part if total is None else combine[op.combine.data](total, part)
            assert total is not None
            for core in cores:
                self.write(target, core, self.digits(core), total)
