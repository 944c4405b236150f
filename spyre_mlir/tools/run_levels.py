# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a module of any level, or an image, and says what came out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from spyre_mlir.algebra.layout import DeviceLayout
from spyre_mlir.analysis.calls import callees_first
from spyre_mlir.binary.bounds import UNLIMITED, Budget
from spyre_mlir.binary.image import Image
from spyre_mlir.binary.writer import write
from spyre_mlir.diagnostics import SpyreError
from spyre_mlir.dialects import dev
from spyre_mlir.dialects.ktdp import is_on_tiles
from spyre_mlir.dialects.spyre import tensor_type
from spyre_mlir.interpreters.spyre import torch_dtype
from spyre_mlir.pipelines import PIPELINES
from spyre_mlir.target.chip import Chip
from spyre_mlir.target.chips import load_chip
from spyre_mlir.tools.located_parser import full_context, known_universe
from spyre_mlir.tools.run_values import arguments_of, function_arguments
from spyre_mlir.transforms._functions import GRID


@dataclass(frozen=True)
class Request:
    """What to run a program on, and how."""

    inputs: tuple[str, ...] = ()
    seed: int | None = None
    operands: tuple[str | int | float, ...] = ()
    """
    Arguments of kernels: `TYPE` or `TYPE=FILE.npy` is the address of such a region.
    """
    entry: str = ""
    grid: tuple[int, ...] | None = None
    """Of a kernel, instead of its own."""
    numerics: str = "ieee"
    chip: Chip = field(default_factory=load_chip)


@dataclass(frozen=True)
class Outcome:
    """Named results, and what a report is made of."""

    results: tuple[tuple[str, torch.Tensor], ...]
    image: Image | None = None
    program: dev.ProgramOp | None = None
    chip: Chip | None = None


FIRST_PASS = {
    "spyre": PIPELINES["compile"][0],
    "kernels": "spyre-convert-spyre-to-ktdp",
    "ktdp": "spyre-convert-ktdp-to-dev",
}
"""Where the compilation of a module goes on; a `dev` module is compiled."""


def level_of(module: ModuleOp) -> str:
    """
    `spyre`, `kernels` of spyre operations, `ktdp` or `dev` with a function that calls
    them; `kernel` or `program` if there is none.
    """
    functions = [f for f in module.ops if isinstance(f, FuncOp)]
    kernels = [f for f in functions if GRID in f.attributes]
    if any(isinstance(op, dev.ProgramOp) for op in module.ops):
        return "dev" if functions else "program"
    on_tiles = [f for f in functions if is_on_tiles(f)]
    if on_tiles:
        return "ktdp" if len(on_tiles) < len(functions) else "kernel"
    return "kernels" if kernels else "spyre"


def check_request(request: Request, level: str) -> None:
    """SpyreError about what programs of this level do not take."""
    given = {"--memory and --scalar": request.operands, "--grid": request.grid}
    takes = {"kernel": tuple(given), "program": ("--memory and --scalar",)}
    for flag, value in given.items():
        if value and flag not in takes.get(level, ()):
            raise SpyreError(f"{flag}: a module of the {level} level takes no such")
    if request.inputs and level in takes:
        raise SpyreError(f"a {level} takes addresses: --memory, not --input")


def entry_of(module: ModuleOp, name: str) -> FuncOp:
    """The function to run: the named one, `main`, or the first that is public."""
    functions = [f for f in module.ops if isinstance(f, FuncOp) and f.body.blocks]
    if not functions:
        raise SpyreError("the module has no function")
    wanted = name or "main"
    for function in functions:
        if function.sym_name.data == wanted:
            return function
    if name:
        known = ", ".join(f"@{f.sym_name.data}" for f in functions)
        raise SpyreError(f"the module has no function @{name}; it has {known}")
    public = [f for f in functions if f.sym_visibility != StringAttr("private")]
    return (public or functions)[0]


def on_interpreter(module: ModuleOp, request: Request) -> Outcome:
    """Runs a module of the `spyre` level by the dialect's interpreter."""
    from spyre_mlir.interpreters.spyre import interpret

    callees_first(module)
    function = entry_of(module, request.entry)
    arguments = function_arguments(function, request.inputs, request.seed)
    results = interpret(module, arguments, function.sym_name.data)
    return Outcome(_numbered(results))


def on_card(module: ModuleOp, request: Request) -> Outcome:
    """Compiles what is not compiled yet and runs the image on a card."""
    from spyre_mlir.compiler import encode

    function = entry_of(module, request.entry)
    arguments = function_arguments(function, request.inputs, request.seed)
    finish(module, level_of(module))
    name = function.sym_name.data
    image = encode(module, numerics=request.numerics, entry=name)
    return run_image(write(image), arguments, request)


def finish(module: ModuleOp, level: str) -> None:
    """Runs the passes that a module of this level has before it."""
    if level not in FIRST_PASS:
        return
    names = PIPELINES["compile"]
    known = known_universe().all_passes
    context = full_context()
    for name in names[names.index(FIRST_PASS[level]) :]:
        known[name]()().apply(context, module)
        module.verify()


def image_arguments(data: bytes, request: Request) -> list[torch.Tensor]:
    """Arguments for an image."""
    from spyre_mlir.binary.reader import read

    types = [tensor_type(v.shape, v.dtype) for v in read(data).arguments]
    return arguments_of(types, request.inputs, request.seed)


def run_image(
    data: bytes,
    arguments: Sequence[torch.Tensor],
    request: Request,
    budget: Budget = UNLIMITED,
) -> Outcome:
    """Runs an image on a card of its own, at most within the budget."""
    from spyre_runtime.card import Card
    from spyre_runtime.formats import read_host, write_host
    from spyre_runtime.loader import load

    card = Card(0, chip=request.chip)
    executable = load(card, data, budget=budget)
    memory = card.memory
    given = [memory.allocate(b.bytes).address for b in executable.arguments]
    for buffer, address, value in zip(
        executable.arguments, given, arguments, strict=True
    ):
        write_host(memory, address, value, DeviceLayout(buffer.dims))
    made = [memory.allocate(b.bytes).address for b in executable.results]
    executable.launch(given, made)
    results = [
        read_host(memory, a, b.shape, torch_dtype(b.dtype), DeviceLayout(b.dims))
        for a, b in zip(made, executable.results, strict=True)
    ]
    return Outcome(_numbered(results), image=executable.image, chip=request.chip)


def _numbered(results: Sequence[torch.Tensor]) -> tuple[tuple[str, torch.Tensor], ...]:
    return tuple((f"result {k}", value) for k, value in enumerate(results))
