# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Random decisions on random modules: legal plans, edits of them, parts of them.

A legal plan is made from the classes of iterators that its groups share, not from what
`check-plan` says. Whatever is accepted must compute what the module means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tensor_ops import map_op, matmul_op, reduce_op
from torch import Tensor
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from spyre_mlir.analysis.clusters import Cluster
from spyre_mlir.analysis.division import MAX_UNEVEN
from spyre_mlir.analysis.groups import Group, groups_of
from spyre_mlir.analysis.kernel import build_kernel
from spyre_mlir.binary.writer import write
from spyre_mlir.compiler import encode
from spyre_mlir.dialects import spyre
from spyre_mlir.dialects.spyre import tensor_of
from spyre_mlir.pipelines import PIPELINES
from spyre_mlir.transforms import all_passes
from spyre_mlir.transforms._errors import PassError
from spyre_mlir.transforms._functions import CHIP, laid_out_functions

from .arithmetic import gather, map_, matmul, reduce
from .choices import Choices
from .levels import bench, chip, context, passes_of
from .modules import Builder, full, iota
from .movements import MOVEMENTS
from .values import Reference, difference, inputs_of, reference

KINDS = (
    map_,
    map_,
    reduce,
    matmul,
    *MOVEMENTS,
    map_,
    reduce,
    matmul,
    gather,
    full,
    iota,
)
CHIPS = (
    "spyre,scratchpad_bytes_per_core=131072,scratchpad_reserved_bytes_per_core=128",
    "spyre,cores=6,scratchpad_bytes_per_core=16384,"
    "scratchpad_reserved_bytes_per_core=128",
    "spyre,cores=12,scratchpad_bytes_per_core=65536,"
    "scratchpad_reserved_bytes_per_core=128,max_loop_trips=9",
)
DECISIONS = ("division", "group", "tile", "places", "via")
DECIDE = PIPELINES["plan"][PIPELINES["plan"].index("spyre-plan-division") :]
LAY_OUT = PIPELINES["plan"][: PIPELINES["plan"].index("spyre-plan-division")]
COUNTS: Counter[str] = Counter()
REFUSED: Counter[str] = Counter()
"""Why plans were refused, the numbers left out."""


@dataclass
class Unplanned:
    """A module with layouts, its arguments, and what it means."""

    module: ModuleOp
    arguments: list[Tensor]
    wanted: Reference
    chip: str


def make_unplanned(choices: Choices, most: int = 5) -> Unplanned:
    """A random module whose only decisions are layouts."""
    builder = Builder(choices, limit=6_000)
    if choices.chance(50):
        _grow_chain(builder)
    else:
        builder.grow(KINDS, most)
    module = builder.module()
    arguments = inputs_of(module, builder.index_limits, False, choices.integer(0, 99))
    wanted = reference(module, arguments)
    description = choices.pick(CHIPS)
    module.attributes[CHIP] = StringAttr(description)
    # Without the rewrites maps stay apart: larger groups.
    for pass_ in passes_of("rewrite") if choices.chance(50) else ():
        pass_.apply(context(), module)
    run(module, LAY_OUT)
    return Unplanned(module, arguments, wanted, description)


def _grow_chain(b: Builder) -> None:
    """Operations that each read the one before: what groups are made of."""
    rows = b.choices.pick((65, 5, 33, 64, 67, 128, 130))
    width = b.choices.pick((130, 64, 65, 128, 63, 200))
    value = b.argument([rows, width], "f16")
    first = value
    for _ in range(b.choices.integer(1, 4)):
        kind = b.choices.pick(("map", "pair", "matmul"))
        if kind == "matmul":
            width = b.choices.pick((130, 64, 65, 128))
            weight = b.argument([tensor_of(value).get_shape()[1], width], "f16")
            value = first = b.add(matmul_op(value, weight))
        elif kind == "pair":
            value = b.add(map_op(value, first))
        else:
            value = b.add(map_op(value, function="neg"))
    if b.choices.chance(30):
        value = b.add(reduce_op(value, [1], b.choices.pick(("max", "sum"))))
        b.add(map_op(value, function="abs"))


def run(module: ModuleOp, names: Sequence[str]) -> None:
    from xdsl.transforms import get_all_passes

    known = {**get_all_passes(), **all_passes()}
    for name in names:
        known[name]()().apply(context(), module)
    module.verify()


def operations(module: ModuleOp) -> list[spyre.SpyreOp]:
    """Those that take decisions, in order."""
    return [op for op in module.walk() if isinstance(op, spyre.SpyreOp)]


# ---- legal plans


def legal_plan(module: ModuleOp, choices: Choices, description: str) -> None:
    """Decides everything at random, within the rules."""
    cores = chip(description).cores
    trips = chip(description).max_loop_trips
    for function in laid_out_functions(module):
        number = choices.integer(0, 2)
        for cluster in _clusters(list(function.body.block.ops), choices):
            _divide(cluster, choices, cores)
            _loop(cluster, choices, trips)
            for op in cluster.ops:
                op.group = IntegerAttr(number, i64)
            number += choices.integer(1, 3)
        for group in groups_of(function):
            _place(group, choices)


def _clusters(ops: Sequence[object], choices: Choices) -> Iterator[Cluster]:
    cluster = Cluster()
    for op in ops:
        if not isinstance(op, spyre.SpyreOp):
            if cluster.ops:
                yield cluster
            cluster = Cluster()
            continue
        joined = cluster.joined(op)
        likely = 90 if joined.parallelism() > 1 else 10
        if cluster.ops and not (_joins(cluster, op) and choices.chance(likely)):
            yield cluster
            joined = Cluster().joined(op)
        cluster = joined
    if cluster.ops:
        yield cluster


def _joins(cluster: Cluster, op: spyre.SpyreOp) -> bool:
    """A row that is looked up lies in DRAM, and regions are not read in one."""
    made: dict[SSAValue, spyre.SpyreOp] = {o.results[0]: o for o in cluster.ops}
    if isinstance(op, spyre.GatherOp) and op.source in made:
        return False
    read = [made[v] for v in op.operands if v in made]
    return not any(
        isinstance(o, spyre.ReindexOp) and o.limits is not None for o in read
    )


def _divide(cluster: Cluster, choices: Choices, cores: int) -> None:
    classes = choices.order(cluster.dividable())
    chosen: list[tuple[frozenset[tuple[int, int]], int]] = []
    uneven = 0
    for members in classes:
        ranges = [cluster.spaces[p][k] for p, k in members]
        fits = [
            n
            for n in range(1, cores + 1)
            if n == 1
            or (
                all(r.allows(n) for r in ranges)
                and len({r.chunk(n) for r in ranges}) == 1
                and (uneven < MAX_UNEVEN or ranges[0].chunk(n) * n == ranges[0].size)
            )
        ]
        few = [n for n in fits if n <= 3]
        count = choices.pick(few[::-1] if choices.chance(50) else fits)
        if count > 1:
            uneven += ranges[0].chunk(count) * count != ranges[0].size
            chosen.append((members, count))
            cores //= count
    for position, op in enumerate(cluster.ops):
        parts = [1] * len(cluster.spaces[position])
        digits: list[int] = []
        for members, count in chosen:
            (k,) = (k for p, k in members if p == position)
            parts[k] = count
            digits.append(k)
        rest = choices.order([k for k in range(len(parts)) if k not in digits])
        op.division = spyre.DivisionAttr.of(parts, [*digits, *rest])


def _loop(cluster: Cluster, choices: Choices, most: int) -> None:
    shared: list[tuple[frozenset[tuple[int, int]], int]] = []
    for members in choices.order(cluster.dividable()):
        trips = [
            t for t in range(1, min(most, 12) + 1) if _can_loop(cluster, members, t)
        ]
        if choices.chance(50) and len(trips) > 1:
            shared.append((members, choices.pick(trips[1:4])))
    for position, op in enumerate(cluster.ops):
        levels = [
            (next(k for p, k in members if p == position), t) for members, t in shared
        ]
        for k in op.reduction_iterators():
            range_ = cluster.spaces[position][k]
            fits = [t for t in range(2, min(most, 5) + 1) if range_.allows(t)]
            if fits and choices.chance(30):
                levels.append((k, choices.pick(fits)))
        op.tile = spyre.TileAttr.of(levels, choices.integer(1, 3))


def _can_loop(
    cluster: Cluster, members: frozenset[tuple[int, int]], trips: int
) -> bool:
    tiles: set[int] = set()
    for p, k in members:
        range_, division = cluster.spaces[p][k], cluster.ops[p].division
        assert division is not None
        parts = division.parts_data[k]
        chunk = range_.chunk(parts) if parts > 1 else range_.size
        if not range_.allows(trips, chunk):
            return False
        tiles.add(range_.chunk(trips, chunk))
    return trips == 1 or len(tiles) == 1


def _place(group: Group, choices: Choices) -> None:
    """Each buffer somewhere that nothing takes while it is in use."""
    kernel = build_kernel(group.ops, group.inputs(), group.outputs())
    placed: list[int] = []
    for index in choices.order(range(len(kernel.buffers))):
        buffer = kernel.buffers[index]
        address = 128 * choices.pick((0, 0, 0, 1, 5))
        others = sorted(
            (kernel.buffers[o] for o in placed), key=lambda other: other.address
        )
        for other in others:
            apart = other.last < buffer.first or buffer.last < other.first
            if not apart and address + buffer.total_bytes > other.address:
                address = max(address, other.address + other.total_bytes)
        buffer.address = address
        placed.append(index)
    for position, op in enumerate(group.ops):
        own = [b for b in kernel.buffers if b.owner == position]
        op.places = ArrayAttr([spyre.PlaceAttr.of("lx", b.address) for b in own])


# ---- edits


def drop(module: ModuleOp, choices: Choices) -> None:
    """Takes decisions away: some of every operation's, or all of one kind."""
    kinds = [k for k in DECISIONS if choices.chance(40)]
    share = choices.pick((30, 60, 100))
    for op in operations(module):
        for kind in kinds:
            if choices.chance(share):
                op.attributes.pop(kind, None)


def edit(module: ModuleOp, choices: Choices) -> None:
    """Changes a few decisions into others that parse."""
    ops = operations(module)
    for _ in range(choices.integer(1, 3) if ops else 0):
        op = choices.pick(ops)
        choices.pick(EDITS)(op, choices, ops)


def _edit_division(
    op: spyre.SpyreOp, choices: Choices, ops: Sequence[spyre.SpyreOp]
) -> None:
    rank = len(op.sizes())
    parts = list(op.division.parts_data) if op.division is not None else []
    if len(parts) == rank and choices.chance(50):
        if choices.chance(40) and rank > 1:
            order = choices.order(range(rank))
            op.division = spyre.DivisionAttr.of(parts, order)
            return
        moved = choices.order(range(rank))
        op.division = spyre.DivisionAttr.of([parts[k] for k in moved])
        return
    parts = [choices.pick((1, 1, 2, 3, 4, 8, 32)) for _ in range(rank)]
    op.division = spyre.DivisionAttr.of(parts, choices.order(range(rank)))


def _edit_group(
    op: spyre.SpyreOp, choices: Choices, ops: Sequence[spyre.SpyreOp]
) -> None:
    op.group = choices.pick((IntegerAttr(0, i64), choices.pick(ops).group, None))


def _edit_tile(
    op: spyre.SpyreOp, choices: Choices, ops: Sequence[spyre.SpyreOp]
) -> None:
    levels = list(op.tile.levels_data) if op.tile is not None else []
    if levels and choices.chance(50):
        levels = choices.order(levels)[choices.integer(0, 1) :]
    else:
        used = {k for k, _ in levels}
        free = [-1, *(k for k in range(len(op.sizes())) if k not in used)]
        levels.append((choices.pick(free[::-1]), choices.pick((2, 1, 3, 4, 7, 64))))
    op.tile = spyre.TileAttr.of(levels, choices.pick((1, 2, 3, 9)))


def _edit_places(
    op: spyre.SpyreOp, choices: Choices, ops: Sequence[spyre.SpyreOp]
) -> None:
    places = list(op.places.data) if op.places is not None else []
    space = "dram" if choices.chance(5) else "lx"
    address = choices.pick((0, 128, 256, 1024, 16256, 8192, 65408, 1 << 40))
    new = spyre.PlaceAttr.of(space, address)
    if places and choices.chance(85):
        places[choices.integer(0, len(places) - 1)] = new
    else:
        places.append(new)
    op.places = ArrayAttr(places)


def _edit_via(
    op: spyre.SpyreOp, choices: Choices, ops: Sequence[spyre.SpyreOp]
) -> None:
    way = choices.pick(("dram", "dram", "ring"))
    op.via = ArrayAttr[Attribute]([StringAttr(way)] * len(op.operands))


def _copy(op: spyre.SpyreOp, choices: Choices, ops: Sequence[spyre.SpyreOp]) -> None:
    """What another operation has, as when lines of a dump are pasted."""
    other, kind = choices.pick(ops), choices.pick(DECISIONS)
    if kind in other.attributes:
        op.attributes[kind] = other.attributes[kind]


Edit = Callable[[spyre.SpyreOp, Choices, Sequence[spyre.SpyreOp]], None]
EDITS: tuple[Edit, ...] = (
    _edit_division,
    _edit_group,
    _edit_tile,
    _edit_tile,
    _edit_places,
    _copy,
    _edit_via,
)

# ---- the check


def planner(case: Unplanned, choices: Choices) -> tuple[ModuleOp, Sequence[str]]:
    """No decision: every one is a planner's."""
    return case.module.clone(), DECIDE


def legal(case: Unplanned, choices: Choices) -> tuple[ModuleOp, Sequence[str]]:
    module = case.module.clone()
    legal_plan(module, choices, case.chip)
    return module, ("spyre-check-plan",)


def partial(case: Unplanned, choices: Choices) -> tuple[ModuleOp, Sequence[str]]:
    module = case.module.clone()
    legal_plan(module, choices, case.chip)
    drop(module, choices)
    return module, DECIDE


def edited(case: Unplanned, choices: Choices) -> tuple[ModuleOp, Sequence[str]]:
    module = case.module.clone()
    if choices.chance(50):
        legal_plan(module, choices, case.chip)
    else:
        run(module, DECIDE)
    edit(module, choices)
    return module, ("spyre-check-plan",)


def turned(case: Unplanned, choices: Choices) -> tuple[ModuleOp, Sequence[str]]:
    """
    Some member of each group cuts other iterators than the rest, in the same grid and
    the same trips.
    """
    module = case.module.clone()
    legal_plan(module, choices, case.chip)
    for function in laid_out_functions(module):
        for group in groups_of(function):
            if len(group.ops) > 1:
                _turn(choices.pick(group.ops), choices)
    for op in operations(module):
        op.places = None
    return module, ("spyre-plan-places", "spyre-check-plan")


def _turn(op: spyre.SpyreOp, choices: Choices) -> None:
    other = dict(enumerate(choices.order(range(len(op.sizes())))[::-1]))
    if op.division is not None and choices.chance(60):
        parts = op.division.parts_data
        moved = {other[k]: parts[k] for k in other}
        order = [other[k] for k in op.division.order_data]
        op.division = spyre.DivisionAttr.of([moved[k] for k in sorted(moved)], order)
    if op.tile is not None and choices.chance(60):
        levels = [(other.get(k, k), t) for k, t in op.tile.levels_data]
        op.tile = spyre.TileAttr.of(levels, op.tile.depth_data)


def edited_part(case: Unplanned, choices: Choices) -> tuple[ModuleOp, Sequence[str]]:
    module, _ = legal(case, choices)
    drop(module, choices)
    edit(module, choices)
    return module, DECIDE


MODES = {m.__name__: m for m in (planner, legal, partial, turned, edited, edited_part)}
NO_ROOM = ("of the scratchpad", "bytes of scratchpad", "bytes of one tensor")
"""What a legal plan, or a planner, may be refused for: the chip is small."""


def check_plan(case: Unplanned, choices: Choices, mode: str) -> None:
    """A plan is refused with a reason, or computes what the module means."""
    COUNTS[f"{mode}: plans"] += 1
    text = ""
    try:
        module, passes = MODES[mode](case, choices)
        text = str(module)
        module.verify()
        before = _decisions(module)
        run(module, passes)
    except (PassError, VerifyException) as error:
        if mode in ("planner", "legal") and not any(w in str(error) for w in NO_ROOM):
            raise
        REFUSED[f"{mode}: {_kind(error)}"] += 1
        return
    for key, value in before.items():
        assert _decisions(module).get(key) == value, f"{key} is lost in\n{module}"
    run(module, PIPELINES["lower"])
    found = bench(case.chip).run(write(encode(module)), case.arguments)
    wrong = difference(found, case.wanted)
    assert wrong is None, f"{mode}: {wrong}\n{text}"
    COUNTS[f"{mode}: accepted and right"] += 1
    COUNTS["accepted and right"] += 1


def _decisions(module: ModuleOp) -> dict[tuple[int, str], Attribute]:
    return {
        (number, kind): op.attributes[kind]
        for number, op in enumerate(operations(module))
        for kind in DECISIONS
        if kind in op.attributes
    }


def _kind(error: PassError | VerifyException) -> str:
    """The message without names and numbers."""
    if isinstance(error, PassError):
        words = error.message.partition(": ")[2].split()
    else:
        words = ["unverified:", *str(error).split()]
    return " ".join("#" if any(c.isdigit() for c in w) else w for w in words)[:70]
