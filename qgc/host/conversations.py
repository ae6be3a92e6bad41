"""Conversations in the protocol of the chat: ChatML, with calls of the GPU and their results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from qgc.host.questions import Question, ask, follow_up
from qgc.host.talk import small_talk

START, END = "<|im_start|>", "<|im_end|>"
CALL, CALLED = "<gpu>", "</gpu>"
RESULT, RESULTED = "<result>", "</result>"
SPECIAL = (END, START, CALL, CALLED, RESULT, RESULTED)
"""Every token of the protocol; the first also ends a generation and pads."""

_SYSTEMS = ("You are a helpful assistant.", "You are a calculator with a GPU.", "Answer briefly.")


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a conversation, and whether the model is the one who says it."""

    text: str
    is_own: bool


def prompt(question: str) -> str:
    """A conversation up to where the model goes on."""
    return f"{START}user\n{question}{END}\n{START}assistant\n"


def conversation(rng: Random) -> Iterator[Part]:
    """A conversation of one to four turns."""
    if rng.random() < 0.08:
        yield Part(f"{START}system\n{rng.choice(_SYSTEMS)}{END}\n", False)
    before: Question | None = None
    for _ in range(rng.choice((1, 1, 2, 3, 4))):
        if rng.random() < 0.12:
            remark, answer = small_talk(rng)
            mark = rng.choice(("", "?", ".", "!"))
            yield Part(prompt((remark if rng.random() < 0.5 else remark.capitalize()) + mark), False)
            yield Part(f"{answer}{END}", True)
        else:
            later = follow_up(rng, before) if before and rng.random() < 0.35 else None
            before = later or ask(rng)
            yield from _turn(before)
        yield Part("\n", False)


def _turn(question: Question) -> Iterator[Part]:
    yield Part(prompt(question.text), False)
    yield Part(f"{CALL}{question.expression}{CALLED}", True)
    yield Part(f"{RESULT}{question.result}{RESULTED}", False)
    yield Part(f"{question.answer}{END}", True)
