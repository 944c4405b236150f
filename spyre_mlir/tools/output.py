# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Output that may go to a terminal or a file without Unicode."""

from __future__ import annotations

import codecs
import sys
from io import TextIOWrapper

_HANDLER = "spyre_ascii"
_BOXES = range(0x2500, 0x2580)


def spell_in_ascii(error: UnicodeError) -> tuple[str, int]:
    """Lines of tables as `-`; the rest as MLIR escapes bytes in strings, `\\C3\\A9`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(map(_spelled, text)), error.end


def _spelled(character: str) -> str:
    if ord(character) in _BOXES:
        return "-"
    return "".join(f"\\{byte:02X}" for byte in character.encode(errors="surrogatepass"))


def write_in_any_encoding() -> None:
    """From now on nothing that is printed fails for the sake of its encoding."""
    codecs.register_error(_HANDLER, spell_in_ascii)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=_HANDLER)
