# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What plain `xdsl-opt` learns of us, through the `xdsl.universe` entry point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.universe import Universe

if TYPE_CHECKING:
    from xdsl.ir import Dialect


def _spyre() -> Dialect:
    from spyre_mlir.dialects.spyre import Spyre

    return Spyre


def _dev() -> Dialect:
    from spyre_mlir.dialects.dev import Dev

    return Dev


SPYRE_UNIVERSE = Universe(
    all_dialects={"spyre": _spyre, "dev": _dev},
    all_passes={},
)
