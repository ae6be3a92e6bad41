"""Outputs appear whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from qgc.diagnostics import QgcError
from qgc.files import atomic_write, read_text, write_text


def test_a_file_is_replaced_by_its_complete_successor(tmp_path: Path) -> None:
    target = tmp_path / "k.ptx"
    target.write_text("old")
    with atomic_write(target) as new:
        new.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert os.listdir(tmp_path) == ["k.ptx"]


def test_a_folder_is_replaced_by_its_complete_successor(tmp_path: Path) -> None:
    target = tmp_path / "model"
    for content in ("old", "new"):
        with atomic_write(target) as new:
            new.mkdir()
            (new / content).write_text(content)
    assert os.listdir(target) == ["new"]
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, SystemExit])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "k.ptx"
    target.write_text("old")
    with pytest.raises(error), atomic_write(target) as new:
        new.write_text("half")
        raise error
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["k.ptx"]


def test_a_full_disk_is_a_clean_error(tmp_path: Path) -> None:
    with pytest.raises(QgcError) as caught, atomic_write(tmp_path / "k.ptx") as new:
        new.write_text("half")
        raise OSError(errno.ENOSPC, "no space")
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.code == "io-write"
    assert "No space left on device" in diagnostic.message
    assert os.listdir(tmp_path) == []


def test_a_missing_folder_is_a_clean_error(tmp_path: Path) -> None:
    with pytest.raises(QgcError, match="io-write"):
        write_text(tmp_path / "missing" / "k.ptx", "text")


def test_a_device_is_written_in_place() -> None:
    write_text(Path(os.devnull), "text")
    assert not Path(os.devnull).is_file()


def test_what_cannot_be_read_is_a_clean_error(tmp_path: Path) -> None:
    with pytest.raises(QgcError, match="io-read"):
        read_text(tmp_path / "missing")
    (tmp_path / "binary").write_bytes(b"ab\xff")
    with pytest.raises(QgcError, match=r"io-encoding.*byte 2 is 0xff"):
        read_text(tmp_path / "binary")
