# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An encoder of alike layers, built by hand at the `spyre` level."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    FileLineColLoc,
    FunctionType,
    IntAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap

from spyre_mlir.algebra.linear import Linear
from spyre_mlir.dialects import spyre
from spyre_mlir.dialects.spyre import tensor_of, tensor_type

TOKENS, HIDDEN, HEADS, INNER = 8, 16, 2, 32


class Encoder:
    """Builds a function of `layers` layers whose mask is made inside the first."""

    def __init__(self, layers: int, shared_mask: bool = True):
        self.function = FuncOp("main", ([], []))
        self.block = self.function.body.block
        self.line = 0
        self.mask: SSAValue | None = None
        x = self.argument((TOKENS, HIDDEN))
        self.raw_mask = self.argument((1, TOKENS))
        x = self.norm(x)
        for number in range(layers):
            self.line = 1000 * number
            if not shared_mask:
                self.mask = None
            x = self.layer(x)
        x = self.map("tanh", x)
        self.block.add_op(ReturnOp(x))
        types = [a.type for a in self.block.args]
        self.function.function_type = FunctionType.from_lists(types, [x.type])

    def module(self) -> ModuleOp:
        return ModuleOp([self.function])

    def argument(self, shape: tuple[int, ...]) -> SSAValue:
        return self.block.insert_arg(tensor_type(shape, "f16"), len(self.block.args))

    def add(self, op: Operation) -> SSAValue:
        self.line += 1
        op.location = self.place()
        self.block.add_op(op)
        return op.results[0]

    def place(self) -> LocationAttr:
        return FileLineColLoc(StringAttr("bert.py"), IntAttr(self.line), IntAttr(1))

    def map(self, name: str, *values: SSAValue) -> SSAValue:
        """A function over the first value's dimensions; size 1 is broadcast."""
        shape = tensor_of(values[0]).get_shape()
        maps = []
        for value in values:
            own = tensor_of(value).get_shape()
            lead = len(shape) - len(own)
            terms = [
                Linear.constant(0, len(shape))
                if n == 1 and shape[lead + d] != 1
                else Linear.iterator(lead + d, len(shape))
                for d, n in enumerate(own)
            ]
            maps.append(AffineMap(len(shape), 0, tuple(t.affine() for t in terms)))
        block = Block(arg_types=[tensor_of(v).element_type for v in values])
        function = spyre.FnOp(name, block.args, block.args[0].type)
        block.add_ops([function, spyre.YieldOp(function.result)])
        result = tensor_type(shape, "f16")
        return self.add(spyre.MapOp(values, maps, result, Region(block)))

    def reduce(self, kind: str, value: SSAValue) -> SSAValue:
        shape = list(tensor_of(value).get_shape())
        dim = len(shape) - 1
        shape[dim] = 1
        return self.add(spyre.ReduceOp(kind, value, [dim], tensor_type(shape, "f16")))

    def norm(self, x: SSAValue) -> SSAValue:
        centred = self.map("sub", x, self.reduce("max", x))
        square = self.map("mul", centred, centred)
        scale = self.map("rsqrt", self.reduce("max", square))
        scaled = self.map("mul", centred, scale)
        return self.map("mul", scaled, self.argument((HIDDEN,)))

    def linear(self, x: SSAValue, size: int) -> SSAValue:
        rows, inner = tensor_of(x).get_shape()
        weight = self.argument((size, inner))
        maps = [
            AffineMap.from_callable(lambda m, n, k: (m, k)),
            AffineMap.from_callable(lambda m, n, k: (n, k)),
            AffineMap.from_callable(lambda m, n, k: (m, n)),
        ]
        product = spyre.MatmulOp(x, weight, tensor_type((rows, size), "f16"), maps)
        return self.map("add", self.add(product), self.argument((size,)))

    def heads(self, x: SSAValue) -> SSAValue:
        each = HIDDEN // HEADS
        shape = (HEADS, TOKENS, each)
        source = AffineMap.from_callable(lambda h, t, d: (t, h * each + d))
        result = tensor_type(shape, "f16")
        identity = AffineMap.identity(3)
        return self.add(spyre.ReindexOp([x], result, shape, [source], [identity]))

    def merged(self, x: SSAValue) -> SSAValue:
        each = HIDDEN // HEADS
        target = AffineMap.from_callable(lambda h, t, d: (t, h * each + d))
        result = tensor_type((TOKENS, HIDDEN), "f16")
        identity = AffineMap.identity(3)
        sizes = (HEADS, TOKENS, each)
        return self.add(spyre.ReindexOp([x], result, sizes, [identity], [target]))

    def product(self, left: SSAValue, right: SSAValue, columns: int) -> SSAValue:
        second = "nk" if columns == TOKENS else "kn"
        maps = [
            AffineMap.from_callable(lambda b, m, n, k: (b, m, k)),
            AffineMap.from_callable(
                (lambda b, m, n, k: (b, n, k))
                if second == "nk"
                else (lambda b, m, n, k: (b, k, n))
            ),
            AffineMap.from_callable(lambda b, m, n, k: (b, m, n)),
        ]
        result = tensor_type((HEADS, TOKENS, columns), "f16")
        return self.add(spyre.MatmulOp(left, right, result, maps))

    def make_mask(self) -> SSAValue:
        one = self.add(spyre.FullOp(1, tensor_type((1, TOKENS), "f16")))
        flipped = self.map("sub", one, self.raw_mask)
        return self.map("neg", flipped)

    def attention(self, x: SSAValue) -> SSAValue:
        q, k, v = (self.heads(self.linear(x, HIDDEN)) for _ in range(3))
        scores = self.product(q, k, TOKENS)
        if self.mask is None:
            self.mask = self.make_mask()
        scores = self.map("add", scores, self.mask)
        shifted = self.map("sub", scores, self.reduce("max", scores))
        power = self.map("exp", shifted)
        weights = self.map("div", power, self.reduce("max", power))
        return self.merged(self.product(weights, v, HIDDEN // HEADS))

    def layer(self, x: SSAValue) -> SSAValue:
        mixed = self.linear(self.attention(x), HIDDEN)
        x = self.norm(self.map("add", mixed, x))
        inner = self.map("gelu", self.linear(x, INNER))
        return self.norm(self.map("add", self.linear(inner, HIDDEN), x))
