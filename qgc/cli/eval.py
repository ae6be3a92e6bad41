"""`qgc eval`: how often a merged model's answers are right."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from qgc.cli.conversation import FOLDER, MODE, MODEL, open_session
from qgc.cli.options import OUT, write_output

if TYPE_CHECKING:
    from qgc.chat.scoring import Score


@click.command()
@FOLDER
@MODE
@MODEL
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every question and answer.")
@OUT
def command(folder: Path, mode: str, as_json: bool, out: str, **options: Any) -> None:
    """Score a merged model's answers.

    DIR is a checkpoint of `qgc build`. normal: 24 questions from templates that host/ was not trained on; advanced: 5 tasks for CUDA.
    Right means that the last launch gave exactly the number that was asked for, and the text says it. Decoding is greedy.
    """
    from qgc.chat.scoring import evaluate, problems
    from qgc.runtime.progress import on_stderr

    session = open_session(folder, mode, options)
    scores = []
    total = len(problems(mode))
    with on_stderr() as progress:
        session.device.shown = _quiet
        for number, score in enumerate(evaluate(session, mode), 1):
            progress("questions", number, total)
            scores.append(score)
    content = (
        json.dumps(summary(mode, scores), indent=2, ensure_ascii=False) if as_json else table(mode, scores)
    )
    write_output(out, content + "\n")


def _quiet() -> Any:
    from qgc.chat.device import hidden

    return hidden()


def summary(mode: str, scores: list[Score]) -> dict[str, Any]:
    """Everything, for JSON."""
    return {
        "mode": mode,
        "right": sum(score.is_right for score in scores),
        "of": len(scores),
        "launches": sum(score.launches for score in scores),
        "tokens": sum(score.tokens for score in scores),
        "execs": sum(score.execs for score in scores),
        "seconds": round(sum(score.seconds for score in scores), 1),
        "questions": [{"is_right": score.is_right, **asdict(score)} for score in scores],
    }


def table(mode: str, scores: list[Score]) -> str:
    """A line a question."""
    lines = [f"{'':6}{'kind':<18}{'launches':>8}{'tokens':>8}{'EXEC':>7}{'s':>7}  answer"]
    for score in scores:
        mark = "right" if score.is_right else "wrong"
        answer = " ".join(score.answer.split())
        shown = answer if len(answer) <= 60 else answer[:57] + "..."
        numbers = f"{score.launches:>8}{score.tokens:>8}{score.execs:>7}{score.seconds:>7.1f}"
        lines.append(f"{mark:<6}{score.name:<18}{numbers}  {shown}")
    found = summary(mode, scores)
    lines.append(f"{found['right']} of {found['of']} right, {found['seconds']} s")
    return "\n".join(lines)
