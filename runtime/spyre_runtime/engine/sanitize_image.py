# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sanitizer's view of an image: buffers that live at once lie apart."""

from __future__ import annotations

from spyre_mlir.binary.image import Buffer, Image

from .errors import SanitizerError, location_text


def check_buffers(image: Image) -> None:
    """Raises SanitizerError for two live buffers that share bytes."""
    for kind in ("temporary", "constant"):
        found = [b for b in image.buffers if b.kind == kind and b.bytes]
        found.sort(key=lambda b: b.offset)
        for place, first in enumerate(found):
            for second in found[place + 1 :]:
                if second.offset >= first.offset + first.bytes:
                    break
                if kind == "constant" or _live_at_once(first, second):
                    raise SanitizerError(_message(image, first, second))


def _live_at_once(a: Buffer, b: Buffer) -> bool:
    if a.first_call < 0 or b.first_call < 0:
        return False
    return a.first_call <= b.last_call and b.first_call <= a.last_call


def _message(image: Image, a: Buffer, b: Buffer) -> str:
    parts = [
        f"{buffer.name} at [{buffer.offset}, {buffer.offset + buffer.bytes}), live in "
        f"calls {buffer.first_call} to {buffer.last_call}"
        for buffer in (a, b)
    ]
    lines = [
        location_text(image.calls[buffer.first_call].location)
        for buffer in (a, b)
        if buffer.first_call >= 0
    ]
    known = " and ".join(line for line in lines if line)
    where = f", from {known}" if known else ""
    return f"live buffers overlap: {parts[0]}; {parts[1]}{where}"
