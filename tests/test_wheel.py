"""A wheel holds everything and leaks nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LEFTOVERS = (
    ".git",
    ".venv",
    ".*_cache",
    "build",
    "dist",
    "*.egg-info",
    "__pycache__",
    ".hypothesis",
    "golden",
    "tests",
)


@pytest.mark.slow
def test_an_installed_wheel_runs_a_kernel(tmp_path: Path) -> None:
    tree, wheels, site = tmp_path / "tree", tmp_path / "wheels", tmp_path / "site"
    shutil.copytree(ROOT, tree, symlinks=True, ignore=shutil.ignore_patterns(*LEFTOVERS))
    pip = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(wheels),
    ]
    subprocess.run([*pip, str(tree)], check=True, capture_output=True)
    with zipfile.ZipFile(next(wheels.glob("qgc-*.whl"))) as wheel:
        wheel.extractall(site)
    tops = {path.name for path in site.iterdir() if not path.name.endswith(".dist-info")}
    assert tops == {"qgc"}
    for path in ("ir/ptx/grammar.lark", "frontends/qgc_cuda.h", "frontends/include/cstdint", "py.typed"):
        assert (site / "qgc" / path).is_file(), path
    code = [path.relative_to(ROOT / "qgc") for path in (ROOT / "qgc").rglob("*.py")]
    code += [
        path.relative_to(ROOT) for top in ("ir", "passes", "backends") for path in (ROOT / top).rglob("*.py")
    ]
    assert [path for path in code if not (site / "qgc" / path).is_file()] == []
    args = ["run", str(ROOT / "examples/dot.cu"), "--engine", "isa", "--block", "3", "1,2,3", "4,5,6", "0"]
    shown = subprocess.run(
        [sys.executable, "-P", "-m", "qgc", *args],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout == "a=1,2,3\nb=4,5,6\nout=32\n"
