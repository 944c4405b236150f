# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Which layout each value has: the greedy choice of restickifies.

Rules of the card (public: torch-spyre docs/source/user_guide/tensors_and_layouts.md):
all operands of a pointwise operation have the same stick iterator, or one element per
stick where they lack it; a matmul's left operand has its stick on a contracted
iterator, the right operand and the result on a free one of the right operand. Data
movement takes any layout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from xdsl.dialects import builtin, func
from xdsl.ir import SSAValue

from spyre_mlir.algebra.layout import SYNTHETIC, DeviceLayout
from spyre_mlir.algebra.linear import Linear
from spyre_mlir.dialects import spyre

LayoutOf = Callable[[SSAValue], DeviceLayout]
STATIC = "spyre.static"
"""Argument attribute: the value stays the same from call to call, so that its layout
may be chosen once, when it is brought to the card."""
LAYOUT = "spyre.layout"
"""Attribute of an argument or a result of a function: the layout that it must have."""


def shape_of(value: SSAValue) -> tuple[int, ...]:
    return tuple(spyre.tensor_of(value).get_shape())


def stick_iterator(
    layout: DeviceLayout, coordinates: Sequence[Linear], shape: Sequence[int]
) -> int | None:
    """The iterator that runs along an operand's sticks; None: one element each."""
    dim = layout.stick_dim
    if dim == SYNTHETIC or shape[dim] == 1:
        return None
    return coordinates[dim].single


def layout_for(
    iterator: int | None, coordinates: Sequence[Linear], shape: Sequence[int]
) -> DeviceLayout:
    """The default order with the stick on an iterator, or one element per stick."""
    rank = len(shape)
    if iterator is not None:
        for dim, coordinate in enumerate(coordinates):
            if coordinate.single == iterator and shape[dim] > 1:
                return DeviceLayout.with_stick(rank, dim)
    single = [d for d in range(rank) if shape[d] == 1]
    if rank == 0:
        return DeviceLayout.default(0)
    return (
        DeviceLayout.with_stick(rank, single[-1])
        if single
        else (DeviceLayout.sparse(rank))
    )


def _satisfied(
    layout: DeviceLayout,
    iterator: int | None,
    coordinates: Sequence[Linear],
    shape: Sequence[int],
) -> bool:
    found = stick_iterator(layout, coordinates, shape)
    indexed = any(
        c.single == iterator and shape[d] > 1 for d, c in enumerate(coordinates)
    )
    return found == (iterator if indexed else None)


def wanted_layouts(
    op: spyre.SpyreOp, layout_of: LayoutOf
) -> tuple[DeviceLayout | None, ...]:
    """
    Per operand, the layout that it must get, or None where it may stay as it is,
    given the layout of the result.
    """
    maps = op.maps()
    if isinstance(op, spyre.MapOp):
        result = op.result
        stick = stick_iterator(layout_of(result), maps[-1], shape_of(result))
        needs: list[int | None] = [stick] * len(op.operands)
    elif isinstance(op, spyre.MatmulOp):
        k, n = matmul_sticks(op, layout_of)
        needs = [k, n]
    else:
        return (None,) * len(op.operands)
    wanted: list[DeviceLayout | None] = []
    for value, coordinates, need in zip(op.operands, maps, needs, strict=False):
        shape = shape_of(value)
        if _satisfied(layout_of(value), need, coordinates, shape):
            wanted.append(None)
        else:
            wanted.append(layout_for(need, coordinates, shape))
    return tuple(wanted)


def matmul_sticks(
    op: spyre.MatmulOp, layout_of: LayoutOf | None = None
) -> tuple[int | None, int | None]:
    """The contracted iterator of the left sticks and the free one of the right."""
    sizes, maps = op.sizes(), op.maps()
    roles = [op.role(k) for k in range(len(sizes))]

    def last(operand: int, role: str) -> int | None:
        found = [c.single for c in maps[operand] if c.single is not None]
        candidates = [k for k in found if roles[k] == role and sizes[k] > 1]
        if not candidates:
            return None
        if layout_of is not None:
            value = (op.lhs, op.rhs)[operand]
            own = stick_iterator(layout_of(value), maps[operand], shape_of(value))
            if own in candidates:
                return own
        return candidates[-1]

    k, n = last(0, "k"), last(1, "n")
    if layout_of is not None and n is not None:
        # The result decides: its sticks are on this iterator too.
        own = stick_iterator(layout_of(op.result), maps[2], shape_of(op.result))
        n = own if own is not None and roles[own] == "n" else n
    return k, n


class LayoutPlanner:
    """Greedy choice, in program order, of the layouts of a function's values."""

    def __init__(
        self,
        function: func.FuncOp,
        chosen: Mapping[SSAValue, DeviceLayout] | None = None,
    ):
        self.function = function
        self.chosen = chosen or {}
        """Layouts of static arguments, from `static_layouts`."""
        self.layouts: dict[SSAValue, DeviceLayout] = {}

    def plan(self) -> dict[SSAValue, DeviceLayout]:
        block = self.function.body.block
        for index, argument in enumerate(block.args):
            self.layouts[argument] = self._argument(index, argument)
        for op in block.ops:
            for result in op.results:
                self.layouts[result] = self._result(op, result)
        return self.layouts

    def layout_of(self, value: SSAValue) -> DeviceLayout:
        return self.layouts[value]

    def _argument(self, index: int, argument: SSAValue) -> DeviceLayout:
        decided = spyre.layout_of(argument) or self.chosen.get(argument)
        if decided is not None:
            return decided
        required = required_layout(self.function.arg_attrs, index)
        return required or DeviceLayout.default(len(shape_of(argument)))

    def _result(self, op: object, result: SSAValue) -> DeviceLayout:
        decided = spyre.layout_of(result)
        if decided is not None:
            return decided
        rank = len(shape_of(result))
        if isinstance(op, spyre.MapOp):
            return self._map_result(op)
        if isinstance(op, spyre.ReduceOp):
            return self.layouts[op.source]
        if isinstance(op, spyre.MatmulOp):
            _, n = matmul_sticks(op)
            return layout_for(n, op.maps()[2], shape_of(result))
        if isinstance(op, spyre.ReindexOp | spyre.GatherOp):
            return asked_layout(result) or DeviceLayout.default(rank)
        return DeviceLayout.default(rank)

    def _map_result(self, op: spyre.MapOp) -> DeviceLayout:
        """The stick iterator that moves the fewest operand elements."""
        maps, sizes = op.maps(), op.sizes()
        candidates: list[int | None] = [
            k for k in reversed(range(len(sizes))) if sizes[k] > 1
        ]
        if not candidates or self._stays_single(op):
            candidates = [None, *candidates]
        costs = [self._restick_cost(op, maps, c) for c in candidates]
        best = candidates[costs.index(min(costs))]
        return layout_for(best, maps[-1], sizes)

    def _stays_single(self, op: spyre.MapOp) -> bool:
        """
        Whether all inputs have one element per stick, and the result has no more
        elements than one of them: a value that is spread anew is never blown up.
        """
        size = prod(shape_of(op.result))
        return any(prod(shape_of(v)) >= size for v in op.inputs) and all(
            stick_iterator(self.layouts[v], m, shape_of(v)) is None
            for v, m in zip(op.inputs, op.maps(), strict=False)
        )

    def _restick_cost(
        self, op: spyre.MapOp, maps: Sequence[Sequence[Linear]], stick: int | None
    ) -> int:
        cost = 0
        for value, coordinates in zip(op.inputs, maps, strict=False):
            shape = shape_of(value)
            if not _satisfied(self.layouts[value], stick, coordinates, shape):
                cost += prod(shape)
        return cost


def asked_layout(value: SSAValue) -> DeviceLayout | None:
    """What the first user that cares wants of a value that may have any layout."""
    for use in value.uses:
        user = use.operation
        if isinstance(user, spyre.MatmulOp):
            k, n = matmul_sticks(user)
            maps = user.maps()
            need = (k, n)[use.index]
            return layout_for(need, maps[use.index], shape_of(value))
    return None


# ----------------------------------------------------------- functions' boundaries


def static_arguments(function: func.FuncOp) -> frozenset[int]:
    """Arguments marked as unchanging from call to call."""
    attrs = function.arg_attrs
    if attrs is None:
        return frozenset()
    return frozenset(i for i, a in enumerate(attrs) if STATIC in a.data)


def is_static_argument(function: func.FuncOp, index: int) -> bool:
    """Whether one argument is marked as unchanging from call to call."""
    attrs = function.arg_attrs
    return attrs is not None and STATIC in attrs.data[index].data


def required_layout(
    attributes: builtin.ArrayAttr[builtin.DictionaryAttr] | None, index: int
) -> DeviceLayout | None:
    """The layout that an argument's or a result's attributes ask for."""
    found = None if attributes is None else attributes.data[index].data.get(LAYOUT)
    return found.data if isinstance(found, spyre.LayoutAttr) else None


def static_layouts(module: builtin.ModuleOp) -> dict[SSAValue, DeviceLayout]:
    """
    The layout of each static argument that some user cares about. A function that
    hands its argument on to another asks for what that one does.
    """
    functions = {f.sym_name.data: f for f in module.ops if isinstance(f, func.FuncOp)}
    chosen: dict[SSAValue, DeviceLayout | None] = {}

    def ask(argument: SSAValue) -> DeviceLayout | None:
        if argument not in chosen:
            chosen[argument] = spyre.layout_of(argument) or asked_layout(argument)
            for use in argument.uses:
                call = use.operation
                if chosen[argument] is None and isinstance(call, func.CallOp):
                    callee = functions[call.callee.root_reference.data]
                    if is_static_argument(callee, use.index):
                        chosen[argument] = ask(callee.body.block.args[use.index])
        return chosen[argument]

    for function in functions.values():
        for index in sorted(static_arguments(function)):
            if required_layout(function.arg_attrs, index) is None:
                ask(function.body.block.args[index])
    return {value: layout for value, layout in chosen.items() if layout is not None}
