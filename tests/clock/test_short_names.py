# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of operations in reports."""

from xdsl.dialects.builtin import (
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)

from spyre_runtime.short_names import short_name


def node(name: str, module: str, line: int) -> LocationAttr:
    place = FileLineColLoc(StringAttr("/a/bert.py"), IntAttr(line), IntAttr(0))
    return NameLoc(StringAttr(name), NameLoc(StringAttr(module), place))


def test_layers_of_a_model_have_one_name():
    first = node("linear_5", "model.layer.0.output.dense", 350)
    last = node("linear_35", "model.layer.5.output.dense", 350)
    assert short_name(first) == short_name(last) == "linear output.dense bert.py:350"


def test_fused_operations_are_named_by_the_first_and_counted():
    parts = (node("add_4", "m.norm", 1), UnknownLoc(), node("mul", "m.norm", 2))
    assert short_name(FusedLoc(parts, NoneAttr())) == "add m.norm bert.py:1 +1"


def test_operations_that_are_named_alike_are_counted_once():
    parts = (node("add_4", "m.0.norm", 1), node("add_9", "m.1.norm", 1))
    assert short_name(FusedLoc(parts, NoneAttr())) == "add m.norm bert.py:1"


def test_a_called_operation_has_its_own_name():
    inside, outside = node("relu", "a.b", 1), node("call", "c.d", 2)
    assert short_name(CallSiteLoc(inside, outside)) == "relu a.b bert.py:1"


def test_an_unknown_location_has_no_name():
    assert short_name(UnknownLoc()) == ""
