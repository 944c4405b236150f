# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The error of a pass that names the user's line."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.dialects.builtin import LocationAttr, NameLoc
from xdsl.ir import Attribute
from xdsl.utils.exceptions import PassFailedException

from spyre_mlir.analysis.decisions import PlanFault
from spyre_mlir.diagnostics import format_location


class PassError(PassFailedException):
    """A plan or program that breaks a limit: which, by how much, from which line."""

    def __init__(self, message: str, location: LocationAttr):
        self.message = message
        self.location = location
        where = user_location(location)
        super().__init__(message + (f"\nnote: from {where}" if where else ""))


@contextmanager
def refusals() -> Generator[None]:
    """Makes a PassError of a decision that cannot be carried out."""
    try:
        yield
    except PlanFault as fault:
        if fault.op is None:
            raise
        message = f"{fault.op.name}: {fault.message}"
        raise PassError(message, fault.op.location) from fault


def user_location(location: Attribute) -> str:
    """The user's line; an operation's position in its group, `#3`, is not his."""
    if isinstance(location, NameLoc) and location.desc.data.startswith("#"):
        location = location.location
    return format_location(location)
