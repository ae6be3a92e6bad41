"""What several commands share: inputs from files or stdin, outputs to files or stdout, names with suggestions."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from qgc import files
from qgc.names import unknown


class Sources(Mapping[str, str]):
    """The texts that diagnostics quote: those remembered under a name, and files by their path."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def remember(self, name: str, text: str) -> None:
        """Make `text` known as the content of `name`, for inputs that are no files."""
        self._texts[name] = text

    def __getitem__(self, name: str) -> str:
        if name not in self._texts:
            try:
                self._texts[name] = Path(name).read_text(encoding="utf-8")
            except (OSError, ValueError):
                raise KeyError(name) from None
        return self._texts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


class Name(click.ParamType[str]):
    """A name out of a fixed list; the error lists them and suggests the nearest."""

    name = "name"

    def __init__(self, what: str, names: Iterable[str]) -> None:
        self.what = what
        self.names = tuple(names)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name itself, or fail as a usage error."""
        if value not in self.names:
            self.fail(unknown(self.what, value, self.names), param, ctx)
        return str(value)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Show what kind of name the option takes."""
        return self.what.upper()


SOURCE = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=str)
"""An input file, or `-` for stdin."""

OUTPUT = click.Path(allow_dash=True, path_type=str)
"""An output file, or `-` for stdout."""


def read_source(path: str, sources: Sources) -> tuple[str, str]:
    """The text of a file or of stdin (`-`), and the name that diagnostics give it.

    Raises:
        QgcError: `io-read` or `io-encoding`.
    """
    if path != "-":
        text = files.read_text(Path(path))
        sources.remember(path, text)
        return text, path
    try:
        text = sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as err:
        raise files.not_text("<stdin>", err) from err
    sources.remember("<stdin>", text)
    return text, "<stdin>"


def write_output(path: str, text: str) -> None:
    """Write a result to a file, atomically, or to stdout (`-`).

    Raises:
        QgcError: `io-write`.
    """
    if path == "-":
        click.echo(text, nl=False)
    else:
        files.write_text(Path(path), text)
