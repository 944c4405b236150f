# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The build of the C++ file."""

from pathlib import Path

import pytest

from spyre_runtime import build


def test_a_build_is_made_once() -> None:
    assert build.build() == build.find_build()


def test_another_pytorch_does_not_fit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    key = build.build_key()

    def newer(folder: Path) -> str:
        return "2.14.0"

    monkeypatch.setattr(build, "torch_version", newer)
    assert build.build_key() != key
    assert build.find_build() is None


def test_another_source_does_not_fit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    changed = tmp_path / "csrc" / "spyre.cpp"
    changed.parent.mkdir()
    changed.write_bytes(build.SOURCE.read_bytes() + b"\n")
    monkeypatch.setattr(build, "SOURCE", changed)
    assert build.find_build() is None


def test_a_missing_compiler_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert build.main() == 1
    message = capsys.readouterr().err
    assert "no C++ compiler" in message and "no-such-compiler" in message


def test_a_failing_compiler_is_quoted_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "csrc" / "spyre.cpp"
    broken.parent.mkdir()
    broken.write_text("int main( {}")
    monkeypatch.setattr(build, "SOURCE", broken)
    monkeypatch.setenv("SPYRE_CACHE_DIR", str(tmp_path))
    with pytest.raises(build.BuildError, match="error"):
        build.build()
    assert [path.name for path in (tmp_path / "build").iterdir()] == ["lock"]
