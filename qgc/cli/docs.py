"""The text of docs/cli.md, from the commands' own help."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from qgc.cli.main import COMMANDS, cli

WIDTH = 110


def cli_markdown() -> str:
    """The help of every command as one page."""
    lines = [
        "# Commands",
        "",
        "Made from `qgc COMMAND --help` by a test; `make bless` rewrites it.",
        "",
        "Exit codes: 0 done, 1 the input was rejected, 2 wrong usage, 70 a bug in qgc, 130 interrupted.",
        "stdout carries the result alone; `-` is stdin or stdout.",
    ]
    width: dict[str, Any] = {"max_content_width": WIDTH, "terminal_width": WIDTH}
    root = cli.make_context("qgc", [], resilient_parsing=True, **width)
    for name in COMMANDS:
        command = cli.get_command(root, name)
        if command is not None:
            for path, text in _helps(click.Context(command, root, name)):
                lines += ["", f"## {path}", "", "```", text, "```"]
    return "\n".join(lines) + "\n"


def _helps(context: click.Context) -> Iterator[tuple[str, str]]:
    """The help of a command and of those below it."""
    yield context.command_path, context.command.get_help(context)
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            if command is not None:
                yield from _helps(click.Context(command, context, name))
