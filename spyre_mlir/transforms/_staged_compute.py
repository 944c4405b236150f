# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the compute of staged ktdp: one `linalg.generic` as one record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, linalg, scf, tensor
from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from spyre_mlir.algebra.access import Access, Axis, Step
from spyre_mlir.dialects import dev, ktdp, spyreop
from spyre_mlir.dialects.spyre import dtype_name, is_float, number_attr
from spyre_mlir.target.opfuncs import REDUCTIONS
from spyre_mlir.transforms._scalars import (
    StepReader,
    UnknownScalar,
    function_of,
    identity_number,
    index_axis,
    is_widening,
)
from spyre_mlir.transforms._staged import Operand, StagedReader, not_staged

MATMUL = StringAttr("matmul")
"""The `library_call` of what the matrix array does; the vector unit does the rest."""

_REDUCTION_OF = {row["combine"]: name for name, row in REDUCTIONS.items()}
_ROLES = {
    (True, True, True): "b",
    (True, False, True): "m",
    (False, True, True): "n",
    (True, True, False): "k",
}


@dataclass
class Compute:
    """A record, and the ops with effects or data that it stands for."""

    record: dev.RecordOp
    parts: list[Operation]


@dataclass
class _Body:
    """What a generic computes at each point."""

    steps: tuple[Step, ...]
    combine: str
    is_matmul: bool = False
    starts: dict[int, tuple[Operation, SSAValue | None]] = field(
        default_factory=dict[int, tuple[Operation, "SSAValue | None"]]
    )
    """Where the coordinates of an axis begin, for axes whose index is used."""


def read_compute(reader: StagedReader, store: ktdp.StoreOp) -> Compute:
    """The record of a store of computed data."""
    return _Reader(reader, store).read()


class _Reader:
    def __init__(self, reader: StagedReader, store: ktdp.StoreOp):
        self.reader = reader
        self.store = store
        self.parts: list[Operation] = []
        self.generic = self._generic()
        self.maps = [m.data for m in self.generic.indexing_maps]
        self.rank = len(self.generic.iterator_types)
        self.folded = tuple(
            a
            for a, kind in enumerate(self.generic.iterator_types)
            if kind.data == IteratorType.REDUCTION
        )
        self.axes: dict[int, Axis] = {}

    def _generic(self) -> linalg.ops.GenericOp:
        op = self.store.value.owner
        is_cast = isinstance(op, spyreop.FnOp) and op.function.data == "cast"
        if is_cast or isinstance(op, arith.TruncFOp):
            assert isinstance(op, Operation)
            self.parts.append(op)
            op = op.operands[0].owner
        if not isinstance(op, linalg.ops.GenericOp):
            raise not_staged(
                self.store, "it stores what a ktdp.load or a linalg.generic gives"
            )
        if len(op.outputs) != 1 or len(op.results) != 1:
            raise not_staged(op, "it makes one tensor")
        self.parts.append(op)
        return op

    def read(self) -> Compute:
        generic = self.generic
        reads = [self._read(place, v) for place, v in enumerate(generic.inputs)]
        target = self.reader.tile(self.store.tile, self.store)
        if target.access.space != "lx":
            raise not_staged(self.store, "a compute stores to the scratchpad")
        write = self._spread(len(reads), target)
        body = self._body()
        acc_level = self._initial(body)
        axes = self._axes(body)
        self._check_types(write, body)
        if body.is_matmul:
            record = dev.MatmulOp(
                axes, self._roles(), reads[0], reads[1], write, acc_level
            )
        else:
            fold = self.folded if body.combine else ()
            record = dev.VectorOp(
                axes, reads, body.steps, write, body.combine, fold, acc_level
            )
        return Compute(record, self.parts)

    # ---- operands

    def _read(self, place: int, value: SSAValue) -> Access:
        load = value.owner
        if not isinstance(load, ktdp.LoadOp):
            raise not_staged(self.generic, "its inputs are loaded from the scratchpad")
        self.parts.append(load)
        operand = self.reader.tile(load.tile, load)
        if operand.access.space != "lx":
            raise not_staged(load, "a compute loads from the scratchpad")
        return self._spread(place, operand)

    def _spread(self, place: int, operand: Operand) -> Access:
        """An operand's access over the record's axes, whose extents it tells."""
        exprs = self.maps[place].results
        dims = [e.position for e in exprs if isinstance(e, AffineDimExpr)]
        if len(dims) != len(exprs) or len(set(dims)) != len(dims):
            raise not_staged(self.generic, "an indexing map picks axes, each once")
        for dim, size in zip(dims, operand.extents, strict=True):
            axis = self.reader.axis(size, self.generic)
            if self.axes.setdefault(dim, axis) != axis:
                raise not_staged(self.generic, f"axis {dim} has two extents")
        return operand.spread(dims, self.rank)

    def _axes(self, body: _Body) -> tuple[Axis, ...]:
        missing = [a for a in range(self.rank) if a not in self.axes]
        if missing:
            raise not_staged(self.generic, f"no operand runs along axis {missing[0]}")
        for a, (op, start) in body.starts.items():
            self.axes[a] = self.reader.started(self.axes[a], start, op)
        return tuple(self.axes[a] for a in range(self.rank))

    def _roles(self) -> str:
        used = [
            {e.position for e in m.results if isinstance(e, AffineDimExpr)}
            for m in self.maps
        ]
        roles = [
            _ROLES.get((a in used[0], a in used[1], a in used[2]))
            for a in range(self.rank)
        ]
        if None in roles:
            raise not_staged(
                self.generic,
                f"axis {roles.index(None)} of a matmul is in one operand alone",
            )
        return "".join(r for r in roles if r)

    def _check_types(self, write: Access, body: _Body) -> None:
        """Sums of floats are f32; a narrower result is cast on the way to the store."""
        carried = dtype_name(self.generic.results[0].type)
        if dtype_name(self.store.value.type) != write.dtype:
            raise not_staged(self.store, f"it stores to a view of {write.dtype}")
        wide = "f32" if is_float(write.dtype) else write.dtype
        wanted = wide if body.combine == "sum" else write.dtype
        if carried != wanted:
            raise not_staged(self.generic, f"it makes {wanted}, not {carried}")

    # ---- what the result starts from

    def _initial(self, body: _Body) -> int:
        """The level from which loops accumulate, or -1."""
        op = self.generic.outputs[0].owner
        if not body.combine:
            if not isinstance(op, tensor.EmptyOp):
                raise not_staged(self.generic, "without a fold it fills a tensor.empty")
            return -1
        if isinstance(op, scf.IfOp):
            self.parts.append(op)
            return self._accumulates(op, body.combine)
        self._check_identity(op, body.combine)
        return -1

    def _check_identity(self, op: object, combine: str) -> None:
        if isinstance(op, tensor.SplatOp):
            dtype = dtype_name(op.input.type)
            constant = op.input.owner
            wanted = number_attr(identity_number(combine, dtype), dtype)
            if isinstance(constant, arith.ConstantOp) and constant.value == wanted:
                return
        raise not_staged(
            self.generic, f'a "{combine}" starts from a tensor.splat of its identity'
        )

    def _accumulates(self, op: scf.IfOp, combine: str) -> int:
        first, other = (list(r.block.ops) for r in op.regions)
        if len(first) != 2 or len(other) != 2:
            raise not_staged(op, "its arms give a tensor.splat and a ktdp.load")
        self._check_identity(first[0], combine)
        load = other[0]
        if not isinstance(load, ktdp.LoadOp) or load.tile is not self.store.tile:
            raise not_staged(op, "its second arm loads the tile that is stored to")
        compare = op.cond.owner
        is_equal = (
            isinstance(compare, arith.CmpiOp) and not compare.predicate.value.data
        )
        if not is_equal:
            raise not_staged(op, "its condition is arith.cmpi eq")
        assert isinstance(compare, arith.CmpiOp)
        zero = self.reader.place(compare.rhs, compare)
        trips = self.reader.place(compare.lhs, compare)
        found = self.reader.loop_steps(trips)
        depth = len(self.reader.nest)
        level = min(found, default=depth)
        is_sum = found == dict.fromkeys(range(level, depth), 1)
        if not is_sum or len(trips.terms) != len(found) or trips.constant:
            raise not_staged(compare, "it adds up the trips of the innermost loops")
        if not found or not zero.is_constant or zero.constant:
            raise not_staged(compare, "it compares trips with zero")
        return level

    # ---- the body

    def _body(self) -> _Body:
        block = self.generic.body.block
        ops = list(block.ops)[:-1]
        end = block.last_op
        assert end is not None
        carried, value = block.args[-1], end.operands[0]
        combine = ""
        if self.folded or self.generic.library_call == MATMUL:
            combine, value, ops = self._fold(ops, value, carried)
        elif list(carried.uses):
            raise not_staged(self.generic, "without a fold it starts from nothing")
        if self.generic.library_call == MATMUL:
            if combine != "sum" or not self._is_product(ops, value):
                raise not_staged(
                    self.generic, "a matmul adds up products of its inputs"
                )
            return _Body((), combine, True)
        steps = self._steps(ops, value)
        starts: dict[int, tuple[Operation, SSAValue | None]] = {}
        for op in ops:
            found = index_axis(op)
            if found is not None:
                starts[found[0]] = (op, found[1])
        return _Body(steps, combine, starts=starts)

    def _fold(
        self, ops: list[Operation], value: SSAValue, carried: SSAValue
    ) -> tuple[str, SSAValue, list[Operation]]:
        """The reduction, what it folds, and the ops that make that."""
        op = ops[-1] if ops else None
        combine = _REDUCTION_OF.get(function_of(op) or "") if op else None
        if op is None or combine is None or op is not value.owner:
            raise not_staged(self.generic, "it ends in adding, maximum or minimum")
        if carried not in op.operands or carried.uses.get_length() != 1:
            raise not_staged(op, "it combines one term with the running result")
        lhs, rhs = op.operands
        term = rhs if lhs is carried else lhs
        ops = ops[:-1]
        widening = term.owner
        if self.generic.library_call == MATMUL:
            return combine, term, ops
        if ops and ops[-1] is widening and is_widening(ops[-1]):
            return combine, ops[-1].operands[0], ops[:-1]
        return combine, term, ops

    def _is_product(self, ops: Sequence[Operation], term: SSAValue) -> bool:
        """Whether a term is the product of the two inputs, widened or not."""
        op = term.owner
        if not isinstance(op, Operation) or function_of(op) != "mul":
            return False
        factors: set[SSAValue] = set()
        widened = 0
        for value in op.operands:
            source = value.owner
            if isinstance(source, Operation) and is_widening(source):
                widened += 1
                value = source.operands[0]
            factors.add(value)
        inputs = set(self.generic.body.block.args[:-1])
        return len(inputs) == 2 and factors == inputs and len(ops) == widened + 1

    def _steps(self, ops: Sequence[Operation], value: SSAValue) -> tuple[Step, ...]:
        reader = StepReader(self.generic.body.block, len(self.generic.inputs))
        try:
            steps = reader.read(ops)
            last = reader.number[value]
        except UnknownScalar as error:
            raise not_staged(self.generic, str(error)) from error
        except KeyError:
            raise not_staged(self.generic, "it gives a value of its body") from None
        if last != len(reader.number) - 1:
            return (*steps, Step("identity", (last,), dtype_name(value.type)))
        return steps
