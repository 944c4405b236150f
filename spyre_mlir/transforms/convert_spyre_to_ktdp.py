# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Spells out the plan of each kernel as one core's tile program, in staged form.

    func.func private @k0(%0 : tensor<...>) attributes {grid = ...} { spyre.matmul ... }
becomes
    func.func private @k0(%s0 : index, ...) attributes {grid = ..., lx_bytes = ...} {
      %c0 = ktdp.get_compute_tile_id : index
      scf.for ... { ... }
    }

The arguments are the bases of the kernel's DRAM tensors, in elements of their types:
the operands', then the results'. A call by tensors becomes a launch, `dev.call`.

Staged form, which `convert-ktdp-to-dev` reads back one to one:

- a view is a tile: its base is an affine.apply of symbol, digits and trips;
- a transfer is a load from one space and a store to the other, a shuffle a load and a
  store in the scratchpad, a gather a load through an indirect tile;
- a compute is loads from scratchpad views, one linalg.generic over the record's axes,
  and one store; `library_call = "matmul"` marks what the matrix array does;
- where an operand's stick coordinate is not a single axis, its access tile is an
  indirect one without indices, so that indexing maps only pick axes;
- a fold or matmul starts from a tensor.splat of its identity. If it runs over several
  trips, an scf.if on all of their loops being at trip zero chooses between that and a
  load of the accumulator. Sums are f32; a narrower result is an arith.truncf of the
  whole tile before the store.

Runs after `materialize-groups`. Addresses come from the plan; nothing is allocated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, linalg, scf, tensor
from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, i1, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from spyre_mlir.algebra.access import Access, Axis
from spyre_mlir.analysis.kernel import build_kernel
from spyre_mlir.analysis.statements import Kernel, Statement
from spyre_mlir.dialects import dev, ktdp, spyre
from spyre_mlir.dialects.spyre import is_float
from spyre_mlir.target.opfuncs import REDUCTIONS
from spyre_mlir.transforms import _affine as shared
from spyre_mlir.transforms._errors import refusals
from spyre_mlir.transforms._functions import GRID, LX_BYTES
from spyre_mlir.transforms._kernel_writer import KernelWriter, split
from spyre_mlir.transforms._scalars import (
    Step,
    cast_op,
    function_op,
    identity_number,
    index_ops,
)
from spyre_mlir.transforms._scalars import constant_op as scalar_constant
from spyre_mlir.transforms._staged_compute import MATMUL

_INDEX = IndexType()


@dataclass(frozen=True)
class ConvertSpyreToKtdpPass(ModulePass):
    name = "spyre-convert-spyre-to-ktdp"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        kernels: set[str] = set()
        for function in list(op.ops):
            if isinstance(function, func.FuncOp) and is_tensor_kernel(function):
                Rewriter.replace_op(function, staged_kernel(function), [])
                kernels.add(function.sym_name.data)
        for call in list(op.walk()):
            if isinstance(call, func.CallOp):
                callee = call.callee.root_reference.data
                if callee in kernels:
                    _launch(call, callee)


def is_tensor_kernel(function: func.FuncOp) -> bool:
    """A kernel that is still on the `spyre` level."""
    return GRID in function.attributes and any(
        isinstance(op, spyre.SpyreOp) for op in function.body.block.ops
    )


def _launch(call: func.CallOp, callee: str) -> None:
    launch = dev.CallOp(callee, call.operands, [r.type for r in call.results])
    launch.attributes.update(call.attributes)
    launch.location = call.location
    Rewriter.replace_op(call, launch)


def staged_kernel(function: func.FuncOp) -> func.FuncOp:
    """The kernel's function in staged ktdp."""
    block = function.body.block
    ops = [o for o in block.ops if isinstance(o, spyre.SpyreOp)]
    last = block.last_op
    assert last is not None
    with refusals():
        kernel = build_kernel(ops, block.args, last.operands)
    entry = Block(arg_types=[_INDEX] * len(kernel.symbols))
    for number, argument in enumerate(entry.args):
        argument.name_hint = f"s{number}"
    _Lowering(kernel, ops, entry).run()
    staged = func.FuncOp(
        function.sym_name.data,
        ([_INDEX] * len(kernel.symbols), []),
        Region(entry),
        visibility=function.sym_visibility,
    )
    staged.attributes[GRID] = function.attributes[GRID]
    staged.attributes[LX_BYTES] = IntegerAttr(kernel.peak_bytes(), i64)
    staged.location = function.location
    return staged


class _Lowering:
    """Writes the statements of one kernel."""

    def __init__(self, kernel: Kernel, ops: Sequence[Operation], entry: Block):
        self.kernel = kernel
        self.ops = ops
        self.writer = KernelWriter(entry, kernel.grid, ops[0].location)

    def run(self) -> None:
        writer = self.writer
        for statement in self.kernel.statements:
            self._enter(statement)
            writer.location = self.ops[statement.op].location
            if statement.kind in ("matmul", "vector"):
                _Compute(writer, statement).write()
            elif statement.kind == "gather":
                _gather(writer, statement)
            else:
                _move(writer, statement)
        while writer.nest:
            writer.leave()
        writer.add(func.ReturnOp())
        writer.finish()

    def _enter(self, statement: Statement) -> None:
        """Leaves and enters loops until the statement's are the open ones."""
        writer, nest = self.writer, statement.nest
        while tuple(writer.nest) != nest[: len(writer.nest)]:
            writer.leave()
        for level in nest[len(writer.nest) :]:
            writer.enter(level)


def _load(writer: KernelWriter, tile: SSAValue, dtype: str) -> SSAValue:
    type_ = tile.type
    assert isinstance(type_, ktdp.AccessTileType)
    result = shared.tensor_type(type_.get_shape(), dtype)
    op = ktdp.LoadOp.create(operands=[tile], result_types=[result])
    return writer.add(op).value


def _store(writer: KernelWriter, value: SSAValue, tile: SSAValue) -> None:
    writer.add(ktdp.StoreOp.create(operands=[value, tile]))


def _move(writer: KernelWriter, statement: Statement) -> None:
    """A transfer, or a shuffle inside the scratchpad."""
    (source,), target, axes = statement.reads, statement.write, statement.axes
    kept = range(len(axes))
    value = _load(writer, writer.tile(source, axes, kept), source.dtype)
    _store(writer, value, writer.tile(target, axes, kept))


def _gather(writer: KernelWriter, statement: Statement) -> None:
    """Whole rows, or single lanes, of DRAM at indices from the scratchpad."""
    (source, index), axes = statement.reads, statement.axes
    stride, on_stick, limit = statement.index
    kept = range(len(axes))
    places = writer.skew(index, axes, kept)
    step = source.stick_stride if on_stick else stride
    rows = writer.skew(source, axes, kept, (limit, step, bool(on_stick)))
    lookup = ktdp.Subscript(
        tuple(shared.linear_expr(*row) for row in places.rows), places.view
    )
    subscripts = [
        ktdp.Subscript((shared.linear_expr(*row),)) if row[0] else lookup
        for row in rows.rows
    ]
    tile = writer.indirect_tile(rows.view, subscripts, axes, kept)
    _store(
        writer,
        _load(writer, tile, source.dtype),
        writer.tile(statement.write, axes, kept),
    )


class _Compute:
    """A matmul, or a body of scalar functions that may be folded."""

    def __init__(self, writer: KernelWriter, statement: Statement):
        self.writer = writer
        self.statement = statement
        self.axes = statement.axes
        self.rank = len(statement.axes)
        self.is_matmul = statement.kind == "matmul"
        self.folded = self._folded()
        self.combine = self._combine()
        dtype = statement.write.dtype
        self.carried = "f32" if self.combine == "sum" and is_float(dtype) else dtype
        """Element type of what the generic makes."""

    def _folded(self) -> tuple[int, ...]:
        if self.is_matmul:
            return tuple(a for a, r in enumerate(self.statement.roles) if r == "k")
        return self.statement.fold if self.statement.combine else ()

    def _combine(self) -> str:
        """The reduction; a fold of no axis is none."""
        if self.is_matmul:
            return "sum"
        return self.statement.combine if self.folded else ""

    def write(self) -> None:
        s, writer = self.statement, self.writer
        kept = [self._kept(place, read) for place, read in enumerate(s.reads)]
        inputs = [
            _load(writer, writer.tile(read, self.axes, own), read.dtype)
            for read, own in zip(s.reads, kept, strict=True)
        ]
        made = [a for a in range(self.rank) if a not in self.folded]
        target = writer.tile(s.write, self.axes, made)
        initial = self._initial(target, made)
        maps = [shared.projection(tuple(k), self.rank) for k in (*kept, made)]
        op = linalg.ops.GenericOp(
            inputs,
            [initial],
            Region(self._body(inputs)),
            ArrayAttr(maps),
            shared.iterators(tuple(a in self.folded for a in range(self.rank))),
            [initial.type],
            library_call=MATMUL if self.is_matmul else None,
        )
        value = writer.add(op).results[0]
        if self.carried != s.write.dtype:
            shape = split([writer.extent(self.axes[a]) for a in made])[0]
            narrow = shared.tensor_type(shape, s.write.dtype)
            value = writer.add(cast_op(value, s.write.dtype, narrow)).results[0]
        _store(writer, value, target)

    def _kept(self, place: int, read: Access) -> list[int]:
        """
        Axes of an operand: those that move it and, so that every axis has an operand
        that says how long it is, all that its role or a fold names.
        """
        if self.is_matmul:
            roles = "bmk" if place == 0 else "bnk"
            return [a for a, r in enumerate(self.statement.roles) if r in roles]
        return [
            a
            for a in range(self.rank)
            if read.strides[a] or read.stick[a] or (place == 0 and a in self.folded)
        ]

    # ---- what the result starts from

    def _initial(self, target: SSAValue, made: Sequence[int]) -> SSAValue:
        writer = self.writer
        sizes = [writer.extent(self.axes[a]) for a in made]
        shape, dynamic = split(sizes)
        type_ = shared.tensor_type(shape, self.carried)
        if not self.combine:
            empty = tensor.EmptyOp.create(operands=dynamic, result_types=[type_])
            return writer.add(empty).tensor
        number = identity_number(self.combine, self.carried)
        value = writer.number(number, self.carried)
        splat = tensor.SplatOp.create(operands=[value, *dynamic], result_types=[type_])
        if self.statement.acc_level < 0:
            return writer.add(splat).result
        load = ktdp.LoadOp.create(operands=[target], result_types=[type_])
        condition = self._is_first()
        op = scf.IfOp.create(
            operands=[condition],
            result_types=[type_],
            regions=[self._arm(splat), self._arm(load)],
        )
        return writer.add(op).results[0]

    def _is_first(self) -> SSAValue:
        """Whether all loops from `acc_level` on are at their first trip."""
        writer = self.writer
        trips = writer.trips[self.statement.acc_level :]
        total = trips[0]
        if len(trips) > 1:
            ones = (1,) * len(trips)
            total = writer.apply(shared.linear_map(((ones, 0),), len(trips)), trips)
        compare = arith.CmpiOp.create(
            operands=[total, writer.constant(0)],
            result_types=[i1],
            properties={"predicate": IntegerAttr(0, i64)},
        )
        return writer.add(compare).result

    def _arm(self, op: Operation) -> Region:
        end = scf.YieldOp.create(operands=op.results)
        op.location = end.location = self.writer.location
        return Region(Block([op, end]))

    # ---- the body

    def _body(self, inputs: Sequence[SSAValue]) -> Block:
        dtypes = [*(r.dtype for r in self.statement.reads), self.carried]
        block = Block(arg_types=[spyre.ELEMENT_TYPES[d] for d in dtypes])
        values: list[SSAValue] = list(block.args[: len(inputs)])
        if self.is_matmul:
            wide = [self._as_carried(block, v) for v in values]
            value = self._scalar(block, "mul", wide)
        else:
            for step in self.statement.steps:
                values.append(self._step(block, step, values))
            value = values[-1]
        value = self._as_carried(block, value)
        if self.combine:
            combine = REDUCTIONS[self.combine]["combine"]
            value = self._scalar(block, combine, [block.args[-1], value])
        self._add(block, linalg.ops.YieldOp(value))
        return block

    def _add(self, block: Block, op: Operation) -> Operation:
        op.location = self.writer.location
        block.add_op(op)
        return op

    def _step(self, block: Block, step: Step, values: Sequence[SSAValue]) -> SSAValue:
        if step.function == "constant":
            op = scalar_constant(step.values[0], step.dtype)
            return self._add(block, op).results[0]
        if step.function == "index":
            axis: Axis = self.axes[int(step.values[0])]
            ops = index_ops(step, self.writer.start(axis))
            return [self._add(block, op) for op in ops][-1].results[0]
        operands = [values[o] for o in step.operands]
        return self._add(block, function_op(step, operands)).results[0]

    def _scalar(
        self, block: Block, function: str, operands: Sequence[SSAValue]
    ) -> SSAValue:
        step = Step(function, (), self.carried)
        return self._add(block, function_op(step, operands)).results[0]

    def _as_carried(self, block: Block, value: SSAValue) -> SSAValue:
        if value.type == spyre.ELEMENT_TYPES[self.carried]:
            return value
        return self._add(block, cast_op(value, self.carried)).results[0]
