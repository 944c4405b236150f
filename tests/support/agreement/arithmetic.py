# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random maps, reductions, products, gathers, and layers of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from spyre_mlir.algebra.linear import Linear, affine_map
from spyre_mlir.dialects import spyre
from spyre_mlir.dialects.spyre import ELEMENT_TYPES, dtype_name, tensor_of, tensor_type

from .choices import Choices
from .modules import FLOATS, INTEGERS, Builder, number_for, shape_of

EASY = ("neg", "abs", "relu", "floor", "ceil", "round", "trunc", "sign", "sqrt")
HARD = (
    "exp",
    "log",
    "tanh",
    "sigmoid",
    "erf",
    "rsqrt",
    "reciprocal",
    "sin",
    "cos",
    "gelu",
    "gelu_tanh",
    "silu",
    "softplus",
    "exp2",
    "expm1",
    "log1p",
)
BINARY = ("add", "sub", "mul", "maximum", "minimum", "div")
WHOLE_UNARY = ("neg", "abs", "relu", "sign")
WHOLE_BINARY = ("add", "sub", "mul", "maximum", "minimum")
COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")
LOGIC = ("and", "or", "xor")
MOST_WHOLE = 100
"""Floats are brought into this range before they become integers."""


class Body:
    """The body of a map that grows."""

    def __init__(self, choices: Choices, block: Block, special: bool, hard: bool):
        self.choices = choices
        self.block = block
        self.special = special
        self.hard = hard

    def add(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def fn(self, name: str, arguments: Sequence[SSAValue], dtype: str) -> SSAValue:
        return self.add(spyre.FnOp(name, arguments, ELEMENT_TYPES[dtype]))

    def number(self, value: float | int, dtype: str) -> SSAValue:
        return self.add(spyre.ConstantOp(value, dtype))

    def cast(self, value: SSAValue, dtype: str) -> SSAValue | None:
        """The value in another type; None where what it becomes is not defined."""
        own = dtype_name(value.type)
        if own == dtype:
            return value
        if own in FLOATS and dtype in INTEGERS:
            if self.special:
                return None
            high, low = (self.number(n, own) for n in (MOST_WHOLE, -MOST_WHOLE))
            value = self.fn("minimum", [value, high], own)
            value = self.fn("maximum", [value, low], own)
        return self.fn("cast", [value], dtype)

    def step(self, known: Sequence[SSAValue], dtype: str) -> SSAValue:
        """One more function of values of one type."""
        pick = self.choices.pick
        one, other = pick(known[::-1]), pick(known)
        kind = pick(("unary", "binary", "number", "where"))
        if dtype == "i1":
            if kind == "unary":
                return self.fn("not", [one], dtype)
            if kind == "where":
                return self.fn("where", [one, other, pick(known)], dtype)
            return self.fn(pick((*LOGIC, "eq", "ne")), [one, other], dtype)
        if kind == "unary":
            hard = self.hard and self.choices.chance(40)
            floats = HARD if hard else EASY
            names = floats if dtype in FLOATS else WHOLE_UNARY
            return self.fn(pick(names), [one], dtype)
        if kind == "number":
            other = self.number(number_for(self.choices, dtype), dtype)
        if kind == "where":
            condition = self.fn(pick(COMPARE), [one, other], "i1")
            return self.fn("where", [condition, one, other], dtype)
        names = BINARY if dtype in FLOATS else WHOLE_BINARY
        pair = [one, other] if self.choices.chance(80) else [other, one]
        return self.fn(pick(names), pair, dtype)


def _broadcast(choices: Choices, shape: Sequence[int], sizes: Sequence[int]):
    """Coordinates of an operand over iterators of `sizes`, or None."""
    free = list(range(len(sizes)))
    results: list[AffineExpr] = []
    for size in shape:
        fits = [d for d in free if sizes[d] == size]
        if fits and not (size == 1 and choices.chance(40)):
            dim = choices.pick(fits)
            free.remove(dim)
            results.append(AffineDimExpr(dim))
        elif size == 1:
            results.append(AffineConstantExpr(0))
        else:
            return None
    return AffineMap(len(sizes), 0, tuple(results))


def _operand(b: Builder, sizes: Sequence[int]) -> tuple[SSAValue, AffineMap]:
    """Some value that can be read over these iterators: permuted, broadcast, new."""
    for value in (b.value() for _ in range(2)):
        map_ = _broadcast(b.choices, shape_of(value), sizes)
        if map_ is not None:
            return value, map_
    dims = [d for d in range(len(sizes)) if b.choices.chance(70)]
    if b.choices.chance(30):
        dims = b.choices.order(dims)
    shape = [sizes[d] for d in dims]
    results: list[AffineExpr] = [AffineDimExpr(d) for d in dims]
    if b.choices.chance(20) and len(shape) < 6:
        place = b.choices.integer(0, len(shape))
        shape.insert(place, 1)
        results.insert(place, AffineConstantExpr(0))
    dtype = b.choices.pick(("f16", "f32", "bf16", "i64", "i32", "i1"))
    return b.argument(shape, dtype), AffineMap(len(sizes), 0, tuple(results))


def map_(b: Builder) -> SSAValue:
    """A map of up to three operands and a few functions."""
    first = b.value()
    sizes = shape_of(first)
    operands = [(first, AffineMap.identity(len(sizes)))]
    for _ in range(b.choices.integer(0, 2)):
        operands.append(_operand(b, sizes))
    block = Block(arg_types=[tensor_of(v).element_type for v, _ in operands])
    body = Body(b.choices, block, b.special, b.special)
    own = dtype_name(first.type)
    dtype = b.choices.pick((own, own, "f16", "f32", "bf16", "i64", "i32", "i1"))
    cast = [body.cast(a, dtype) for a in block.args]
    known: list[SSAValue] = [v for v in cast if v is not None]
    if not known:
        known.append(block.args[0])
        dtype = own
    for _ in range(b.choices.integer(0, 4)):
        known.append(body.step(known, dtype))
    last = known[-1]
    if b.choices.chance(20) and dtype != "i1":
        last = body.fn(b.choices.pick(COMPARE), [known[0], last], "i1")
        dtype = "i1"
    block.add_op(spyre.YieldOp(last))
    return b.add(
        spyre.MapOp(
            [v for v, _ in operands],
            [m for _, m in operands],
            tensor_type(sizes, dtype),
            Region(block),
        )
    )


def reduce(b: Builder) -> SSAValue:
    value = b.value((*FLOATS, *INTEGERS))
    shape = shape_of(value)
    dims = [d for d in range(len(shape)) if b.choices.chance(50)]
    result = [1 if d in dims else n for d, n in enumerate(shape)]
    kind = b.choices.pick(("sum", "max", "min"))
    dtype = dtype_name(value.type)
    if dtype in FLOATS and kind == "sum":
        dtype = b.choices.pick((dtype, "f32"))
    return b.add(spyre.ReduceOp(kind, value, dims, tensor_type(result, dtype)))


# ---- products


def matmul(b: Builder) -> SSAValue | None:
    """A product of a value with another, each dimension in some role."""
    value = b.value(FLOATS, 1)
    sizes: list[int] = []
    roles: list[str] = []
    left: list[int | None] = []
    for size in shape_of(value):
        role = b.choices.pick("kmb1" if size == 1 else "kmb")
        if role == "1":
            left.append(None)
            continue
        left.append(len(sizes))
        sizes.append(size)
        roles.append(role)
    for _ in range(b.choices.integer(0, 2)):
        sizes.append(b.choices.pick((1, 3, 5, 32, 64, 65)))
        roles.append("n")
    if not b.fits(prod(sizes) // 8):
        return None
    right = [k for k, r in enumerate(roles) if r in "bnk"]
    result = [k for k, r in enumerate(roles) if r in "bmn"]
    if b.choices.chance(50):
        right, result = b.choices.order(right), b.choices.order(result)
    shapes = [[sizes[k] for k in dims] for dims in (right, result)]
    if len(right) > 6 or len(result) > 6 or not b.fits(*shapes[0], *shapes[1]):
        return None
    dtype = dtype_name(value.type)
    other = b.like(shapes[0], dtype)
    maps = [_dims(dims, len(sizes)) for dims in (left, right, result)]
    made = b.choices.pick((dtype, "f32"))
    lhs, rhs = value, other
    if b.choices.chance(20):
        lhs, rhs = rhs, lhs
        maps[:2] = maps[1], maps[0]
    return b.add(spyre.MatmulOp(lhs, rhs, tensor_type(shapes[1], made), maps))


def _dims(dims: Sequence[int | None], rank: int) -> AffineMap:
    zero: AffineExpr = AffineConstantExpr(0)
    return AffineMap(
        rank, 0, tuple(zero if k is None else AffineDimExpr(k) for k in dims)
    )


# ---- gathers


def gather(b: Builder) -> SSAValue | None:
    """Rows, columns or single elements at random indices."""
    source = b.value(rank=1)
    shape = shape_of(source)
    axis = b.choices.integer(0, len(shape) - 1)
    others = [d for d in range(len(shape)) if d != axis]
    index_rank = b.choices.integer(0, 2)
    own = [b.choices.pick((1, 2, 5, 33, 64, 65)) for _ in range(index_rank)]
    if b.choices.chance(30):
        # Along the other dimensions too, as torch.gather.
        sizes = [*shape]
        sizes[axis] = b.choices.pick((1, 3, 65))
        index_dims = list(range(len(shape)))
        places = {d: d for d in others}
    else:
        sizes = [*own, *(shape[d] for d in others)]
        index_dims = list(range(index_rank))
        places = {d: index_rank + k for k, d in enumerate(others)}
    if not b.fits(*sizes) or len(sizes) > 6:
        return None
    rank = len(sizes)
    index = b.argument([sizes[k] for k in index_dims], b.choices.pick(("i64", "i32")))
    b.values.remove(index)
    b.index_limits[len(b.block.args) - 1] = shape[axis]
    coordinates = [
        Linear.iterator(places[d], rank) if d in places else Linear.constant(0, rank)
        for d in range(len(shape))
    ]
    at = [Linear.iterator(k, rank) for k in index_dims]
    dtype = dtype_name(source.type)
    return b.add(
        spyre.GatherOp(
            source,
            index,
            axis,
            affine_map(coordinates, rank),
            affine_map(at, rank),
            tensor_type(sizes, dtype),
        )
    )


# ---- layers


def layers(b: Builder) -> SSAValue:
    """The same few operations two or three times, each with its own weight."""
    rows, width = b.choices.pick((1, 3, 64, 65)), b.choices.pick((2, 33, 64, 65))
    dtype = b.choices.pick(("f16", "f32"))
    value = b.like([rows, width], dtype)
    m, n, k = (AffineDimExpr(i) for i in range(3))
    maps = [AffineMap(3, 0, r) for r in ((m, k), (n, k), (m, n))]
    reduces = b.choices.chance(50)
    for _ in range(b.choices.integer(2, 3)):
        weight = b.argument([width, width], dtype)
        product = b.add(
            spyre.MatmulOp(value, weight, tensor_type([rows, width], dtype), maps)
        )
        high = b.add(spyre.ReduceOp("max", product, [1], tensor_type([rows, 1], dtype)))
        value = _less(b, product, high, value if reduces else product)
    return value


def _less(b: Builder, one: SSAValue, high: SSAValue, other: SSAValue) -> SSAValue:
    """(one - high) clamped, plus other, so that numbers stay small."""
    type_ = tensor_of(one)
    dtype = dtype_name(type_)
    block = Block(arg_types=[tensor_of(v).element_type for v in (one, high, other)])
    body = Body(b.choices, block, False, False)
    low = body.number(-3, dtype)
    result = body.fn("sub", [block.args[0], block.args[1]], dtype)
    result = body.fn("maximum", [result, low], dtype)
    result = body.fn("minimum", [body.fn("abs", [result], dtype), block.args[2]], dtype)
    block.add_op(spyre.YieldOp(result))
    row = AffineMap(2, 0, (AffineDimExpr(0), AffineConstantExpr(0)))
    identity = AffineMap.identity(2)
    inputs, maps = [one, high, other], [identity, row, identity]
    return b.add(spyre.MapOp(inputs, maps, type_, Region(block)))
