# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What passes on whole functions share."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import builtin, func
from xdsl.dialects.builtin import FunctionType, StringAttr
from xdsl.utils.exceptions import PassFailedException

from spyre_mlir.dialects import spyre
from spyre_mlir.dialects.ktdp import GRID
from spyre_mlir.target.chip import Chip
from spyre_mlir.target.chips import load_chip
from spyre_mlir.transforms._errors import PassError

LX_BYTES = "lx_bytes"
"""Attribute of a staged kernel: scratchpad bytes from address 0 that it uses."""
CHIP = "spyre.chip"
"""Module attribute: name of the chip, and overrides as `name,field=value,...`."""


def tensor_functions(module: builtin.ModuleOp) -> Iterator[func.FuncOp]:
    """Functions of the `spyre` level, with a body."""
    for op in module.ops:
        if isinstance(op, func.FuncOp) and op.body.blocks and GRID not in op.attributes:
            yield op


def laid_out_functions(module: builtin.ModuleOp) -> Iterator[func.FuncOp]:
    """The same, for passes that need layouts; PassError where one is undecided."""
    for function in tensor_functions(module):
        for op in function.body.block.ops:
            if not isinstance(op, spyre.SpyreOp):
                continue
            for value in (*op.operands, *op.results):
                if spyre.layout_of(value) is None:
                    message = f"{op.name}: {value.type} has no layout"
                    raise PassError(
                        f"{message}; run spyre-plan-layouts first", op.location
                    )
        yield function


def refresh_signature(function: func.FuncOp) -> None:
    """Makes the function's type say what its block and its return say."""
    block = function.body.block
    last = block.last_op
    outputs = [o.type for o in last.operands] if last is not None else []
    function.function_type = FunctionType.from_lists(
        [a.type for a in block.args], outputs
    )


def chip_of(module: builtin.ModuleOp) -> Chip:
    """The chip that the module is compiled for; `spyre` unless it says another."""
    attr = module.attributes.get(CHIP)
    if attr is None:
        return load_chip()
    if not isinstance(attr, StringAttr):
        raise PassFailedException(f"{CHIP} is {attr}, not a string")
    name, *settings = attr.data.split(",")
    pairs = [setting.partition("=") for setting in settings]
    if not all(equals for _, equals, _ in pairs):
        raise PassFailedException(
            f'{CHIP} = "{attr.data}" does not read "name,field=value,..."'
        )
    try:
        chip = load_chip(name)
        return chip.with_overrides({field: value for field, _, value in pairs})
    except ValueError as error:
        raise PassFailedException(f"{CHIP}: {error}") from error
