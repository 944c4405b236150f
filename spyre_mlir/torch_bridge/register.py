# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportUnknownVariableType=false
"""Importing this makes backend and device known without the entry points."""

from torch._dynamo.backends.registry import list_backends, register_backend

from spyre_runtime.autoload import autoload

from .backend import spyre_mlir

if "spyre_mlir" not in list_backends(exclude_tags=None):
    register_backend(spyre_mlir, name="spyre_mlir")
autoload()
