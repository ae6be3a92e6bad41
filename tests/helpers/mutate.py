"""Broken texts from good ones: what a typing error, a bad merge, a truncated file or a malicious one looks like."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)
_NUMBERS = (
    "0",
    "1",
    "-1",
    "31",
    "4294967295",
    "4294967296",
    "-2147483649",
    "99999999999999999999",
    "1e999",
    "0x",
    "007",
)
_CHARACTERS = "\x00\t\n\r \"#$%&'()*+,-./0:;<=>?@A[\\]^_`a{|}~\x7f\xa0\u00e9\u0665\u2028\ufeff\U0001f600"


def mutated(rng: random.Random, seeds: Sequence[str]) -> str:
    """One of the texts with one to four changes."""
    words = _WORD.findall(rng.choice(seeds))
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        words = _change(rng, words, seeds)
    return "".join(words)


def _change(rng: random.Random, words: list[str], seeds: Sequence[str]) -> list[str]:
    if not words:
        return _WORD.findall(rng.choice(seeds))
    at = rng.randrange(len(words))
    until = min(len(words), at + rng.choice((1, 1, 1, 2, 5, 20, 100)))
    kind = rng.randrange(9)
    if kind == 0:
        return words[:at] + words[until:]
    if kind == 1:
        return words[:until] + words[at:]
    if kind == 2:
        return words[:at]
    if kind == 3:
        other = _WORD.findall(rng.choice(seeds))
        start = rng.randrange(len(other))
        return words[:at] + other[start : start + rng.randrange(1, 20)] + words[until:]
    if kind == 4:
        return [*words[:at], rng.choice(_CHARACTERS) * rng.choice((1, 1, 1, 300)), *words[at:]]
    if kind == 5:
        numbers = [i for i, word in enumerate(words) if word.isdigit()] or [at]
        at = rng.choice(numbers)
        return [*words[:at], rng.choice(_NUMBERS), *words[at + 1 :]]
    other_at = rng.randrange(len(words))
    if kind == 6:
        return [*words[:at], words[other_at], *words[at + 1 :]]
    if kind == 7:
        words = list(words)
        words[at], words[other_at] = words[other_at], words[at]
        return words
    word = words[at]
    cut = rng.randrange(len(word) + 1)
    return [*words[:at], word[:cut] + rng.choice(_CHARACTERS) + word[cut:], *words[at + 1 :]]
