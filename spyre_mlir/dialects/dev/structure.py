# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs, streams and calls of the `dev` dialect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    i64,
)
from xdsl.ir import (
    Attribute,
    Block,
    Operation,
    Region,
    SSAValue,
)
from xdsl.irdl import (
    IRDLOperation,
    attr_def,
    irdl_op_definition,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from .attributes import (
    UNITS,
    to_attribute,
    to_plain,
)
from .base import LoopOp, RecordOp
from .records import RingReduceOp


@irdl_op_definition
class ProgramOp(IRDLOperation):
    """
    What every core runs for one call: a stream per unit.

    `grid` counts the parts of each core digit, first fastest; `symbols` the DRAM
    addresses that a call gives; `semaphores` holds initial values.

        dev.program attributes {sym_name = "k0", grid = array<i64: 8, 4>,
            symbols = 3 : i64, lx_bytes = 65536 : i64, semaphores = array<i64: 0, 2>} {
          dev.stream "load" {
            dev.transfer {
                axes = [#dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64,
                    0 : i64>],
                source = #dev.access<"dram", "f16", 0 : i64, array<i64: 0>,
                array<i64: 1>,
                    64 : i64, 0 : i64, 0 : i64, array<i64>, array<i64>, 1 : i64,
                    0 : i64,
                    0 : i64>,
                target = #dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>,
                    64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64,
                    0 : i64, 0 : i64>,
                waits = [],
                signals = [#dev.sync<0 : i64, 1 : i64, 0 : i64>]}
          }
        }
    """

    name = "dev.program"

    sym_name = attr_def(StringAttr)
    grid = attr_def(DenseArrayBase)
    symbols = attr_def(IntegerAttr)
    lx_bytes = attr_def(IntegerAttr)
    semaphores = attr_def(DenseArrayBase)
    body = region_def("single_block")

    traits = traits_def(NoTerminator())

    assembly_format = "attr-dict-with-keyword $body"

    def __init__(
        self,
        name: str,
        grid: Sequence[int],
        symbols: int,
        lx_bytes: int,
        semaphores: Sequence[int],
        streams: Sequence[Operation],
    ):
        super().__init__(
            attributes={
                "sym_name": StringAttr(name),
                "grid": to_attribute(tuple(grid)),
                "symbols": IntegerAttr(symbols, i64),
                "lx_bytes": IntegerAttr(lx_bytes, i64),
                "semaphores": to_attribute(tuple(semaphores)),
            },
            regions=(Region(Block(streams)),),
        )

    @property
    def grid_data(self) -> tuple[int, ...]:
        return to_plain(self.grid)

    @property
    def semaphores_data(self) -> tuple[int, ...]:
        return to_plain(self.semaphores)

    @property
    def streams(self) -> tuple[StreamOp, ...]:
        return tuple(cast(StreamOp, op) for op in self.body.block.ops)

    def verify_(self) -> None:
        units: list[str] = []
        for op in self.body.block.ops:
            if not isinstance(op, StreamOp):
                raise VerifyException(f"{op.name} in a program: only streams")
            units.append(op.unit.data)
        if len(set(units)) != len(units):
            raise VerifyException("a unit has two streams")
        if any(n < 1 for n in self.grid_data) or prod(self.grid_data) < 1:
            raise VerifyException(f"grid {list(self.grid_data)} has a part below 1")
        for record, _ in walk_records(self):
            self._verify_record(record)

    def _verify_record(self, record: RecordOp) -> None:
        known = len(self.semaphores_data)
        for sync in (*record.waits_data, *record.signals_data):
            if not 0 <= sync.semaphore < known:
                raise VerifyException(f"semaphore {sync.semaphore} of {known}")
        for access in record.accesses():
            if access.symbol >= self.symbols.value.data:
                raise VerifyException(
                    f"symbol {access.symbol} of {self.symbols.value.data}"
                )
        for axis in record.axes_data:
            if axis.digit >= len(self.grid_data):
                raise VerifyException(f"digit {axis.digit} of {len(self.grid_data)}")
        digits = record.digits_data if isinstance(record, RingReduceOp) else ()
        if any(not 0 <= digit < len(self.grid_data) for digit in digits):
            raise VerifyException(f"digits {digits} of {len(self.grid_data)}")


@irdl_op_definition
class StreamOp(IRDLOperation):
    """
    The in-order records and loops of one unit.

        dev.stream "load" {
          dev.transfer {
              axes = [#dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64,
                  0 : i64>],
              source = #dev.access<"dram", "f16", 0 : i64, array<i64: 0>, array<i64: 1>,
                  64 : i64, 0 : i64, 0 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64,
                  0 : i64>,
              target = #dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>,
                  64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64,
                  0 : i64, 0 : i64>,
              waits = [],
              signals = [#dev.sync<0 : i64, 1 : i64, 0 : i64>]}
        }
    """

    name = "dev.stream"

    unit = attr_def(StringAttr)
    body = region_def("single_block")

    traits = traits_def(NoTerminator())

    assembly_format = "$unit attr-dict-with-keyword $body"

    def __init__(self, unit: str, body: Sequence[Operation]):
        super().__init__(
            attributes={"unit": StringAttr(unit)}, regions=(Region(Block(body)),)
        )

    def verify_(self) -> None:
        if self.unit.data not in UNITS:
            raise VerifyException(f'"{self.unit.data}" is none of {", ".join(UNITS)}')
        for op in self.walk():
            if isinstance(op, RecordOp) and self.unit.data not in op.ON_UNITS:
                raise VerifyException(f"{op.name} does not run on {self.unit.data}")
            if op is not self and not isinstance(op, RecordOp | LoopOp):
                raise VerifyException(f"{op.name} in a stream")


@irdl_op_definition
class CallOp(IRDLOperation):
    """
    Runs a program: its symbols are the operands' addresses, then the results'.

        %1 = dev.call @k0(%0) : (tensor<64xf16>) -> tensor<64xf16>
    """

    name = "dev.call"

    program = attr_def(SymbolRefAttr)
    arguments = var_operand_def(TensorType)
    made = var_result_def(TensorType)

    assembly_format = (
        "$program `(` $arguments `)` attr-dict `:` functional-type($arguments, $made)"
    )

    def __init__(
        self,
        program: str,
        arguments: Sequence[SSAValue],
        results: Sequence[Attribute],
    ):
        super().__init__(
            operands=(arguments,),
            result_types=(results,),
            attributes={"program": SymbolRefAttr(program)},
        )

    @property
    def program_name(self) -> str:
        return self.program.root_reference.data


def walk_records(program: ProgramOp) -> Iterator[tuple[RecordOp, StreamOp]]:
    """Every record of a program with its stream, in stream order."""
    for stream in program.streams:
        for op in stream.walk():
            if isinstance(op, RecordOp):
                yield op, stream
