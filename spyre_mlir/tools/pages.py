# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages of the documentation that docstrings of passes, dialects and rows give."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from textwrap import dedent

from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from spyre_mlir.pipelines import PIPELINES
from spyre_mlir.target.opfuncs import OPFUNCS
from spyre_mlir.transforms import load_pass, pass_modules
from spyre_mlir.universe import all_dialects

_PASSES = """\
# Passes

`spyre-opt -p NAME` runs a pass, `spyre-opt -p NAME{option=1}` with an option, and
`spyre-opt --pipeline NAME` a pipeline. Passes without the prefix `spyre-` are xDSL's.

## Pipelines

`torch.compile` runs `compile`.
"""
_DIALECTS = """\
# Dialects

Every operation and attribute with what its docstring says. `spyre` holds whole tensors,
`ktdp` one core's tile program in the public KTIR spelling, `dev` the record streams of
the card's units; `spyreop` holds scalar functions that `arith` and `math` lack.
"""
_FUNCTIONS = """\
# Scalar functions

What a body of `spyre.map` and a step of a vector record can compute. Interpreter,
machine, clock and verifiers read these rows. Passes are trips through the vector unit
for each stick, and so its price.

## Values

A function gives a value the same result wherever it lies: whatever the shape, strides
and size of its tensor, with any number of threads. Hosts may differ, as the libraries
below PyTorch choose by processor and by `ATEN_CPU_CAPABILITY`, `ONEDNN_MAX_CPU_ISA` and
`MKL_CBWR`, but no further than `ulps` in the table: how many numbers of f32 a result is
at most away from the correctly rounded one. An f16 or bf16 result is the f32 one that
is rounded once more, and at most one of its own numbers away; where `ulps` is 0, it is
right. NaN, infinities, signs of zero and subnormals are right everywhere; subnormals
are not flushed.
`benchmarks/function_bounds.py` measures this under each setting.

What the correctly rounded value is of:

- `trunc_divide` truncates the quotient after it was rounded to f32 (PyTorch rounds a
  16-bit one to its own type first); `floor_divide` and `remainder` have the exact one.
- `silu`, `gelu` and `gelu_tanh` of minus infinity are NaN, as in PyTorch: minus
  infinity times zero. `sign` of NaN is 0.
- `softplus` is the identity above 20, and `gelu_tanh` has PyTorch's constants.
- `maximum` and `minimum` give NaN if there is one, and take -0 for smaller than +0.
- The least integer divided by -1 wraps to itself; an integer divided by zero is an
  error.

**Sums and products** add in f32, in an order that differs between hosts, thread counts
and plans. In any order, the sum of n terms is at most n u / (1 - n u) times the sum of
their absolute values away, with u = 2^-24 (`opfuncs.sum_error`); terms are the products
in a `matmul`, the elements in a `reduce` of kind sum. Rounding to the result type comes
on top. `max` and `min` are exact, but for the sign of a zero if zeros of both signs are
the extreme. A softmax over n values that spread over a range r is so within
(n + r + 8) u of each result, relative. A layer_norm over n values with mean absolute
value a and deviation s is within (n + 8) u (a + |x|) / s (1 + |y|) + n u |y| of each y.

## Functions
"""


def passes_markdown() -> str:
    """The pipelines, then every pass."""
    lines = [_PASSES]
    for name, passes in PIPELINES.items():
        listed = ", ".join(f"`{p}`" for p in passes)
        lines.append(f"- `{name}`: {listed}")
    for module in pass_modules():
        found = load_pass(module)
        text = as_markdown(inspect.getdoc(sys.modules[found.__module__]) or "")
        lines.append(f"\n## `{found.name}`\n\n{text}")
        lines += [f"\n- `{row}`" for row in _options(found)]
    return "\n".join(lines) + "\n"


def _options(found: type[ModulePass]) -> Iterator[str]:
    """Options of a pass: the fields of its dataclass."""
    for name, parameter in inspect.signature(found).parameters.items():
        kind = str(parameter.annotation)
        yield f"{name}: {kind} = {parameter.default!r}"


def dialects_markdown() -> str:
    """Every operation and attribute of every dialect of ours."""
    lines = [_DIALECTS]
    for name, load in sorted(all_dialects().items()):
        dialect = load()
        lines.append(f"\n## `{name}`\n")
        for operation in sorted(dialect.operations, key=lambda op: op.name):
            lines.append(_entry(operation))
        for attribute in sorted(dialect.attributes, key=lambda a: a.name):
            lines.append(_entry(attribute))
    return "\n".join(lines)


def _entry(found: type[Operation] | type[Attribute]) -> str:
    text = as_markdown(inspect.getdoc(found) or "", "mlir")
    return f"### `{found.name}`\n\n{text}\n"


def functions_markdown() -> str:
    """The table of scalar functions."""
    head = "| function | operands | passes | ulps | types |"
    lines = [_FUNCTIONS, head, "|" + "---|" * 5]
    for name, row in sorted(OPFUNCS.items()):
        types = ", ".join(row.dtypes)
        cells = (f"`{name}`", row.arity, row.passes, row.ulps, types)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


_INDENTED = re.compile(r"(?:^(?:    .*)?\n)+", re.MULTILINE)


def as_markdown(docstring: str, language: str = "") -> str:
    """A docstring whose indented blocks are fenced, so that they keep their form."""

    def fence(match: re.Match[str]) -> str:
        block = match.group()
        if not block.strip():
            return block
        return f"\n```{language}\n{dedent(block).strip(chr(10))}\n```\n\n"

    text = _INDENTED.sub(fence, docstring.strip() + "\n")
    return re.sub(r"\n{3,}", "\n\n", text).strip()
