# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
A dialect definition as IRDL text, which the real MLIR loads.

    irdl.dialect @spyre {
      irdl.operation @yield {
        %0 = irdl.any
        irdl.operands(value: %0)
      }
    }

What IRDL can say is exported: kinds of operands, results and attributes, numbers of
them, regions. What it cannot is left out: optional attributes, elements of arrays,
our verifiers. Properties become attributes, since a dialect loaded at run time has
none. xDSL has an exporter too; it keeps no constraints, makes attributes of types, and
its text is not what upstream reads.

All elements of a variadic operand of IRDL have one type (the constraint is a variable
that takes a value). Ours may differ, so a variadic operand is exported as `slots`
optional ones, and `segments` says how an operation
fills them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase
from xdsl.ir import Attribute, Dialect, Operation, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    AttrConstraint,
    IRDLOperation,
    OperandDef,
    OptionalDef,
    RangeConstraint,
    RangeLengthConstraint,
    RangeOf,
    RegionDef,
    ResultDef,
    SingleBlockRegionDef,
    VariadicDef,
    VarRegionDef,
    VarSingleBlockRegionDef,
)
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator, Pure

TRAITS = (IsTerminator, NoTerminator, IsolatedFromAbove, Pure)
"""Traits that the real MLIR can attach to an operation from outside."""

# Both are "array" to xDSL, which tells them apart by class.
_UPSTREAM_NAMES: dict[type[Attribute], str] = {
    ArrayAttr: "builtin.array",
    DenseArrayBase: "builtin.dense_array",
}


class IRDLExportError(TypeError):
    """A definition that IRDL has no words for."""


def export_dialects(dialects: Sequence[Dialect], slots: int = 4) -> str:
    """IRDL of the dialects; a variadic operand or result has at most `slots` values."""
    lines = (line for dialect in dialects for line in _dialect(dialect, slots))
    return "\n".join(lines) + "\n"


def segments(kinds: str, count: int, slots: int) -> list[int]:
    """
    How many of `count` values each exported operand takes.

    `kinds` has a letter per operand of the definition: s(ingle), o(ptional) or
    v(ariadic); only one is not single. Where values are missing or left over, the sum
    is wrong, and the real MLIR says so.
    """
    left = max(0, count - kinds.count("s"))
    filled: list[int] = []
    for kind in kinds:
        if kind == "v":
            filled += [1] * left + [0] * (slots - left)
        else:
            filled.append(1 if kind == "s" else left)
    return filled


def exported_kinds(dialects: Sequence[Dialect]) -> dict[str, tuple[str, str]]:
    """Kinds of the operands and results of each operation, as `segments` has them."""
    found: dict[str, tuple[str, str]] = {}
    for dialect in dialects:
        for op in dialect.operations:
            if issubclass(op, IRDLOperation):
                definition = op.get_irdl_definition()
                ranges = (definition.operands, definition.results)
                operands, results = ("".join(_kind(d) for _, d in r) for r in ranges)
                if max(len(k) - k.count("s") for k in (operands, results)) > 1:
                    raise IRDLExportError(f"{op.name}: several variadic operands")
                found[op.name] = operands, results
    return found


def exported_traits(dialects: Sequence[Dialect]) -> dict[str, tuple[str, ...]]:
    """Names of the attachable traits of each operation that has any."""
    found: dict[str, tuple[str, ...]] = {}
    for dialect in dialects:
        for op in dialect.operations:
            names = tuple(t.__name__ for t in TRAITS if op.has_trait(t()))
            if names:
                found[op.name] = names
    return found


def _dialect(dialect: Dialect, slots: int) -> Iterator[str]:
    yield f"irdl.dialect @{dialect.name} {{"
    for attribute in dialect.attributes:
        yield from _attribute(attribute)
    for operation in dialect.operations:
        yield from _operation(operation, slots)
    yield "}"


class _Body:
    """The lines of one definition, and the values that they define."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0

    def value(self, line: str) -> str:
        name = f"%{self._count}"
        self._count += 1
        self.lines.append(f"    {name} = {line}")
        return name

    def list_of(self, op: str, named: Sequence[tuple[str, str]]) -> None:
        if named:
            inner = ", ".join(f"{name}: {value}" for name, value in named)
            self.lines.append(f"    {op}({inner})")

    def constraint(self, constraint: AttrConstraint[Any]) -> str:
        """Defines a constraint: the kinds of attribute that can satisfy it."""
        bases = constraint.get_bases()
        if bases is None:
            return self.value("irdl.any")
        names = sorted(map(_base_name, bases))
        values = [self.value(f"irdl.base {name}") for name in names]
        if len(values) == 1:
            return values[0]
        return self.value(f"irdl.any_of({', '.join(values)})")


def _base_name(base: type[Attribute]) -> str:
    """A type or attribute as `irdl.base` takes it: by symbol if it is one of ours."""
    name = _UPSTREAM_NAMES.get(base, base.name)
    dialect, _, own = name.rpartition(".")
    if dialect not in ("", "builtin"):
        return f"@{dialect}::@{own}"
    sigil = "!" if issubclass(base, TypeAttribute) else "#"
    return f'"{sigil}builtin.{own}"'


def _attribute(attribute: type[Attribute]) -> Iterator[str]:
    if not issubclass(attribute, ParametrizedAttribute):
        raise IRDLExportError(f"{attribute.name} has no parameters that IRDL knows")
    body = _Body()
    definition = attribute.get_irdl_definition()
    parameters = [
        (name, body.constraint(parameter.constr))
        for name, parameter in definition.parameters
    ]
    body.list_of("irdl.parameters", parameters)
    kind = "type" if issubclass(attribute, TypeAttribute) else "attribute"
    yield f"  irdl.{kind} @{attribute.name.partition('.')[2]} {{"
    yield from body.lines
    yield "  }"


def _operation(op: type[Operation], slots: int) -> Iterator[str]:
    if not issubclass(op, IRDLOperation):
        raise IRDLExportError(f"{op.name} is not defined declaratively")
    definition = op.get_irdl_definition()
    body = _Body()
    operands = [v for o in definition.operands for v in _range(body, *o, slots)]
    results = [v for r in definition.results for v in _range(body, *r, slots)]
    attributes = [
        f'"{name}" = {body.constraint(attribute.constr)}'
        for name, attribute in (definition.attributes | definition.properties).items()
        if not isinstance(attribute, OptionalDef)
    ]
    regions = [
        (name, body.value(_region(op, region))) for name, region in definition.regions
    ]
    body.list_of("irdl.operands", operands)
    body.list_of("irdl.results", results)
    if attributes:
        body.lines.append(f"    irdl.attributes {{ {', '.join(attributes)} }}")
    body.list_of("irdl.regions", regions)
    yield f"  irdl.operation @{op.name.partition('.')[2]} {{"
    yield from body.lines
    yield "  }"


def _kind(definition: OperandDef | ResultDef) -> str:
    if isinstance(definition, OptionalDef):
        return "o"
    return "v" if isinstance(definition, VariadicDef) else "s"


def _range(
    body: _Body, name: str, definition: OperandDef | ResultDef, slots: int
) -> Iterator[tuple[str, str]]:
    """An operand or result by name, or the slots of a variadic one."""
    element = _element(definition.constr)
    match _kind(definition):
        case "s":
            yield name, body.constraint(element)
        case "o":
            yield name, f"optional {body.constraint(element)}"
        case _:
            for i in range(slots):
                yield f"{name}_{i}", f"optional {body.constraint(element)}"


def _element(constraint: RangeConstraint[Any]) -> AttrConstraint[Any]:
    """What each element of a range must satisfy."""
    if isinstance(constraint, RangeLengthConstraint):
        return _element(constraint.constraint)
    if isinstance(constraint, RangeOf):
        return constraint.constr
    raise IRDLExportError(f"IRDL has no words for the constraint {constraint}")


def _region(op: type[Operation], region: RegionDef) -> str:
    if isinstance(region, VarRegionDef | VarSingleBlockRegionDef | OptionalDef):
        raise IRDLExportError(f"{op.name} has a number of regions that may change")
    single = isinstance(region, SingleBlockRegionDef)
    return "irdl.region with size 1" if single else "irdl.region"
