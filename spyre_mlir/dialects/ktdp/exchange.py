# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Exchange between tiles: one op produces, exactly one delivers.

Tiles are cores, by their linear number in the grid. Groups are numbered by the set
in the future's type; a tile's place in its group is its position by ascending
number. Where a delivery splits or assembles several dimensions, places count like an
odometer over them, the last listed fastest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    AffineSetAttr,
    DenseArrayBase,
    IndexType,
    IntegerType,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsTerminator,
    MemoryWriteEffect,
    NoMemoryEffect,
    get_effects,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from .sets import SetError, contains, tiles_of_group
from .types import TileFutureType, units_aside

PRODUCERS = "producer_tiles_per_group"
CONSUMERS = "consumer_tiles_per_group"
DEPENDENCY = "producer_dependency_per_consumer"
PURE_DIALECTS = ("arith", "math", "linalg", "tensor", "affine", "scf", "spyreop")


@irdl_op_definition
class InterTileProduceOp(IRDLOperation):
    """
    What each producing tile contributes; the region runs on those tiles only.

        %f = ktdp.inter_tile_produce
               producer_tiles_per_group =
                 affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
               -> !ktdp.tile_future<(tensor<1x64xf16>),
                    groups = affine_set<(g) : (g >= 0, -g + 7 >= 0)>>
        {
          ^bb0(%g: index):
            ktdp.yield_partial %x : tensor<1x64xf16>
        }

    The region's argument is the tile's group.
    """

    name = "ktdp.inter_tile_produce"

    producer_tiles_per_group = prop_def(AffineSetAttr)
    future = result_def(TileFutureType)
    body = region_def("single_block")

    # Other tiles see it: two alike are not one, and none leaves its loop.
    traits = traits_def(MemoryWriteEffect())

    def __init__(
        self, producers: AffineSetAttr, future_type: TileFutureType, body: Region
    ):
        super().__init__(
            properties={PRODUCERS: producers},
            result_types=[future_type],
            regions=[body],
        )

    @property
    def groups(self) -> tuple[int, ...]:
        assert isinstance(self.future.type, TileFutureType)
        return self.future.type.group_ids

    def producers(self, group: int) -> tuple[int, ...]:
        return tiles_of_group(self.producer_tiles_per_group.data, group)

    def verify_(self) -> None:
        future = self.future.type
        assert isinstance(future, TileFutureType)
        if self.body.block.arg_types != (IndexType(),):
            raise VerifyException("the region takes one index, the tile's group")
        last = self.body.block.last_op
        if not isinstance(last, YieldPartialOp):
            raise VerifyException("the region ends with ktdp.yield_partial")
        if not units_aside(last.operand_types, future.partials.data):
            raise VerifyException(
                "yield_partial gives other types than the future carries"
            )
        _verify_membership(PRODUCERS, self.producer_tiles_per_group, self.groups)
        uses = [use.operation for use in self.future.uses]
        if len(uses) > 1 or not all(isinstance(use, DeliveryOp) for use in uses):
            raise VerifyException(
                f"a tile_future has one use, by a delivery; this one has {len(uses)}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> InterTileProduceOp:
        parser.parse_keyword(PRODUCERS)
        parser.parse_punctuation("=")
        producers = parser.parse_attribute()
        attributes = parser.parse_optional_attr_dict()
        if parser.parse_optional_punctuation(":"):
            # An earlier spelling repeats the types of the partials.
            parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        parser.parse_punctuation("->")
        future = _parse_future_type(parser)
        return cls.build(
            properties={PRODUCERS: producers},
            attributes=attributes,
            result_types=[future],
            regions=[parser.parse_region()],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {PRODUCERS} = ")
        printer.print_attribute(self.producer_tiles_per_group)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" -> ")
        printer.print_attribute(self.future.type)
        printer.print_string(" ")
        printer.print_region(self.body)


@irdl_op_definition
class YieldPartialOp(IRDLOperation):
    """
    Ends a producer's region with what the tile contributes.

        ktdp.yield_partial %x : tensor<1x64xf16>
    """

    name = "ktdp.yield_partial"

    values = var_operand_def(TensorType)

    traits = traits_def(IsTerminator(), NoMemoryEffect(), HasParent(InterTileProduceOp))

    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, values: Sequence[SSAValue]):
        super().__init__(operands=[values])


class DeliveryOp(IRDLOperation, ABC):
    """What the six deliveries share: the future, who receives, and from whom."""

    LISTS: ClassVar[tuple[str, ...]] = ()
    """Names of the dimension lists, in the order of the assembly."""

    future = operand_def(TileFutureType)
    consumer_tiles_per_group = prop_def(AffineSetAttr)
    received = var_result_def(TensorType)

    @property
    def future_type(self) -> TileFutureType:
        assert isinstance(self.future.type, TileFutureType)
        return self.future.type

    @property
    def producer(self) -> InterTileProduceOp | None:
        """The production; None if the future is a block argument."""
        owner = self.future.owner
        return owner if isinstance(owner, InterTileProduceOp) else None

    @property
    def dependency(self) -> AffineSetAttr | None:
        found = self.properties.get(DEPENDENCY)
        return found if isinstance(found, AffineSetAttr) else None

    @property
    def groups(self) -> tuple[int, ...]:
        return self.future_type.group_ids

    def consumers(self, group: int) -> tuple[int, ...]:
        return tiles_of_group(self.consumer_tiles_per_group.data, group)

    def sources(self, consumer: int, group: int) -> tuple[int, ...]:
        """The producers that a consumer waits for and receives from, ascending."""
        assert self.producer is not None
        everyone = self.producer.producers(group)
        if self.dependency is None:
            return everyone
        chosen = self.dependency.data
        symbols = (consumer, group)[: chosen.num_symbols]
        return tuple(p for p in everyone if contains(chosen, (p,), symbols))

    def dimensions(self, name: str) -> tuple[int, ...]:
        values = self.properties[name]
        assert isa(values, DenseArrayBase[IntegerType])
        return values.get_values()

    def verify_(self) -> None:
        _verify_membership(CONSUMERS, self.consumer_tiles_per_group, self.groups)
        if len(self.received) != len(self.future_type.partials):
            raise VerifyException(
                f"{len(self.received)} results for {len(self.future_type.partials)} "
                "partials"
            )
        if self.dependency is not None and self.dependency.data.num_symbols > 2:
            raise VerifyException(f"{DEPENDENCY} is a set (p)[c] or (p)[c, g]")
        for name in self.LISTS:
            self._verify_list(name)
        if self.producer is None:
            return
        for group in self.groups:
            self._verify_sources(self.producer, group)
        for partial, received in zip(self.delivered, self.received, strict=True):
            assert isa(received.type, TensorType)
            self.verify_result(partial, received.type)

    @property
    def delivered(self) -> tuple[TensorType, ...]:
        """The types of what is placed."""
        return self.future_type.partials.data

    @abstractmethod
    def verify_result(self, partial: TensorType, received: TensorType) -> None:
        """The type rule of the delivery's placement."""

    def _verify_sources(self, producer: InterTileProduceOp, group: int) -> None:
        """Every declared source produces; every producer is someone's source."""
        covered: set[int] = set()
        for consumer in self.consumers(group):
            sources = self.sources(consumer, group)
            if not sources:
                raise VerifyException(
                    f"tile {consumer} of group {group} receives from no producer"
                )
            covered.update(sources)
        missed = set(producer.producers(group)) - covered
        if missed:
            raise VerifyException(
                f"tiles {sorted(missed)} of group {group} produce for nobody"
            )

    def _verify_list(self, name: str) -> None:
        dims = self.dimensions(name)
        for partial in self.future_type.partials:
            rank = partial.get_num_dims()
            if not dims or list(dims) != sorted(set(dims)):
                raise VerifyException(
                    f"{name} lists distinct dimensions in ascending order, got "
                    f"{list(dims)}"
                )
            if not all(0 <= d < rank for d in dims):
                raise VerifyException(
                    f"{name} {list(dims)} is out of range for {partial}"
                )

    def source_count(self) -> int:
        """How many sources every consumer has, which must be one number."""
        assert self.producer is not None
        counts = {
            len(self.sources(consumer, group))
            for group in self.groups
            for consumer in self.consumers(group)
        }
        if len(counts) != 1:
            raise VerifyException(
                f"consumers differ in how many producers they receive from: "
                f"{sorted(counts)}"
            )
        return counts.pop()

    def consumer_count(self) -> int:
        counts = {len(self.consumers(group)) for group in self.groups}
        if len(counts) != 1:
            raise VerifyException(
                f"groups differ in how many tiles consume: {sorted(counts)}"
            )
        return counts.pop()

    @classmethod
    def parse(cls, parser: Parser) -> DeliveryOp:
        with parser.in_parens():
            future = parser.parse_unresolved_operand()
        properties: dict[str, Attribute] = {}
        identity: list[SSAValue] = []
        while True:
            _parse_clause(parser, properties, identity)
            if not parser.parse_optional_punctuation(","):
                break
        if identity and not issubclass(cls, FoldOp):
            parser.raise_error(f"{cls.name} combines nothing and takes no identity")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        future_type = _parse_future_type(parser)
        parser.parse_punctuation("->")
        results = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_type
        )
        operands: list[SSAValue | list[SSAValue]] = [
            parser.resolve_operand(future, future_type)
        ]
        regions: list[Region] = []
        if issubclass(cls, FoldOp):
            operands.append(identity)
            regions.append(parser.parse_region())
        return cls.build(
            operands=operands,
            properties=properties,
            attributes=attributes,
            result_types=[results],
            regions=regions,
        )

    def print(self, printer: Printer) -> None:
        with printer.in_parens():
            printer.print_ssa_value(self.future)
        printer.print_string(f" {CONSUMERS} = ")
        printer.print_attribute(self.consumer_tiles_per_group)
        for name in self.LISTS:
            printer.print_string(f", {name} = {list(self.dimensions(name))}")
        if self.dependency is not None:
            printer.print_string(f", {DEPENDENCY} = ")
            printer.print_attribute(self.dependency)
        if isinstance(self, FoldOp):
            printer.print_string(", identity")
            with printer.in_parens():
                printer.print_list(self.identity, printer.print_ssa_value)
                printer.print_string(" : ")
                printer.print_list(self.identity.types, printer.print_attribute)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.future.type)
        printer.print_string(" -> ")
        printer.print_list(self.received.types, printer.print_attribute)
        if isinstance(self, FoldOp):
            printer.print_string(" ")
            printer.print_region(self.combiner)


class FoldOp(DeliveryOp, ABC):
    """A delivery that combines the partials of a group, in any order."""

    future = operand_def(TileFutureType)  # again: operands in the order of a class
    identity = var_operand_def(TensorType)
    combiner = region_def("single_block")

    @property
    def delivered(self) -> tuple[TensorType, ...]:
        """The identities' types: the partials', with or without their unit sizes."""
        return tuple(cast(Sequence[TensorType], self.identity.types))

    def verify_(self) -> None:
        partials = self.delivered
        if not units_aside(partials, self.future_type.partials.data):
            raise VerifyException("the identities have other types than the partials")
        super().verify_()
        if tuple(self.combiner.block.arg_types) != partials * 2:
            raise VerifyException(
                "the combiner takes every partial twice: all left ones, all right ones"
            )
        last = self.combiner.block.last_op
        if not isinstance(last, YieldReducedOp):
            raise VerifyException("the combiner ends with ktdp.yield_reduced")
        if tuple(last.operand_types) != partials:
            raise VerifyException("yield_reduced gives other types than the partials")
        for op in self.combiner.walk():
            if op is last:
                continue
            pure = op.name.split(".")[0] in PURE_DIALECTS and not get_effects(op)
            if not pure:
                raise VerifyException(f"the combiner is pure, but holds {op.name}")


@irdl_op_definition
class YieldReducedOp(IRDLOperation):
    """
    Ends a combiner with the combined values.

        ktdp.yield_reduced %s : tensor<1x64xf16>
    """

    name = "ktdp.yield_reduced"

    values = var_operand_def(TensorType)

    traits = traits_def(IsTerminator(), NoMemoryEffect())

    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, values: Sequence[SSAValue]):
        super().__init__(operands=[values])

    def verify_(self) -> None:
        parent = self.parent_op()
        if parent is not None and not isinstance(parent, FoldOp):
            raise VerifyException(f"ends a combiner, not the region of {parent.name}")


def _verify_membership(name: str, tiles: AffineSetAttr, groups: Sequence[int]) -> None:
    """The set lists tiles of each group, and no tile is in two groups."""
    if tiles.data.num_dims != 1 or tiles.data.num_symbols > 1:
        raise VerifyException(f"{name} is a set (i)[g], got {tiles.data}")
    owner: dict[int, int] = {}
    for group in groups:
        try:
            members = tiles_of_group(tiles.data, group)
        except SetError as error:
            raise VerifyException(f"{name}: {error}") from error
        for tile in members:
            if owner.setdefault(tile, group) != group:
                raise VerifyException(
                    f"{name}: tile {tile} is in groups {owner[tile]} and {group}"
                )


def _parse_clause(
    parser: Parser, properties: dict[str, Attribute], identity: list[SSAValue]
) -> None:
    name = parser.parse_identifier()
    if name == "identity":
        with parser.in_parens():
            values = parser.parse_comma_separated_list(
                parser.Delimiter.NONE, parser.parse_unresolved_operand
            )
            parser.parse_punctuation(":")
            types = parser.parse_comma_separated_list(
                parser.Delimiter.NONE, parser.parse_type
            )
        identity.extend(parser.resolve_operands(values, types, parser.pos))
        return
    parser.parse_punctuation("=")
    dims = parser.parse_optional_comma_separated_list(
        parser.Delimiter.SQUARE, parser.parse_integer
    )
    if dims is None:
        properties[name] = parser.parse_attribute()
    else:
        properties[name] = DenseArrayBase.from_list(i64, dims)


def _parse_future_type(parser: Parser) -> Attribute:
    """A future's type; its prefix may be left out, as newer printers do."""
    if (future := parser.parse_optional_type()) is not None:
        return future
    return TileFutureType.new(TileFutureType.parse_parameters(parser))
