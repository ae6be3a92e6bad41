"""What a terminal shows of a turn: the answer on stdout, calls and launches on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from qgc.chat.device import hidden
from qgc.chat.session import Computed, Event, Failed, Said
from qgc.runtime.progress import Progress, on_stderr


@contextmanager
def launch_progress() -> Iterator[Progress]:
    """A bar on a terminal while a launch runs; nothing elsewhere, where one line follows when it is over."""
    with on_stderr() if sys.stderr.isatty() else hidden() as progress:
        yield progress


class Screen:
    """Shows events.

    Attributes:
        shows_trace: whether all tokens of every launch are printed.
    """

    def __init__(self, shows_trace: bool = False) -> None:
        self.shows_trace = shows_trace
        self._is_inside = False

    def show(self, event: Event) -> None:
        """Show one event."""
        match event:
            case Said():
                click.echo(event.text, nl=False)
                sys.stdout.flush()
                self._is_inside = not event.text.endswith("\n")
            case Computed():
                self._note(f"gpu: {_source(event)}{event.result}")
                for launched in event.launches:
                    click.echo(f"  {launched.line()}", err=True)
                    if self.shows_trace:
                        click.echo(launched.trace(), err=True)
            case Failed():
                self._note(
                    f"gpu: {event.call.source}\n{event.fault}" if event.call.launch is None else event.fault
                )
                if event.is_final:
                    click.echo(
                        "The GPU has no result; the error is above." if event.call.launch else _sorry(event)
                    )

    def end(self) -> None:
        """End the line of an answer."""
        if self._is_inside:
            click.echo()
        self._is_inside = False

    def _note(self, text: str) -> None:
        self.end()
        click.echo(text, err=True)


def _source(event: Computed) -> str:
    """What was called, up to its result."""
    if event.call.launch is None:
        return f"{event.call.source} = "
    return f"launch:{event.call.launch}\n"


def _sorry(event: Failed) -> str:
    return f"I cannot compute {event.call.source}: {event.fault}."
