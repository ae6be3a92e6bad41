"""The tree tells the truth: links, package docstrings, one pass a file, and documents that name what exists."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

from qgc.stages import STAGES

ROOT = Path(__file__).parent.parent
LINKED = ("ir", "passes", "backends")
CODE = [*(ROOT / "qgc").rglob("*.py"), *(p for d in LINKED for p in (ROOT / d).rglob("*.py"))]


@pytest.mark.parametrize("name", LINKED)
def test_links_lead_to_the_real_folders(name: str) -> None:
    assert (ROOT / "qgc" / name).is_symlink()
    assert (ROOT / "qgc" / name).resolve() == ROOT / name


def test_every_folder_with_code_is_a_package_that_says_what_it_is() -> None:
    for folder in sorted({p.parent for p in CODE}):
        init = folder / "__init__.py"
        assert init.exists(), f"{folder} has no __init__.py, so it is not installed"
        assert ast.get_docstring(ast.parse(init.read_text())), f"{init} has no docstring"


def test_every_module_has_a_docstring_and_no_tests_hide_in_it() -> None:
    for path in CODE:
        assert ast.get_docstring(ast.parse(path.read_text())), f"{path} has no docstring"


def test_assert_checks_nothing_outside_tests() -> None:
    """`python -O` skips asserts."""
    for path in CODE:
        found = [n.lineno for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Assert)]
        assert not found, f"{path}:{found[0]} uses assert"


def make_targets() -> list[str]:
    return re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_make_help_names_every_target() -> None:
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"make ([a-z-]+)", shown) == make_targets()
    assert {"help", "setup", "run", "test", "test-slow", "lint", "type", "bless", "bench"} <= {
        *make_targets()
    }


def test_the_readme_names_every_target() -> None:
    text = (ROOT / "README.md").read_text()
    missing = [t for t in make_targets() if f"make {t}" not in text]
    assert not missing


def test_every_dependency_is_pinned() -> None:
    pinned = {
        line.split("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if not line.startswith("#")
    }
    declared = re.findall(r'"([a-z][a-z0-9-]*)>=', (ROOT / "pyproject.toml").read_text())
    assert {d for d in declared} - pinned == set()


def test_the_repository_names_no_hosts() -> None:
    """Sources and documents hold no web addresses and no paths of one machine."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if path.is_file() and not path.is_symlink():
            found = re.search(rb"https?://|/wor[k]/|/hom[e]/\w+/", path.read_bytes())
            assert not found, f"{name} holds {found.group()!r}"


def test_the_architecture_names_every_stage_its_module_and_its_golden_folder() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    rows = re.findall(r"^\| \d+ \| `([a-z-]+)` \|", text, re.MULTILINE)
    assert rows[: len(STAGES)] == list(STAGES)
    for module in re.findall(r"`(qgc\.[a-z_.]+)`", text):
        assert importlib.util.find_spec(module) is not None, module
    for folder in re.findall(r"`(golden/[a-z-]+)`", text):
        assert (ROOT / folder).is_dir(), folder
    for file in re.findall(r"`((?:qgc|ir|passes|backends|tests)/[a-z_/]+(?:\.py)?)`", text):
        assert (ROOT / file).exists(), file


def test_pass_names_are_file_names() -> None:
    from qgc.passes.pipelines import PIPELINE

    for step in PIPELINE:
        module = type(step).__module__.rpartition(".")[2]
        assert step.name == module.replace("_", "-")
