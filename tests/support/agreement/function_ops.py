# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lines that a random function is made of."""

from __future__ import annotations

import torch

from .functions import DTYPES, FLOATS, Builder, Value

NUMBERS = tuple(d for d in DTYPES if d is not torch.bool)
WHOLE = (torch.int64, torch.int32)
SMALL = 2000
"""Whole numbers up to this are exact in every float type that matters here."""


def is_small(*values: Value) -> bool:
    """Whether whole numbers of this size stay exact through a sum or product."""
    return all(float(v.tensor.double().abs().sum()) < SMALL for v in values)


UNARY = (
    ("torch.neg({})", True),
    ("torch.abs({})", True),
    ("torch.relu({})", True),
    ("{} * 2", True),
    ("{} + 1", True),
    ("1 - {}", True),
    ("{}.clamp(-2, 2)", True),
    ("torch.sign({})", True),
    ("torch.square({})", True),
    ("{} * 0.5", True),
    ("torch.sigmoid({})", False),
    ("torch.tanh({})", False),
    ("torch.exp({}.clamp(max=3))", False),
    ("torch.log({}.abs() + 1)", False),
    ("torch.sqrt({}.abs())", False),
    ("torch.rsqrt({}.abs() + 1)", False),
    ("torch.reciprocal({}.abs() + 1)", False),
    ("torch.sin({})", False),
    ("torch.cos({})", False),
    ("torch.erf({})", False),
    ("F.gelu({})", False),
    ("F.gelu({}, approximate='tanh')", False),
    ("F.silu({})", False),
    ("F.softplus({})", False),
    ("{} / 3", False),
    ("{} ** 3", False),
    ("{}.pow(2)", True),
)
WHOLE_UNARY = 7
"""The first of them take integers too."""
ROUNDING = ("floor", "ceil", "round", "trunc")
COMPARE = ("<", "<=", ">", ">=", "==", "!=")


def unary(b: Builder) -> None:
    x = b.value(NUMBERS)
    text, exact = b.pick(UNARY if x.is_float else UNARY[:WHOLE_UNARY])
    b.line(text.format(x.name), exact and x.exact)


def rounding(b: Builder) -> None:
    x = b.value(FLOATS, exact=True)
    b.line(f"torch.{b.pick(ROUNDING)}({x.name} * 0.25)", True)


def binary(b: Builder) -> None:
    """Two values of one shape, or one broadcast."""
    x = b.value(NUMBERS)
    y = _other(b, x)
    text = b.pick(
        (
            "{} + {}",
            "{} - {}",
            "{} * {}",
            "torch.maximum({}, {})",
            "torch.minimum({}, {})",
            "{} / ({}.abs() + 1)",
        )
    )
    exact = x.exact and y.exact and "/" not in text
    b.line(text.format(x.name, y.name), exact)


def _other(b: Builder, x: Value) -> Value:
    fitting = [v for v in b.values if v.shape == x.shape and not v.is_bool]
    if fitting and b.choices.chance(60):
        return b.pick(fitting)
    shape = [b.pick((n, n, 1)) for n in x.shape]
    drop = b.choices.integer(0, len(shape)) if b.choices.chance(30) else 0
    same = [x.tensor.dtype] * 3
    return b.argument(shape[drop:], b.pick((*same, *NUMBERS)))


def compare(b: Builder) -> None:
    x = b.value(NUMBERS, exact=True)
    y = _other(b, x)
    if y.exact:
        b.line(f"{x.name} {b.pick(COMPARE)} {y.name}", True)


def choose(b: Builder) -> None:
    c = b.value((torch.bool,))
    fitting = [v for v in b.values if v.shape == c.shape and not v.is_bool]
    x = b.pick(fitting) if fitting else b.argument(c.shape, b.pick(NUMBERS))
    text = b.pick(
        (
            "torch.where({c}, {x}, 0)",
            "torch.where({c}, {x}, -{x})",
            "{x}.masked_fill({c}, 2)",
            "{x} * {c}",
        )
    )
    b.line(text.format(c=c.name, x=x.name), x.exact)


def logic(b: Builder) -> None:
    x = b.value((torch.bool,))
    y = b.pick([v for v in b.values if v.is_bool and v.shape == x.shape])
    text = b.pick(("~{0}", "{0} & {1}", "{0} | {1}", "{0} ^ {1}"))
    b.line(text.format(x.name, y.name), True)


def cast(b: Builder) -> None:
    x = b.value()
    options = [d for d in DTYPES if d.is_floating_point or x.exact or not x.is_float]
    b.line(f"{x.name}.to({b.pick(options)})", x.exact)


# ---- views


def view(b: Builder) -> None:
    x = b.value()
    text = b.pick(
        (
            "{x}.reshape(-1)",
            "{x}.unsqueeze({e})",
            "{x}.squeeze()",
            "{x}.flatten(0, {last})",
            "{x}.contiguous()",
            "{x}.clone()",
            "{x}.unsqueeze({e}).expand({wide})",
        )
    )
    place = b.choices.integer(0, x.dim)
    wide = [*x.shape[:place], b.pick((1, 2, 3)), *x.shape[place:]]
    last = b.choices.integer(0, max(x.dim - 1, 0))
    wide_text = ", ".join(map(str, wide))
    b.line(text.format(x=x.name, e=place, last=last, wide=wide_text), x.exact)


def permute(b: Builder) -> None:
    x = b.value(rank=2)
    order = b.choices.order(range(x.dim))
    b.line(f"{x.name}.permute({', '.join(map(str, order))})", x.exact)


def split_dim(b: Builder) -> None:
    x = b.value(rank=1)
    dim = b.choices.integer(0, x.dim - 1)
    factors = [f for f in range(1, x.shape[dim] + 1) if x.shape[dim] % f == 0]
    if not factors:
        return
    factor = b.pick(factors)
    rest = x.shape[dim] // factor
    shape = [*x.shape[:dim], factor, rest, *x.shape[dim + 1 :]]
    b.line(f"{x.name}.reshape({', '.join(map(str, shape))})", x.exact)


def subscript(b: Builder) -> None:
    """Slices, steps, single places, new dimensions, flips of a value."""
    x = b.value(rank=1)
    parts: list[str] = []
    for size in x.shape:
        kind = b.pick((":", ":", "range", "step", "one"))
        start = b.choices.integer(0, max(size - 1, 0))
        if kind == "range":
            stop = b.choices.integer(start, size) + 1
            parts.append(f"{start}:{stop}")
        elif kind == "step":
            parts.append(f"{start}::{b.pick((2, 3))}")
        elif kind == "one" and size:
            parts.append(str(start - size if b.choices.chance(30) else start))
        else:
            parts.append(":")
    b.line(f"{x.name}[{', '.join(parts)}]", x.exact)


def rearrange(b: Builder) -> None:
    x = b.value(rank=1)
    dim = b.dim(x)
    size = x.shape[dim]
    text = b.pick(
        (
            "torch.flip({x}, [{d}])",
            "torch.roll({x}, {n}, {d})",
            "{x}.repeat_interleave(2, {d})",
            "{x}.narrow({d}, {s}, {m})",
            "{x}.select({d}, {s})",
            "torch.cat([{x}, {x}], {d})",
            "torch.stack([{x}, {x}], {d})",
            "{x}.unfold({d}, {w}, {n})",
            "{x}.chunk(2, {d})[0]",
            "F.pad({x}, (1, 2))",
            "F.pad({x}, ({s}, 0), value=3)",
            "{x}.movedim({d}, 0)",
            "{x}.tril()",
            "{x}.repeat({r})",
        )
    )
    start = b.choices.integer(0, max(size - 1, 0))
    words = {
        "x": x.name,
        "d": dim,
        "n": b.pick((1, 2, 5)),
        "s": start,
        "m": size - start,
        "w": min(size, b.pick((1, 2, 4))),
        "r": ", ".join(str(b.pick((1, 2))) for _ in range(x.dim)),
    }
    b.line(text.format(**words), x.exact)


def join(b: Builder) -> None:
    """Concatenation of values that differ along one dimension."""
    x = b.value(rank=1)
    dim = b.choices.integer(0, x.dim - 1)
    others = [
        v.name
        for v in b.values
        if v.dim == x.dim
        and v.tensor.dtype == x.tensor.dtype
        and v.shape[:dim] + v.shape[dim + 1 :] == x.shape[:dim] + x.shape[dim + 1 :]
    ]
    shape = [*x.shape]
    shape[dim] = b.pick((1, 64, 33))
    other = b.argument(shape, x.tensor.dtype).name
    names = [x.name, other, b.pick(others)][: b.choices.integer(2, 3)]
    b.line(f"torch.cat([{', '.join(b.choices.order(names))}], {dim})", False)


# ---- sums and products


def reduce(b: Builder) -> None:
    x = b.value(NUMBERS, rank=1)
    dims = sorted({b.choices.integer(0, x.dim - 1) for _ in range(b.pick((1, 1, 2)))})
    keep = b.pick((False, True))
    names = ["sum", "amax", "amin"] + (["mean", "sum"] if x.is_float else [])
    name = b.pick(names)
    if name in ("amax", "amin") and not x.tensor.numel():
        return
    exact = x.exact and (name != "sum" or is_small(x)) and name != "mean"
    b.line(f"torch.{name}({x.name}, {dims}, keepdim={keep})", exact)


def norm(b: Builder) -> None:
    x = b.value(FLOATS, rank=1)
    dim, last = b.dim(x), x.shape[-1]
    text = b.pick(
        (
            "torch.softmax({x}, {d})",
            "torch.log_softmax({x}, {d})",
            "F.layer_norm({x}, ({n},))",
            "F.rms_norm({x}, ({n},))",
            "torch.var({x}, {d}, correction=0)",
            "torch.std({x}, {d}, correction=0, keepdim=True) + 1",
        )
    )
    if last > 1:
        b.line(text.format(x=x.name, d=dim, n=last), False)


def matmul(b: Builder) -> None:
    x = b.value(FLOATS, rank=1)
    n = b.pick((1, 5, 32, 64, 65))
    dtype, k = x.tensor.dtype, x.shape[-1]
    kind = b.pick(("@", "linear", "batched", "einsum"))
    if kind == "batched" and x.dim >= 3:
        w = b.argument([*x.shape[:-2], k, n], dtype)
        text = f"{x.name} @ {w.name}"
    elif kind == "linear":
        w, c = b.argument([n, k], dtype), b.argument([n], dtype)
        text = f"F.linear({x.name}, {w.name}, {c.name})"
    elif kind == "einsum" and x.dim == 2:
        w = b.argument([k, n], dtype)
        text = f"torch.einsum('ij,jk->ki', {x.name}, {w.name})"
    else:
        w = b.argument([k, n], dtype)
        text = f"{x.name} @ {w.name}"
    b.line(text, x.exact and is_small(x))


def attention(b: Builder) -> None:
    heads, rows, width = b.pick((1, 2)), b.pick((1, 5, 33, 64)), b.pick((8, 32, 64))
    dtype = b.pick(FLOATS)
    names = [b.argument([2, heads, rows, width], dtype).name for _ in range(3)]
    causal = b.pick((False, True))
    text = f"F.scaled_dot_product_attention({', '.join(names)}, is_causal={causal})"
    b.line(text, False)


def lookup(b: Builder) -> None:
    x = b.value(NUMBERS, rank=1)
    dim = b.choices.integer(0, x.dim - 1)
    high = x.shape[dim] - 1
    if high < 0:
        return
    shape = b.shape(1, 2)
    kind = b.pick(("index_select", "gather", "subscript", "embedding"))
    if kind == "embedding" and x.dim == 2 and x.is_float:
        i = b.argument(shape, torch.int64, low=0, high=x.shape[0] - 1)
        b.line(f"F.embedding({i.name}, {x.name})", x.exact)
    elif kind == "subscript":
        i = b.argument(shape, torch.int64, low=0, high=high)
        b.line(f"{x.name}[{':, ' * dim}{i.name}]", x.exact)
    elif kind == "gather":
        sizes = [*x.shape]
        sizes[dim] = b.pick((1, 3, 65))
        i = b.argument(sizes, torch.int64, low=0, high=high)
        b.line(f"torch.gather({x.name}, {dim}, {i.name})", x.exact)
    else:
        i = b.argument(shape[:1], torch.int64, low=0, high=high)
        b.line(f"torch.index_select({x.name}, {dim}, {i.name})", x.exact)


def create(b: Builder) -> None:
    x = b.value(NUMBERS)
    n = b.pick((1, 5, 64, 65))
    text = b.pick(
        (
            "torch.zeros_like({x})",
            "torch.ones_like({x}) * 2",
            "torch.full(({n}, 3), 1.5)",
            "torch.arange({n})",
            "torch.arange({n}, dtype=torch.float32) * 0.5",
            "torch.full_like({x}, 3)",
        )
    )
    b.line(text.format(x=x.name, n=n), True)


def change(b: Builder) -> None:
    """A copy that is changed in place, whole or in part."""
    x = b.value(NUMBERS, rank=1)
    stop = b.choices.integer(1, max(x.shape[0], 1))
    made = len(b.values)
    b.line(f"{x.name}.clone()", x.exact)
    if len(b.values) == made:
        return
    name = b.values[-1].name
    text = b.pick(
        ("{y}.add_(1)", "{y}[:{s}] = 2", "{y}[..., :1] *= 2", "{y}[:{s}].mul_(-1)")
    )
    statement = text.format(y=name, s=stop)
    b.case.body.append(statement)
    exec(statement, b.space)


LINES = (
    unary,
    binary,
    view,
    subscript,
    permute,
    rearrange,
    reduce,
    matmul,
    norm,
    cast,
    choose,
    compare,
    logic,
    join,
    lookup,
    split_dim,
    rounding,
    create,
    attention,
    change,
    unary,
    binary,
)
