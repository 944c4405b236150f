# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The chip that a module names."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Attribute
from xdsl.utils.exceptions import PassFailedException

from spyre_mlir.target.chips import load_chip
from spyre_mlir.transforms._functions import CHIP, chip_of


def module(attribute: Attribute | None) -> ModuleOp:
    return ModuleOp([], {} if attribute is None else {CHIP: attribute})


def test_the_default_chip_is_spyre() -> None:
    assert chip_of(module(None)) == load_chip("spyre")


def test_numbers_are_set_by_name() -> None:
    chip = chip_of(module(StringAttr("spyre,cores=4,max_span_bytes=65_536")))
    assert (chip.cores, chip.max_span_bytes) == (4, 65536)


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        (IntegerAttr(7, i64), "not a string"),
        (StringAttr("spyre,cores"), 'does not read "name,field=value,..."'),
        (StringAttr("spyre,kores=3"), "no number kores; it has: cores"),
        (StringAttr("spyre,cores=many"), "'many' is not a number"),
        (StringAttr("spyre,cores=0"), "cores is 0"),
        (StringAttr("telum"), 'no chip "telum"; there are: spyre'),
    ],
)
def test_what_is_wrong_is_named(attribute: Attribute, message: str) -> None:
    with pytest.raises(PassFailedException, match=message):
        chip_of(module(attribute))
