# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Turns each staged kernel into a `dev.program`: one record per store.

    func.func private @k0(%s0 : index, ...) attributes {grid = ...} { ... ktdp.store }
becomes
    dev.program attributes {sym_name = "k0", ...} { dev.stream "load" ... }

A record is a store with the loads, the linalg.generic and the views that it needs,
all since the store before it and in the same loop. From DRAM to LX it is a load or a
gather, from LX to DRAM a store, inside LX a shuffle or a compute. The records are
dealt to the units and ordered by semaphores. Anything else in a kernel is an error;
`convert-spyre-to-ktdp` describes the staged form.

Runs after `convert-spyre-to-ktdp`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import affine, arith, builtin, func, linalg, scf, tensor
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from spyre_mlir.analysis.ordering import lx_range
from spyre_mlir.analysis.statements import LoopLevel
from spyre_mlir.dialects import dev, ktdp, spyreop
from spyre_mlir.transforms._functions import GRID, LX_BYTES
from spyre_mlir.transforms._programs import PlacedRecord, assemble_program
from spyre_mlir.transforms._staged import Operand, StagedReader, not_staged
from spyre_mlir.transforms._staged_compute import Compute, read_compute

_NAMING = (
    arith.ConstantOp,
    arith.MaxSIOp,
    arith.CmpiOp,
    affine.ApplyOp,
    affine.MinOp,
    ktdp.ConstructMemoryViewOp,
    ktdp.ConstructAccessTileOp,
    tensor.EmptyOp,
    tensor.SplatOp,
)
"""Ops that only name what a record touches."""
_PARTS = (
    ktdp.LoadOp,
    ktdp.ConstructIndirectAccessTileOp,
    linalg.ops.GenericOp,
    arith.TruncFOp,
    spyreop.FnOp,
    scf.IfOp,
)
"""Ops that a record is made of, besides its store."""


@dataclass(frozen=True)
class ConvertKtdpToDevPass(ModulePass):
    name = "spyre-convert-ktdp-to-dev"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        for function in list(op.ops):
            if isinstance(function, func.FuncOp) and _is_kernel(function):
                Rewriter.replace_op(function, kernel_program(function), [])


def _is_kernel(function: func.FuncOp) -> bool:
    """On the `ktdp` level, or a function with a grid that takes addresses."""
    inputs = function.function_type.inputs
    takes_addresses = all(isinstance(t, IndexType) for t in inputs)
    is_staged = GRID in function.attributes and takes_addresses
    return is_staged or ktdp.is_on_tiles(function)


def kernel_program(function: func.FuncOp) -> dev.ProgramOp:
    """The program of a kernel in staged form."""
    try:
        grid = ktdp.grid_of(function)
    except VerifyException as error:
        raise not_staged(function, str(error)) from error
    for type_ in function.function_type.inputs:
        if not isinstance(type_, IndexType):
            raise not_staged(function, f"it takes {type_}; a program takes addresses")
    walk = _Walk(function, grid)
    walk.block(function.body.block)
    records = walk.records
    program = assemble_program(
        function.sym_name.data,
        walk.reader.grid,
        len(function.function_type.inputs),
        _lx_bytes(function, records),
        records,
    )
    program.location = function.location
    return program


def _lx_bytes(function: func.FuncOp, records: list[PlacedRecord]) -> int:
    """What the kernel says that it uses, or else what its records reach."""
    stated = function.attributes.get(LX_BYTES)
    if isinstance(stated, IntegerAttr):
        return stated.value.data
    ends = [
        lx_range(access, r.record.axes_data, [level.trips for level in r.nest])[1]
        for r in records
        for access in r.record.accesses()
        if access.space == "lx"
    ]
    return max(ends, default=0)


class _Walk:
    """Goes through a kernel's body and collects its records."""

    def __init__(self, function: func.FuncOp, grid: tuple[int, ...]):
        self.reader = StagedReader(function, grid)
        self.records: list[PlacedRecord] = []
        self.pending: list[Operation] = []
        """Parts since the last store, not yet in a record."""
        self.loops = 0

    def block(self, block: Block) -> None:
        for op in block.ops:
            if isinstance(op, ktdp.StoreOp):
                self._record(op)
            elif isinstance(op, _PARTS):
                self.pending.append(op)
            elif isinstance(op, scf.ForOp):
                self._expect_nothing_pending()
                self._loop(op)
            elif isinstance(op, ktdp.GetComputeTileIdOp):
                self.reader.name_digits(op)
            elif not isinstance(op, (*_NAMING, scf.YieldOp, func.ReturnOp)):
                raise not_staged(op, "it has no place in a staged kernel")
        self._expect_nothing_pending()

    def _loop(self, op: scf.ForOp) -> None:
        bounds = [self.reader.place(v, op) for v in (op.lb, op.ub, op.step)]
        low, trips, step = (b.constant for b in bounds)
        if op.iter_args or not all(b.is_constant for b in bounds):
            raise not_staged(op, "a loop carries nothing and has fixed bounds")
        if (low, step) != (0, 1):
            raise not_staged(op, f"a loop counts from 0 by 1, not from {low} by {step}")
        self.loops += 1
        reader = self.reader
        reader.depths[op.body.block.args[0]] = len(reader.nest)
        reader.nest.append(LoopLevel(self.loops, trips))
        self.block(op.body.block)
        reader.nest.pop()

    def _expect_nothing_pending(self) -> None:
        for op in self.pending:
            is_naming = isinstance(op, ktdp.ConstructIndirectAccessTileOp)
            if not is_naming or op.index_views:
                raise not_staged(op, "the store that follows does not use it")
        self.pending.clear()

    def _record(self, store: ktdp.StoreOp) -> None:
        load = store.value.owner
        if isinstance(load, ktdp.LoadOp):
            unit, compute = self._move(store, load)
        else:
            compute = read_compute(self.reader, store)
            unit = "pt" if isinstance(compute.record, dev.MatmulOp) else "sfp"
        for part in compute.parts:
            if part not in self.pending:
                raise not_staged(
                    part, "it is used once, by the next store in its own loop"
                )
            self.pending.remove(part)
        self._expect_nothing_pending()
        compute.record.location = store.location
        nest = tuple(self.reader.nest)
        self.records.append(PlacedRecord(unit, nest, compute.record))

    def _move(self, store: ktdp.StoreOp, load: ktdp.LoadOp) -> tuple[str, Compute]:
        """A load or store of a tile, a gather or a shuffle."""
        target = self.reader.tile(store.tile, store)
        indirect = load.tile.owner
        is_indirect = isinstance(indirect, ktdp.ConstructIndirectAccessTileOp)
        if is_indirect and indirect.index_views:
            return "load", self._gather(store, load, indirect, target)
        source = self.reader.tile(load.tile, load)
        if source.extents != target.extents:
            raise not_staged(store, "it stores a tile of other extents than it loads")
        axes = [self.reader.axis(e, store) for e in source.extents]
        spaces = source.access.space, target.access.space
        if spaces == ("dram", "dram"):
            raise not_staged(
                store, "data goes from DRAM to DRAM through the scratchpad"
            )
        if spaces == ("lx", "lx"):
            record = dev.ShuffleOp(axes, source.access, target.access)
            return "sfp", Compute(record, [load])
        if source.access.stick != target.access.stick or source.access.stick_offset:
            raise not_staged(store, "a transfer moves whole sticks of one axis")
        record = dev.TransferOp(axes, source.access, target.access)
        unit = "load" if spaces[0] == "dram" else "store"
        return unit, Compute(record, [load])

    def _gather(
        self,
        store: ktdp.StoreOp,
        load: ktdp.LoadOp,
        indirect: ktdp.ConstructIndirectAccessTileOp,
        target: Operand,
    ) -> Compute:
        found = self.reader.lookup(indirect)
        source = found.source
        if source.extents != target.extents:
            raise not_staged(store, "it stores a tile of other extents than it loads")
        spaces = source.access.space, found.index.space, target.access.space
        if spaces != ("dram", "lx", "lx"):
            raise not_staged(load, "a gather reads DRAM at indices from the scratchpad")
        record = dev.GatherOp(
            [self.reader.axis(e, store) for e in source.extents],
            source.access,
            found.index,
            target.access,
            found.stride,
            found.stick,
            found.limit,
        )
        return Compute(record, [load, indirect])
