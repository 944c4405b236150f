# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The error of a pass that names the user's line."""

from __future__ import annotations

from xdsl.dialects.builtin import LocationAttr
from xdsl.utils.exceptions import PassFailedException

from spyre_mlir.diagnostics import format_location


class PassError(PassFailedException):
    """A plan or program that breaks a limit: which, by how much, from which line."""

    def __init__(self, message: str, location: LocationAttr):
        self.message = message
        self.location = location
        self.location = location
        where = format_location(location)
        super().__init__(message + (f"\nnote: from {where}" if where else ""))
