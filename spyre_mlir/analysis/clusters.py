# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Runs of operations that can share one division: candidates for fusion.

Iterators of different operations that index the same dimension of a value between
them are one *class*. A cluster's classes that every operation has, that nothing in it
reduces, and that all of them may cut, can be divided over cores with every value
inside the cluster staying where it was made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import func
from xdsl.ir import BlockArgument, SSAValue

from spyre_mlir.algebra.linear import Linear
from spyre_mlir.analysis.groups import group_number
from spyre_mlir.analysis.layouts import is_static_argument
from spyre_mlir.analysis.space import IterRange, iteration_space
from spyre_mlir.dialects import spyre

Member = tuple[int, int]
"""(operation's position in the cluster, iterator)"""


@dataclass
class Cluster:
    """Consecutive operations and the classes of their iterators."""

    ops: list[spyre.SpyreOp] = field(default_factory=list[spyre.SpyreOp])
    spaces: list[tuple[IterRange, ...]] = field(
        default_factory=list[tuple[IterRange, ...]]
    )
    classes: list[frozenset[Member]] = field(default_factory=list[frozenset[Member]])
    blocked: set[Member] = field(default_factory=set[Member])

    def joined(self, op: spyre.SpyreOp) -> Cluster:
        """This cluster and one more operation."""
        position = len(self.ops)
        space = iteration_space(op)
        new = Cluster(
            [*self.ops, op],
            [*self.spaces, space],
            [*self.classes, *(frozenset({(position, k)}) for k in range(len(space)))],
            set(self.blocked),
        )
        for k, it in enumerate(space):
            if not it.parallel or (not it.splittable and it.size > 1):
                new.blocked.add((position, k))
        producers: dict[SSAValue, int] = {
            op_.results[0]: i for i, op_ in enumerate(self.ops)
        }
        for value, coordinates in _reads(op):
            producer = producers.get(value)
            if producer is not None:
                made = result_coordinates(self.ops[producer])
                new._link(producer, made, position, coordinates)
        return new

    def _link(
        self,
        producer: int,
        made: Sequence[Linear],
        consumer: int,
        read: Sequence[Linear],
    ) -> None:
        for a, b in zip(made, read, strict=True):
            ka, kb = a.single, b.single
            if ka is not None and kb is not None:
                self._merge((producer, ka), (consumer, kb))
                continue
            # Not the same coordinate on both sides: neither may be cut.
            self.blocked |= {(producer, k) for k in a.used}
            self.blocked |= {(consumer, k) for k in b.used}

    def _merge(self, a: Member, b: Member) -> None:
        found = [c for c in self.classes if a in c or b in c]
        self.classes = [c for c in self.classes if c not in found]
        self.classes.append(frozenset[Member]().union(*found))

    def dividable(self) -> list[frozenset[Member]]:
        """Classes that can be cut, by the first operation's iterator order."""
        everyone = set(range(len(self.ops)))
        found = [
            c
            for c in self.classes
            if not c & self.blocked
            and {p for p, _ in c} == everyone
            and len(c) == len(everyone)
        ]
        return sorted(found, key=lambda c: min(k for p, k in c if p == 0))

    def range_of(self, members: frozenset[Member]) -> IterRange:
        """The cuts that all members of a class allow."""
        ranges = [self.spaces[p][k] for p, k in members]
        return IterRange(
            ranges[0].size,
            max(r.granule for r in ranges),
            True,
            all(r.splittable for r in ranges),
            any(r.exact for r in ranges),
        )

    def cuts_alike(self, members: frozenset[Member], parts: int) -> bool:
        """Whether all members of a class have the same elements in a part."""
        chunks = {self.spaces[p][k].chunk(parts) for p, k in members}
        return parts == 1 or len(chunks) == 1

    def like(self, member: Member, position: int) -> int | None:
        """The iterator of another operation that is of the same class, if it is one."""
        for members in self.classes:
            if member in members:
                own = [k for p, k in members if p == position]
                return own[0] if len(own) == 1 else None
        return None

    def parallelism(self) -> int:
        """Parts that the dividable classes allow together."""
        return prod(self.range_of(c).units for c in self.dividable())

    def reads(self, op: spyre.SpyreOp) -> bool:
        """Whether an operation uses what the cluster makes."""
        made = {o.results[0] for o in self.ops}
        return any(v in made for v in op.operands)


def _reads(op: spyre.SpyreOp) -> Iterable[tuple[SSAValue, Sequence[Linear]]]:
    if isinstance(op, spyre.ReindexOp):
        for p, source in enumerate(op.sources):
            yield source, op.piece_maps(p)[0]
    else:
        yield from zip(op.operands, op.maps(), strict=False)


def result_coordinates(op: spyre.SpyreOp) -> tuple[Linear, ...]:
    """The result's coordinates over the iterators; pieces that differ give no map."""
    if isinstance(op, spyre.ReindexOp):
        return op.piece_maps(0)[1] if len(op.sources) == 1 else _opaque(op)
    return op.maps()[-1]


def _opaque(op: spyre.ReindexOp) -> tuple[Linear, ...]:
    rank = len(op.sizes())
    return tuple(Linear((1,) * rank) for _ in spyre.tensor_of(op.result).get_shape())


def weight_matmuls(cluster: Cluster) -> Iterable[tuple[int, spyre.MatmulOp]]:
    """Matmuls without a batch: their free iterators must stay dividable."""
    for position, op in enumerate(cluster.ops):
        if isinstance(op, spyre.MatmulOp) and not _is_batched(op):
            yield position, op


def _is_batched(op: spyre.MatmulOp) -> bool:
    sizes = op.sizes()
    return any(op.role(k) == "b" and sizes[k] > 1 for k in range(len(sizes)))


def may_join(cluster: Cluster, op: spyre.SpyreOp, cores: int) -> Cluster | None:
    """The joined cluster if fusing keeps the cores as busy, or None."""
    if isinstance(op, spyre.ReindexOp | spyre.GatherOp):
        return None
    if not cluster.reads(op):
        return None
    if isinstance(cluster.ops[-1], spyre.ReindexOp | spyre.GatherOp):
        return None
    joined = cluster.joined(op)
    alone = Cluster().joined(op)
    busy = min(joined.parallelism(), cores)
    if busy * 4 < 3 * min(cluster.parallelism(), cores):
        return None
    if busy * 4 < 3 * min(alone.parallelism(), cores):
        return None
    dividable = set[Member]().union(*joined.dividable())
    for position, matmul in weight_matmuls(joined):
        space = joined.spaces[position]
        roles = [matmul.role(k) for k in range(len(space))]
        for k, role in enumerate(roles):
            alone_units = space[k].units
            if role in "mn" and alone_units > 1 and (position, k) not in dividable:
                if not _has_weight(matmul) and _is_tall(matmul):
                    continue
                return None
    return joined


def _is_tall(matmul: spyre.MatmulOp) -> bool:
    """Rows alone are enough to divide, as in attention with one head."""
    sizes = matmul.sizes()
    roles = [matmul.role(k) for k in range(len(sizes))]
    rows = prod(n for n, r in zip(sizes, roles, strict=True) if r in "bm")
    others = [n for n, r in zip(sizes, roles, strict=True) if r in "nk"]
    return min(others, default=1) * 8 <= rows


def _has_weight(matmul: spyre.MatmulOp) -> bool:
    """The right operand is an unchanging argument, moved at most."""
    value = matmul.rhs
    while isinstance(value.owner, spyre.ReindexOp) and len(value.owner.sources) == 1:
        value = value.owner.sources[0]
    if not isinstance(value, BlockArgument):
        return False
    function = value.block.parent_op()
    return isinstance(function, func.FuncOp) and (
        is_static_argument(function, value.index)
    )


def clusters_of(function: func.FuncOp, cores: int) -> list[Cluster]:
    """
    The function's tensor operations as clusters, greedily in program order; a group
    that is decided is one cluster.
    """
    clusters: list[Cluster] = []
    for op in function.body.block.ops:
        if not isinstance(op, spyre.SpyreOp):
            clusters.append(Cluster())
            continue
        grown = None
        if clusters and clusters[-1].ops:
            number = group_number(op)
            if number != group_number(clusters[-1].ops[-1]):
                grown = None
            elif number is not None:
                grown = clusters[-1].joined(op)
            else:
                grown = may_join(clusters[-1], op, cores)
        if grown is not None:
            clusters[-1] = grown
        else:
            clusters.append(Cluster().joined(op))
    return [c for c in clusters if c.ops]
