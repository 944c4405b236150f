# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The published layout rule, and where elements lie under any layout."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spyre_mlir.algebra.layout import DeviceLayout, elements_per_stick

# Host shape, bytes of an element, host strides, device sizes, strides, bytes: the
# worked examples of torch-spyre's docs/source/user_guide/tensors_and_layouts.md and
# what its spyre_tensor_impl.cpp makes of other shapes.
ROW_MAJOR: list[tuple[list[int], int, list[int], list[int], int]] = [
    ([], 2, [1, 64], [-1, -1], 128),
    ([200], 2, [4, 64], [64, 1], 512),
    ([4097], 2, [65, 64], [64, 1], 8320),
    ([1024, 256], 2, [4, 1024, 64], [64, 256, 1], 524288),
    ([512, 240], 2, [4, 512, 64], [64, 240, 1], 262144),
    ([512, 4096], 2, [64, 512, 64], [64, 4096, 1], 4194304),
    ([512, 4096], 1, [32, 512, 128], [128, 4096, 1], 2097152),
    ([5, 100, 150], 2, [100, 3, 5, 64], [150, 64, 15000, 1], 192000),
    ([50, 10, 200], 2, [10, 4, 50, 64], [200, 64, 2000, 1], 256000),
    ([128, 256, 512], 2, [256, 8, 128, 64], [512, 64, 131072, 1], 33554432),
    ([4, 512, 1024], 4, [512, 32, 4, 32], [1024, 32, 524288, 1], 8388608),
    ([2, 32, 512, 128], 2, [32, 512, 2, 2, 64], [65536, 128, 64, 2097152, 1], 8388608),
    (
        [2, 3, 4, 5, 130],
        2,
        [3, 4, 5, 3, 2, 64],
        [2600, 650, 130, 64, 7800, 1],
        46080,
    ),
]

Ordered = tuple[list[int], list[int], list[int] | None, list[int], list[int], int]
ORDERED: list[Ordered] = [
    ([512, 1024], [1, 0], None, [8, 1024, 64], [65536, 1, 1024], 1048576),
    ([4096, 512], [1, 0], [1, 4096], [64, 512, 64], [64, 4096, 1], 4194304),
    ([4096, 512], [0, 1], [1, 4096], [8, 4096, 64], [262144, 1, 4096], 4194304),
    ([5, 100, 150], [1, 0, 2], None, [5, 3, 100, 64], [15000, 64, 150, 1], 192000),
]

SPARSE: list[tuple[list[int], list[int], list[int], int]] = [
    ([512], [1, 512, 64], [-1, 1, -1], 65536),
    ([512, 1], [1, 1, 512, 64], [-1, -1, 1, -1], 65536),
    ([1, 3, 1], [3, 1, 1, 1, 64], [1, -1, -1, -1, -1], 384),
]


@pytest.mark.parametrize(("shape", "itemsize", "sizes", "strides", "size"), ROW_MAJOR)
def test_default_rule(
    shape: list[int], itemsize: int, sizes: list[int], strides: list[int], size: int
) -> None:
    layout = DeviceLayout.default(len(shape))
    eps = elements_per_stick(itemsize)
    assert list(layout.device_sizes(shape, eps)) == sizes
    assert list(layout.stride_map(shape, eps)) == strides
    assert layout.bytes(shape, itemsize) == size


@pytest.mark.parametrize(
    ("shape", "order", "host", "sizes", "strides", "size"), ORDERED
)
def test_dimension_order(
    shape: list[int],
    order: list[int],
    host: list[int] | None,
    sizes: list[int],
    strides: list[int],
    size: int,
) -> None:
    layout = DeviceLayout.ordered(order)
    assert list(layout.device_sizes(shape, 64)) == sizes
    assert list(layout.stride_map(shape, 64, host)) == strides
    assert layout.bytes(shape, 2) == size


@pytest.mark.parametrize(("shape", "sizes", "strides", "size"), SPARSE)
def test_sparse_rows(
    shape: list[int], sizes: list[int], strides: list[int], size: int
) -> None:
    layout = DeviceLayout.sparse(len(shape))
    assert list(layout.device_sizes(shape, 64)) == sizes
    assert list(layout.stride_map(shape, 64)) == strides
    assert layout.bytes(shape, 2) == size


@st.composite
def layouts(draw: st.DrawFn) -> tuple[DeviceLayout, list[int]]:
    rank = draw(st.integers(0, 4))
    shape = [draw(st.sampled_from((1, 2, 3, 63, 64, 65))) for _ in range(rank)]
    order = draw(st.permutations(range(rank)))
    if draw(st.booleans()):
        order = [*order, -1]
    return DeviceLayout.ordered(order), shape


@settings(max_examples=60, deadline=None, derandomize=True)
@given(layouts(), st.sampled_from((2, 4)))
def test_every_element_has_a_place_of_its_own(
    case: tuple[DeviceLayout, list[int]], itemsize: int
) -> None:
    layout, shape = case
    eps = elements_per_stick(itemsize)
    layout.check(len(shape))
    strides = layout.dim_strides(shape, eps)
    corners = [sorted({0, n // 2, n - 1, min(n - 1, eps)}) for n in shape]
    places: set[int] = set()
    for index in product(*corners):
        place = 0
        for dim, (i, stride) in enumerate(zip(index, strides, strict=True)):
            on_stick = dim == layout.stick_dim
            place += i // eps * stride + i % eps if on_stick else i * stride
        assert 0 <= place < layout.elements(shape, eps)
        assert place not in places
        places.add(place)


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        ((), "at least the stick"),
        ((0, 0, 0), "repeats"),
        ((0, -2), "below -1"),
        ((0, 1), "does not count the sticks of dimension 1"),
    ],
)
def test_malformed_layouts_are_refused(dims: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DeviceLayout(dims)


def test_a_layout_of_another_rank_does_not_fit() -> None:
    with pytest.raises(ValueError, match="does not fit rank 3"):
        DeviceLayout.default(2).check(3)
