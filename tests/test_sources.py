"""The texts that diagnostics quote: remembered ones, and files."""

from __future__ import annotations

from pathlib import Path

from qgc.sources import Sources


def test_remembered_texts_come_first_and_files_are_found_by_path(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("file")
    (tmp_path / "binary").write_bytes(b"\xff")
    sources = Sources()
    sources.remember("<stdin>", "text")
    assert sources["<stdin>"] == "text"
    assert sources[str(tmp_path / "k.cu")] == "file"
    assert sources.get(str(tmp_path / "missing")) is None
    assert sources.get(str(tmp_path / "binary")) is None
    assert sources.get("a\0b") is None
    assert list(sources) == ["<stdin>", str(tmp_path / "k.cu")]
    assert len(sources) == 2
