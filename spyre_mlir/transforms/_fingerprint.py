# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers for operations: equal exactly where all but operands and location is."""

from __future__ import annotations

from xdsl.ir import Attribute, Operation, SSAValue


class Fingerprints:
    """
    Gives operations that differ in operands and location alone the same number.

    Nothing is hashed away: equal numbers mean equal names, attributes, types, and
    bodies. Attributes are compared once each, by identity after that.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[object, ...], int] = {}
        self._by_identity: dict[int, int] = {}
        self._by_value: dict[Attribute, int] = {}
        self._kept: list[Attribute] = []

    def _attribute(self, attribute: Attribute) -> int:
        number = self._by_identity.get(id(attribute))
        if number is None:
            number = self._by_value.setdefault(attribute, len(self._by_value))
            self._by_identity[id(attribute)] = number
            self._kept.append(attribute)  # its id must not be given to another
        return number

    def of(self, op: Operation) -> int:
        """The number of an operation."""
        key = (
            op.name,
            *((n, self._attribute(a)) for n, a in sorted(op.properties.items())),
            *((n, self._attribute(a)) for n, a in sorted(op.attributes.items())),
            ("operands", *(self._attribute(v.type) for v in op.operands)),
            ("results", *(self._attribute(v.type) for v in op.results)),
            ("body", *self._body(op)),
        )
        return self._numbers.setdefault(key, len(self._numbers))

    def _body(self, op: Operation) -> list[object]:
        parts: list[object] = []
        for region in op.regions:
            for block in region.blocks:
                known: dict[SSAValue, int] = {}
                for argument in block.args:
                    known[argument] = len(known)
                    parts.append(self._attribute(argument.type))
                for step in block.ops:
                    parts.append(self.of(step))
                    # A value from outside gets no number here and never matches.
                    parts.append(tuple(known.get(v, id(v)) for v in step.operands))
                    for result in step.results:
                        known[result] = len(known)
        return parts
