# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The `dev` dialect: what the units of a core do, one operation per binary record.

A program holds one stream per unit. A stream is an in-order list of records and
hardware loops, the same on all cores. A record runs when its waits allow; what it
touches is given by axes and accesses (`algebra.access`), which take the core's digits
and the loop trips to bytes. Streams meet only through counted semaphores.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from .attributes import (
    MAX_TRIPS,
    UNITS,
    AccessAttr,
    AxisAttr,
    PlainAttr,
    StepAttr,
    SyncAttr,
    access_attr,
    to_attribute,
    to_plain,
)
from .base import LoopOp, RecordOp, record_attributes
from .records import (
    RECORDS,
    GatherOp,
    MatmulOp,
    RingReduceOp,
    ShuffleOp,
    TransferOp,
    VectorOp,
)
from .structure import CallOp, ProgramOp, StreamOp, walk_records

Dev = Dialect(
    "dev",
    [ProgramOp, StreamOp, LoopOp, CallOp, *RECORDS],
    [AxisAttr, AccessAttr, StepAttr, SyncAttr],
)

__all__ = [
    "MAX_TRIPS",
    "RECORDS",
    "UNITS",
    "AccessAttr",
    "AxisAttr",
    "CallOp",
    "Dev",
    "GatherOp",
    "LoopOp",
    "MatmulOp",
    "PlainAttr",
    "ProgramOp",
    "RecordOp",
    "RingReduceOp",
    "ShuffleOp",
    "StepAttr",
    "StreamOp",
    "SyncAttr",
    "TransferOp",
    "VectorOp",
    "access_attr",
    "record_attributes",
    "to_attribute",
    "to_plain",
    "walk_records",
]
