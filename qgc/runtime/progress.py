"""Progress of long work, as whoever does it reports it and whoever waits shows it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import TaskID

Progress = Callable[[str, int, int], None]
"""`progress(what, done, total)`: called often; `total` is 0 when it is not known."""


def silent(what: str, done: int, total: int) -> None:
    """Show nothing."""


@contextmanager
def on_stderr() -> Iterator[Progress]:
    """Show progress on stderr while the block runs: bars on a terminal, else one line for each kind of work."""
    if not sys.stderr.isatty():
        yield _Lines().show
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what)
            bars.update(tasks[what], completed=done, total=total or None)

        yield show


class _Lines:
    """Says what begins, for logs."""

    def __init__(self) -> None:
        self._seen: list[str] = []

    def show(self, what: str, done: int, total: int) -> None:
        """Print `what` the first time."""
        if what not in self._seen:
            self._seen.append(what)
            print(f"{what} ...", file=sys.stderr, flush=True)
