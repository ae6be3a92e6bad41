"""The vocabulary: numbers, names, and values cut into slices."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qgc.diagnostics import QgcError
from qgc.ir.machine.config import PRESETS, MachineConfig, preset
from qgc.ir.machine.interpreter import Machine
from qgc.ir.machine.tokens import (
    Token,
    Vocabulary,
    parse,
    scalar_tokens,
    slice_kind,
    slices,
    to_text,
    vector_tokens,
)
from tests.helpers.programs import WORDS


@pytest.mark.parametrize("name", PRESETS)
def test_names_are_unique_and_without_spaces(name: str) -> None:
    vocabulary = Vocabulary(preset(name))
    names = vocabulary.names()
    assert len(set(names)) == len(names) == vocabulary.size
    assert not any(c.isspace() or c == "#" for text in names for c in text)


@pytest.mark.parametrize("name", PRESETS)
def test_numbers_and_tokens_are_each_others_inverse(name: str) -> None:
    vocabulary = Vocabulary(preset(name))
    step = max(1, vocabulary.size // 4001)
    numbers = [*range(0, vocabulary.size, step), *vocabulary.base.values(), vocabulary.size - 1]
    assert [vocabulary.id(vocabulary.token(n)) for n in numbers] == numbers


@pytest.mark.parametrize("number", [-1, Vocabulary(preset("nano")).size])
def test_a_number_out_of_range_is_refused(number: int) -> None:
    with pytest.raises(QgcError, match="token-range"):
        Vocabulary(preset("nano")).token(number)


def test_readable_names() -> None:
    vocabulary = Vocabulary(preset("simt4"))
    assert vocabulary.name(Token("exec", 3 << 4 | 0b0111)) == "<exec:m0111:b3>"
    assert vocabulary.name(Token("val_v", 0b011_000_110_001)) == "<val_v:1,-2,0,3>"
    assert vocabulary.name(Token("mem_s", 0xFFF)) == "<mem_s:-1>"
    assert vocabulary.name(Token("rom", 2 * 8 + 5)) == "<rom:b2:s5>"
    assert vocabulary.name(Token("halt")) == "<halt>"


@given(st.data())
def test_token_text_round_trips(data: st.DataObject) -> None:
    vocabulary = Vocabulary(preset("nano"))
    tokens = data.draw(st.lists(st.integers(0, vocabulary.size - 1).map(vocabulary.token)))
    assert parse(vocabulary, to_text(vocabulary, tokens)) == tokens


def test_unknown_names_are_all_reported_at_their_place() -> None:
    with pytest.raises(QgcError) as caught:
        parse(Vocabulary(preset("nano")), "<halt> <hold>\n\n <warp:w9>\n", "t")
    places = [(d.code, d.span.line, d.span.column) for d in caught.value.diagnostics if d.span]
    assert places == [("token-unknown", 1, 8), ("token-unknown", 3, 2)]


@given(WORDS, st.integers(2, 33))
def test_slices_are_enough_and_not_one_more_than_needed(value: int, bits: int) -> None:
    number = value - (1 << 32) if value >> 31 else value
    count = slices(value, bits)

    def holds(n: int) -> bool:
        return n > 0 and -(1 << (n * bits - 1)) <= number < 1 << (n * bits - 1)

    assert holds(count)
    assert not holds(count - 1)


@given(WORDS, st.sampled_from(list(PRESETS)))
def test_a_scalar_value_comes_back_from_its_tokens(value: int, name: str) -> None:
    config = preset(name)
    machine = Machine(config)
    for token in [Token("adr", 1), *scalar_tokens(config, "mem_s", value)]:
        machine.feed(token)
    assert machine.memory[:3] == [0, value, 0]


@given(st.lists(WORDS, min_size=4, max_size=4))
def test_a_vector_value_comes_back_from_its_tokens(values: list[int]) -> None:
    config = preset("simt4")
    machine = Machine(config)
    for token in [Token("adr_v", 5), *vector_tokens(config, "mem_v", values)]:
        machine.feed(token)
    assert machine.memory[4:10] == [0, *values, 0]


def test_silent_lanes_ask_for_no_slices() -> None:
    config = preset("simt4")
    assert vector_tokens(config, "val_v", [1, None, -1 & 0xFFFFFFFF, None]) == [
        Token("val_v", 0b000_111_000_001)
    ]


def test_long_values_end_in_rest_tokens() -> None:
    config = preset("simt4")
    kinds = [t.kind for t in vector_tokens(config, "val_v", [0x7FFFFFFF, 0, 0, 0])]
    assert kinds == [slice_kind("val_v", i) for i in range(11)]
    assert kinds == ["val_v"] + ["more"] * 7 + ["rest"] * 3


@pytest.mark.parametrize(
    "change", [{"lanes": 3}, {"lanes": 1}, {"payload": 10}, {"payload": 4}, {"words": 2}, {"stages": 0}]
)
def test_a_machine_that_cannot_be_is_refused(change: dict[str, int]) -> None:
    with pytest.raises(QgcError, match="machine-"):
        MachineConfig("odd", **change)  # type: ignore[arg-type]


def test_an_unknown_machine_names_the_presets() -> None:
    with pytest.raises(QgcError) as caught:
        preset("simt5")
    assert "simt4" in (caught.value.diagnostics[0].hint or "")
