# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The `.spyre` file: one table of records drives writer, reader and disassembler."""

from .disassemble import disassemble
from .image import Buffer, Call, HostValue, Image, ImageError
from .reader import read
from .writer import write

__all__ = [
    "Buffer",
    "Call",
    "HostValue",
    "Image",
    "ImageError",
    "disassemble",
    "read",
    "write",
]
