# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a `spyre` module to an image: runs a pipeline and writes down the program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects import builtin, func
from xdsl.dialects.builtin import ArrayAttr, LocationAttr, NameLoc, UnknownLoc
from xdsl.ir import SSAValue

from spyre_mlir.algebra.layout import row_major
from spyre_mlir.analysis.calls import callees_first
from spyre_mlir.analysis.placement import Life, first_fit
from spyre_mlir.analysis.space import bytes_of
from spyre_mlir.binary.image import Buffer, BufferKind, Call, HostValue, Image
from spyre_mlir.dialects import dev, spyre
from spyre_mlir.transforms._functions import chip_of
from spyre_mlir.transforms.materialize_groups import LOCATIONS


@dataclass
class _Value:
    """A tensor of the flattened program."""

    ssa: SSAValue
    kind: BufferKind
    first: int = -1
    last: int = -1

    def touch(self, call: int) -> None:
        self.first = call if self.first < 0 else self.first
        self.last = call


@dataclass
class _Flattened:
    """The call list with nested functions opened."""

    programs: dict[str, int]
    functions: dict[str, func.FuncOp]
    values: list[_Value] = field(default_factory=list[_Value])
    calls: list[tuple[int, list[int], dev.CallOp]] = field(
        default_factory=list[tuple[int, list[int], dev.CallOp]]
    )

    def new(self, ssa: SSAValue, kind: BufferKind) -> int:
        self.values.append(_Value(ssa, kind))
        return len(self.values) - 1

    def run(self, function: func.FuncOp, arguments: Sequence[int]) -> list[int]:
        """Appends the calls of a function; returns the numbers of what it returns."""
        number: dict[SSAValue, int] = dict(
            zip(function.body.block.args, arguments, strict=True)
        )
        for op in function.body.block.ops:
            if isinstance(op, func.ReturnOp):
                return [number[v] for v in op.operands]
            given = [number[v] for v in op.operands]
            if isinstance(op, dev.CallOp):
                made = [self.new(r, "temporary") for r in op.results]
                program = self.programs[op.program_name]
                self.calls.append((program, given + made, op))
            else:
                assert isinstance(op, func.CallOp), f"{op.name} in a lowered function"
                callee = self.functions[op.callee.root_reference.data]
                made = self.run(callee, given)
            number.update(zip(op.results, made, strict=True))
        raise AssertionError(f"@{function.sym_name.data} does not return")


def encode(
    module: builtin.ModuleOp,
    mutates: Sequence[int] = (),
    numerics: str = "ieee",
    entry: str = "main",
) -> Image:
    """
    The image of a module whose kernels are `dev.program`s.

    `mutates` names, per result of `entry`, the argument whose memory takes it, or -1.
    Raises SpyreError where a function calls itself.
    """
    chip = chip_of(module)
    callees_first(module)
    programs = [op for op in module.ops if isinstance(op, dev.ProgramOp)]
    functions = {
        op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)
    }
    names = {p.sym_name.data: i for i, p in enumerate(programs)}
    flat = _Flattened(names, functions)
    main = functions[entry]
    arguments = [flat.new(a, "argument") for a in main.body.block.args]
    results = flat.run(main, arguments)
    for value in results:
        assert flat.values[value].kind == "temporary", "a result without a call"
        flat.values[value].kind = "result"
    for index, (_, values, _) in enumerate(flat.calls):
        for value in values:
            flat.values[value].touch(index)
    buffers, pool_bytes = _buffers(flat.values)
    shared = _shared(flat)
    positions = [_strip_positions(p) for p in programs]
    mutates = mutates or (-1,) * len(results)
    return Image(
        tuple(_detached(p) for p in programs),
        tuple(
            _call(program, values, op, positions[program], shared[program])
            for program, values, op in flat.calls
        ),
        buffers,
        tuple(_host_value(flat.values[v].ssa, v, -1) for v in arguments),
        tuple(
            _host_value(flat.values[v].ssa, v, m)
            for v, m in zip(results, mutates, strict=True)
        ),
        chip.name,
        chip.fingerprint(),
        pool_bytes=pool_bytes,
        numerics=numerics,
    )


def _shared(flat: _Flattened) -> list[bool]:
    """Per program, whether more than one call uses it."""
    count = [0] * len(flat.programs)
    for program, _, _ in flat.calls:
        count[program] += 1
    return [c > 1 for c in count]


def _detached(program: dev.ProgramOp) -> dev.ProgramOp:
    program.detach()
    return program


def _buffers(values: Sequence[_Value]) -> tuple[tuple[Buffer, ...], int]:
    temporary = [v for v in values if v.kind == "temporary"]
    lives = [Life(bytes_of(v.ssa), v.first, v.last) for v in temporary]
    offsets = dict(zip(map(id, temporary), first_fit(lives), strict=True))
    buffers: list[Buffer] = []
    pool = 0
    for index, value in enumerate(values):
        bytes_ = bytes_of(value.ssa)
        offset = offsets.get(id(value), 0)
        if value.kind == "temporary":
            pool = max(pool, offset + bytes_)
        layout = spyre.layout_of(value.ssa)
        assert layout is not None
        buffers.append(
            Buffer(
                f"{value.kind}{index}",
                value.kind,
                spyre.dtype_name(value.ssa.type),
                tuple(spyre.tensor_of(value.ssa).get_shape()),
                layout.dims,
                bytes_,
                offset,
                value.first,
                value.last,
            )
        )
    return tuple(buffers), pool


def _host_value(ssa: SSAValue, buffer: int, mutates: int) -> HostValue:
    shape = tuple(spyre.tensor_of(ssa).get_shape())
    dtype = spyre.dtype_name(ssa.type)
    return HostValue(buffer, dtype, shape, row_major(shape), mutates)


def _strip_positions(program: dev.ProgramOp) -> tuple[int, ...]:
    """
    Per record, the operation of the group that it comes from; `materialize-groups`
    wrote that as a location's name, which goes.
    """
    positions: list[int] = []
    for record, _ in dev.walk_records(program):
        location = record.location
        if isinstance(location, NameLoc) and location.desc.data.startswith("#"):
            positions.append(int(location.desc.data[1:]))
            record.location = cast(LocationAttr, location.location)
        else:
            positions.append(-1)
    return tuple(positions)


def _call(
    program: int,
    values: Sequence[int],
    op: dev.CallOp,
    positions: Sequence[int],
    is_shared: bool,
) -> Call:
    symbols = tuple((v, 0) for v in values)
    found = op.attributes.get(LOCATIONS)
    if not is_shared or found is None or -1 in positions:
        return Call(program, symbols)
    own = cast(ArrayAttr[LocationAttr], found).data
    if all(isinstance(loc, UnknownLoc) for loc in own):
        return Call(program, symbols)
    return Call(program, symbols, locations=tuple(own[p] for p in positions))
