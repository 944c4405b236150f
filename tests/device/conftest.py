# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The device for these tests, whether or not the project is installed."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from spyre_runtime import build
from spyre_runtime.autoload import autoload

RunPython = Callable[..., subprocess.CompletedProcess[str]]

PRELUDE = "import torch\nfrom spyre_runtime.autoload import autoload\nautoload()\n"


# At import, since test modules name the device when they are collected.
build.build()
autoload()


@pytest.fixture
def run_python() -> RunPython:
    """Runs code in a Python of its own, by default with the device registered."""

    def run(
        code: str, *, prelude: str = PRELUDE, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        variables = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
        variables["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        return subprocess.run(
            [sys.executable, "-c", prelude + code],
            capture_output=True,
            text=True,
            env=variables,
            timeout=300,
            check=False,
        )

    return run
