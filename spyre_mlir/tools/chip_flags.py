# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`--chip NAME --set FIELD=VALUE`: what a module is compiled for, as its attribute."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.utils.exceptions import PassFailedException

from spyre_mlir.diagnostics import OptionError
from spyre_mlir.target.chip import Chip
from spyre_mlir.target.chips import load_chip
from spyre_mlir.transforms._functions import CHIP, chip_of


def add_chip_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of all tools that ask for a chip."""
    parser.add_argument(
        "--chip",
        default="",
        metavar="NAME",
        help="chip of target/chips instead of the one that the module names",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="FIELD=N",
        help="change a number of the chip",
    )


def chip_named(name: str, settings: Sequence[str]) -> Chip:
    """The chip that the flags say; OptionError if there is none such."""
    return set_chip(ModuleOp([]), name, settings)


def set_chip(module: ModuleOp, name: str, settings: Sequence[str]) -> Chip:
    """Writes the flags at the module, over what it says; OptionError if it cannot."""
    said = module.attributes.get(CHIP)
    before = said.data if isinstance(said, StringAttr) and not name else name
    if name or settings:
        text = ",".join([before or load_chip().name, *settings])
        module.attributes[CHIP] = StringAttr(text)
    try:
        return chip_of(module)
    except PassFailedException as error:
        raise OptionError(str(error)) from error
