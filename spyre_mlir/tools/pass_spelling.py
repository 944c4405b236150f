# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The ways to name passes on a command line, brought to one.

    -p a{x=1},b    --pass-pipeline='builtin.module(a{x=1},b)'    -a=x=1 --b
    --pipeline NAME

all become the text `a{x=1},b`. They may be mixed; the order is that of the line.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches

from spyre_mlir.transforms import PREFIX

LIST_OPTIONS = ("-p", "--passes")
PIPELINE_OPTION = "--pass-pipeline"
NAMED_OPTION = "--pipeline"
ANCHOR = "builtin.module"
UPSTREAM = {"inline": "spyre-inline", "symbol-dce": "spyre-symbol-dce"}
"""What `mlir-opt` calls passes that xDSL lacks and this project has."""


class UsageError(Exception):
    """The command line says something that the tool does not know."""


def collect_passes(
    arguments: Sequence[str],
    passes: Collection[str],
    pipelines: Mapping[str, Sequence[str]],
) -> tuple[list[str], str]:
    """The arguments that name no passes, and the passes as one list in text."""
    rest: list[str] = []
    found: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        if argument == "--":
            rest += [argument, *waiting]
            break
        option, equals, value = argument.partition("=")
        if option in (*LIST_OPTIONS, PIPELINE_OPTION, NAMED_OPTION):
            if not equals:
                value = next(waiting, "")
            found.append(_expand(option, value, pipelines))
        elif option.startswith("-") and option.lstrip("-") in {*passes, *UPSTREAM}:
            name = option.lstrip("-")
            name = UPSTREAM.get(name, name)
            found.append(f"{name}{{{_unquoted(value)}}}" if equals else name)
        elif option.lstrip("-").startswith(PREFIX):
            raise unknown_pass(option.lstrip("-"), passes)
        else:
            rest.append(argument)
    return rest, ",".join(text for text in found if text)


def unknown_pass(name: str, passes: Collection[str]) -> UsageError:
    """The error that names the passes spelled most alike."""
    near = get_close_matches(name, passes, n=3, cutoff=0.5)
    hint = f"; there is {', '.join(near)}" if near else "; see --list-passes"
    return UsageError(f'no pass is called "{name}"{hint}')


def _expand(option: str, value: str, pipelines: Mapping[str, Sequence[str]]) -> str:
    if option == PIPELINE_OPTION:
        return _upstream(strip_anchor(value))
    if option == NAMED_OPTION:
        if value not in pipelines:
            known = ", ".join(sorted(pipelines))
            raise UsageError(f'no pipeline is called "{value}"; there are: {known}')
        return ",".join(pipelines[value])
    return _upstream(value.strip())


def _upstream(text: str) -> str:
    """The list of passes with our names for upstream's."""
    names = "|".join(UPSTREAM)
    pattern = rf"(?<![\w-])({names})(?![\w-])(?![^{{]*}})"
    return re.sub(pattern, lambda match: UPSTREAM[match[1]], text)


def strip_anchor(text: str) -> str:
    """`a,b` of `builtin.module(a,b)`; passes run on whole modules."""
    text = text.strip()
    if not (text.startswith(f"{ANCHOR}(") and text.endswith(")")):
        raise UsageError(f'expected "{ANCHOR}(...)", got "{text}"')
    inner = text.removeprefix(f"{ANCHOR}(").removesuffix(")").strip()
    if ANCHOR in inner or "func.func(" in inner:
        raise UsageError(f'passes run on {ANCHOR}; "{inner}" nests another anchor')
    return inner


def _unquoted(value: str) -> str:
    return value.strip().strip("\"'").strip("{}")
