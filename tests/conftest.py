"""Fixtures that every test may use: golden files with one update switch, and the property-test profiles."""

from __future__ import annotations

import difflib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from qgc.runtime.checkpoint import Checkpoint

os.environ.setdefault("OMP_NUM_THREADS", "1")
"""Threads that spin for each other cost minutes on a busy machine, and gain little on small models."""

GOLDEN = Path(__file__).parent.parent / "golden"

settings.register_profile("default", max_examples=30, deadline=None, derandomize=True, database=None)
settings.register_profile("slow", max_examples=500, deadline=None, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--bless", action="store_true", help="rewrite golden files with what the code prints now"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that compare golden files, for `pytest -m golden`."""
    for item in items:
        if "golden" in getattr(item, "fixturenames", ()):
            item.add_marker("golden")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare text with golden/<rel>; with --bless, write it instead."""

    def check(rel: str, actual: str) -> None:
        path = GOLDEN / rel
        if request.config.getoption("--bless"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(actual, encoding="utf-8")
            return
        want = path.read_text(encoding="utf-8") if path.exists() else ""
        if actual != want:
            diff = difflib.unified_diff(want.splitlines(), actual.splitlines(), rel, "actual", lineterm="")
            pytest.fail("\n".join([*diff, "rerun with --bless to accept"]), pytrace=False)

    return check


@pytest.fixture(scope="session")
def nano(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkpoint]:
    """The smallest machine as a model, built and loaded once for all tests."""
    from qgc.backends.weights import build
    from qgc.ir.layout.shape import SHAPES
    from qgc.ir.machine.config import PRESETS
    from qgc.runtime.checkpoint import Checkpoint

    folder = tmp_path_factory.mktemp("checkpoints") / "nano"
    build(PRESETS["nano"], SHAPES["tiny"], "float32", folder)
    yield Checkpoint(folder)
    shutil.rmtree(folder)
