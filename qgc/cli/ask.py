"""`qgc ask`: one question to a merged model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from qgc.cli.conversation import FOLDER, MODE, MODEL, SAMPLING, TRACE, open_session


@click.command()
@FOLDER
@click.argument("question")
@MODE
@SAMPLING
@TRACE
@MODEL
def command(folder: Path, question: str, mode: str, show_trace: bool, **options: Any) -> None:
    """Ask a merged model one question.

    DIR is a checkpoint of `qgc build`. The answer goes to stdout as it is written; calls of the GPU, their results and their
    launches (tokens fed + tokens written, blocks run) go to stderr. The exit code is 1 when a launch had no result.

    Example: qgc ask DIR "what is the dot product of [1, 2, 3] and [4, 5, 6]?"
    """
    from qgc.chat.screen import Screen
    from qgc.chat.session import Turn
    from qgc.chat.talker import Message

    if not question.strip():
        raise click.UsageError("the question is empty")
    session, screen, turn = open_session(folder, mode, options), Screen(show_trace), Turn()
    try:
        for event in session.reply([Message("user", question)], turn):
            screen.show(event)
    finally:
        screen.end()
    if turn.end == "length":
        click.echo("note: the answer is cut off; see --max-new-tokens", err=True)
    if turn.end == "error":
        raise SystemExit(1)
