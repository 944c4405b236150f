# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
What an image may reach and cost, found before anything of it is bound or allotted.

Programs stay inside of the scratchpad that they state and of the buffers that their
calls give; what the image holds, and what it does, stays within a budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, prod

from spyre_mlir.algebra.access import ITEMSIZE, Access, Axis
from spyre_mlir.algebra.layout import STICK_BYTES
from spyre_mlir.algebra.reach import Entangled, Range, Runs, reach
from spyre_mlir.dialects import dev
from spyre_mlir.target.chip import Chip

from .image import Buffer, HostValue, Image, ImageError

SCRATCH_BYTES = 4
"""Of an element while it is computed with."""


RECORDS_PER_SECOND = 10_000
"""Executions of records that surely end in a second, with what prepares them."""
PRODUCTS_PER_SECOND = 1 << 34
"""Multiplications of a matmul that do."""


@dataclass(frozen=True)
class Budget:
    """How much an image may cost; beyond it is an error, before or during a launch."""

    seconds: float = 2.0
    """Of the processor, for one launch with all that its first one prepares."""
    bytes: float = 1 << 30
    """Of the buffers, and of what the largest record works on."""


UNLIMITED = Budget(inf, inf)
"""For what the compiler of this process wrote."""


def check_bounds(image: Image, chip: Chip, budget: Budget = UNLIMITED) -> None:
    """Raises ImageError for the first thing that is too large, or reaches too far."""
    left = replace(budget, bytes=budget.bytes - _check_memory(image, budget))
    reaches = [_Program(p, chip, left).reaches() for p in image.programs]
    executions = [_executions(p) for p in image.programs]
    total = sum(executions[call.program] for call in image.calls)
    if total > RECORDS_PER_SECOND * budget.seconds:
        raise ImageError(
            f"a launch executes {total} records, too many for the budget of "
            f"{budget.seconds:g} s; give a larger one if you trust the file"
        )
    for number, call in enumerate(image.calls):
        for symbol, (index, offset) in enumerate(call.symbols):
            found = reaches[call.program].get(symbol)
            if found is not None:
                _check_symbol(number, found, offset, image.buffers[index])


def _check_memory(image: Image, budget: Budget) -> int:
    """The bytes that the image's buffers need."""
    outside = sum(b.bytes for b in image.buffers if b.kind in ("argument", "result"))
    total = outside + image.pool_bytes + len(image.constants)
    values = (*image.arguments, *image.results)
    total = max(total, sum(_host_bytes(value) for value in values))
    if total > budget.bytes:
        raise ImageError(
            f"the image needs {total} bytes, over the budget of {budget.bytes:g}; give "
            "a larger one if you trust the file"
        )
    return total


def _host_bytes(value: HostValue) -> int:
    pairs = zip(value.shape, value.strides, strict=True)
    last = sum((n - 1) * stride for n, stride in pairs)
    return ITEMSIZE[value.dtype] * (1 + last) if all(value.shape) else 0


def _executions(program: dev.ProgramOp) -> int:
    return sum(prod(record.nest()) for record, _ in dev.walk_records(program))


def _check_symbol(call: int, found: Range, offset: int, buffer: Buffer) -> None:
    low, high = found[0] + offset, found[1] + offset
    if low < 0 or high > buffer.bytes:
        raise ImageError(
            f"call {call} reaches bytes [{low}, {high}) of the {buffer.bytes} of "
            f'"{buffer.name}"; compile again, or report the compiler'
        )


@dataclass(frozen=True)
class _Program:
    """A program that is looked at."""

    op: dev.ProgramOp
    chip: Chip
    budget: Budget

    def reaches(self) -> dict[int, Range]:
        """By symbol, the bytes from its address that the program touches."""
        self._check_frame()
        found: dict[int, Range] = {}
        for record, _ in dev.walk_records(self.op):
            runs = Runs(self.op.grid_data, record.nest(), record.axes_data)
            self._check_work(record, runs)
            for access, own in _touched(record, runs):
                self._check_form(record, access, runs)
                self._check_steps(record, access, own)
                touched = self._reach(record, access, own)
                if touched is not None:
                    self._note(found, record, access, touched)
        return found

    def _fail(self, what: str) -> ImageError:
        name = self.op.sym_name.data
        return ImageError(f'program "{name}": {what}; the file is no compiler\'s work')

    def _check_frame(self) -> None:
        cores, lx = prod(self.op.grid_data), self.op.lx_bytes.value.data
        if cores > self.chip.cores:
            raise self._fail(f"{cores} cores of {self.chip.cores}")
        if lx > self.chip.scratchpad_bytes_per_core:
            most = self.chip.scratchpad_bytes_per_core
            raise self._fail(f"{lx} bytes of a scratchpad of {most}")

    def _check_form(self, record: dev.RecordOp, access: Access, runs: Runs) -> None:
        """Steps are whole elements, or sticks where those move."""
        steps = (
            *(access.base, access.stage_bytes),
            *access.digit_strides,
            *access.loop_strides,
        )
        unit = access.itemsize
        if isinstance(record, dev.TransferOp):
            unit = STICK_BYTES
            inside = (access.stick_stride, *access.strides)
            steps += tuple(access.itemsize * n for n in inside)
        if any(step % unit for step in steps):
            raise self._fail(f"{record.name} steps that are no whole {unit} bytes")
        if len(access.digit_strides) > len(runs.grid) or (
            len(access.loop_strides) > len(runs.nest)
        ):
            raise self._fail(f"{record.name} steps by digits or loops beyond its own")

    def _check_steps(self, record: dev.RecordOp, access: Access, runs: Runs) -> None:
        """Only moves go backwards, and only transfers write in one place twice."""
        moves = isinstance(record, dev.TransferOp | dev.ShuffleOp)
        if not moves and min((*access.strides, *access.stick, access.stick_stride)) < 0:
            raise self._fail(f"{record.name} steps backwards")
        if isinstance(record, dev.TransferOp) or access not in record.writes():
            return
        if any(access.strides[a] or access.stick[a] for a in _folded(record)):
            raise self._fail(f"{record.name} steps along what it folds")
        for axis, stride, stick in zip(
            runs.axes, access.strides, access.stick, strict=True
        ):
            sticks = axis.widest * abs(stick) // access.eps
            stays = not (stride or stick) if axis.widest > 1 else False
            if stays or (sticks > 1 and not access.stick_stride):
                raise self._fail(f"{record.name} writes several elements in one place")

    def _check_work(self, record: dev.RecordOp, runs: Runs) -> None:
        cores = prod(runs.grid)
        sizes = [axis.widest for axis in runs.axes]
        for axis in runs.axes:
            if abs(axis.halo) > axis.size:
                raise self._fail(f"{record.name} has {axis.halo} neighbours of an axis")
        if isinstance(record, dev.MatmulOp):
            products = cores * prod(sizes)
            if products > PRODUCTS_PER_SECOND * self.budget.seconds:
                raise self._fail(f"{products} multiplications in one record")
        for count in _scratch(record, sizes):
            needed = SCRATCH_BYTES * cores * count
            if needed > self.budget.bytes:
                raise self._fail(f"{record.name} works on {needed} bytes at once")

    def _reach(self, record: dev.RecordOp, access: Access, runs: Runs) -> Range | None:
        whole = isinstance(record, dev.TransferOp)
        try:
            return reach(access, runs, whole)
        except Entangled as error:
            raise self._fail(f"{record.name}: {error}") from error

    def _note(
        self,
        found: dict[int, Range],
        record: dev.RecordOp,
        access: Access,
        touched: Range,
    ) -> None:
        if access.space == "dram":
            old = found.get(access.symbol, touched)
            low, high = min(old[0], touched[0]), max(old[1], touched[1])
            found[access.symbol] = low, high
            return
        limit = self.op.lx_bytes.value.data
        if touched[0] < 0 or touched[1] > limit:
            raise self._fail(
                f"{record.name} reaches bytes [{touched[0]}, {touched[1]}) of a "
                f"scratchpad of {limit}"
            )


def _touched(record: dev.RecordOp, runs: Runs) -> Iterator[tuple[Access, Runs]]:
    """Accesses with the axes that they run over, an index's range as one more."""
    for access in record.reads():
        if isinstance(record, dev.GatherOp) and access is record.source.data:
            yield _gathered(record, access, runs)
        else:
            yield access, runs
    folded = _folded(record)
    axes = tuple(Axis.whole(1) if a in folded else x for a, x in enumerate(runs.axes))
    for access in record.writes():
        yield access, replace(runs, axes=axes)


def _gathered(record: dev.GatherOp, access: Access, runs: Runs) -> tuple[Access, Runs]:
    index = Axis.whole(max(1, record.limit.value.data))
    steps = (record.index_stride.value.data, record.index_stick.value.data)
    wider = replace(
        access,
        strides=(*access.strides, steps[0]),
        stick=(*access.stick, steps[1]),
    )
    return wider, replace(runs, axes=(*runs.axes, index))


def _folded(record: dev.RecordOp) -> Sequence[int]:
    """Axes that the output does not have: cores without elements write it too."""
    if isinstance(record, dev.MatmulOp):
        return [a for a, role in enumerate(record.roles.data) if role == "k"]
    if isinstance(record, dev.VectorOp) and record.combine.data:
        return record.fold_data
    return ()


def _scratch(record: dev.RecordOp, sizes: Sequence[int]) -> Iterator[int]:
    """Elements per core that are worked on at once."""
    if isinstance(record, dev.MatmulOp):
        for roles in ("bmk", "bkn", "bmn"):
            pairs = zip(record.roles.data, sizes, strict=True)
            yield prod(n for role, n in pairs if role in roles)
        return
    values = 1
    if isinstance(record, dev.VectorOp):
        values += len(record.inputs) + len(record.steps)
    yield values * prod(sizes)
