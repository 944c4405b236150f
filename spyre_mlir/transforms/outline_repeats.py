# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Makes functions of what a program does again and again, so that it is compiled once.

    layer; layer; layer     becomes  call @layer_0; call @layer_0; call @layer_0

A repeat is a row of operations that are equal but for operands; it is taken where the
operands agree in what comes from inside, and fewest bytes cross its boundary. All
that comes from outside, weights too, becomes an argument, which is marked
`spyre.static` if all calls hand over what is. Before that, what several
repeats share (a mask, say) is moved in front of them, and what needs no operand is
copied into them.

The location of the function holds those of the first repeat's operations, the one of
each call those of its own, in the same order: `analysis.provenance` takes an
operation's line in the function to the line of a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FusedLoc,
    LocationAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import (
    Attribute,
    Block,
    BlockArgument,
    Operation,
    OpResult,
    Region,
    SSAValue,
)
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from spyre_mlir.algebra.access import ITEMSIZE
from spyre_mlir.algebra.repeats import Run, occurrences, periods, runs
from spyre_mlir.analysis.layouts import STATIC, is_static_argument
from spyre_mlir.analysis.provenance import OUTLINED
from spyre_mlir.dialects.spyre import (
    FullOp,
    GatherOp,
    IotaOp,
    MatmulOp,
    ReduceOp,
    dtype_name,
    tensor_of,
)
from spyre_mlir.transforms._fingerprint import Fingerprints

WEIGHTY = (MatmulOp, ReduceOp, GatherOp)
"""Operations that make a repeat worth a function of its own."""

NULLARY = (FullOp, IotaOp)
"""Operations that are cheaper made again than handed over."""

MAX_SHARED = 64
"""Operations moved in front for one value that several repeats share."""


Row: TypeAlias = tuple[SSAValue, ...]
"""What stands at the same place in each copy."""


@dataclass(frozen=True)
class Group:
    """Places in a block where the same `length` operations stand."""

    starts: tuple[int, ...]
    length: int


def best_group(
    ops: Sequence[Operation], tokens: Sequence[int], minimum: int
) -> Group | None:
    """The repeat that saves most, cut where fewest bytes cross."""
    best: tuple[int, int, Run] | None = None
    for period in periods(tokens):
        for run in runs(tokens, period):
            body = ops[run.start : run.start + period]
            if sum(isinstance(o, WEIGHTY) for o in body) < minimum:
                continue
            if best is None or (run.saved, -period) > best[:2]:
                best = (run.saved, -period, run)
    if best is None:
        return None
    return _cut(ops, tokens, best[2])


def _cut(ops: Sequence[Operation], tokens: Sequence[int], run: Run) -> Group | None:
    """The whole copies in a run, begun where fewest bytes cross the boundary."""
    spare = (run.stop - run.start) % run.period
    crossing = _crossing(ops, run.start, run.start + spare + 1)
    offset = min(range(spare + 1), key=lambda k: (crossing[k], -k))
    start = run.start + offset
    positions = {op: k for k, op in enumerate(ops)}
    shapes: dict[tuple[object, ...], list[int]] = {}
    for place in occurrences(tokens, start, run.period):
        shape = _wiring(ops[place : place + run.period], positions, place)
        shapes.setdefault(shape, []).append(place)
    starts = max(shapes.values(), key=len)
    return Group(tuple(starts), run.period) if len(starts) > 1 else None


def _crossing(ops: Sequence[Operation], first: int, stop: int) -> list[int]:
    """For each position, how many bytes made before it are read at or after it."""
    positions = {op: k for k, op in enumerate(ops)}
    counts = [0] * (stop - first)
    for made, op in enumerate(ops[:stop]):
        for result in op.results:
            last = max((positions.get(u.operation, 0) for u in result.uses), default=0)
            crossed = range(max(made + 1, first), min(last + 1, stop))
            if crossed:
                size = _host_bytes(result)
                for k in crossed:
                    counts[k - first] += size
    return counts


def _host_bytes(value: SSAValue) -> int:
    shape = tensor_of(value).get_shape()
    return ITEMSIZE[dtype_name(value.type)] * prod(shape)


def _wiring(
    body: Sequence[Operation], positions: dict[Operation, int], start: int
) -> tuple[object, ...]:
    """Per operand, which result of the body it is, or None from outside."""
    shape: list[object] = []
    for op in body:
        for operand in op.operands:
            inside = None
            if isinstance(operand, OpResult):
                place = positions.get(operand.op, -1) - start
                if 0 <= place < len(body):
                    inside = (place, operand.index)
            shape.append(inside)
    return tuple(shape)


def shared_first(ops: Sequence[Operation]) -> list[Operation]:
    """
    The same operations with those in front that repeats share: light ones that depend
    on the block's arguments alone and are read before and after heavy ones. First
    those that are read over the longest range, so that a value of the first repeat
    does not stand before one of all.
    """
    positions = {op: k for k, op in enumerate(ops)}
    heavy = list(accumulate((isinstance(op, WEIGHTY) for op in ops), initial=0))
    ranges: list[tuple[int, int]] = []
    for place, op in enumerate(ops):
        users = (u.operation for r in op.results for u in r.uses)
        places = [positions[u] for u in users if u in positions]
        if len(places) > 1 and heavy[max(places)] - heavy[min(places)] > 1:
            ranges.append((min(places) - max(places), place))
    front: dict[Operation, None] = {}
    for _, place in sorted(ranges):
        slice_ = _slice(ops[place], positions)
        front.update(dict.fromkeys(sorted(slice_, key=lambda op: positions[op])))
    return [*front, *(op for op in ops if op not in front)]


def _reorder(block: Block, ops: Sequence[Operation]) -> None:
    """Puts operations in this order at the start of their block."""
    for op in ops:
        op.detach()
    Rewriter.insert_op(list(ops), InsertPoint.at_start(block))


def _slice(op: Operation, positions: dict[Operation, int]) -> set[Operation]:
    """All that makes an operation's operands, and itself; empty if that is heavy."""
    found: set[Operation] = set()
    open_ = [op]
    while open_:
        current = open_.pop()
        if current in found:
            continue
        if isinstance(current, MatmulOp | CallOp) or len(found) > MAX_SHARED:
            return set()
        found.add(current)
        open_ += [v.op for v in current.operands if isinstance(v, OpResult)]
    return found if all(o in positions for o in found) else set()


class Outliner:
    """Turns a group of repeats into a function and its calls."""

    def __init__(self, ops: Sequence[Operation], group: Group, name: str):
        self.name = name
        self.length = group.length
        self.copies = [tuple(ops[s : s + group.length]) for s in group.starts]
        self.inside = [{op: k for k, op in enumerate(c)} for c in self.copies]
        self.slots = self._slots()
        self.rows = list(dict.fromkeys(self.slots.values()))
        self.arguments = [row for row in self.rows if not _is_nullary(row)]
        self.results = self._results()
        self.lines = self._lines()

    def _slots(self) -> dict[tuple[int, int], Row]:
        """What comes from outside, by operation and operand."""
        slots: dict[tuple[int, int], Row] = {}
        for k in range(self.length):
            rows = zip(*(c[k].operands for c in self.copies), strict=True)
            for position, row in enumerate(rows):
                owner = row[0].owner
                if not (isinstance(owner, Operation) and owner in self.inside[0]):
                    slots[k, position] = row
        return slots

    def _results(self) -> list[tuple[int, int]]:
        """Results that some copy's surroundings read, by operation and index."""
        found: list[tuple[int, int]] = []
        for k in range(self.length):
            for index in range(len(self.copies[0][k].results)):
                if any(self._escapes(c, k, index) for c in range(len(self.copies))):
                    found.append((k, index))
        return found

    def _escapes(self, copy: int, k: int, index: int) -> bool:
        uses = self.copies[copy][k].results[index].uses
        return any(u.operation not in self.inside[copy] for u in uses)

    def function(self) -> FuncOp:
        """The function, made of a copy of the first repeat."""
        first = self.copies[0]
        block = Block(arg_types=[row[0].type for row in self.arguments])
        outside: dict[Row, SSAValue] = dict(
            zip(self.arguments, block.args, strict=True)
        )
        for row, argument in outside.items():
            argument.name_hint = row[0].name_hint
        for row in self.rows:
            if row not in outside:
                assert isinstance(row[0].owner, Operation)
                outside[row] = _add_copy(block, row[0].owner, {}).results[0]
        values: dict[SSAValue, SSAValue] = {}
        for k, op in enumerate(first):
            copied = _add_copy(block, op, values)
            for position in range(len(op.operands)):
                if (k, position) in self.slots:
                    copied.operands[position] = outside[self.slots[k, position]]
        outputs = [values[first[k].results[i]] for k, i in self.results]
        block.add_op(ReturnOp(*outputs))
        types = ([a.type for a in block.args], [o.type for o in outputs])
        function = FuncOp(
            self.name,
            types,
            Region(block),
            StringAttr("private"),
            arg_attrs=self._arg_attrs(),
        )
        function.location = self.lines[0]
        return function

    def _arg_attrs(self) -> ArrayAttr[DictionaryAttr] | None:
        """What is static in every copy is so in the function."""
        static = [all(map(is_static, row)) for row in self.arguments]
        if not any(static):
            return None
        marks: list[dict[str, Attribute]] = [
            {STATIC: UnitAttr()} if s else {} for s in static
        ]
        return ArrayAttr([DictionaryAttr(mark) for mark in marks])

    def call_all(self) -> None:
        """Puts a call in the place of each copy."""
        slots = {row: slot for slot, row in reversed(self.slots.items())}
        first_slots = [slots[row] for row in self.arguments]
        for copy, lines in zip(self.copies, self.lines, strict=True):
            types = [self.copies[0][k].results[i].type for k, i in self.results]
            operands = [copy[k].operands[q] for k, q in first_slots]
            call = CallOp(SymbolRefAttr(self.name), operands, types)
            call.location = lines
            Rewriter.insert_op(call, InsertPoint.before(copy[0]))
            for value, (k, index) in zip(call.results, self.results, strict=True):
                old = copy[k].results[index]
                value.name_hint = old.name_hint
                old.replace_all_uses_with(value)
            for op in reversed(copy):
                op.detach()
                op.erase()

    def _lines(self) -> list[LocationAttr]:
        """Per copy its lines, in the same order for all copies, each row once."""
        rows = [[op.location for op in row] for row in zip(*self.copies, strict=True)]
        once = {tuple(map(id, row)): row for row in rows}.values()
        outlined = StringAttr(OUTLINED)
        return [
            FusedLoc(ArrayAttr(lines), outlined) for lines in zip(*once, strict=True)
        ]


def is_static(value: SSAValue) -> bool:
    """An argument of a function that is marked as unchanging."""
    if not isinstance(value, BlockArgument):
        return False
    function = value.block.parent_op()
    return isinstance(function, FuncOp) and is_static_argument(function, value.index)


def _is_nullary(row: Sequence[SSAValue]) -> bool:
    """The same value in all copies, and cheaper made again than handed over."""
    return isinstance(row[0].owner, NULLARY) and len(set(row)) == 1


def _add_copy(
    block: Block, op: Operation, values: dict[SSAValue, SSAValue]
) -> Operation:
    """Appends a copy of an operation, and makes its results known."""
    copied = op.clone(value_mapper=values)
    block.add_op(copied)
    return copied


@dataclass(frozen=True)
class OutlineRepeatsPass(ModulePass):
    """Outlines repeated rows of operations."""

    name = "spyre-outline-repeats"

    minimum: int = 2
    """Matmuls, reductions and gathers that a repeat has at least."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        fingerprints = Fingerprints()
        for function in [f for f in op.ops if isinstance(f, FuncOp)]:
            private = function.sym_visibility == StringAttr("private")
            if not private and len(function.body.blocks) == 1:
                self._outline(op, function, fingerprints)

    def _outline(
        self, module: ModuleOp, function: FuncOp, prints: Fingerprints
    ) -> None:
        block = function.body.block
        while True:
            current = list(block.ops)[:-1]
            ops = shared_first(current)
            tokens = [prints.of(op) for op in ops]
            group = best_group(ops, tokens, self.minimum)
            if group is None:
                return
            if ops != current:
                _reorder(block, ops)
            outliner = Outliner(ops, group, _free_name(module))
            outlined = outliner.function()
            outliner.call_all()
            module.body.block.add_op(outlined)


def _free_name(module: ModuleOp) -> str:
    taken = {f.sym_name.data for f in module.ops if isinstance(f, FuncOp)}
    number = 0
    while f"layer_{number}" in taken:
        number += 1
    return f"layer_{number}"
