"""Line-based texts: numbers in their shortest exact form, and faults that point at a word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qgc.diagnostics import QgcError, Span
from qgc.ir.lines import LineReader, number_text


def reader(seen: list[str]) -> LineReader:
    lines = LineReader("k", "x-syntax", {"say": seen.append, "end": seen.append})
    return lines


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53))
def test_numbers_survive_the_round_trip(value: float) -> None:
    text = number_text(value)
    assert reader([]).number(text) == value
    assert number_text(reader([]).number(text)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(3.0, "3"), (-0.5, "-0.5"), (0.0, "0"), (2.0**60, "1.152921504606847e+18"), (1e-9, "1e-09")],
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert number_text(value) == text


@pytest.mark.parametrize("word", ["", "x", "1.", ".5", "+1", "1_0", "nan", "inf", "1e999", "9" * 5000, "--1"])
def test_what_is_no_number(word: str) -> None:
    with pytest.raises(QgcError, match="not a number"):
        reader([]).number(word)


@pytest.mark.parametrize("word", ["", "-1", "1.0", "x", "9" * 10])
def test_what_is_no_count(word: str) -> None:
    with pytest.raises(QgcError, match="not a whole number"):
        reader([]).count(word)


def test_lines_go_to_their_handlers() -> None:
    seen: list[str] = []
    reader(seen).read("# nothing\n\n  say a  b\nend\nsay c\n")
    assert seen == ["a  b", "", "c"]


def test_faults_are_gathered_and_point_at_words() -> None:
    def refuse(body: str) -> None:
        raise lines.error("no", body, "say yes", "x-other")

    lines = LineReader("k", "x-syntax", {"say": refuse})
    with pytest.raises(QgcError) as caught:
        lines.read("  say no\nsing\nsay notes, no\n")
    faults = caught.value.diagnostics
    assert [(d.code, d.span) for d in faults] == [
        ("x-other", Span("k", 1, 7, 9)),
        ("x-syntax", Span("k", 2, 1, 5)),
        ("x-other", Span("k", 3, 5, 14)),
    ]
    assert (faults[0].hint, faults[1].hint) == ("say yes", "a line begins with one of: say")
