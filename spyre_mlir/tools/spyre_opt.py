# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
`spyre-opt`: runs passes on IR text, with the flags of `mlir-opt` and `xdsl-opt`.

Everything that is no IR goes to stderr. The exit code is 0 if all was well, 1 after
an error in the input, 2 after one on the command line.
"""

from __future__ import annotations

import argparse
import logging
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import indent

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline
from xdsl.utils.arg_spec import parse_pipeline
from xdsl.utils.exceptions import (
    ArgSpecParseError,
    DiagnosticException,
    ParseError,
    UnregisteredConstructException,
    VerifyException,
)
from xdsl.xdsl_opt_main import xDSLOptMain

from spyre_mlir.diagnostics import SpyreError
from spyre_mlir.pipelines import PIPELINES
from spyre_mlir.tools import instrumentation, problems
from spyre_mlir.tools.chip_flags import add_chip_arguments, set_chip
from spyre_mlir.tools.expected import expectations, mismatches
from spyre_mlir.tools.located_parser import first_invalid, known_universe, parse_located
from spyre_mlir.tools.output import write_in_any_encoding
from spyre_mlir.tools.pass_spelling import UsageError, collect_passes, unknown_pass
from spyre_mlir.tools.problems import FoundError, Problem
from spyre_mlir.tools.reproducer import Reproducer, check_round_trip
from spyre_mlir.universe import SPYRE_UNIVERSE

_SEPARATOR = re.compile(r"^// -----[ \t]*$", re.MULTILINE)
_ALIASES = {
    "--mlir-print-op-generic": "--print-op-generic",
    "--mlir-print-debuginfo": "--print-debuginfo",
    "--print-between-passes": "--mlir-print-ir-after-all",
    "--time-passes": "--mlir-timing",
    "--parsing-diagnostics": "--verify-diagnostics",
}
"""What `xdsl-opt` calls otherwise, or what `mlir-opt` does."""


class SpyreOptMain(xDSLOptMain):
    """xDSL's driver, reporting as `mlir-opt` does."""

    version_format = "spyre-opt on xdsl {xdsl_version}"

    def __init__(self, arguments: Sequence[str]):
        rest, passes = collect_passes(
            [_ALIASES.get(a, a) for a in arguments],
            known_universe().all_passes,
            PIPELINES,
        )
        super().__init__("spyre-opt", [*rest, "--passes", passes])

    # What the base class asks of universes, from one look at them.

    def register_all_dialects(self) -> None:
        for name, factory in known_universe().all_dialects.items():
            self.ctx.register_dialect(name, factory)

    def register_all_frontends(self) -> None:
        self.available_frontends |= known_universe().all_frontends

    def register_all_passes(self) -> None:
        self.available_passes |= known_universe().all_passes

    def register_all_targets(self) -> None:
        self.available_targets |= known_universe().all_targets

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        arg_parser.allow_abbrev = False
        arg_parser.epilog = (
            "Passes are named by -p a{x=1},b or --pass-pipeline="
            "'builtin.module(a{x=1},b)' or -a=x=1 -b, pipelines by --pipeline NAME; "
            "they run in the order of the command line."
        )
        for flag, text in (
            ("--list-passes", "print all passes of this project and exit"),
            ("--list-pipelines", "print the named pipelines and exit"),
            ("--list-dialects", "print all dialects and exit"),
            ("--dump-pass-pipeline", "print the pipeline on stderr and go on"),
        ):
            arg_parser.add_argument(flag, action="store_true", help=text)
        arg_parser.add_argument(
            "--verify-each",
            type=int,
            choices=(0, 1),
            default=1,
            help="verify the module after each pass",
        )
        arg_parser.add_argument(
            "--verify-roundtrip",
            action="store_true",
            help="print and parse the input again, in both forms; it must be the same",
        )
        add_chip_arguments(arg_parser)
        arg_parser.add_argument(
            "--debug-only",
            default="",
            metavar="PASS[,PASS]",
            help="print the debug log of these passes on stderr",
        )
        instrumentation.add_arguments(arg_parser)

    def setup_pipeline(self) -> None:
        if self.args.shrink:
            raise UsageError("--shrink is of xdsl-opt; run it from there")
        for spec in parse_pipeline(self.args.passes):
            if spec.name not in self.available_passes:
                raise unknown_pass(spec.name, self.available_passes)
        try:
            self.pipeline = PassPipeline.parse_spec(
                self.available_passes, self.args.passes
            )
        except ValueError as error:
            raise UsageError(str(error)) from error
        for name in instrumentation.named_passes(self.args):
            if name not in self.available_passes:
                raise unknown_pass(name, self.available_passes)
        for name in filter(None, self.args.debug_only.split(",")):
            module = name.removeprefix("spyre-").replace("-", "_")
            logger = logging.getLogger(f"spyre_mlir.transforms.{module}")
            logger.setLevel(logging.DEBUG)
            logger.addHandler(logging.StreamHandler(sys.stderr))

    # Running.

    def run_all(self) -> int:
        """Runs the tool; returns the exit code."""
        if self.args.dump_pass_pipeline:
            names = ",".join(str(p) for p in self.pipeline.passes)
            sys.stderr.write(f"builtin.module({names})\n")
        file = self.args.input_file
        stdin = file in (None, "-")
        name = "<stdin>" if stdin else file
        text = problems.read_input("-" if stdin else file)
        chunks = self._chunks(text)
        outputs: list[str] = []
        complaints: list[str] = []
        seconds: list[tuple[str, float, float]] = []
        for number, chunk in enumerate(chunks):
            watch = self._watch(number, len(chunks))
            problem = self._run_chunk(chunk, name, watch, outputs)
            seconds += watch.seconds
            if self.args.verify_diagnostics:
                found = [problem.diagnosed] if problem else []
                complaints += mismatches(expectations(chunk), found, name)
            elif problem:
                complaints.append(problem.text)
        if self.args.mlir_timing:
            instrumentation.report_time(seconds, self.args.mlir_timing_display)
        for complaint in complaints:
            sys.stderr.write(complaint + "\n")
        self._write("// -----\n".join(outputs), failed=bool(complaints))
        return 1 if complaints else 0

    def _chunks(self, text: str) -> list[str]:
        """Parts of a split input, each padded so that its lines keep their number."""
        if not self.args.split_input_file:
            return [text]
        chunks: list[str] = []
        line = 0
        for part in _SEPARATOR.split(text):
            chunks.append("\n" * line + part)
            line += part.count("\n")
        return chunks

    def _watch(self, number: int, count: int) -> instrumentation.Watch:
        tree = self.args.mlir_print_ir_tree_dir
        folder = Path(tree) if tree else None
        if folder is not None and count > 1:
            folder /= f"{number:02}"
        style = instrumentation.Print(
            self.args.print_op_generic, self.args.print_debuginfo
        )
        return instrumentation.Watch(self.args, style, folder)

    def _run_chunk(
        self, text: str, name: str, watch: instrumentation.Watch, outputs: list[str]
    ) -> Problem | None:
        """Appends the printed result to `outputs`, or tells why there is none."""
        try:
            module = self._parse(text, name)
            set_chip(module, self.args.chip, self.args.set)
            self._apply(module, watch)
            outputs.append(self.output_resulting_program(module))
        except ParseError as error:
            return problems.of_text(error)
        except FoundError as error:
            return problems.of_found(error, name)
        except RecursionError:
            return problems.of_message(problems.TOO_DEEP, name)
        except (DiagnosticException, UnregisteredConstructException) as error:
            return problems.of_message(str(error), name)
        return None

    def _parse(self, text: str, name: str) -> ModuleOp:
        module = parse_located(self.ctx, text, name, not self.args.no_implicit_module)
        self._verify(module, "")
        if self.args.verify_roundtrip:
            check_round_trip(self.ctx, module)
        return module

    def _verify(self, module: ModuleOp, during: str) -> None:
        if self.args.disable_verify:
            return
        try:
            module.verify()
        except VerifyException as error:
            raise FoundError(error, first_invalid(module), during) from error

    def _apply(self, module: ModuleOp, watch: instrumentation.Watch) -> None:
        watch.start(module)
        with Reproducer(self.args, self.pipeline.passes, module) as reproducer:
            for pass_ in self.pipeline.passes:
                watch.before(pass_.name, module)
                reproducer.before(pass_, module)
                try:
                    self._apply_one(pass_, module, watch)
                except FoundError:
                    watch.failed(pass_.name, module)
                    raise
                watch.after(pass_.name, module)

    def _apply_one(
        self, pass_: ModulePass, module: ModuleOp, watch: instrumentation.Watch
    ) -> None:
        try:
            with watch.timed(pass_.name):
                pass_.apply(self.ctx, module)
        except (DiagnosticException, SpyreError) as error:
            raise FoundError(error, None, pass_.name) from error
        if self.args.verify_each:
            with watch.timed_verifier():
                self._verify(module, f"after {pass_.name}")

    def _write(self, text: str, failed: bool) -> None:
        if self.args.output_file is None:
            sys.stdout.write(text)
        elif not failed:
            Path(self.args.output_file).write_text(text, encoding="utf-8")


def list_passes() -> str:
    """Each pass of this project with its options and what it does."""
    from dataclasses import MISSING, fields

    lines: list[str] = []
    for name, factory in SPYRE_UNIVERSE.all_passes.items():
        cls = factory()
        paragraph = (sys.modules[cls.__module__].__doc__ or "").strip().split("\n\n")[0]
        lines.append(f"{name}\n" + indent(paragraph, "    "))
        for option in fields(cls):
            default = "" if option.default is MISSING else f" = {option.default}"
            lines.append(f"    {option.name.replace('_', '-')}{default}")
    return "\n".join(lines) + "\n"


def list_pipelines() -> str:
    """Each named pipeline with its passes."""
    return "".join(f"{n}\n    {', '.join(p)}\n" for n, p in PIPELINES.items())


def list_dialects() -> str:
    """All dialects, ours and xDSL's."""
    return "".join(f"{name}\n" for name in sorted(known_universe().all_dialects))


_LISTS = {
    "--list-passes": list_passes,
    "--list-pipelines": list_pipelines,
    "--list-dialects": list_dialects,
    "--show-dialects": list_dialects,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    write_in_any_encoding()
    arguments = sys.argv[1:] if arguments is None else arguments
    for argument in arguments:
        if argument in _LISTS:
            sys.stdout.write(_LISTS[argument]())
            return 0
    try:
        return SpyreOptMain(arguments).run_all()
    except (UsageError, ArgSpecParseError) as error:
        sys.stderr.write(f"spyre-opt: error: {error}\n")
        return 2
    except OSError as error:
        sys.stderr.write(f"spyre-opt: error: {error.filename}: {error.strerror}\n")
        return 1
    except SpyreError as error:
        sys.stderr.write(f"spyre-opt: error: {error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
