# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Builds the one C++ file, and finds a build that fits.

    python -m spyre_runtime.build

A build is a file in the cache folder, named by what it depends on: the source, the
flags, PyTorch's version and Python's ABI; then the compiler; last the digest of its own
bytes. A file that is not what its name says is never loaded: mapping a library that
was cut off ends the process. Only the standard library is used, and little of it at
the top, since `import torch` comes through here.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Generator
from importlib.machinery import ExtensionFileLoader, PathFinder
from pathlib import Path
from types import ModuleType

MODULE = "spyre_runtime._C"
SOURCE = Path(__file__).parent / "csrc" / "spyre.cpp"
HOW_TO_BUILD = "build it with `python -m spyre_runtime.build`"

_FLAGS = ("-std=c++20", "-O1", "-fPIC", "-shared", "-w", "-fvisibility=hidden")
_DEFINES = ("-DTORCH_EXTENSION_NAME=_C", "-DUSE_C10D")
_LIBRARIES = ("-ltorch_cpu", "-lc10", "-ltorch_python")


class BuildError(RuntimeError):
    """The C++ file could not be built; the message says what to do."""


def torch_folder() -> Path:
    """Where PyTorch is installed, without importing it."""
    loaded = sys.modules.get("torch")
    if loaded is not None and loaded.__file__:
        return Path(loaded.__file__).parent
    spec = PathFinder.find_spec("torch")
    if spec is None or spec.origin is None:
        raise BuildError("PyTorch is not installed: pip install torch==2.13.0")
    return Path(spec.origin).parent


def torch_version(folder: Path) -> str:
    """PyTorch's version, as its own `version.py` says."""
    names: dict[str, object] = {}
    exec((folder / "version.py").read_text(), names)
    return str(names["__version__"])


def cache_folder() -> Path:
    """`SPYRE_CACHE_DIR`, or a folder of this user's cache."""
    named = os.environ.get("SPYRE_CACHE_DIR")
    if named:
        return Path(named) / "build"
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "spyre_mlir" / "build"


def build_key() -> str:
    """Names everything that a build depends on, but for the compiler."""
    folder = torch_folder()
    parts = (
        *(path.read_bytes() for path in sorted(SOURCE.parent.iterdir())),
        " ".join(_FLAGS + _DEFINES + _LIBRARIES).encode(),
        f"{folder} {torch_version(folder)}".encode(),
        f"{sys.implementation.cache_tag} {sysconfig.get_platform()}".encode(),
    )
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:20]


def builds(compiler: str = "") -> list[Path]:
    """All files for this Python and PyTorch by one compiler or any, newest first."""
    found = cache_folder().glob(f"spyre-{build_key()}-{compiler}*.so")
    return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)


def is_intact(path: Path) -> bool:
    """Whether a build's bytes are those that were built."""
    try:
        return path.stem.rpartition("-")[2] == digest(path)
    except OSError:
        return False


def digest(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()


def find_build() -> Path | None:
    """The newest intact build that fits this Python and PyTorch, by any compiler."""
    return next(filter(is_intact, builds()), None)


def what_is_missing() -> str:
    """Why there is no build to load, and what to do."""
    damaged = builds()
    if not damaged:
        return f"its C++ file is not built: {HOW_TO_BUILD}"
    listed = ", ".join(map(str, damaged))
    return f"its build is damaged ({listed}): {HOW_TO_BUILD}"


def compiler() -> list[str]:
    """`CXX`, or the C++ compiler of the path; raises BuildError."""
    import shlex
    import shutil

    command = shlex.split(os.environ.get("CXX", ""))
    names = [command[0]] if command else ["c++", "g++", "clang++"]
    for name in names:
        found = shutil.which(name)
        if found:
            return [found, *command[1:]]
    raise BuildError(
        f"no C++ compiler: looked for {', '.join(names)}. Install g++ 11 or later, "
        "or set CXX; CPU tensors can be compiled and run without it"
    )


def compiler_key(command: list[str]) -> str:
    """Tells compilers apart without starting them."""
    real = Path(command[0]).resolve()
    stat = real.stat()
    text = f"{real} {stat.st_size} {stat.st_mtime_ns} {command[1:]}"
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def compile_command(target: Path, command: list[str]) -> list[str]:
    """The one call of the compiler."""
    folder = torch_folder()
    python = sysconfig.get_paths()["include"]
    if not (Path(python) / "Python.h").exists():
        raise BuildError(f"no Python.h in {python}: install Python's headers")
    api = folder / "include" / "torch" / "csrc" / "api" / "include"
    includes = [f"-I{folder / 'include'}", f"-I{api}", f"-I{python}"]
    return [
        *command,
        *_FLAGS,
        *_DEFINES,
        *includes,
        str(SOURCE),
        "-o",
        str(target),
        f"-L{folder / 'lib'}",
        *_LIBRARIES,
    ]


def build() -> Path:
    """
    Builds unless an intact build by this compiler is there; returns its path.

    Raises BuildError, also where the cache folder cannot be written.
    """
    command = compiler()
    key = compiler_key(command)
    folder = cache_folder()
    try:
        found = next(filter(is_intact, builds(key)), None)
        if found is not None:
            return found
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder / "lock"):
            found = next(filter(is_intact, builds(key)), None)
            return found or _build(folder, key, command)
    except OSError as error:
        raise BuildError(
            f"the build cannot be written to {folder} ({error}): make room there, or "
            "set SPYRE_CACHE_DIR to a folder that you can write to"
        ) from error


def _build(folder: Path, key: str, command: list[str]) -> Path:
    """Compiles beside the final name and renames: no one sees half a file."""
    # Under the lock nobody else builds: parts are of builds that were killed.
    damaged = [path for path in builds() if not is_intact(path)]
    for left in (*folder.glob("*.part"), *damaged):
        left.unlink()
    part = folder / f"{os.getpid()}.part"
    try:
        _compile(part, command)
        part.chmod(0o755)
        target = folder / f"spyre-{build_key()}-{key}-{digest(part)}.so"
        return part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _compile(target: Path, command: list[str]) -> None:
    import shlex
    import subprocess

    line = compile_command(target, command)
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(
            f"the C++ compiler failed:\n{shlex.join(line)}\n{done.stderr[-4000:]}"
        )


@contextlib.contextmanager
def _locked(path: Path) -> Generator[None]:
    import fcntl

    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def load(path: Path) -> ModuleType:
    """Loads a build; PyTorch must have been imported."""
    loaded = sys.modules.get(MODULE)
    if loaded is not None:
        return loaded
    loader = ExtensionFileLoader(MODULE, str(path))
    spec = importlib.util.spec_from_file_location(MODULE, path, loader=loader)
    assert spec is not None  # a loader was given
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    sys.modules[MODULE] = module
    return module


def main() -> int:
    import time

    started = time.monotonic()
    try:
        path = build()
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{path} ({time.monotonic() - started:.1f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
