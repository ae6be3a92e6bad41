"""Checkpoints are built once, also by two processes, and a killed build never looks finished."""

from __future__ import annotations

import multiprocessing
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from qgc.diagnostics import QgcError
from qgc.folders import cache_folder
from qgc.ir.machine.config import PRESETS
from qgc.runtime.cache import KEEP, CheckpointSpec, cached
from qgc.runtime.progress import Progress


@dataclass(frozen=True)
class Shape:
    name: str = "tiny"
    hidden: int = 8


def spec(**changes: Any) -> CheckpointSpec:
    base = CheckpointSpec(PRESETS["nano"], Shape(), "float32")  # type: ignore[arg-type]
    return replace(base, **changes)


def build(spec: CheckpointSpec, out: Path, progress: Progress) -> None:
    out.mkdir()
    time.sleep(0.2)
    (out / "config.json").write_text("{}")
    with (out.parent.parent / "builds").open("a") as log:
        log.write("x")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("QGC_CACHE", str(tmp_path))
    return tmp_path


def test_the_second_request_builds_nothing(folder: Path) -> None:
    assert cached(spec(), build=build) == cached(spec(), build=build)
    assert (folder / "builds").read_text() == "x"


def test_two_processes_build_once(folder: Path) -> None:
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=cached, args=(spec(),), kwargs={"build": build}) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(20)
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert (folder / "builds").read_text() == "x"


def test_a_killed_build_is_removed_by_the_next(folder: Path) -> None:
    half = folder / f".{spec().key}.abc.tmp" / spec().key
    half.mkdir(parents=True)
    path = cached(spec(), build=build)
    assert os.listdir(path) == ["config.json"]
    assert not half.exists()


def test_everything_that_matters_is_in_the_key(folder: Path) -> None:
    specs = [
        spec(),
        spec(dtype="bfloat16"),
        spec(machine=PRESETS["simt4"]),
        spec(machine=replace(PRESETS["nano"], words=16)),
        spec(shape=Shape(hidden=16)),
    ]
    assert len({s.key for s in specs}) == len(specs)
    assert spec().key == spec().key


def test_where_the_cache_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QGC_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache_folder() == Path("/x/qgc")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/me")
    assert cache_folder() == Path("/me/.cache/qgc")


def test_a_cache_that_cannot_be_made_is_a_clean_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "file").write_text("")
    monkeypatch.setenv("QGC_CACHE", str(folder / "file" / "cache"))
    with pytest.raises(QgcError, match=r"QGC_CACHE"):
        cached(spec(), build=build)


def test_the_least_recently_used_make_room(folder: Path) -> None:
    def quick(spec: CheckpointSpec, out: Path, progress: Progress) -> None:
        out.mkdir()

    specs = [spec(machine=replace(PRESETS["nano"], consts=8 << i)) for i in range(KEEP + 1)]
    other = cached(spec(dtype="bfloat16"), build=quick)
    paths = [cached(s, build=quick) for s in specs[:KEEP]]
    for age, path in enumerate(paths):
        os.utime(path, (age, age))
    assert cached(specs[0], build=quick) == paths[0]  # used again, so that it is the newest
    newest = cached(specs[KEEP], build=quick)
    left = sorted(path for path in folder.iterdir() if path.is_dir())
    assert left == sorted([other, paths[0], *paths[2:], newest])
