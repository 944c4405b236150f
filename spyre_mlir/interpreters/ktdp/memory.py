# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Bytes of DRAM and scratchpads, and views that turn coordinates into elements.

A tile's coordinates come as one int64 tensor per dimension of the view, each
broadcastable to the tile's shape; a plain tile's are ranges along one axis.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from xdsl.dialects.builtin import MemRefType, i1
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineConstraintKind, AffineSet
from xdsl.utils.exceptions import InterpretationError
from xdsl.utils.hints import isa

from spyre_mlir.algebra.layout import elements_per_stick
from spyre_mlir.dialects.ktdp import set_values, view_layout

from .affine import evaluate
from .values import stored_dtype

Coordinates = Sequence[Tensor]


class Memory:
    """One space's bytes, from address 0."""

    def __init__(self, name: str, data: Tensor):
        if data.dtype != torch.uint8 or data.ndim != 1 or not data.is_contiguous():
            raise ValueError(f"{name} is a contiguous run of uint8")
        self.name = name
        self.bytes = data
        self._typed: dict[torch.dtype, Tensor] = {}

    @staticmethod
    def undefined(name: str, size: int) -> Memory:
        """All bits set: NaN in every float type."""
        return Memory(name, torch.full((size,), 0xFF, dtype=torch.uint8))

    def typed(self, dtype: torch.dtype) -> Tensor:
        """The same bytes as elements of a type."""
        found = self._typed.get(dtype)
        if found is None:
            whole = self.bytes.numel() // dtype.itemsize * dtype.itemsize
            found = self._typed[dtype] = self.bytes[:whole].view(dtype)
        return found


class View(ABC):
    """What an access tile can be over."""

    sizes: tuple[int, ...]

    @abstractmethod
    def gather(self, coordinates: Coordinates, shape: Sequence[int]) -> Tensor: ...

    @abstractmethod
    def scatter(
        self, coordinates: Coordinates, shape: Sequence[int], value: Tensor
    ) -> None: ...

    def check(self, coordinates: Coordinates) -> None:
        """Raises InterpretationError if a coordinate is outside the view."""
        for dim, (places, size) in enumerate(zip(coordinates, self.sizes, strict=True)):
            if places.numel() == 0:
                return
            low, high = (int(bound) for bound in torch.aminmax(places))
            if low < 0 or high >= size:
                raise InterpretationError(
                    f"coordinates {low} to {high} of dimension {dim} are out of "
                    f"bounds of a view of {list(self.sizes)}"
                )


@dataclass(frozen=True)
class MemoryView(View):
    """A strided or sticked region."""

    memory: Memory
    type: Attribute
    base: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    coordinate_set: AffineSet
    set_symbols: tuple[int, ...] = ()
    stick: int = -1
    """The dimension cut into sticks; -1: none."""
    dtype: torch.dtype = field(init=False)

    def __post_init__(self) -> None:
        assert isa(self.type, MemRefType)
        object.__setattr__(self, "dtype", stored_dtype(self.type))

    def elements(self, coordinates: Coordinates, shape: Sequence[int]) -> Tensor:
        """Where the coordinates are, in elements from the start of the space."""
        self.check(coordinates)
        total = torch.tensor(self.base)
        for dim, places in enumerate(coordinates):
            if dim == self.stick:
                lanes = elements_per_stick(self.dtype.itemsize)
                offset = places // lanes * self.strides[dim] + places % lanes
            else:
                offset = places * self.strides[dim]
            total = total + offset
        total = total.expand(tuple(shape))
        self._check_memory(total)
        return total

    def _check_memory(self, elements: Tensor) -> None:
        if elements.numel() == 0:
            return
        low, high = (int(bound) for bound in torch.aminmax(elements))
        if low < 0 or high >= self.memory.typed(self.dtype).numel():
            raise InterpretationError(
                f"elements {low} to {high} of {self.dtype} are out of bounds of "
                f"{self.memory.name}, {self.memory.bytes.numel()} bytes"
            )

    def gather(self, coordinates: Coordinates, shape: Sequence[int]) -> Tensor:
        places = self.elements(coordinates, shape)
        value = self.memory.typed(self.dtype).take(places)
        assert isa(self.type, MemRefType)
        return value != 0 if _is_bool(self.type) else value

    def scatter(
        self, coordinates: Coordinates, shape: Sequence[int], value: Tensor
    ) -> None:
        places = self.elements(coordinates, shape)
        memory = self.memory.typed(self.dtype)
        memory[places.reshape(-1)] = value.to(self.dtype).reshape(-1)


@dataclass(frozen=True)
class DistributedView(View):
    """Parts that own disjoint boxes of the coordinates."""

    sizes: tuple[int, ...]
    parts: tuple[MemoryView, ...]

    def gather(self, coordinates: Coordinates, shape: Sequence[int]) -> Tensor:
        self.check(coordinates)
        points = [places.expand(tuple(shape)).reshape(-1) for places in coordinates]
        result: Tensor | None = None
        for part, owned in self._owned(points):
            local = self._local(part, points, owned)
            value = part.gather(local, local[0].shape)
            if result is None:
                result = torch.empty(len(owned), dtype=value.dtype)
            result[owned] = value
        assert result is not None
        return result.reshape(tuple(shape))

    def scatter(
        self, coordinates: Coordinates, shape: Sequence[int], value: Tensor
    ) -> None:
        self.check(coordinates)
        points = [places.expand(tuple(shape)).reshape(-1) for places in coordinates]
        flat = value.reshape(-1)
        for part, owned in self._owned(points):
            local = self._local(part, points, owned)
            part.scatter(local, local[0].shape, flat[owned])

    def _owned(self, points: Coordinates) -> list[tuple[MemoryView, Tensor]]:
        """Each part with the mask of the points that are its own."""
        masks = [
            (part, members(part.coordinate_set, points, part.set_symbols))
            for part in self.parts
        ]
        count = sum((mask.to(torch.int64) for _, mask in masks), torch.tensor(0))
        if bool((count != 1).any()):
            first = int((count != 1).nonzero()[0])
            place = [int(p[first]) for p in points]
            raise InterpretationError(
                f"coordinate {place} belongs to {int(count[first])} parts"
            )
        return masks

    def _local(
        self, part: MemoryView, points: Coordinates, owned: Tensor
    ) -> list[Tensor]:
        corner = [
            min(values, default=0)
            for values in set_values(part.coordinate_set, part.set_symbols)
        ]
        return [p[owned] - low for p, low in zip(points, corner, strict=True)]


@dataclass(frozen=True)
class TensorView(View):
    """A tensor value read through an access tile; it cannot be written."""

    value: Tensor

    @property
    def sizes(self) -> tuple[int, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return tuple(self.value.shape)

    def gather(self, coordinates: Coordinates, shape: Sequence[int]) -> Tensor:
        self.check(coordinates)
        return self.value[tuple(coordinates)].expand(tuple(shape))

    def scatter(
        self, coordinates: Coordinates, shape: Sequence[int], value: Tensor
    ) -> None:
        raise InterpretationError("a tensor value cannot be stored to")


@dataclass(frozen=True)
class AccessTile:
    """Coordinates over a view."""

    view: View
    coordinates: tuple[Tensor, ...]
    shape: tuple[int, ...]

    def load(self) -> Tensor:
        return self.view.gather(self.coordinates, self.shape)

    def store(self, value: Tensor) -> None:
        if tuple(value.shape) != self.shape:
            raise InterpretationError(
                f"a tensor of {list(value.shape)} for a tile of {list(self.shape)}"
            )
        self.view.scatter(self.coordinates, self.shape, value)


def members(
    affine_set: AffineSet, points: Coordinates, symbols: Sequence[int]
) -> Tensor:
    """Which points are in a set."""
    inside = torch.ones(points[0].shape, dtype=torch.bool)
    for constraint in affine_set.constraints:
        value = evaluate(constraint.lhs - constraint.rhs, points, symbols)
        value = torch.as_tensor(value)
        match constraint.kind:
            case AffineConstraintKind.ge:
                inside = inside & (value >= 0)
            case AffineConstraintKind.le:
                inside = inside & (value <= 0)
            case AffineConstraintKind.eq:
                inside = inside & (value == 0)
    return inside


def stick_dimension(view: Attribute) -> int:
    """Which dimension of a view is cut into sticks; -1: none, or a sparse layout."""
    layout = view_layout(view)
    return -1 if layout is None else layout.stick_dim


def _is_bool(view: MemRefType) -> bool:
    return view.element_type == i1
