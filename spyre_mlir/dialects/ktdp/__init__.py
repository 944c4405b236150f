# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The `ktdp` dialect: one core's tile program, in the public KTIR spelling.

A kernel is one function that every core of its `grid` runs. Views name memory, access
tiles name coordinates in it, loads and stores move tiles between memory and tensors;
the inter-tile ops exchange tensors between cores. Compute is linalg, arith and math on
tensors, control is scf.

Public definition: the KTIR RFC (torch-spyre/RFCs 0682) and ktir-mlir-frontend. Both of
its spellings of memory spaces, futures and indirect subscripts are read; the newer one
is written.
"""

from xdsl.ir import Dialect

from .access import ConstructAccessTileOp, LoadOp, StoreOp
from .deliveries import (
    InterTileAllToAllOp,
    InterTileConsumeOp,
    InterTileGatherOp,
    InterTileReduceOp,
    InterTileReduceScatterOp,
    InterTileScatterOp,
    placement_factors,
)
from .exchange import (
    DeliveryOp,
    FoldOp,
    InterTileProduceOp,
    YieldPartialOp,
    YieldReducedOp,
)
from .indirect import ConstructIndirectAccessTileOp, RegionTerminatorOp, Subscript
from .kernels import GRID, grid_of, is_on_tiles
from .sets import (
    SetError,
    box_set,
    contains,
    set_extents,
    set_values,
    tiles_of_group,
)
from .types import (
    DRAM,
    LX,
    AccessTileType,
    AnySpaceAttr,
    MemorySpaceAttr,
    RuntimeArgType,
    SpyreMemorySpaceAttr,
    TileFutureType,
    view_layout,
)
from .views import (
    ConstructDistributedMemoryViewOp,
    ConstructMemoryViewOp,
    GetComputeTileIdOp,
    RuntimeArgExtractOp,
)

Ktdp = Dialect(
    "ktdp",
    [
        GetComputeTileIdOp,
        ConstructMemoryViewOp,
        ConstructDistributedMemoryViewOp,
        ConstructAccessTileOp,
        ConstructIndirectAccessTileOp,
        RegionTerminatorOp,
        LoadOp,
        StoreOp,
        RuntimeArgExtractOp,
        InterTileProduceOp,
        YieldPartialOp,
        InterTileConsumeOp,
        InterTileReduceOp,
        InterTileReduceScatterOp,
        InterTileGatherOp,
        InterTileAllToAllOp,
        InterTileScatterOp,
        YieldReducedOp,
    ],
    [
        MemorySpaceAttr,
        SpyreMemorySpaceAttr,
        AccessTileType,
        RuntimeArgType,
        TileFutureType,
    ],
)

__all__ = [
    "DRAM",
    "GRID",
    "LX",
    "AccessTileType",
    "AnySpaceAttr",
    "ConstructAccessTileOp",
    "ConstructDistributedMemoryViewOp",
    "ConstructIndirectAccessTileOp",
    "ConstructMemoryViewOp",
    "DeliveryOp",
    "FoldOp",
    "GetComputeTileIdOp",
    "InterTileAllToAllOp",
    "InterTileConsumeOp",
    "InterTileGatherOp",
    "InterTileProduceOp",
    "InterTileReduceOp",
    "InterTileReduceScatterOp",
    "InterTileScatterOp",
    "Ktdp",
    "LoadOp",
    "MemorySpaceAttr",
    "RegionTerminatorOp",
    "RuntimeArgExtractOp",
    "RuntimeArgType",
    "SetError",
    "SpyreMemorySpaceAttr",
    "StoreOp",
    "Subscript",
    "TileFutureType",
    "YieldPartialOp",
    "YieldReducedOp",
    "box_set",
    "contains",
    "grid_of",
    "is_on_tiles",
    "placement_factors",
    "set_extents",
    "set_values",
    "tiles_of_group",
    "view_layout",
]
