# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host tensors to device bytes and back."""

import itertools

import pytest
import torch

from spyre_mlir.algebra.layout import DeviceLayout, elements_per_stick
from spyre_runtime.formats import (
    DTYPE_NAMES,
    TORCH_DTYPES,
    default_tiled,
    device_dtype,
    read_host,
    write_host,
)
from spyre_runtime.memory import CardMemory

SHAPES = [
    (),
    (1,),
    (0,),
    (63,),
    (64,),
    (65,),
    (3, 70),
    (1, 1),
    (2, 3, 130),
    (2, 0, 3),
    (2, 1, 3, 65),
    (2, 2, 1, 3, 33),
    (2, 1, 2, 1, 2, 67),
]

MARK = 0x5A


@pytest.fixture(scope="module")
def memory() -> CardMemory:
    return CardMemory(64 << 20)


def sample(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    values = torch.randn(shape, generator=torch.Generator().manual_seed(0)) * 10
    return values > 0 if dtype == torch.bool else values.to(dtype)


def layouts(rank: int) -> list[DeviceLayout]:
    sticks = [DeviceLayout.with_stick(rank, d) for d in range(rank)]
    return [DeviceLayout.default(rank), DeviceLayout.sparse(rank), *sticks]


def element(layout: DeviceLayout, shape: tuple[int, ...], at: tuple[int, ...]) -> int:
    """The rule of the layout, element by element and by hand."""
    eps = elements_per_stick(2)
    place = 0
    for dim, size in zip(layout.dims, layout.device_sizes(shape, eps), strict=True):
        index = 0 if dim < 0 else at[dim]
        if dim == layout.stick_dim and dim >= 0:
            index = index // eps
        place = place * size + index
    lane = 0 if layout.is_sparse else at[layout.stick_dim] % eps
    return place - place % eps + lane if layout.is_sparse else _lane(place, eps, lane)


def _lane(place: int, eps: int, lane: int) -> int:
    return place // eps * eps + lane


@pytest.mark.parametrize("dtype", TORCH_DTYPES.values())
@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_written_is_read(
    memory: CardMemory, shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    source = sample(shape, dtype)
    for layout in layouts(len(shape)):
        block = memory.allocate(layout.bytes(shape, device_dtype_size(dtype)))
        write_host(memory, block.address, source, layout)
        found = read_host(memory, block.address, shape, dtype, layout)
        assert torch.equal(found, source), layout
        memory.free(block)


def device_dtype_size(dtype: torch.dtype) -> int:
    return device_dtype(DTYPE_NAMES[dtype]).itemsize


@pytest.mark.parametrize("shape", [(3, 70), (2, 3, 65), (65,), (2, 1, 3, 70)])
def test_each_element_lies_where_the_layout_says(
    memory: CardMemory, shape: tuple[int, ...]
) -> None:
    source = torch.arange(source_size(shape), dtype=torch.float16).view(shape)
    for layout in layouts(len(shape)):
        nbytes = layout.bytes(shape, 2)
        block = memory.allocate(nbytes)
        raw = memory.bytes_tensor.narrow(0, block.address, nbytes)
        raw.fill_(MARK)
        write_host(memory, block.address, source, layout)
        elements = raw.view(torch.float16)
        written = torch.zeros(elements.numel(), dtype=torch.bool)
        for at in itertools.product(*map(range, shape)):
            place = element(layout, shape, at)
            assert elements[place] == source[at]
            written[place] = True
        padding = raw.view(torch.int16)[~written]
        assert bool((padding == MARK * 0x101).all()), "a padding lane was touched"
        memory.free(block)


def source_size(shape: tuple[int, ...]) -> int:
    return int(torch.Size(shape).numel())


def test_a_bool_takes_sixteen_bits(memory: CardMemory) -> None:
    block = memory.allocate(128)
    write_host(
        memory, block.address, torch.tensor([True, False, True]), DeviceLayout((0, 0))
    )
    raw = memory.bytes_tensor.narrow(0, block.address, 6)
    assert raw.tolist() == [1, 0, 0, 0, 1, 0]


def test_int64_is_exact(memory: CardMemory) -> None:
    block = memory.allocate(128)
    source = torch.tensor([2**62 + 1, -(2**63), 3])
    write_host(memory, block.address, source, DeviceLayout.default(1))
    found = read_host(memory, block.address, (3,), torch.int64, DeviceLayout.default(1))
    assert torch.equal(found, source)


@pytest.mark.parametrize(
    "dtype", [torch.int8, torch.uint8, torch.int16, torch.float64, torch.complex64]
)
def test_other_dtypes_are_linear_bytes(memory: CardMemory, dtype: torch.dtype) -> None:
    source = sample((2, 1, 1, 2, 1, 3, 5), torch.float32).to(torch.int8).to(dtype)
    block = memory.allocate(source.nbytes)
    write_host(memory, block.address, source)
    assert torch.equal(read_host(memory, block.address, source.shape, dtype), source)
    raw = memory.bytes_tensor.narrow(0, block.address, source.nbytes)
    assert torch.equal(raw, source.view(-1).view(torch.uint8))
    with pytest.raises(TypeError, match="no stick layout"):
        write_host(memory, block.address, source, DeviceLayout.default(7))


def test_a_dtype_can_be_converted_on_the_way(memory: CardMemory) -> None:
    block = memory.allocate(256)
    layout = DeviceLayout.default(1)
    write_host(memory, block.address, torch.arange(70), layout, dtype="f16")
    found = read_host(memory, block.address, (70,), torch.float16, layout)
    assert torch.equal(found, torch.arange(70).half())


def test_default_layout_follows_the_physical_order() -> None:
    tensor = torch.empty(2, 3, 4, 5).to(memory_format=torch.channels_last)
    tiled = default_tiled(tensor.shape, tensor.stride(), tensor.dtype)
    assert tiled is not None
    assert tiled.shape == (2, 4, 5, 3)
    assert tiled.layout == DeviceLayout.default(4)


@pytest.mark.parametrize(
    ("sizes", "strides", "dtype"),
    [
        ((3, 4), (8, 1), torch.float16),
        ((3, 4), (0, 1), torch.float16),
        ((3, 4), (4, 1), torch.int8),
        ((1,) * 7, (1,) * 7, torch.float16),
    ],
    ids=["gaps", "overlap", "dtype", "rank"],
)
def test_what_is_not_dense_or_not_tiled_is_linear(
    sizes: tuple[int, ...], strides: tuple[int, ...], dtype: torch.dtype
) -> None:
    assert default_tiled(sizes, strides, dtype) is None
