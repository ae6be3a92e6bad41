"""`qgc blocks2weights` passes on what it is told; the build itself has its own tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from qgc.cli.main import cli
from qgc.diagnostics import fail
from qgc.runtime import cache
from qgc.runtime.cache import CheckpointSpec
from qgc.runtime.progress import Progress

BLOCKS = Path(__file__).parent.parent.parent / "golden/blocks/dot.nvrtc.blocks"


@pytest.fixture
def specs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[CheckpointSpec]:
    """What would be built, in order; nothing is."""
    seen: list[CheckpointSpec] = []

    def build(spec: CheckpointSpec, out: Path, progress: Progress) -> None:
        seen.append(spec)
        out.mkdir()
        (out / "config.json").write_text("{}")
        progress("write", 1, 1)
        if spec.dtype == "float32":
            raise fail("weights-dtype", "no")

    monkeypatch.setattr(cache, "build_weights", build)
    monkeypatch.setenv("QGC_CACHE", str(tmp_path / "cache"))
    return seen


def build(*args: str | Path) -> Result:
    return CliRunner().invoke(cli, ["blocks2weights", *map(str, args)])


def test_into_a_folder(specs: list[CheckpointSpec], tmp_path: Path) -> None:
    result = build("--machine", "nano", "--shape", "tiny", "-o", tmp_path / "model")
    assert result.stdout == f"{tmp_path / 'model'}\n"
    assert os.listdir(tmp_path) == ["model"]
    assert [(s.machine.name, s.shape.name, s.dtype, s.program) for s in specs] == [
        ("nano", "tiny", "bfloat16", None)
    ]
    assert "write ..." in result.stderr


def test_into_the_cache_once(specs: list[CheckpointSpec], tmp_path: Path) -> None:
    first, second = build(), build()
    assert first.stdout == second.stdout
    assert Path(first.stdout.strip()).parent == tmp_path / "cache"
    assert len(specs) == 1


def test_a_baked_program_decides_the_machine(specs: list[CheckpointSpec], tmp_path: Path) -> None:
    build("--machine", "nano", "--bake", BLOCKS, "-o", tmp_path / "model")
    program = specs[0].program
    assert program is not None
    assert (specs[0].machine.name, program.kernel) == ("simt4", "dot")


def test_a_failed_build_leaves_nothing(specs: list[CheckpointSpec], tmp_path: Path) -> None:
    result = build("--dtype", "float32", "-o", tmp_path / "model")
    assert (result.exit_code, result.stdout) == (1, "")
    assert os.listdir(tmp_path) == []
