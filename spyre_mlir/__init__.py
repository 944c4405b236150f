# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An open compiler for IBM's Spyre accelerator; `report` says what it did."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spyre_mlir.torch_bridge.summary import ModelReport

__all__ = ["report", "reset_report"]


def report() -> ModelReport:
    """
    What all functions that `torch.compile` was given did since the last reset:
    programs and why they were compiled, host work, device time, traffic.
    """
    from spyre_mlir.torch_bridge import summary

    return summary.report()


def reset_report() -> None:
    """Begins to count anew."""
    from spyre_mlir.torch_bridge import summary

    summary.reset_report()
