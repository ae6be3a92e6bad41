"""Every parser on broken texts: a text is read, or refused with a diagnostic; nothing else may happen.

`make test` tries a few hundred of each, the slow tier 100,000.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from qgc.chat.expression import parse as parse_expression
from qgc.diagnostics import QgcError
from qgc.ir.layout.shape import parse_shape
from qgc.ir.machine.config import parse_machine_file
from qgc.runtime.arguments import parse_argument
from qgc.runtime.manifest import load_manifest
from qgc.stages import STAGES
from tests.helpers.mutate import mutated

ROOT = Path(__file__).parent.parent.parent
FEW, MANY = 300, 100_000
_SMALL = 5000
"""Bytes of the texts that are changed."""

EXPRESSIONS = (
    "[1, 2, 3] @ [4, 5, 6]",
    "sum(sort([3, -1, 2]) * 7) // gcd(12, 18) ** 2 - ~5 % 3",
    "matmul([[1, 2], [3, 4]], transpose([[5, 6], [7, 8]])) >= 0x10",
)
ARGUMENTS = ("a=1,2,3", "out=0:5", "n=-7", "x=0xff:3,4")
SHAPES = ("hidden=1024,intermediate=2048", "hidden=2048, intermediate=4096, heads=8, value_heads=16", "small")


def _stage(name: str) -> Callable[[str], object]:
    return lambda text: STAGES[name].load(text, f"k{STAGES[name].suffix}")


PARSERS: dict[str, Callable[[str], object]] = {
    **{name: _stage(name) for name in STAGES},
    "machine": lambda text: parse_machine_file(text, "m.toml", "m"),
    "shape": lambda text: None if text.endswith(".toml") else parse_shape(text),
    "expression": parse_expression,
    "argument": parse_argument,
}


@cache
def seeds(name: str) -> tuple[str, ...]:
    """Good texts of a parser."""
    own = {"expression": EXPRESSIONS, "argument": ARGUMENTS, "shape": SHAPES}
    if name in own:
        return own[name]
    if name == "machine":
        paths = sorted((ROOT / "ir/machine/presets").glob("*.toml"))
    else:
        paths = sorted(
            p for p in (ROOT / "golden" / name).iterdir() if p.is_file() and p.stat().st_size < _SMALL
        )
    assert paths, name
    return tuple(path.read_text(encoding="utf-8") for path in paths)


def fuzz(name: str, count: int, seed: int) -> None:
    """Read `count` broken texts; one that raises anything but a QgcError is shown."""
    rng, read, refused = random.Random(f"{name} {seed}"), PARSERS[name], 0
    for _ in range(count):
        text = mutated(rng, seeds(name))
        try:
            read(text)
        except QgcError:
            refused += 1
        except Exception as err:
            err.add_note(f"{name} on {text!r}")
            raise
    assert 0 < refused < count, "some texts are refused, and some are still good"


@pytest.mark.parametrize("name", PARSERS)
def test_broken_texts_are_refused_or_read(name: str) -> None:
    fuzz(name, FEW, 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", PARSERS)
def test_a_hundred_thousand_broken_texts(name: str) -> None:
    fuzz(name, MANY, 1)


def test_broken_manifests(tmp_path: Path) -> None:
    rng = random.Random(2)
    text = (ROOT / "examples/grid/manifest.toml").read_text(encoding="utf-8")
    for name in ("grid2d.cu", "grid3d.cu", "grid_stride.cu"):
        (tmp_path / name).write_text("")
    for _ in range(100):
        (tmp_path / "manifest.toml").write_text(mutated(rng, (text,)), encoding="utf-8", errors="replace")
        try:
            load_manifest(tmp_path / "manifest.toml")
        except QgcError:
            continue
