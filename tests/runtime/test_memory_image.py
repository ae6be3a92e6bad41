"""Where arrays lie, and the fewest tokens that write them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qgc.diagnostics import QgcError
from qgc.ir.machine.config import preset
from qgc.ir.machine.interpreter import Machine
from qgc.ir.machine.tokens import Token, scalar_tokens, vector_tokens
from qgc.runtime.memory_image import memory_tokens, place_arrays
from tests.helpers.programs import WORDS

SIMT4 = preset("simt4")
NANO = preset("nano")


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int32)


def test_arrays_follow_each_other_with_a_word_between() -> None:
    image = place_arrays(SIMT4, [("a", ints(1, -2)), ("b", ints(3))])
    assert [(r.name, r.words, r.address) for r in image.regions] == [
        ("a", range(2), 0),
        ("b", range(3, 4), 12),
    ]
    assert image.words == (1, 0xFFFFFFFE, 0, 3, 0)


def test_arrays_that_just_fit_stand_close() -> None:
    image = place_arrays(NANO, [("a", ints(1, 2, 3, 4)), ("b", ints(5, 6, 7, 8))])
    assert [r.words for r in image.regions] == [range(4), range(4, 8)]


def test_one_array_given_twice_has_one_place() -> None:
    a = ints(1, 2)
    image = place_arrays(SIMT4, [("a", a), ("b", ints(3)), ("c", a.view(np.uint32))])
    assert image["a"].words == image["c"].words == range(2)


def test_arrays_that_overlap_are_refused() -> None:
    a = ints(1, 2, 3)
    with pytest.raises(QgcError, match="launch-overlap"):
        place_arrays(SIMT4, [("a", a), ("b", a[1:])])


def test_arrays_that_do_not_fit_are_refused_with_the_numbers() -> None:
    with pytest.raises(QgcError, match=r"9 words \(a 5, b 4\); machine nano has 8") as caught:
        place_arrays(NANO, [("a", ints(*range(5))), ("b", ints(*range(4)))])
    assert caught.value.diagnostics[0].code == "launch-memory"


def test_a_byte_address_is_described_by_the_arrays() -> None:
    image = place_arrays(SIMT4, [("a", ints(1, 2)), ("b", ints(3))])
    assert image.near(8) == "0 bytes past the end of a (2 words at byte address 0)"
    assert image.near(12) == "in b (1 words at byte address 12)"
    assert image.near(40) == "24 bytes past the end of b (1 words at byte address 12)"
    assert place_arrays(SIMT4, []).near(4) == "there is no array"


@given(st.lists(st.one_of(st.just(0), WORDS), max_size=24), st.sampled_from([SIMT4, replace(SIMT4, lanes=2)]))
def test_the_tokens_write_the_words(words: list[int], config) -> None:  # type: ignore[no-untyped-def]
    machine = Machine(config)
    for token in memory_tokens(config, words):
        machine.feed(token)
    assert machine.memory == words + [0] * (config.words - len(words))


def _least(words: list[int]) -> int:
    """The fewest tokens, by trying every way."""
    if not words:
        return 0
    lanes = SIMT4.lanes
    vector = [*words, 0, 0, 0][:lanes]
    ways = [
        1 + len(scalar_tokens(SIMT4, "mem_s", words[0])) + _least(words[1:]),
        1 + len(vector_tokens(SIMT4, "mem_v", vector)) + _least(words[lanes:]),
    ]
    return min(ways + [_least(words[1:])] * (words[0] == 0))


@given(st.lists(st.one_of(st.just(0), WORDS), max_size=9))
def test_there_are_no_fewer_tokens(words: list[int]) -> None:
    assert len(memory_tokens(SIMT4, words)) == _least(words)


def test_small_numbers_come_as_vectors_and_large_ones_alone() -> None:
    assert [t.kind for t in memory_tokens(SIMT4, [1, 2, 3, 1])] == ["adr_v", "mem_v"]
    assert memory_tokens(SIMT4, [0, 0, 1 << 20]) == [Token("adr", 2), *scalar_tokens(SIMT4, "mem_s", 1 << 20)]
    assert memory_tokens(SIMT4, [0] * 50) == []
