# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cache of builds: damaged files, killed and concurrent builds, no room."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spyre_runtime import build

USE = """
import torch
print(torch.ones(2).sum().item())
try:
    torch.ones(2).to("spyre")
except RuntimeError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def good() -> Path:
    """The real build, found before a test moves the cache."""
    return build.build()


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("SPYRE_CACHE_DIR", str(tmp_path))
    return tmp_path / "build"


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A compiler in a shell script; whoever uses it writes what it does."""
    script = tmp_path / "c++"
    script.touch()
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    compiles(script, "echo built > $target")
    return script


def compiles(script: Path, what: str) -> None:
    """Each run adds a line to `runs`; `$target` is the file after `-o`."""
    script.write_text(
        "#!/bin/sh\necho run >> $(dirname $0)/runs\n"
        'while [ "$1" != -o ]; do shift; done\ntarget=$2\n' + what + "\n"
    )


def runs(script: Path) -> int:
    return len((script.parent / "runs").read_text().splitlines())


def start_build() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "spyre_runtime.build"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize("damage", ["cut off", "empty", "changed"])
def test_a_damaged_build_is_told_at_first_use(
    good: Path, cache: Path, damage: str
) -> None:
    cache.mkdir()
    data = bytearray(good.read_bytes())
    if damage == "changed":
        # Code that would end the process: all of it is illegal instructions.
        data[0x4000:0x20000] = b"\xff" * 0x1C000
    else:
        del data[5000 if damage == "cut off" else 0 :]
    bad = cache / good.name
    bad.write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-c", USE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2.0\n")
    assert f"its build is damaged ({bad})" in done.stdout
    assert build.HOW_TO_BUILD in done.stdout


def test_a_damaged_build_is_built_again(cache: Path, stub: Path) -> None:
    path = build.build()
    assert build.build() == path == build.find_build()
    assert runs(stub) == 1
    path.write_bytes(b"")
    assert build.find_build() is None
    assert build.main() == 0
    assert path.read_bytes() == b"built\n"
    assert runs(stub) == 2


def test_a_build_of_other_bytes_takes_the_damaged_one_s_place(
    cache: Path, stub: Path
) -> None:
    path = build.build()
    path.write_bytes(b"")
    compiles(stub, "echo other > $target")
    other = build.build()
    assert other != path
    assert build.builds() == [other]


def test_a_killed_build_leaves_nothing_in_the_way(cache: Path, stub: Path) -> None:
    compiles(stub, "echo half > $target; exec sleep 100")
    killed = start_build()
    deadline = time.monotonic() + 30
    while not any(path.stat().st_size for path in cache.glob("*.part")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert build.find_build() is None
    compiles(stub, "echo built > $target")
    path = build.build()
    assert sorted(p.name for p in cache.iterdir()) == ["lock", path.name]


def test_builds_at_the_same_time_compile_once(cache: Path, stub: Path) -> None:
    compiles(stub, "sleep 0.5; echo built > $target")
    both = [start_build() for _ in range(2)]
    printed = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 0], printed
    assert runs(stub) == 1
    assert printed[0][0].split()[0] == printed[1][0].split()[0]


def test_no_room_on_the_disk(cache: Path, stub: Path) -> None:
    compiles(
        stub,
        "echo half > $target; echo 'fatal: No space left on device' >&2; exit 1",
    )
    with pytest.raises(build.BuildError, match="No space left on device"):
        build.build()
    assert [path.name for path in cache.iterdir()] == ["lock"]
    compiles(stub, "exit 0")  # a compiler that does not notice
    with pytest.raises(build.BuildError, match="cannot be written to"):
        build.build()


def test_a_folder_that_cannot_be_written(
    stub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("SPYRE_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(build.BuildError, match="set SPYRE_CACHE_DIR to a folder"):
        build.build()
