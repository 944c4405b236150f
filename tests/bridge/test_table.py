# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operator table is sound, and what is made from it is current."""

import pytest
import torch

from spyre_mlir.torch_bridge import recurrent
from spyre_mlir.torch_bridge.aten_table import COMPOSITES, TABLE, key
from spyre_mlir.torch_bridge.documents import DEFAULT_FOLDER, DOCUMENTS

assert recurrent  # imported for the operations that it registers


def _overload(name: str):
    namespace, *rest = (
        ["aten", *name.split(".")] if name.count(".") == 1 else (name.split("."))
    )
    packet = getattr(getattr(torch.ops, namespace), rest[0])
    return getattr(packet, rest[1])


def test_every_row_names_an_operation_of_torch():
    for name in TABLE:
        assert key(_overload(name)) == name


def test_rows_are_complete():
    for name, row in TABLE.items():
        assert (row.importer is not None) == (row.how == "import"), name
        assert row.how == "import" or row.note, f"{name} does not say why"
    assert all(TABLE[name].how == "import" for name in COMPOSITES)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_are_current(name: str):
    written = (DEFAULT_FOLDER / name).read_text()
    assert written == DOCUMENTS[name](), (
        "run python -m spyre_mlir.torch_bridge.documents"
    )
