"""The `tokens` stage: text round trip, and one failing stream for each invariant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qgc.diagnostics import QgcError, VerifyError
from qgc.ir.machine.config import PRESETS
from qgc.ir.machine.stream import Stream, evaluate, parse, to_text, verify
from qgc.ir.machine.tokens import Token, Vocabulary, scalar_tokens

NANO = PRESETS["nano"]
VOCABULARY = Vocabulary(NANO)
ANY_TOKEN = st.integers(0, VOCABULARY.size - 1).map(VOCABULARY.token)


@given(st.lists(ANY_TOKEN))
def test_text_round_trip(tokens: list[Token]) -> None:
    stream = Stream(NANO, tuple(tokens))
    text = to_text(stream)
    assert parse(text) == stream
    assert to_text(parse(text)) == text


def test_comments_and_several_tokens_on_a_line() -> None:
    text = "# a prompt\n\nmachine nano # the small one\n<adr:3> <mem_s:1>  # one word\n\n<start:w0:m01>\n"
    stream = parse(text, "p.tokens")
    assert [t.kind for t in stream.tokens] == ["adr", "mem_s", "start"]
    assert [span.line for span in stream.lines] == [4, 4, 6]
    verify(stream)


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("", "token-machine", 1),
        ("\n<halt>\n", "token-machine", 2),
        ("machine nanoo\n<halt>\n", "blocks-syntax", 1),
        ("machine nano lanes=3\n", "machine-size", 1),
        ("machine nano\n<halt>\n<bogus>\n", "token-unknown", 3),
    ],
)
def test_what_is_no_stream(text: str, code: str, line: int) -> None:
    with pytest.raises(QgcError) as caught:
        parse(text, "p.tokens")
    first = caught.value.diagnostics[0]
    assert (first.code, first.span and first.span.line) == (code, line)


@pytest.mark.parametrize(
    ("tokens", "code", "line"),
    [
        ([Token("exec", 1 << 20)], "token-range", 0),
        ([Token("jump", 0)], "token-range", 0),
        ([Token("halt"), Token("more", 1)], "token-slice", 1),
        ([Token("val_u", 1), Token("rest", 1)], "token-slice", 1),
        ([Token("val_u", 1), *[Token("more", 1)] * 8], "token-slice", 8),
        ([Token("exec", 1), Token("mem_s", 1)], "token-target", 1),
        ([Token("adr", 1), Token("mem_v", 1)], "token-target", 1),
        ([Token("mem_s", 1)], "token-target", 0),
        ([Token("rom", 7), Token("mem_s", 1)], "token-slot", 0),
        ([Token("halt"), Token("exec", 1)], "token-end", 1),
        ([Token("fault"), Token("start", 1)], "token-end", 1),
    ],
)
def test_each_invariant_can_fail(tokens: list[Token], code: str, line: int) -> None:
    with pytest.raises(VerifyError) as caught:
        verify(Stream(NANO, tuple(tokens)))
    faults = {d.code for d in caught.value.diagnostics}
    assert code in faults
    assert any(f"token {line}" in d.message for d in caught.value.diagnostics if d.code == code)


def test_a_fault_points_at_its_line() -> None:
    with pytest.raises(VerifyError) as caught:
        verify(parse("machine nano\n<adr:3>\n<mem_s:1>\n\n<mem_s:2>\n", "p.tokens"))
    assert [str(d.span) for d in caught.value.diagnostics] == ["p.tokens:5:1"]


def test_the_evaluator_answers_at_every_position() -> None:
    stream = Stream(NANO, (Token("adr", 2), *scalar_tokens(NANO, "mem_s", 1000), Token("start", 2)))
    verify(stream)
    answers = evaluate(stream)
    assert len(answers) == len(stream.tokens)
    assert answers[-1].kind == "exec"
