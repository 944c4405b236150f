# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The entry point that PyTorch calls at the end of `import torch`.

It makes the device type "spyre" known and loads a build of the C++ file if there is
one that fits. It compiles nothing, and whatever is wrong with the installation is
told at the first use of the device, never here: `import torch` must not break.
"""

from __future__ import annotations

import os
import sys

_FAILURES = (
    ImportError,
    OSError,
    SyntaxError,
    AttributeError,
    LookupError,
    NameError,
    TypeError,
    RuntimeError,
    ValueError,
)
"""What a half-removed or foreign installation can raise."""


def autoload() -> None:
    """Registers the device, or does nothing."""
    if os.environ.get("SPYRE_AUTOLOAD", "1") == "0":
        return
    try:
        from . import torch_spyre

        torch_spyre.register()
    except _FAILURES as error:
        # The one place where a failure is put off: a program that never uses the
        # card must start. SPYRE_AUTOLOAD=verbose shows what it was.
        _explain(error)


def _explain(error: Exception) -> None:
    if os.environ.get("SPYRE_AUTOLOAD") == "verbose":
        print(f"spyre: the device is not available: {error}", file=sys.stderr)
