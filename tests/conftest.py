"""Fixtures that every test may use: golden files with one update switch, and the property-test profiles."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

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
