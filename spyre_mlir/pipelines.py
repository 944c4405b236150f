# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The named pipelines, as data: pass names with their options, in order."""

from __future__ import annotations

PIPELINES: dict[str, tuple[str, ...]] = {
    "canonicalize": ("canonicalize", "cse", "dce"),
}
