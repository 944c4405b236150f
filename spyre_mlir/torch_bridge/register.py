# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Importing this makes `backend="spyre_mlir"` known without the entry point."""

from torch._dynamo.backends.registry import register_backend

from .backend import spyre_mlir

register_backend(spyre_mlir, name="spyre_mlir")
