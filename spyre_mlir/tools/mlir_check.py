# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The second opinion: the real MLIR parses and verifies our IR.

    python -m spyre_mlir.tools.mlir_check FILES

Our dialects are exported as IRDL and loaded into the upstream bindings of the
`torch-mlir` package (the `[mlir]` extra), which then read the IR in its generic form.
Never part of a compile.
"""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import AffineMapAttr, MemRefType, ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.hints import isa

from spyre_mlir.algebra.access import ITEMSIZE
from spyre_mlir.algebra.layout import elements_per_stick
from spyre_mlir.dialects.dev import Dev
from spyre_mlir.dialects.spyre import LayoutAttr, Spyre, dtype_name
from spyre_mlir.tools.irdl_export import (
    export_dialects,
    exported_kinds,
    exported_traits,
    segments,
)

DIALECTS = (Spyre, Dev)
SEPARATOR = re.compile(r"^// -----[ \t]*$", re.MULTILINE)
"""Between the cases of a test file, as `--split-input-file` has it."""

OPERAND_SEGMENTS, RESULT_SEGMENTS = "operandSegmentSizes", "resultSegmentSizes"
"""As the verifier of loaded dialects spells them."""

INSTALL = "the real MLIR is not installed: pip install 'spyre-mlir[mlir]'"


class MlirError(ValueError):
    """What the real MLIR says against some IR."""


def is_available() -> bool:
    """Whether the bindings of the real MLIR can be imported."""
    try:
        _bindings()
    except ModuleNotFoundError:
        return False
    return True


def verify_with_mlir(text: str) -> None:
    """Raises MlirError unless the real MLIR accepts IR in its generic form."""
    reprint_with_mlir(text)


def reprint_with_mlir(text: str) -> str:
    """IR in its generic form, read, verified and printed again by the real MLIR."""
    ir, _, _ = _bindings()
    try:
        with _context(None):
            module = ir.Module.parse(text)
            slots = _mark_segments(ir, module.operation)
            marked = module.operation.get_asm(
                print_generic_op_form=True, enable_debug_info=True
            )
        with _context(slots):
            module = ir.Module.parse(marked)
            _unmark_segments(ir, module.operation)
            return module.operation.get_asm(print_generic_op_form=True)
    except ir.MLIRError as error:
        raise MlirError(str(error)) from error


def verify_op_with_mlir(op: Operation) -> None:
    """The same of an xDSL operation: a hook for before and after each pass."""
    verify_with_mlir(generic_text(op))


class _Printer(Printer):
    """Prints the stick layout of a view as the affine map that it is."""

    def print_attribute(self, attribute: Attribute) -> None:
        if isa(attribute, MemRefType) and isinstance(attribute.layout, LayoutAttr):
            attribute = MemRefType(
                attribute.element_type,
                attribute.shape,
                AffineMapAttr(_stick_map(attribute, attribute.layout)),
                attribute.memory_space,
            )
        super().print_attribute(attribute)


def _stick_map(view: MemRefType, layout: LayoutAttr) -> AffineMap:
    """Device coordinates of host coordinates: sticks, then the lane."""
    eps = elements_per_stick(ITEMSIZE[dtype_name(view.element_type)])
    *outer, stick = layout.data.dims
    zero = AffineExpr.constant(0)
    dims = [zero if d < 0 else AffineExpr.dimension(d) for d in outer]
    results = [
        e // eps if d == stick >= 0 else e for d, e in zip(outer, dims, strict=True)
    ]
    lane = AffineExpr.dimension(stick) % eps if stick >= 0 else zero
    return AffineMap(view.get_num_dims(), 0, (*results, lane))


def generic_text(op: Operation) -> str:
    """IR as the real MLIR reads it, whatever dialects it knows."""
    out = StringIO()
    printer = _Printer(
        stream=out, print_generic_format=True, print_properties_as_attributes=True
    )
    printer.print_op(op)
    return out.getvalue() + "\n"


def _bindings() -> tuple[Any, Any, Any]:
    try:
        ir, ext, irdl = (
            import_module(f"torch_mlir.{name}")
            for name in ("ir", "dialects.ext", "dialects.irdl")
        )
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(INSTALL) from error
    return ir, ext, irdl


@cache
def _context(slots: int | None) -> Any:
    """A context that knows our dialects, or, without slots, takes any."""
    ir, ext, irdl = _bindings()
    context = ir.Context()
    # ktdp and spyreop are not exported: IRDL has no words for some of their ops.
    context.allow_unregistered_dialects = True
    if slots is None:
        return context
    attach = {
        "IsTerminator": ir.IsTerminatorTrait.attach,
        "NoTerminator": ir.NoTerminatorTrait.attach,
        "IsolatedFromAbove": ir.IsIsolatedFromAboveTrait.attach,
        "Pure": ext.Pure.attach,
    }
    with context:
        irdl.load_dialects(ir.Module.parse(export_dialects(DIALECTS, slots)))
        for op, traits in exported_traits(DIALECTS).items():
            for trait in traits:
                attach[trait](op)
    return context


@cache
def _kinds() -> dict[str, tuple[str, str]]:
    return exported_kinds(DIALECTS)


def _mark_segments(ir: Any, root: Any) -> int:
    """
    Gives our operations the segment sizes that variadic slots need, see
    `dialects.irdl_export`, and returns the number of slots.
    """
    marks: list[tuple[Any, str, str, int]] = []

    def collect(op: Any) -> Any:
        operands, results = _kinds().get(op.name, ("", ""))
        for name, kinds, values in (
            (OPERAND_SEGMENTS, operands, op.operands),
            (RESULT_SEGMENTS, results, op.results),
        ):
            if set(kinds) - {"s"}:
                marks.append((op, name, kinds, len(values)))
        return ir.WalkResult.ADVANCE

    root.walk(collect)
    most = max((count for *_, count in marks), default=0)
    # With one slot the sizes would not be asked for; few numbers make few contexts.
    slots = 4
    while slots < most:
        slots *= 2
    for op, name, kinds, count in marks:
        sizes = segments(kinds, count, slots)
        op.attributes[name] = ir.DenseI32ArrayAttr.get(sizes)
    return slots


def _unmark_segments(ir: Any, root: Any) -> None:
    def remove(op: Any) -> Any:
        for name in (OPERAND_SEGMENTS, RESULT_SEGMENTS):
            if op.name in _kinds() and name in op.attributes:
                del op.attributes[name]
        return ir.WalkResult.ADVANCE

    root.walk(remove)


def parse(text: str, name: str) -> ModuleOp:
    """Reads and verifies IR in any form, with all dialects that we know."""
    context = Context(allow_unregistered=False)
    for dialect, factory in get_all_dialects().items():
        context.register_dialect(dialect, factory)
    for own in DIALECTS:
        context.load_dialect(own)
    module = Parser(context, text, name).parse_module()
    module.verify()
    return module


def _check(file: str) -> str:
    """What is wrong with a file, or nothing."""
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text()
        for part in SEPARATOR.split(text):
            verify_op_with_mlir(parse(part, file))
    except (OSError, ParseError, VerifyException, MlirError) as error:
        return str(error)
    return ""


def main(argv: Sequence[str] | None = None) -> int:
    parser = ArgumentParser(prog="mlir_check", description=__doc__)
    parser.add_argument("files", nargs="*", help="IR in any form, or - for stdin")
    parser.add_argument(
        "--irdl", action="store_true", help="print the IRDL of our dialects"
    )
    options = parser.parse_args(argv)
    if options.irdl:
        print(export_dialects(DIALECTS), end="")
        return 0
    if not options.files:
        parser.error("give files to check")
    if not is_available():
        print(f"error: {INSTALL}", file=sys.stderr)
        return 1
    failed = False
    for file in options.files:
        problem = _check(file)
        failed |= bool(problem)
        print(f"{file}: {problem or 'ok'}", file=sys.stderr if problem else sys.stdout)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
