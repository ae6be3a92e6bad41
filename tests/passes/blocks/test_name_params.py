"""Parameters take the source's names, wherever they are named."""

from __future__ import annotations

import pytest

from qgc.ir.machine.text import parse, to_text
from qgc.passes.blocks.name_params import name_params

TEXT = (
    "machine simt4\nkernel k\nparam p0 ptr\nparam p1 int\nconst k0 = param p0 + 8\nconst k1 = ntid.x\n"
    "const k2 = param p1\nconst k3 = 5\nblock 0:\n  branch exit\n"
)


def test_params_and_symbols_are_renamed() -> None:
    want = TEXT.replace("p0", "a").replace("p1", "n")
    assert to_text(name_params(parse(TEXT), ["a", "n"])) == want


def test_names_may_change_places() -> None:
    want = TEXT.replace("p0", "?").replace("p1", "p0").replace("?", "p1")
    assert to_text(name_params(parse(TEXT), ["p1", "p0"])) == want


@pytest.mark.parametrize("names", [["a"], ["a", "a"], ["a", ""], ["a", "two words"]])
def test_names_that_do_not_fit_change_nothing(names: list[str]) -> None:
    assert name_params(parse(TEXT), names) == parse(TEXT)
