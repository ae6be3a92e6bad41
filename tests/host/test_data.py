"""Training data: the same every time, right by an independent reckoning, and apart from what is held out."""

from __future__ import annotations

import itertools
import math
import re
from random import Random
from typing import Any

import numpy as np
import pytest

from qgc.host.conversations import CALL, CALLED, RESULT, RESULTED, conversation
from qgc.host.questions import follow_up, in_words, question, written
from qgc.host.templates import FRAMES, KINDS, OPENINGS, Kind, templates


def _independent(expression: str) -> Any:
    """The value by numpy and the math module: shares nothing with `qgc.host.arithmetic`."""
    lists = re.sub(r"(\[\[.*?\]\]|\[[^\[\]]*\])", r"array(\1)", expression)
    names = {
        "array": lambda v: np.array(v, dtype=object),
        "sum": np.sum,
        "prod": np.prod,
        "min": np.min,
        "max": np.max,
        "sort": np.sort,
        "reverse": np.flip,
        "cumsum": np.cumsum,
        "len": np.size,
        "range": np.arange,
        "gcd": np.gcd,
        "lcm": np.lcm,
        "isprime": lambda n: (
            n > 1 and re.fullmatch(r"(11+)\1+", "1" * n) is None if n < 500 else _by_trial(n)
        ),
        "fib": lambda n: math.floor(((1 + 5**0.5) / 2) ** n / 5**0.5 + 0.5),
        "popcount": lambda n: sum(map(int, f"{n:b}")),
        "abs": np.abs,
    }
    return eval(lists, {"__builtins__": {}}, names)


def _by_trial(n: int) -> bool:
    divisors = np.arange(2, int(n**0.5) + 2)
    return bool(np.all(n % divisors[divisors < n]))


def _text(seed: int) -> str:
    rng = Random(seed)
    return "".join(part.text for _ in range(40) for part in conversation(rng))


def test_same_seed_same_conversations() -> None:
    assert _text(3) == _text(3) != _text(4)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("is_held_out", [False, True])
def test_results_are_right(kind: Kind, is_held_out: bool) -> None:
    rng = Random(7)
    for _ in range(20):
        asked = question(rng, kind, is_held_out)
        found = _independent(asked.expression)
        plain = found.tolist() if isinstance(found, np.ndarray) else int(found)
        assert asked.result == str(plain), asked
        if kind.is_truth:
            assert asked.answer.startswith("Yes" if plain else "No")
        else:
            assert asked.result in asked.answer


def test_calls_in_conversations_are_right() -> None:
    pattern = re.escape(CALL) + "(.*?)" + re.escape(CALLED + RESULT) + "(.*?)" + re.escape(RESULTED)
    calls = re.findall(pattern, _text(11))
    assert len(calls) > 50
    for expression, result in calls:
        found = _independent(expression)
        assert result == str(found.tolist() if isinstance(found, np.ndarray) else int(found))


def test_every_kind_has_templates_on_both_sides() -> None:
    for kind in KINDS:
        texts = f"{kind.nouns} | {kind.sentences}"
        seen, unseen = templates(texts, False), templates(texts, True)
        assert len(seen) >= 6 and unseen and not set(seen) & set(unseen), kind.name
    assert templates(FRAMES, True) and not set(templates(FRAMES, True)) & set(templates(FRAMES, False))


def test_held_out_wording_never_occurs_in_training() -> None:
    """Sentences with the numbers taken out: no held-out one is ever a training one, whatever comes around it."""
    for kind, other in itertools.product(KINDS, KINDS):
        seen = {s for s in templates(f"{other.nouns} | {other.sentences}", False)}
        shown = {o.format(s) for s in seen for o in templates(OPENINGS, False)}
        assert not shown & set(templates(f"{kind.nouns} | {kind.sentences}", True)), (kind.name, other.name)


def test_number_words() -> None:
    assert [in_words(n) for n in (0, 13, 20, 21, 99)] == [
        "zero",
        "thirteen",
        "twenty",
        "twenty-one",
        "ninety-nine",
    ]


def test_follow_up_takes_the_last_result() -> None:
    rng = Random(1)
    first = written(rng)
    later = [q for _ in range(20) if (q := follow_up(rng, first)) is not None]
    assert later and all(q.expression.startswith(first.result + " ") for q in later)
    assert all(int(q.result) == int(_independent(q.expression)) for q in later)


def test_no_follow_up_of_a_vector() -> None:
    kind = next(kind for kind in KINDS if kind.name == "sort")
    assert follow_up(Random(1), question(Random(1), kind)) is None
