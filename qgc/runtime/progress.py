"""Progress of long work, as whoever does it reports it and whoever waits shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str, int, int], None]
"""`progress(what, done, total)`: called often; `total` is 0 when it is not known."""


def silent(what: str, done: int, total: int) -> None:
    """Show nothing."""


@contextmanager
def on_stderr() -> Iterator[Progress]:
    """A progress line on stderr while the block runs; nothing is drawn when stderr is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, int] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total or None)
            bars.update(tasks[what], completed=done, total=total or None)  # type: ignore[arg-type]

        yield show
