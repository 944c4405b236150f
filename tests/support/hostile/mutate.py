# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changes of an image that keep it a file: fields, lists, records, or plain bytes."""

from __future__ import annotations

from copy import deepcopy
from random import Random

from spyre_mlir.binary.records import HEADER, SECTION, SECTIONS
from spyre_mlir.binary.writer import seal

from .tree import Group, Leaf, Node, emit, parse

EXTREMES = (
    *(0, 1, -1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 4096, 65535, 65536),
    *(1 << 20, 1 << 21, 1 << 24, 1 << 31, (1 << 31) - 1, 1 << 32, 1 << 40),
    *(
        1 << 62,
        (1 << 63) - 1,
        -(1 << 63),
        -128,
        -64,
        -(1 << 20),
        -(1 << 31),
        -(1 << 40),
    ),
)
WEIGHTS = {"programs": 12, "calls": 4, "buffers": 4, "abi": 3}
"""How often a section is chosen; the others once."""


def mutated(data: bytes, random: Random) -> bytes:
    """A file with one to four changes and a right checksum."""
    if random.random() < 0.2:
        return _bytes_changed(data, random)
    parts = parse(data)
    names = [s.name for s in SECTIONS]
    weights = [WEIGHTS.get(name, 1) for name in names]
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        (name,) = random.choices(names, weights)
        _change(parts, name, random)
    return emit(parts)


def _bytes_changed(data: bytes, random: Random) -> bytes:
    changed = bytearray(data)
    start = HEADER.size + SECTION.size * len(SECTIONS)
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(start, len(changed))
        if random.random() < 0.5:
            changed[at] ^= 1 << random.randrange(8)
        else:
            changed[at] = random.randrange(256)
    return seal(changed)


def _change(parts: dict[str, Node], name: str, random: Random) -> None:
    root = parts[name]
    if isinstance(root, Leaf):
        root.value = root.value[: random.randrange(len(root.value) + 1)]
        return
    nodes = [root, *root.walk()]
    lists = [n for n in nodes if isinstance(n, Group) and n.counted]
    leaves = [n for n in nodes if isinstance(n, Leaf)]
    if lists and random.random() < 0.2:
        _change_list(random.choice(lists), lists, random)
    elif leaves:
        _change_leaf(random.choice(leaves), leaves, random)


def _change_list(group: Group, lists: list[Group], random: Random) -> None:
    items = group.items
    what = random.choice(("drop", "twice", "swap", "take", "many"))
    if not items:
        items.append(Leaf("integer", random.choice(EXTREMES)))
    elif what == "drop":
        del items[random.randrange(len(items))]
    elif what == "twice":
        items.insert(random.randrange(len(items)), deepcopy(random.choice(items)))
    elif what == "swap":
        a, b = random.randrange(len(items)), random.randrange(len(items))
        items[a], items[b] = items[b], items[a]
    elif what == "take":
        other = random.choice(lists)
        if other.items:
            items.append(deepcopy(random.choice(other.items)))
    else:
        one = random.choice(items)
        items += [deepcopy(one) for _ in range(random.choice((3, 30, 200)))]


def _change_leaf(leaf: Leaf, leaves: list[Leaf], random: Random) -> None:
    if leaf.kind in ("string", "bytes"):
        leaf.value = bytes(random.choices(range(256), k=random.choice((0, 3, 60))))
        return
    like = [other for other in leaves if other.kind == leaf.kind]
    what = random.choice(("swap", "near", "scaled", "extreme", "bit", "random"))
    if leaf.kind == "float":
        choices = (0.0, float("nan"), float("inf"), -1e308, 2.0**63, 0.5)
        leaf.value = random.choice(choices)
    elif what == "swap":
        other = random.choice(like)
        leaf.value, other.value = other.value, leaf.value
    elif what == "near":
        leaf.value += random.choice((-2, -1, 1, 2, 64, -64, 128, -128))
    elif what == "scaled":
        leaf.value = leaf.value * random.choice((2, 3, 16, 1000, -1)) + 0
    elif what == "extreme":
        leaf.value = random.choice(EXTREMES)
    elif what == "bit":
        leaf.value ^= 1 << random.randrange(40)
    else:
        leaf.value = random.randrange(-300, 5000)
    if leaf.kind in ("byte", "index"):
        leaf.value = abs(leaf.value) % (16 if leaf.kind == "byte" else 1 << 64)
