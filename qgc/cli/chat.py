"""`qgc chat`: a conversation with a merged model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from qgc.cli.conversation import FOLDER, MODE, MODEL, SAMPLING, TRACE, open_session


@click.command()
@FOLDER
@MODE
@SAMPLING
@TRACE
@MODEL
def command(folder: Path, mode: str, show_trace: bool, **options: Any) -> None:
    """Talk with a merged model.

    DIR is a checkpoint of `qgc build`. Lines come from stdin. /help lists the commands; Ctrl-C stops an answer or a launch and keeps
    the conversation; Ctrl-D ends it.
    """
    from qgc.chat.console import Console
    from qgc.chat.screen import Screen

    console = Console(open_session(folder, mode, options), Screen(show_trace), mode)
    if sys.stdin.isatty():
        import readline  # noqa: F401 (makes input() editable)

        click.echo("Ask something; /help lists the commands.", err=True)
    while not console.is_over:
        try:
            console.enter(input("> " if sys.stdin.isatty() else ""))
        except EOFError:
            return
        except KeyboardInterrupt:
            click.echo("\n(Ctrl-D or /exit ends the chat)", err=True)
