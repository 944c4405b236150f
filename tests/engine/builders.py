# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hand-built programs: buffers with layouts, accesses of tiles, streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr
from xdsl.ir import Operation

from spyre_mlir.algebra.access import ITEMSIZE, Access, Axis, Sync
from spyre_mlir.algebra.layout import DeviceLayout, elements_per_stick
from spyre_mlir.dialects import dev

TORCH = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "i32": torch.int32,
    "i64": torch.int64,
    "i1": torch.int16,
}


RecordT = TypeVar("RecordT", bound=dev.RecordOp)


@dataclass(frozen=True)
class Chip:
    """A small machine."""

    cores: int
    scratchpad_bytes_per_core: int


@dataclass(frozen=True)
class Buffer:
    """A tensor of device memory."""

    dtype: str
    shape: tuple[int, ...]
    layout: DeviceLayout

    @property
    def eps(self) -> int:
        return elements_per_stick(ITEMSIZE[self.dtype])

    @property
    def bytes(self) -> int:
        return self.layout.bytes(self.shape, ITEMSIZE[self.dtype])

    def pack(self, value: torch.Tensor) -> torch.Tensor:
        """Device bytes of a host tensor; padding is NaN or -1."""
        raw = torch.full((self.bytes,), 255, dtype=torch.uint8)
        flat = raw.view(TORCH[self.dtype])
        flat[self.elements().reshape(-1)] = value.to(TORCH[self.dtype]).reshape(-1)
        return raw

    def unpack(self, raw: torch.Tensor) -> torch.Tensor:
        flat = raw[: self.bytes].clone().view(TORCH[self.dtype])
        return flat[self.elements().reshape(-1)].view(self.shape)

    def elements(self) -> torch.Tensor:
        """Device element of each host element."""
        strides = self.layout.dim_strides(self.shape, self.eps)
        result = torch.zeros(self.shape, dtype=torch.int64)
        for dim, size in enumerate(self.shape):
            i = torch.arange(size)
            if dim == self.layout.stick_dim:
                part = i // self.eps * strides[dim] + i % self.eps
            else:
                part = i * strides[dim]
            view = [-1 if d == dim else 1 for d in range(len(self.shape))]
            result = result + part.view(view)
        return result


def buffer(dtype: str, shape: Sequence[int], dims: Sequence[int] = ()) -> Buffer:
    layout = DeviceLayout(tuple(dims)) if dims else DeviceLayout.default(len(shape))
    return Buffer(dtype, tuple(shape), layout)


def access(
    of: Buffer,
    axes: Sequence[Axis],
    places: Sequence[int],
    base: int = 0,
    symbol: int = -1,
    **stage: int,
) -> Access:
    """
    Dimension d of the buffer runs with axis `places[d]` (-1: stays at 0). In DRAM the
    buffer is the whole tensor, in a scratchpad the largest tile.
    """
    size = ITEMSIZE[of.dtype]
    steps = of.layout.dim_strides(of.shape, of.eps)
    strides, stick = [0] * len(axes), [0] * len(axes)
    digits = [0] * 8
    loops = [0] * 8
    stick_stride = 0
    for dim, place in enumerate(places):
        if place < 0:
            continue
        axis = axes[place]
        is_stick = dim == of.layout.stick_dim
        if is_stick:
            stick[place] = 1
            stick_stride = steps[dim]
        else:
            strides[place] = steps[dim]
        if symbol < 0:
            continue
        grain = of.eps if is_stick else 1
        if axis.digit >= 0:
            assert axis.chunk % grain == 0
            digits[axis.digit] += axis.chunk // grain * steps[dim] * size
        if axis.loop >= 0:
            assert axis.tile % grain == 0
            loops[axis.loop] += axis.tile // grain * steps[dim] * size
    return Access(
        "dram" if symbol >= 0 else "lx",
        of.dtype,
        base,
        tuple(strides),
        tuple(stick),
        stick_stride,
        0,
        symbol,
        tuple(digits),
        tuple(loops),
        **stage,
    )


def tile(
    dtype: str, axes: Sequence[Axis], places: Sequence[int], dims: Sequence[int] = ()
) -> Buffer:
    """The scratchpad buffer of a tile over some of the axes."""
    shape = [max(min(axes[p].tile, axes[p].size), 1) for p in places]
    return buffer(dtype, shape, dims)


def synced(
    record: RecordT,
    waits: Sequence[tuple[int, int, int]] = (),
    signals: Sequence[tuple[int, int, int]] = (),
    line: int = 0,
) -> RecordT:
    """Adds (semaphore, count, level) waits and signals, and a line of model.py."""
    known = dev.record_attributes(
        record.axes_data,
        [Sync(*w) for w in waits],
        [Sync(*s) for s in signals],
    )
    record.attributes["waits"] = known["waits"]
    record.attributes["signals"] = known["signals"]
    if line:
        record.location = FileLineColLoc(
            StringAttr("model.py"), IntAttr(line), IntAttr(1)
        )
    return record


def chain(
    grid: Sequence[int],
    symbols: int,
    records: Sequence[tuple[str, dev.RecordOp]],
    loops: Sequence[int] = (),
    semaphores: Sequence[int] = (),
) -> dev.ProgramOp:
    """
    A program whose records run strictly one after another, all inside one nest: a
    ring of semaphores, the first of which is free at the start.
    """
    level = len(loops)
    bodies: dict[str, list[Operation]] = {}
    count = len(records)
    for number, (unit, record) in enumerate(records):
        waits = [*((w.semaphore, w.count, w.level) for w in record.waits_data)]
        signals = [*((w.semaphore, w.count, w.level) for w in record.signals_data)]
        waits.append((number, 1, level))
        signals.append(((number + 1) % count, 1, level))
        synced(record, waits, signals)
        bodies.setdefault(unit, []).append(record)
    streams = []
    for unit, body in bodies.items():
        for trips in reversed(loops):
            body = [dev.LoopOp(trips, body)]
        streams.append(dev.StreamOp(unit, body))
    initial = [1] + [0] * (count - 1)
    program = dev.ProgramOp("test", grid, symbols, 0, [*initial, *semaphores], streams)
    program.verify()
    return program
