# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
An image as text for people: tables, and programs in a compact assembly.

An axis reads `512 d0*64 l1*8` (512 elements; 64 for each digit 0; 8 for each trip of
loop 1), an access `s0+128 f16 [64, 0] stick [0, 1]*4096` (symbol 0 and 128 bytes;
elements by axis; steps along the stick dimension, elements between sticks). What has
its default value is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from itertools import count
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    NameLoc,
    UnknownLoc,
)
from xdsl.ir import Attribute, Operation

from spyre_mlir.algebra.access import Access, Axis, Step, Sync
from spyre_mlir.dialects import dev

from .image import Buffer, Call, HostValue, Image
from .records import BY_OP, plain_value


def disassemble(image: Image) -> str:
    """Everything that the image holds, but for the constants' bytes."""
    lines = [
        f"image for {image.chip} ({image.fingerprint}), numerics {image.numerics}",
        f"pool {image.pool_bytes} bytes, constants {len(image.constants)} bytes",
        *(f"{name} = {value}" for name, value in sorted(image.metadata.items())),
        "",
        *(f"argument {i}: {show(v)}" for i, v in enumerate(image.arguments)),
        *(f"result {i}: {show(v)}" for i, v in enumerate(image.results)),
        "",
        *(f"buffer {i}: {show(b)}" for i, b in enumerate(image.buffers)),
        "",
        *(f"call {i}: {show_call(c, image)}" for i, c in enumerate(image.calls)),
    ]
    for program in image.programs:
        lines += ["", *program_lines(program)]
    return "\n".join(lines) + "\n"


def program_lines(program: dev.ProgramOp) -> list[str]:
    """The assembly of one program; records are numbered as provenance counts them."""
    grid = "x".join(map(str, program.grid_data)) or "1"
    semaphores = ", ".join(map(str, program.semaphores_data))
    lines = [
        f"program {program.sym_name.data}: grid {grid}, "
        f"{program.symbols.value.data} symbols, {program.lx_bytes.value.data} bytes "
        f"of lx, semaphores [{semaphores}]{_at(program)}"
    ]
    numbers = count()
    for stream in program.streams:
        lines.append(f"  {stream.unit.data}:")
        lines += _body(list(stream.body.block.ops), "    ", numbers)
    return lines


def _body(
    ops: Sequence[Operation], indent: str, numbers: Iterator[int]
) -> Iterator[str]:
    for op in ops:
        if isinstance(op, dev.LoopOp):
            yield f"{indent}loop {op.trips_data}:"
            yield from _body(list(op.body.block.ops), indent + "  ", numbers)
            continue
        assert isinstance(op, dev.RecordOp)
        yield f"{indent}#{next(numbers)} {op.name.removeprefix('dev.')}{_at(op)}"
        for field in BY_OP[type(op)].fields:
            value = plain_value(op.attributes[field.name])
            if value not in ((), ""):
                yield f"{indent}    {field.name} {show(value)}"


def _at(op: Operation) -> str:
    if isinstance(op.location, UnknownLoc):
        return ""
    return f"  ; {show_location(op.location)}"


def show(value: Any) -> str:
    """A plain value of any field, in a line."""
    special = _SHOWN.get(cast(type[Any], type(value)))
    if special is not None:
        return special(value)
    if isinstance(value, tuple):
        items = cast(tuple[Any, ...], value)
        return f"[{', '.join(show(item) for item in items)}]"
    return str(value)


def show_axis(axis: Axis) -> str:
    parts = [str(axis.size)]
    if axis.digit >= 0 or axis.chunk != axis.size:
        digit = f"d{axis.digit}*" if axis.digit >= 0 else "chunk "
        parts.append(f"{digit}{axis.chunk}")
    if axis.loop >= 0 or axis.tile != axis.chunk:
        loop = f"l{axis.loop}*" if axis.loop >= 0 else "tile "
        parts.append(f"{loop}{axis.tile}")
    if axis.halo:
        parts.append(f"halo {axis.halo}")
    return " ".join(parts)


def show_access(access: Access) -> str:
    start = "lx" if access.symbol < 0 else f"s{access.symbol}"
    parts = [f"{start}+{access.base} {access.dtype} {show(access.strides)}"]
    if any(access.stick) or access.stick_offset:
        offset = f"+{access.stick_offset}" if access.stick_offset else ""
        parts.append(f"stick {show(access.stick)}{offset}*{access.stick_stride}")
    if any(access.digit_strides):
        parts.append(f"digits {show(access.digit_strides)}")
    if any(access.loop_strides):
        parts.append(f"loops {show(access.loop_strides)}")
    if access.depth != 1:
        levels = access.stage_levels
        parts.append(f"{access.depth} stages of {access.stage_bytes} by l<{levels}")
    return " ".join(parts)


def show_step(step: Step) -> str:
    values = "".join(f" {v}" for v in step.values)
    operands = ", ".join(f"v{o}" for o in step.operands)
    return f"{step.function}{values}({operands}):{step.dtype}"


def show_sync(sync: Sync) -> str:
    return f"sem{sync.semaphore} x{sync.count} at l{sync.level}"


def show_buffer(buffer: Buffer) -> str:
    shape = "x".join(map(str, buffer.shape)) or "scalar"
    life = ""
    if buffer.first_call >= 0:
        life = f", calls {buffer.first_call}..{buffer.last_call}"
    place = f" at {buffer.offset}" if buffer.kind in ("temporary", "constant") else ""
    return (
        f"{buffer.name}: {buffer.kind}{place}, {buffer.bytes} bytes, {shape} "
        f"{buffer.dtype} layout {show(buffer.dims)}{life}"
    )


def show_host_value(value: HostValue) -> str:
    shape = "x".join(map(str, value.shape)) or "scalar"
    mutates = f", into argument {value.mutates}" if value.mutates >= 0 else ""
    return (
        f"{shape} {value.dtype} strides {show(value.strides)} in buffer "
        f"{value.buffer}{mutates}"
    )


def call_arguments(call: Call, image: Image) -> str:
    """The addresses of a call, as names of buffers."""
    return ", ".join(
        f"{image.buffers[b].name}{f'+{o}' if o else ''}" for b, o in call.symbols
    )


def show_call(call: Call, image: Image) -> str:
    name = image.programs[call.program].sym_name.data
    at = ""
    if not isinstance(call.location, UnknownLoc):
        at = f"  ; {show_location(call.location)}"
    return f"{name}({call_arguments(call, image)}){at}"


def show_location(location: Attribute) -> str:
    """A location as a person writes it: innermost first, callers after `from`."""
    match location:
        case FileLineColLoc(filename=name, line=line):
            return f"{name.data}:{line.data}"
        case NameLoc(desc=name, location=child):
            inner = show_location(child)
            return f"{name.data} ({inner})" if inner else name.data
        case FusedLoc(locations=ArrayAttr() as children):
            return " & ".join(filter(None, map(show_location, children)))
        case CallSiteLoc(callee=callee, caller=caller):
            return f"{show_location(callee)} from {show_location(caller)}"
        case _:
            return ""


_SHOWN: dict[type[Any], Callable[[Any], str]] = {
    Axis: show_axis,
    Access: show_access,
    Step: show_step,
    Sync: show_sync,
    Buffer: show_buffer,
    HostValue: show_host_value,
}


def image_to_json(image: Image) -> dict[str, Any]:
    """Everything that `disassemble` shows, as JSON takes it."""
    return {
        "chip": image.chip,
        "fingerprint": image.fingerprint,
        "numerics": image.numerics,
        "metadata": dict(sorted(image.metadata.items())),
        "pool_bytes": image.pool_bytes,
        "constant_bytes": len(image.constants),
        "arguments": _json(image.arguments),
        "results": _json(image.results),
        "buffers": _json(image.buffers),
        "calls": _json(image.calls),
        "programs": [program_to_json(program) for program in image.programs],
    }


def program_to_json(program: dev.ProgramOp) -> dict[str, Any]:
    return {
        "name": program.sym_name.data,
        "grid": program.grid_data,
        "symbols": program.symbols.value.data,
        "lx_bytes": program.lx_bytes.value.data,
        "semaphores": program.semaphores_data,
        "location": show_location(program.location),
        "streams": {
            stream.unit.data: [_op_to_json(op) for op in stream.body.block.ops]
            for stream in program.streams
        },
    }


def _op_to_json(op: Operation) -> dict[str, Any]:
    if isinstance(op, dev.LoopOp):
        return {
            "loop": op.trips_data,
            "body": [_op_to_json(inner) for inner in op.body.block.ops],
        }
    assert isinstance(op, dev.RecordOp)
    record = BY_OP[type(op)]
    fields = {f.name: _json(plain_value(op.attributes[f.name])) for f in record.fields}
    where = show_location(op.location)
    return {"record": record.mnemonic, **fields, "location": where}


def _json(value: Any) -> Any:
    """A plain value as JSON takes it; locations as text."""
    if is_dataclass(value) and not isinstance(value, Attribute | type):
        return {f.name: _json(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple):
        return [_json(item) for item in cast(tuple[Any, ...], value)]
    return show_location(value) if isinstance(value, Attribute) else value
