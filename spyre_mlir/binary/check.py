# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
What must hold between the parts of an image. Writer and reader both ask.

Bytes of a file have been checked for form by the reader; here indices point into
their tables, buffers lie inside their space, and programs verify.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.utils.exceptions import VerifyException

from spyre_mlir.algebra.access import ITEMSIZE
from spyre_mlir.algebra.layout import STICK_BYTES, DeviceLayout
from spyre_mlir.dialects import dev

from .image import Buffer, Call, HostValue, Image, ImageError


def check_image(image: Image) -> None:
    """Raises ImageError with the first thing that is wrong."""
    _require(image.pool_bytes >= 0, "pool", f"has {image.pool_bytes} bytes")
    for program in image.programs:
        _check_program(program)
    for i, buffer in enumerate(image.buffers):
        where = f'buffer {i} "{buffer.name}"'
        _check_shape(where, buffer)
        _check_place(where, buffer, image)
        _check_life(where, buffer, len(image.calls))
    records = [sum(1 for _ in dev.walk_records(p)) for p in image.programs]
    for i, call in enumerate(image.calls):
        _check_call(i, call, image, records)
    _check_interface("argument", image.arguments, image)
    _check_interface("result", image.results, image)


def _require(holds: bool, where: str, what: str) -> None:
    if not holds:
        raise ImageError(f"{where} {what}; compile again, or report the compiler")


def _check_program(program: dev.ProgramOp) -> None:
    try:
        program.verify()
    except VerifyException as error:
        raise ImageError(
            f'program "{program.sym_name.data}" is invalid: {error}'
        ) from error
    where = f'program "{program.sym_name.data}"'
    _require(program.symbols.value.data >= 0, where, "has fewer than no symbols")
    _require(program.lx_bytes.value.data >= 0, where, "has a negative LX size")
    _require(
        all(n >= 0 for n in program.semaphores_data),
        where,
        "starts with a negative semaphore",
    )


def _check_shape(where: str, buffer: Buffer) -> None:
    _require(all(n >= 0 for n in buffer.shape), where, "has a negative size")
    try:
        layout = DeviceLayout(buffer.dims)
        layout.check(len(buffer.shape))
    except ValueError as error:
        raise ImageError(f"{where}: {error}; compile again") from error
    needed = layout.bytes(buffer.shape, ITEMSIZE[buffer.dtype])
    _require(
        buffer.bytes >= needed, where, f"has {buffer.bytes} bytes, its layout {needed}"
    )


def _check_place(where: str, buffer: Buffer, image: Image) -> None:
    sizes = {"temporary": image.pool_bytes, "constant": len(image.constants)}
    if buffer.kind not in sizes:
        _require(buffer.offset == 0, where, "has an address of its own and an offset")
        return
    size = sizes[buffer.kind]
    _require(
        buffer.offset >= 0 and buffer.offset + buffer.bytes <= size,
        where,
        f"ends at byte {buffer.offset + buffer.bytes} of {size}",
    )
    _require(
        buffer.offset % STICK_BYTES == 0,
        where,
        f"starts at byte {buffer.offset}, not at a stick",
    )


def _check_life(where: str, buffer: Buffer, calls: int) -> None:
    first, last = buffer.first_call, buffer.last_call
    lives = 0 <= first <= last < calls
    _require(lives or first == last == -1, where, f"lives from call {first} to {last}")


def _check_call(i: int, call: Call, image: Image, records: Sequence[int]) -> None:
    where = f"call {i}"
    _require(
        0 <= call.program < len(image.programs),
        where,
        f"runs program {call.program} of {len(image.programs)}",
    )
    program = image.programs[call.program]
    _require(
        len(call.symbols) == program.symbols.value.data,
        where,
        f"gives {len(call.symbols)} addresses to {program.symbols.value.data} symbols",
    )
    _require(
        len(call.locations) in (0, records[call.program]),
        where,
        f"has {len(call.locations)} locations for {records[call.program]} records",
    )
    for index, offset in call.symbols:
        _require(
            0 <= index < len(image.buffers),
            where,
            f"names buffer {index} of {len(image.buffers)}",
        )
        buffer = image.buffers[index]
        _require(
            0 <= offset <= buffer.bytes,
            where,
            f'points {offset} bytes into the {buffer.bytes} of "{buffer.name}"',
        )
        _require(
            buffer.kind != "temporary" or buffer.first_call <= i <= buffer.last_call,
            where,
            f'uses "{buffer.name}", which lives from call {buffer.first_call} to '
            f"{buffer.last_call}",
        )


def _check_interface(kind: str, values: Sequence[HostValue], image: Image) -> None:
    """Arguments (or results) and the buffers of that kind are the same, one to one."""
    named: dict[int, int] = {}
    for i, value in enumerate(values):
        where = f"{kind} {i}"
        _check_host_value(where, kind, value, image)
        known = named.setdefault(value.buffer, i)
        _require(known == i, where, f"is the buffer of {kind} {known}")
        most = len(image.arguments) if kind == "result" else 0
        _require(
            -1 <= value.mutates < most,
            where,
            f"mutates argument {value.mutates} of {most}",
        )
    for i, buffer in enumerate(image.buffers):
        _require(
            buffer.kind != kind or i in named,
            f'buffer {i} "{buffer.name}"',
            f"is no {kind} of the image",
        )


def _check_host_value(where: str, kind: str, value: HostValue, image: Image) -> None:
    _require(
        0 <= value.buffer < len(image.buffers),
        where,
        f"is buffer {value.buffer} of {len(image.buffers)}",
    )
    found = image.buffers[value.buffer].kind
    _require(found == kind, where, f"is a {found} buffer")
    _require(all(n >= 0 for n in value.shape), where, "has a negative size")
    _require(
        len(value.shape) == len(value.strides),
        where,
        f"has {len(value.shape)} sizes and {len(value.strides)} strides",
    )
