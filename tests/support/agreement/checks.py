# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What must hold of every random module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from torch import Tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

from spyre_mlir.transforms._errors import PassError

from .arithmetic import gather, layers, map_, matmul, reduce
from .choices import Choices
from .levels import CHIPS, bench, compile_image, context, passes_of, run_ktdp
from .modules import DTYPES, Builder, full, iota
from .movements import MOVEMENTS
from .values import Reference, difference, inputs_of, reference

KINDS = (
    map_,
    *MOVEMENTS,
    map_,
    map_,
    reduce,
    reduce,
    matmul,
    matmul,
    gather,
    full,
    iota,
    layers,
    map_,
    reduce,
    matmul,
)

COUNTS: Counter[str] = Counter()
"""What happened so far in this process."""


class Case:
    """A module with arguments."""

    def __init__(self, module: ModuleOp, arguments: list[Tensor], chip: str):
        self.module = module
        self.arguments = arguments
        self.chip = chip

    def __repr__(self) -> str:
        shown = "\n".join(f"argument {a}" for a in self.arguments if a.numel() < 70)
        return f"\n{self.module}\n{shown}\non {self.chip}\n"


def make_case(choices: Choices, most: int = 6) -> Case:
    """A random module and its arguments."""
    special = choices.chance(30)
    builder = Builder(choices, special).grow(KINDS, most)
    module = builder.module()
    seed = choices.integer(0, 1000)
    chip = choices.pick((CHIPS[0], *CHIPS))
    COUNTS["on smaller chips"] += chip != CHIPS[0]
    return Case(module, inputs_of(module, builder.index_limits, special, seed), chip)


def make_movement(choices: Choices, most: int = 3) -> Case:
    """A module of data movements alone, of larger tensors."""
    builder = Builder(choices, limit=60_000)
    builder.argument(choices.pick(LONG), choices.pick(DTYPES))
    module = builder.grow(MOVEMENTS, most).module()
    return Case(module, inputs_of(module, {}, False, 0), CHIPS[0])


LONG = ([65], [1000], [129, 200], [3, 2999], [257, 5], [2999], [65, 2, 129], [640, 64])


def agree(found: Sequence[Tensor], wanted: Reference, level: str, case: Case) -> None:
    wrong = difference(found, wanted)
    assert wrong is None, f"{level}: {wrong}\n{case.module}"


def check_card(case: Case) -> None:
    """The card's bytes are what the interpreter says."""
    wanted = reference(case.module, case.arguments)
    COUNTS["modules"] += 1
    COUNTS["modules with exact sums"] += wanted.exact
    try:
        image = compile_image(case.module, case.chip)
    except PassError as error:
        if case.chip == CHIPS[0]:
            raise
        COUNTS[f"refused: {_kind(error)}"] += 1
        return
    agree(bench(case.chip).run(image, case.arguments), wanted, "card", case)


LIMITS = ("bytes of scratchpad", "bytes of one tensor", "trips")


def _kind(error: PassError) -> str:
    """What a small chip may lack."""
    return next(limit for limit in (*LIMITS, str(error)) if limit in str(error))


def check_ktdp(case: Case) -> None:
    """Staged `ktdp` means what the interpreter says."""
    wanted = reference(case.module, case.arguments)
    COUNTS["modules through ktdp"] += 1
    agree(run_ktdp(case.module, case.arguments), wanted, "ktdp", case)


# ---- passes

REWRITES = frozenset(
    (
        "spyre-fold-reindex",
        "spyre-fold-reindex-into-uses",
        "spyre-fuse-maps",
        "spyre-simplify-functions",
        "cse",
        "dce",
        "spyre-copy-results",
    )
)
"""Passes that find nothing more to do in what they leave."""


def check_passes(case: Case) -> None:
    """
    Every pass down to the kernels keeps all bits and leaves no dangling operation; a
    second run of a rewrite or planner changes nothing.
    """
    module = case.module.clone()
    wanted = reference(module, case.arguments)
    COUNTS["modules through passes"] += 1
    for pass_ in passes_of("rewrite", "plan"):
        before = str(module)
        pass_.apply(context(), module)
        module.verify()
        dangling = dangling_uses(module)
        assert not dangling, f"{pass_.name} leaves {dangling} in\n{before}"
        found = reference(module, case.arguments)
        wrong = difference(found.results, wanted)
        assert wrong is None, f"{pass_.name}: {wrong}\n{before}\nbecomes\n{module}"
        _check_second_run(pass_, module)


def _check_second_run(pass_: ModulePass, module: ModuleOp) -> None:
    once = module.clone()
    if pass_.name in REWRITES:
        DeadCodeElimination().apply(context(), once)
    again = once.clone()
    pass_.apply(context(), again)
    if pass_.name in REWRITES:
        DeadCodeElimination().apply(context(), again)
    assert str(again) == str(once), (
        f"a second run of {pass_.name} changes\n{once}\nto\n{again}"
    )


def dangling_uses(module: ModuleOp) -> list[str]:
    """Operations outside the module that use a value in it."""
    own = set(module.walk())
    return [
        use.operation.name
        for op in own
        for value in (*op.results, *_arguments(op))
        for use in value.uses
        if use.operation not in own
    ]


def _arguments(op: Operation):
    return (a for region in op.regions for block in region.blocks for a in block.args)


__all__ = ["COUNTS", "PassError", "check_card", "check_ktdp", "check_passes"]
