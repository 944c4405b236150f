# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each operation and pass has what a reader and a maintainer need of it."""

from __future__ import annotations

import inspect
import re
from functools import cache
from textwrap import dedent

import pytest
from sources import ROOT
from xdsl.ir import Dialect, Operation
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.parser.core import ForwardDeclaredValue
from xdsl.traits import IsTerminator

from spyre_mlir.dialects import dev, spyre
from spyre_mlir.interpreters.ktdp import interpreted_ops
from spyre_mlir.interpreters.spyre import SpyreFunctions
from spyre_mlir.tools.located_parser import full_context
from spyre_mlir.transforms import load_pass, pass_modules, pass_name
from spyre_mlir.universe import all_dialects

LIT = ROOT / "test" / "lit"
DIALECTS = {name: load() for name, load in all_dialects().items()}
OPS = [
    pytest.param(dialect, op, id=op.name)
    for dialect in DIALECTS.values()
    for op in dialect.operations
]
IN_BODIES = (spyre.FnOp, spyre.ConstantOp, spyre.YieldOp)
"""Operations that mean something inside of a map alone; the map runs them."""


def example_of(op: type[Operation]) -> str:
    """The indented IR in an operation's docstring."""
    text = inspect.cleandoc(op.__doc__ or "")
    blocks = re.findall(r"(?:^    .*\n?|^\n)+", text + "\n", re.MULTILINE)
    return "\n".join(dedent(b) for b in blocks if op.name in b)


@pytest.mark.parametrize(("dialect", "op"), OPS)
def test_the_docstring_has_an_example_that_parses(
    dialect: Dialect, op: type[Operation]
) -> None:
    example = example_of(op)
    assert example.strip(), f"{op.name}: no example in the docstring"
    parser = Parser(full_context(), example, op.name)
    found = []
    while parser.pos < len(example.rstrip()):
        found.append(parser.parse_op())
    assert any(isinstance(o, op) for top in found for o in top.walk())
    for top in found:
        if not any(isinstance(v, ForwardDeclaredValue) for v in top.operands):
            top.verify()


@cache
def lit_text(folder: str, pattern: str = "*.mlir") -> str:
    files = sorted((LIT / folder).rglob(pattern))
    return "\n".join(f.read_text(encoding="utf-8") for f in files)


@pytest.mark.parametrize(("dialect", "op"), OPS)
def test_a_lit_test_reads_it(dialect: Dialect, op: type[Operation]) -> None:
    text = lit_text(f"dialects/{dialect.name}")
    assert re.search(rf"{re.escape(op.name)}\b", text), f"{op.name}: no lit test"


def verifiers(dialect: Dialect) -> dict[object, list[str]]:
    """Operations by the verifier that they have, alone or together."""
    found: dict[object, list[str]] = {}
    for op in dialect.operations:
        # xDSL wraps the verifier that a class defines.
        own = inspect.getclosurevars(op.verify_).nonlocals.get("custom_verify")
        if own not in (None, Operation.verify_, IRDLOperation.verify_):
            found.setdefault(own, []).append(op.name)
    return found


@pytest.mark.parametrize("name", DIALECTS)
def test_a_lit_test_breaks_each_verifier(name: str) -> None:
    text = lit_text(f"dialects/{name}", "invalid*.mlir")
    untested = [
        ops
        for ops in verifiers(DIALECTS[name]).values()
        if not any(re.search(rf"{re.escape(op)}\b", text) for op in ops)
    ]
    assert not untested


def test_every_spyre_operation_is_interpreted() -> None:
    known = {op for op, _ in SpyreFunctions._impls()}  # pyright: ignore[reportPrivateUsage]
    missing = [op.name for op in spyre.TENSOR_OPS if op not in known]
    assert not missing


def test_every_ktdp_operation_is_interpreted() -> None:
    known = interpreted_ops()
    for name in ("ktdp", "spyreop"):
        missing = [op.name for op in DIALECTS[name].operations if op not in known]
        assert not missing


def test_every_operation_of_a_body_runs_in_a_map() -> None:
    others = set(DIALECTS["spyre"].operations) - set(spyre.TENSOR_OPS)
    assert others == set(IN_BODIES)
    assert spyre.YieldOp.has_trait(IsTerminator)


def test_every_record_runs_on_a_unit_of_the_card() -> None:
    for record in dev.RECORDS:
        assert record.ON_UNITS and set(record.ON_UNITS) <= set(dev.UNITS)


PASSES = [pytest.param(m, id=pass_name(m)) for m in pass_modules()]


@pytest.mark.parametrize("module", PASSES)
def test_a_pass_is_described(module: str) -> None:
    pass_ = load_pass(module)
    assert pass_.name == pass_name(module)
    described = inspect.getmodule(pass_)
    assert described is not None and (described.__doc__ or "").strip()


@pytest.mark.parametrize("module", PASSES)
def test_a_pass_has_a_lit_test_that_runs_it(module: str) -> None:
    name = module.replace("_", "-")
    texts = {
        file.stem: file.read_text(encoding="utf-8")
        for file in sorted((LIT / "transforms").glob(f"{name}*.mlir"))
    }
    assert name in texts, f"no test/lit/transforms/{name}.mlir"
    runs = [
        line
        for text in texts.values()
        for line in text.split("\n")
        if line.startswith("// RUN:")
    ]
    assert any(pass_name(module) in line for line in runs)
    left_alone = re.compile("Negative|expected-error|CHECK-NOT")
    assert any(left_alone.search(t) for t in texts.values()), "nothing is left alone"
