"""The texts that diagnostics quote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path


class Sources(Mapping[str, str]):
    """Texts by the name that spans give their file: those remembered, and files by their path."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def remember(self, name: str, text: str) -> None:
        """Make `text` known as the content of `name`, which need not be a file."""
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
