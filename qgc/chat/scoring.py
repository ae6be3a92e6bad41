"""The evaluation of a merged model: questions from templates that its host was not trained on, and tasks for CUDA.

An answer is right when the number of its last launch is exactly the one that was asked for, and the text says it.
"""

from __future__ import annotations

import re
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from qgc.chat.session import Turn
from qgc.chat.talker import Message

if TYPE_CHECKING:
    from qgc.chat.session import Session
    from qgc.host.questions import Question

QUESTIONS = 24


@dataclass(frozen=True, slots=True)
class Problem:
    """What is asked, and what must come out.

    Attributes:
        name: the kind of question.
        result: what the last call must give: a value, or one array of a CUDA launch.
        says: what the text must have in it; a word counts in any case.
    """

    name: str
    text: str
    result: str
    says: str


@dataclass(frozen=True, slots=True)
class Score:
    """How one problem went.

    Attributes:
        is_computed: whether the last launch gave the result.
        is_said: whether the text says it.
        tokens, execs: of all its launches, fed and written.
    """

    name: str
    question: str
    expected: str
    results: tuple[str, ...]
    answer: str
    is_computed: bool
    is_said: bool
    launches: int
    tokens: int
    execs: int
    repairs: int
    seconds: float

    @property
    def is_right(self) -> bool:
        """Whether it counts."""
        return self.is_computed and self.is_said


def problems(mode: str) -> list[Problem]:
    """The problems of a mode: 24 questions of as many kinds, or 5 tasks."""
    if mode == "advanced":
        text = (Path(__file__).parent / "tasks.toml").read_text(encoding="utf-8")
        tasks = tomllib.loads(text)["task"]
        return [Problem(t["name"], t["ask"], _array(t["expected"]), "") for t in tasks]
    from qgc.host.evaluate import held_out

    found = held_out(1)
    spread = [found[i * len(found) // QUESTIONS] for i in range(QUESTIONS)]
    return [Problem(asked.kind, asked.text, asked.result, _says(asked)) for asked in spread]


def _array(words: list[int]) -> str:
    return ",".join(map(str, words))


def _says(asked: Question) -> str:
    """The result, or for a question of yes or no that word."""
    return asked.answer.split(",")[0] if asked.answer.startswith(("Yes,", "No,")) else asked.result


def evaluate(session: Session, mode: str) -> Iterator[Score]:
    """Ask every problem in a conversation of its own, greedily."""
    for problem in problems(mode):
        yield score(session, problem)


def score(session: Session, problem: Problem) -> Score:
    """Ask one problem."""
    turn, began = Turn(), time.perf_counter()
    for _ in session.reply([Message("user", problem.text)], turn):
        pass
    last = turn.results[-1] if turn.results else ""
    found = [line.partition("=")[2] for line in last.splitlines()] if "=" in last else [last]
    return Score(
        problem.name,
        problem.text,
        problem.result,
        tuple(turn.results),
        turn.text,
        bool(turn.launches) and problem.result in found,
        _is_said(problem.says, turn.text),
        len(turn.launches),
        sum(launched.prompt_tokens + launched.generated_tokens for launched in turn.launches),
        sum(launched.execs for launched in turn.launches),
        turn.repairs,
        round(time.perf_counter() - began, 2),
    )


def _is_said(wanted: str, text: str) -> bool:
    """Whether a text has a number (no part of a longer one), a list or a word in it; spaces do not count."""
    text, wanted = (re.sub(r"(?<=[\[,])\s+|\s+(?=[\],])", "", part).lower() for part in (text, wanted))
    return not wanted or re.search(rf"(?<![\w-]){re.escape(wanted)}(?!\w|[.,]\d)", text) is not None
