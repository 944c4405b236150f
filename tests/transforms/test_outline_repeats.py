# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Alike layers become calls of one function, at a cost that is small by layer."""

from __future__ import annotations

import time

import pytest
from random_spyre import apply, bits, run
from synthetic_bert import Encoder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp

from spyre_mlir.analysis.provenance import call_lines
from spyre_mlir.transforms.fold_reindex import FoldReindexPass
from spyre_mlir.transforms.fuse_maps import FuseMapsPass
from spyre_mlir.transforms.outline_repeats import OutlineRepeatsPass


def functions(module: ModuleOp) -> list[FuncOp]:
    return [f for f in module.ops if isinstance(f, FuncOp)]


def calls(module: ModuleOp) -> list[CallOp]:
    return [op for op in functions(module)[0].walk() if isinstance(op, CallOp)]


@pytest.mark.parametrize("shared_mask", [True, False])
@pytest.mark.parametrize("layers", [2, 3, 6])
def test_each_layer_is_a_call(layers: int, shared_mask: bool) -> None:
    module = Encoder(layers, shared_mask).module()
    before = bits(run(module)[0])
    apply(module, OutlineRepeatsPass())
    assert len(functions(module)) == 2
    assert len(calls(module)) == layers
    assert bits(run(module)[0]).equal(before)


def test_layers_are_found_after_fusion() -> None:
    module = Encoder(6).module()
    before = bits(run(module)[0])
    for pass_ in (FoldReindexPass(), FuseMapsPass(), OutlineRepeatsPass()):
        apply(module, pass_)
    assert len(calls(module)) == 6
    assert bits(run(module)[0]).equal(before)


def test_one_value_crosses_the_boundary() -> None:
    module = Encoder(6).module()
    apply(module, OutlineRepeatsPass())
    layer = functions(module)[1]
    assert len(layer.function_type.outputs) == 1


def test_a_second_run_changes_nothing() -> None:
    module = Encoder(3).module()
    apply(module, OutlineRepeatsPass())
    once = str(module)
    apply(module, OutlineRepeatsPass())
    assert str(module) == once


def test_one_layer_is_left_alone() -> None:
    module = Encoder(1).module()
    text = str(module)
    apply(module, OutlineRepeatsPass())
    assert str(module) == text


def test_each_call_leads_to_its_own_lines() -> None:
    module = Encoder(3, shared_mask=False).module()
    places = {op.location for op in functions(module)[0].body.block.ops if op.results}
    apply(module, OutlineRepeatsPass())
    layer = functions(module)[1]
    inside = [op.location for op in layer.body.block.ops if op.results]
    seen = set()
    for call in calls(module):
        lines = call_lines(layer, call)
        outside = {lines[place] for place in inside if place in lines}
        assert outside <= places
        assert not outside & seen
        seen |= outside


def test_time_grows_with_layers_alone() -> None:
    module = Encoder(40).module()
    start = time.process_time()
    OutlineRepeatsPass().apply(Context(), module)
    seconds = time.process_time() - start
    assert len(calls(module)) == 40
    assert seconds < 40 * 0.020, f"{1e3 * seconds / 40:.1f} ms by layer"
