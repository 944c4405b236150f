# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
`spyre-run FILE`: runs a program on the simulated card and reports its time.

FILE is a Python script, IR of any level (spyre, ktdp, dev; `-` for standard input), or
a `.spyre` image. Tensors come from `--input FILE.npy`, in order, or `--random SEED`.
Kernels get their arguments in order: addresses by `--memory 'tensor<64x64xf16>=X.npy'`
(a type with a `#spyre.layout` lies in sticks), numbers by `--scalar 5`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import DiagnosticException, ParseError, VerifyException

from spyre_mlir.binary import ImageError
from spyre_mlir.binary.bounds import Budget
from spyre_mlir.diagnostics import SpyreError
from spyre_mlir.tools import problems
from spyre_mlir.tools.chip_flags import add_chip_arguments, chip_named, set_chip
from spyre_mlir.tools.output import write_in_any_encoding

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from spyre_mlir.target.chip import Chip
    from spyre_mlir.tools.run_levels import Outcome, Request
    from spyre_mlir.tools.run_script import Launches
    from spyre_runtime.report import Report


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        "spyre-run",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add("file", help="script.py, module.mlir, image.spyre, or -")
    add("arguments", nargs="*", help="arguments of a script, after --")
    add("--input", action="append", default=[], metavar="NPY", help="next argument")
    add("--random", type=int, metavar="SEED", help="seeded numbers for the others")
    add(
        "--memory",
        action="append",
        dest="operands",
        default=[],
        metavar="TYPE[=NPY]",
        help="next argument of a kernel: the address of such a region",
    )
    add(
        "--scalar",
        action="append",
        dest="operands",
        type=number,
        metavar="N",
        help="next argument of a kernel: a number",
    )
    add("--grid", type=sizes, metavar="N,N", help="grid of a kernel, over its own")
    add("--entry", default="", metavar="NAME", help="function or program to run")
    add("--on", choices=("card", "interpreter"), default="card", help="what runs it")
    add(
        "--compare",
        action="store_true",
        help="run it on both and show where the results differ; exit 1 if they do",
    )
    add(
        "--budget-seconds",
        type=float,
        default=Budget.seconds,
        metavar="S",
        help="processor time that an image of a file may take, %(default)s",
    )
    add(
        "--budget-bytes",
        type=float,
        default=Budget.bytes,
        metavar="N",
        help="memory that it may need, %(default)s",
    )
    add("--print", action="store_true", help="print the results")
    add("--save", metavar="DIR", help="write the results to DIR/NAME.npy")
    add("--emit", metavar="FILE", help="write the image that ran")
    add("--report", choices=("text", "json", "none"), default="text", help="its form")
    add_chip_arguments(made)
    add("--numerics", choices=("ieee", "dl16"), default="ieee", help="16-bit floats")
    return made


def number(text: str) -> int | float:
    """A whole number where it is one; ValueError if it is none."""
    try:
        return int(text, 0)
    except ValueError:
        return float(text)


def sizes(text: str) -> tuple[int, ...]:
    """`4,8` or `4x8`, each at least 1."""
    found = tuple(int(part) for part in text.replace("x", ",").split(","))
    if min(found) < 1:
        raise ValueError(text)
    return found


def _request(flags: argparse.Namespace, chip: Chip) -> Request:
    from spyre_mlir.tools.run_levels import Request

    return Request(
        tuple(flags.input),
        flags.random,
        tuple(flags.operands),
        flags.entry,
        flags.grid,
        flags.numerics,
        chip,
    )


def read_module(file: str) -> ModuleOp:
    """Parses and verifies IR text."""
    from spyre_mlir.tools.located_parser import (
        first_invalid,
        full_context,
        parse_located,
    )

    name = "<stdin>" if file == "-" else file
    module = parse_located(full_context(), problems.read_input(file), name)
    try:
        module.verify()
    except VerifyException as error:
        raise problems.FoundError(error, first_invalid(module), "") from error
    return module


def run_file(flags: argparse.Namespace, on: str) -> Outcome:
    """Runs an image or a module of any level; SpyreError if it cannot run there."""
    from spyre_mlir.tools import run_levels
    from spyre_mlir.tools.run_addresses import kernel_on, on_kernels, program_on_card

    if flags.file.endswith(".spyre"):
        if on == "interpreter":
            raise SpyreError("images run on the card: --on card")
        request = _request(flags, chip_named(flags.chip, flags.set))
        data = Path(flags.file).read_bytes()
        arguments = run_levels.image_arguments(data, request)
        budget = Budget(flags.budget_seconds, flags.budget_bytes)
        return run_levels.run_image(data, arguments, request, budget)
    module = read_module(flags.file)
    request = _request(flags, set_chip(module, flags.chip, flags.set))
    level = run_levels.level_of(module)
    run_levels.check_request(request, level)
    if level == "kernel":
        return kernel_on(on, module, request)
    if on == "interpreter":
        if level in ("dev", "program"):
            raise SpyreError("dev programs run on the card: --on card")
        run = on_kernels if level == "ktdp" else run_levels.on_interpreter
        return run(module, request)
    run = program_on_card if level == "program" else run_levels.on_card
    return run(module, request)


def report_of(outcome: Outcome) -> Report | None:
    """Where the time goes, for what the card ran."""
    from spyre_runtime.clock import time_image, time_program
    from spyre_runtime.report import report_image, report_program

    if outcome.chip is None:
        return None
    if outcome.image is not None:
        return report_image(time_image(outcome.image, outcome.chip), outcome.chip)
    if outcome.program is not None:
        timing = time_program(outcome.program, outcome.chip)
        return report_program(timing, outcome.chip)
    return None


def show(outcome: Outcome, flags: argparse.Namespace) -> None:
    """Prints and saves results, then the report."""
    for name, value in outcome.results:
        if flags.print:
            dtype = str(value.dtype).removeprefix("torch.")
            sys.stdout.write(f"{name}: {dtype}{list(value.shape)}\n{value}\n")
        if flags.save:
            import numpy as np

            Path(flags.save).mkdir(parents=True, exist_ok=True)
            path = Path(flags.save) / f"{name.replace(' ', '_')}.npy"
            np.save(path, value.numpy())
    if flags.emit:
        if outcome.image is None:
            raise SpyreError(
                f"--emit {flags.emit}: nothing that ran has an image",
                ("images are made of modules with a function on tensors, on the card",),
            )
        from spyre_mlir.binary.writer import write

        Path(flags.emit).write_bytes(write(outcome.image))
    report = report_of(outcome) if flags.report != "none" else None
    if report is not None:
        sys.stdout.write(
            report.as_json() + "\n" if flags.report == "json" else report.as_text()
        )


def show_launches(launches: Launches, form: str) -> None:
    """The report of each image that a script launched."""
    from spyre_runtime.clock import time_image
    from spyre_runtime.report import report_image

    rows = []
    for number, (executable, count) in enumerate(launches.counts.items()):
        chip = executable.card.chip
        report = report_image(time_image(executable.image, chip), chip)
        if form == "json":
            rows.append({"launches": count, **report.as_dict()})
            continue
        times = "once" if count == 1 else f"{count} times"
        sys.stdout.write(f"graph {number}, launched {times}\n{report.as_text()}\n")
    if form == "json":
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
    elif not launches.counts:
        sys.stdout.write("nothing was launched on the card\n")


def compare(flags: argparse.Namespace) -> int:
    """Runs on both sides; prints a line for each result, gives the exit code."""
    from spyre_mlir.tools.run_values import difference

    card, oracle = (run_file(flags, on) for on in ("card", "interpreter"))
    show(card, flags)
    differ = False
    for (name, left), (_, right) in zip(card.results, oracle.results, strict=True):
        text, is_same = difference(left, right)
        sys.stdout.write(f"{name}: {text}\n")
        differ |= not is_same
    return int(differ)


def run(flags: argparse.Namespace) -> int:
    if flags.file.endswith(".py"):
        from spyre_mlir.tools.run_script import run_script

        launches = run_script(flags.file, flags.arguments)
        if flags.report != "none":
            show_launches(launches, flags.report)
    elif flags.compare:
        return compare(flags)
    else:
        show(run_file(flags, flags.on), flags)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    write_in_any_encoding()
    flags = parser().parse_args(arguments)
    try:
        return run(flags)
    except OSError as error:
        message = f"{error.filename}: {error.strerror}"
    except ParseError as error:
        message = problems.of_text(error).text
    except problems.FoundError as error:
        message = problems.of_found(error, flags.file).text
    except (DiagnosticException, SpyreError, ImageError, IndexError) as error:
        message = f"spyre-run: error: {error}"
    except RecursionError:
        message = f"{flags.file}: error: {problems.TOO_DEEP}"
    except RuntimeError as error:
        from spyre_runtime.engine.errors import CardError

        if not isinstance(error, CardError):
            raise
        message = f"spyre-run: error: {error}"
    sys.stderr.write(message + "\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
