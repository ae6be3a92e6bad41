"""Arguments as people write them, and their fit to a kernel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qgc.ir.machine.program import Param
from qgc.runtime.arguments import Argument, ArgumentError, bind, parse_argument, value_text

PARAMS = (Param("a", True), Param("out", True), Param("n", False))


@pytest.mark.parametrize(
    ("text", "name", "words", "is_list"),
    [
        ("a=1,2,3", "a", (1, 2, 3), True),
        ("out=0", "out", (0,), False),
        ("out=0:5", "out", (0, 0, 0, 0, 0), True),
        ("out=7:2,-1,0x10", "out", (7, 7, 0xFFFFFFFF, 16), True),
        ("a=4,", "a", (4,), True),
        ("n=-2147483648", "n", (1 << 31,), False),
        ("n=0XfFffffff", "n", (0xFFFFFFFF,), False),
        ("1, 2", None, (1, 2), True),
        ("a=0:0", "a", (), True),
    ],
)
def test_what_is_understood(text: str, name: str | None, words: tuple[int, ...], is_list: bool) -> None:
    assert parse_argument(text) == Argument(name, words, is_list)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a=", "argument-syntax"),
        ("a=1,,2", "argument-syntax"),
        ("a=x", "argument-syntax"),
        ("a=1.5", "argument-syntax"),
        ("a=1:-2", "argument-syntax"),
        ("a=١", "argument-syntax"),
        ("3d=1", "argument-syntax"),
        ("n=4294967296", "argument-range"),
        ("n=-2147483649", "argument-range"),
        ("n=" + "9" * 5000, "argument-range"),
        ("a=0:999999999999999999", "argument-range"),
        ("a=0:900000,0:900000", "argument-range"),
    ],
)
def test_what_is_refused(text: str, code: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        parse_argument(text)
    assert [d.code for d in caught.value.diagnostics] == [code]
    assert caught.value.exit_code == 2
    assert len(str(caught.value)) < 300


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1))
def test_what_is_printed_is_understood(words: list[int]) -> None:
    assert parse_argument("a=" + value_text(words)).words == tuple(words)


def test_names_and_order_both_bind() -> None:
    for texts in (["n=7", "out=0", "a=1,-2"], ["1,-2", "0", "7"], ["n=7", "1,-2", "0"]):
        a, out, n = bind(PARAMS, map(parse_argument, texts))
        assert isinstance(a, np.ndarray)
        assert isinstance(out, np.ndarray)
        assert (a.tolist(), out.tolist(), n, a.dtype.name) == ([1, -2], [0], 7, "int32")


@pytest.mark.parametrize(
    ("texts", "codes"),
    [
        (["a=1", "out=0"], ["argument-missing"]),
        ([], ["argument-missing"] * 3),
        (["a=1", "out=0", "n=1,2"], ["argument-scalar"]),
        (["a=1", "out=0", "n=1,"], ["argument-scalar"]),
        (["a=1", "out=0", "n=1", "oout=2"], ["argument-unknown"]),
        (["a=1", "out=0", "n=1", "n=2"], ["argument-twice"]),
        (["1", "2", "3", "4"], ["argument-unknown"]),
        (["b=1", "n=1:3"], ["argument-unknown", "argument-missing", "argument-missing", "argument-scalar"]),
    ],
)
def test_all_that_does_not_fit_is_said(texts: list[str], codes: list[str]) -> None:
    with pytest.raises(ArgumentError) as caught:
        bind(PARAMS, map(parse_argument, texts))
    assert [d.code for d in caught.value.diagnostics] == codes
    assert "a=0,0,... out=0,0,... n=0" in str(caught.value)


def test_a_near_name_is_suggested() -> None:
    with pytest.raises(ArgumentError, match=r"no parameter 'oout'; did you mean 'out'\?"):
        bind(PARAMS, map(parse_argument, ["1", "oout=2", "n=3"]))
