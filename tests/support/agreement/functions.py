# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Random functions on torch tensors, as source text that a person can read and rerun.

A function grows line by line; every line is run as it is added, so that the next one
knows shapes and types. Values are exact as long as whole numbers only meet operations
that keep them; what depends on a rounding is not compared or rounded down.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .choices import Choices

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
DTYPES = (*FLOATS, torch.int64, torch.int32, torch.bool)
SIZES = (1, 2, 3, 5, 7, 16, 31, 33, 63, 64, 65, 128, 129)
MOST_RESULTS = 4
LIMIT = 40_000
"""Elements of a tensor."""


@dataclass
class Value:
    """A tensor of the function, by name; `exact`: no rounding has shown in it."""

    name: str
    tensor: Tensor
    exact: bool

    @property
    def dim(self) -> int:
        return self.tensor.ndim

    @property
    def shape(self) -> list[int]:
        return list(self.tensor.shape)

    @property
    def is_float(self) -> bool:
        return self.tensor.is_floating_point()

    @property
    def is_bool(self) -> bool:
        return self.tensor.dtype is torch.bool


@dataclass
class Case:
    """A function as text, and its arguments as expressions."""

    body: list[str] = field(default_factory=list[str])
    inputs: list[str] = field(default_factory=list[str])
    """Expression of each argument, over `data(seed, dtype, *shape)`."""
    result: str = ""
    scale: float = 1.0
    """The largest magnitude on the way."""
    dtypes: set[torch.dtype] = field(default_factory=set[torch.dtype])
    exact: bool = True

    @property
    def source(self) -> str:
        names = ", ".join(f"a{k}" for k in range(len(self.inputs)))
        lines = "".join(f"    {line}\n" for line in self.body)
        return f"def f({names}):\n{lines}    return {self.result}\n"

    def function(self) -> Callable[..., Any]:
        space = dict(NAMES)
        exec(compile(self.source, "<random function>", "exec"), space)
        return space["f"]

    def arguments(self) -> list[Tensor]:
        return [eval(text, dict(NAMES)) for text in self.inputs]

    def __repr__(self) -> str:
        inputs = "\n".join(f"a{k} = {text}" for k, text in enumerate(self.inputs))
        return f"\n{self.source}{inputs}\n"


def data(seed: int, dtype: torch.dtype, *shape: int, low: int = -3, high: int = 3):
    """Small whole numbers."""
    generator = torch.Generator().manual_seed(seed)
    if dtype is torch.bool:
        low, high = 0, 1
    return torch.randint(low, high + 1, shape, generator=generator).to(dtype)


NAMES: dict[str, Any] = {"torch": torch, "F": F, "data": data}


class Builder:
    """A function that grows."""

    def __init__(self, choices: Choices):
        self.choices = choices
        self.case = Case()
        self.values: list[Value] = []
        self.space: dict[str, Any] = dict(NAMES)

    def pick(self, options: Sequence[Any]) -> Any:
        return self.choices.pick(options)

    def shape(self, low: int, high: int = 4) -> list[int]:
        shape: list[int] = []
        for _ in range(self.choices.integer(low, high)):
            fitting = [n for n in SIZES if n * prod(shape) <= LIMIT // 4]
            shape.append(self.pick(fitting if len(shape) < 2 else fitting[:5]))
        return self.choices.order(shape)

    def argument(self, shape: Sequence[int], dtype: torch.dtype, **how: int) -> Value:
        """A new argument, now and then a view of a larger tensor."""
        name = f"a{len(self.case.inputs)}"
        seed = len(self.case.inputs)
        text, sizes = "data({}, {}, {})", list(shape)
        form = "plain" if how else self.pick(("plain",) * 6 + ("t", "offset", "step"))
        if form == "t" and len(sizes) > 1:
            sizes[-2:] = sizes[:-3:-1]
            text += ".mT"
        elif form == "offset" and sizes:
            sizes[-1] += 3
            text += "[..., 3:]"
        elif form == "step" and sizes:
            sizes[0] *= 2
            text += "[::2]"
        limits = [f"{k}={v}" for k, v in how.items()]
        text = text.format(seed, dtype, ", ".join([*map(str, sizes), *limits]))
        self.case.inputs.append(text)
        value = Value(name, eval(text, dict(NAMES)), True)
        self.space[name] = value.tensor
        self.values.append(value)
        self.case.dtypes.add(dtype)
        return value

    def value(
        self, dtypes: Sequence[torch.dtype] = DTYPES, rank: int = 0, exact: bool = False
    ) -> Value:
        """A value of one of these types and at least this rank, mostly a late one."""
        known = [
            v
            for v in reversed(self.values)
            if v.tensor.dtype in dtypes and v.dim >= rank and v.exact >= exact
        ]
        if not known or self.choices.chance(8):
            return self.argument(self.shape(rank), self.pick(dtypes))
        return known[min(self.pick((0, 0, 0, 1, 1, 2, 3)), len(known) - 1)]

    def line(self, text: str, exact: bool) -> None:
        """Adds a line `x = text` if it makes a tensor that a card may hold."""
        try:
            made = eval(text, self.space)
        except (RuntimeError, IndexError, NotImplementedError):
            return
        if made.dtype not in DTYPES or made.numel() > LIMIT or made.ndim > 6:
            return
        if made.is_floating_point() and not bool(made.isfinite().all()):
            return
        name = f"x{len(self.case.body)}"
        self.case.body.append(f"{name} = {text}")
        self.space[name] = made
        self.values.append(Value(name, made, exact))
        self.case.dtypes.add(made.dtype)
        if made.numel() and made.dtype != torch.bool:
            self.case.scale = max(self.case.scale, float(made.double().abs().max()))

    def dim(self, value: Value) -> int:
        dim = self.choices.integer(0, value.dim - 1)
        return dim - value.dim if self.choices.chance(30) else dim

    def finish(self) -> Case:
        """The function, returning its last values."""
        made = [v for v in self.values if v.name.startswith("x")]
        if not made:
            self.line(f"{self.value().name} + 1", True)
            made = self.values[-1:]
        made_by = [t.split(" = ") for t in self.case.body if re.match(r"x\d+ = ", t)]
        read = {name for _, text in made_by for name in re.findall(r"x\d+", text)}
        names = [v.name for v in made[::-1] if v.name not in read][:MOST_RESULTS]
        if self.choices.chance(20):
            names.append(self.pick([v.name for v in self.values[::-1]]))
        self.case.result = ", ".join(names) + ("," if len(names) > 1 else "")
        self.case.exact = all(v.exact for v in made)
        return self.case
