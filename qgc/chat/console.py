"""The conversation of `qgc chat`: what is typed, the commands, the history."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import click

from qgc.chat.protocol import MODES, choose
from qgc.chat.screen import Screen
from qgc.chat.session import Session, Turn
from qgc.chat.talker import Message
from qgc.diagnostics import QgcError
from qgc.files import write_text
from qgc.names import unknown


@dataclass(slots=True)
class Console:
    """A conversation at a terminal.

    Attributes:
        history: all turns, calls and results included; no machine token is in it.
    """

    session: Session
    screen: Screen
    mode: str = "normal"
    history: list[Message] = field(default_factory=list)
    is_over: bool = False

    def enter(self, line: str) -> None:
        """Take one line: a command, or something to answer."""
        text = line.strip()
        if text.startswith("/"):
            self._command(text)
        elif text:
            self._answer(text)

    def _answer(self, text: str) -> None:
        turn = Turn()
        self.history.append(Message("user", text))
        try:
            for event in self.session.reply(self.history, turn):
                self.screen.show(event)
        except KeyboardInterrupt:
            click.echo("\n(stopped)", err=True)
        finally:
            self.screen.end()
            self.history.append(Message("assistant", turn.content))
        if turn.end == "length":
            click.echo("(cut off: see --max-new-tokens)", err=True)

    def _command(self, text: str) -> None:
        name, _, rest = text[1:].partition(" ")
        if name not in COMMANDS:
            click.echo(unknown("command", f"/{name}", [f"/{known}" for known in COMMANDS]), err=True)
            return
        COMMANDS[name][1](self, rest.strip())

    def help(self, _rest: str) -> None:
        """List the commands."""
        for doc, _ in COMMANDS.values():
            click.echo(doc, err=True)

    def reset(self, _rest: str) -> None:
        """Forget everything that was said."""
        self.history.clear()
        click.echo("(a new conversation)", err=True)

    def system(self, rest: str) -> None:
        """Change what the model is told first."""
        self.session.system = rest
        click.echo(f"(system: {rest or 'nothing'})", err=True)

    def set_mode(self, rest: str) -> None:
        """Change between expressions and CUDA."""
        if rest not in MODES:
            click.echo(unknown("mode", rest, MODES), err=True)
            return
        self.mode = rest
        self.session.protocol = choose(self.session.talker, rest)
        click.echo(f"(mode: {rest})", err=True)

    def trace(self, _rest: str) -> None:
        """Show the tokens of launches, or hide them again."""
        self.screen.shows_trace = not self.screen.shows_trace
        click.echo(f"(trace {'on' if self.screen.shows_trace else 'off'})", err=True)

    def save(self, rest: str) -> None:
        """Write the conversation to a file."""
        if not rest:
            click.echo("say where: /save FILE.json", err=True)
            return
        content = json.dumps([asdict(message) for message in self.history], indent=2, ensure_ascii=False)
        try:
            write_text(Path(rest), content + "\n")
        except QgcError as err:
            click.echo(str(err), err=True)
            return
        click.echo(f"(saved {len(self.history)} messages to {rest})", err=True)

    def exit(self, _rest: str) -> None:
        """End."""
        self.is_over = True


COMMANDS: dict[str, tuple[str, Callable[[Console, str], None]]] = {
    "help": ("/help           list the commands", Console.help),
    "reset": ("/reset          forget everything that was said", Console.reset),
    "system": ("/system TEXT    what the model is told first; without TEXT, nothing", Console.system),
    "mode": ("/mode NAME      normal (expressions) or advanced (CUDA)", Console.set_mode),
    "trace": ("/trace          show all tokens of every launch, or hide them again", Console.trace),
    "save": ("/save FILE      write the conversation as JSON", Console.save),
    "exit": ("/exit           end; so does Ctrl-D", Console.exit),
}
