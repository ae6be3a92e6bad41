"""Questions with numbers in them: a template, its values, the expression it asks for, and the answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from qgc.host.arithmetic import Value, value
from qgc.host.templates import FRAMES, KINDS, OPENINGS, TRUTH_FRAMES, Kind, templates

LIMIT = 2**31
"""Results stay below: the machine's words have 32 bits."""

_ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, the expression it means, what that is worth, and the phrase with the result."""

    kind: str
    text: str
    expression: str
    result: str
    answer: str


def in_words(number: int) -> str:
    """A number from 0 to 99 as English has it."""
    if number < 20:
        return _ONES[number]
    ten, one = _TENS[number // 10 - 2], number % 10
    return f"{ten}-{_ONES[one]}" if one else ten


def question(rng: Random, kind: Kind, is_held_out: bool = False) -> Question:
    """One question of a kind, from a template in training or from one that is held out."""
    while True:
        values = _values(rng, kind)
        expression = kind.expression.format(**{k: str(v) for k, v in values.items()})
        if (result := _fitting(expression)) is not None:
            break
    text = _text(rng, kind, values, is_held_out)
    yes_no = templates(kind.answers, False)
    answer = yes_no[0 if result else 1] if kind.is_truth else rng.choice(yes_no).format(r=result)
    return Question(kind.name, text, expression, str(result), answer)


_FOLLOW_UPS = (
    ("{r} + {b}", "add {b} | add {b} to that | now add {b} to it | and plus {b} | plus {b} | what is that plus {b}"),
    ("{r} - {b}", "subtract {b} | subtract {b} from that | now take away {b} | minus {b} | what is that minus {b}"),
    ("{r} * {b}", "multiply that by {b} | now multiply it by {b} | times {b} | and times {b} | what is that times {b}"),
    ("{r} // {b}", "divide that by {b} | now divide it by {b} | divided by {b} | what is that divided by {b}"),
    ("{r} % {b}", "take that modulo {b} | that mod {b} | what is that mod {b} | the remainder by {b}"),
    ("{r} * 2", "double it | double that | now double it | twice that"),
    ("{r} ** 2", "square it | square that | now square it | that squared"),
)  # fmt: skip


def follow_up(rng: Random, before: Question) -> Question | None:
    """A question that means the last result by "that"; None when that was no integer."""
    if not before.result.lstrip("-").isdigit():
        return None
    expression, texts = rng.choice(_FOLLOW_UPS)
    b = max(1, abs(_integer(rng, 0, False)) % 1000)
    expression = expression.format(r=before.result, b=b)
    if (result := _fitting(expression)) is None:
        return None
    text = _dressed(rng, rng.choice(texts.split(" | ")).format(b=b))
    return Question("follow-up", text, expression, str(result), f"That makes {result}.")


def written(rng: Random) -> Question:
    """A question that is an expression already."""
    while True:
        numbers = [str(abs(_integer(rng, rng.choice((9, 99, 999)), False))) for _ in range(4)]
        a, b, c, d = numbers
        o, p, q = rng.choices("+-*", k=3)
        expression = rng.choice(
            (f"{a} {o} {b}", f"{a} {o} {b} {p} {c}", f"({a} {o} {b}) {p} {c}", f"{a} {o} ({b} {p} {c})",
             f"{a} {o} {b} {p} {c} {q} {d}", f"({a} {o} {b}) {p} ({c} {q} {d})")
        )  # fmt: skip
        if (result := _fitting(expression)) is not None:
            frame = rng.choice(
                ("{}", "{} =", "what is {}", "compute {}", "{} = ?", "calculate {}", "evaluate {}")
            )
            text = frame.format(expression)
            return Question(
                "expression", _dressed(rng, text), expression, str(result), f"The result is {result}."
            )


def ask(rng: Random) -> Question:
    """A question in training, of any kind."""
    return written(rng) if rng.random() < 0.05 else question(rng, rng.choice(KINDS))


def _fitting(expression: str) -> Value | None:
    """The value; None when a number of it does not fit the machine, or there is none."""
    try:
        result = value(expression)
    except ZeroDivisionError:
        return None
    numbers = [int(n) for n in re.findall(r"-?\d+", str(result))]
    return result if all(abs(n) < LIMIT for n in numbers) else None


def _integer(rng: Random, small: int, is_signed: bool) -> int:
    """An integer: of one to nine digits, short ones more often, or at most `small`."""
    if small:
        number = rng.randint(0, rng.choice((min(9, small), small)))
    else:
        digits = rng.choices(range(1, 10), (18, 22, 20, 14, 10, 6, 3, 2, 1))[0]
        number = rng.randint(10 ** (digits - 1) if digits > 1 else 0, 10**digits - 1)
    return -number if is_signed and rng.random() < 0.06 else number


def _vector(rng: Random, size: int, small: int, is_signed: bool) -> list[int]:
    digits = rng.choice((1, 1, 2, 2, 3, 4))
    limit = small or 10**digits - 1
    return [rng.randint(0, limit) * (-1 if is_signed and rng.random() < 0.08 else 1) for _ in range(size)]


def _values(rng: Random, kind: Kind) -> dict[str, Value]:
    size, side = rng.choice((2, 3, 3, 3, 4, 4, 5, 6, 7, 8)), rng.choice((2, 2, 2, 3))
    is_signed = kind.signed and rng.random() < 0.4
    values: dict[str, Value] = {}
    for place in "abc":
        if f"{{{place}}}" in kind.expression:
            values[place] = _integer(rng, kind.small, is_signed)
    if kind.name in ("scale", "range", "power"):
        values |= {k: v % 1000 for k, v in values.items() if isinstance(v, int)}
    for place in "vw":
        if f"{{{place}}}" in kind.expression:
            values[place] = _vector(rng, size, kind.small, is_signed)
    for place in "mn":
        if f"{{{place}}}" in kind.expression:
            values[place] = [_vector(rng, side, rng.choice((9, 20)), False) for _ in range(side)]
    return values


def _text(rng: Random, kind: Kind, values: dict[str, Value], is_held_out: bool) -> str:
    """A template with the values in it; when held out, its words and its frame are both unseen wherever both exist."""
    nouns, sentences = templates(kind.nouns, is_held_out), templates(kind.sentences, is_held_out)
    core = rng.choice((rng.choice(nouns), rng.choice(sentences)) if sentences else nouns)
    filled = core.format(**{k: _said(rng, v, core) for k, v in values.items()})
    if core in nouns:
        frames = templates(TRUTH_FRAMES if core.startswith(("if ", "whether ")) else FRAMES, is_held_out)
        filled = rng.choice(frames).format(filled)
    return _finished(rng, filled) if is_held_out else _dressed(rng, filled)


def _said(rng: Random, what: Value, core: str) -> str:
    """A number as digits, or seldom in words; a vector in brackets, or as people list numbers."""
    if isinstance(what, int):
        return in_words(what) if 0 <= what < 100 and "th " not in core and rng.random() < 0.12 else str(what)
    is_code = any(sign in core for sign in "(@+*=") or " - " in core or isinstance(what[0], list)
    if is_code or len(what) == 2 or rng.random() < 0.55:  # "add up 3 and 5" would mean two things
        return str(what)
    words = [str(n) for n in what]
    if "{w}" in core:
        return f"({', '.join(words)})"
    return rng.choice((", ".join(words), " ".join(words), f"{', '.join(words[:-1])} and {words[-1]}"))


def _dressed(rng: Random, text: str) -> str:
    return _finished(rng, rng.choice(templates(OPENINGS, False)).format(text))


def _finished(rng: Random, text: str) -> str:
    """As people type: with or without a capital letter and a mark at the end."""
    if rng.random() < 0.5 and text[0].isalpha() and "(" not in text.split(" ")[0]:
        text = text[0].upper() + text[1:]
    return text if text.endswith(("=", "?")) else text + rng.choice(("", "?", ".", "?"))
