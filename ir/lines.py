"""Reading line-based texts: dispatch on the first word of a line, and diagnostics that point at a word.

A reader hands each line's text to the function of its first word. Such a function raises `error(...)` when it does not
understand the line; all errors are gathered and raised together at the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import inf

from qgc.diagnostics import Diagnostic, QgcError, Span, fail

_NUMBER = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?(e[+-]?[0-9]{1,3})?")
_COUNT = re.compile(r"[0-9]{1,9}")


def number_text(value: float) -> str:
    """A number in its shortest exact form: whole numbers without a point."""
    whole = int(value) if abs(value) < 1 << 53 else None
    return str(whole) if whole == value else repr(float(value))


class LineReader:
    """Reads a text line by line; `#` begins a comment line, indentation is free.

    Attributes:
        span: the current line.
        lines: handlers by first word; each gets the rest of its line.
    """

    def __init__(self, file: str, code: str, lines: Mapping[str, Callable[[str], None]]) -> None:
        self.file = file
        self.code = code
        self.lines = lines
        self.span = Span(file, 1, 1)
        self._line = ""
        self._faults: list[Diagnostic] = []

    def read(self, text: str) -> None:
        """Read every line.

        Raises:
            QgcError: all faults, in order.
        """
        for number, line in enumerate(text.splitlines(), 1):
            body = line.strip()
            if not body or body[0] == "#":
                continue
            column = len(line) - len(line.lstrip()) + 1
            self._line, self.span = line, Span(self.file, number, column, column + len(body))
            word, _, rest = body.partition(" ")
            try:
                if (handler := self.lines.get(word)) is None:
                    known = ", ".join(self.lines)
                    raise self.error(f"unknown line {word!r}", word, f"a line begins with one of: {known}")
                handler(rest)
            except QgcError as err:
                self._faults += err.diagnostics
        if self._faults:
            raise QgcError(*self._faults)

    def error(
        self, message: str, word: str | None = None, hint: str | None = None, code: str | None = None
    ) -> QgcError:
        """The fault of the current line, at the first place where `word` stands in it."""
        span = self.span
        if word and (match := re.search(rf"(?<![\w.]){re.escape(word)}(?![\w.])", self._line)):
            span = Span(self.file, span.line, match.start() + 1, match.end() + 1)
        return fail(code or self.code, message, span, hint)

    def missing(self, what: str) -> QgcError:
        """The fault of a text that has no line of some kind."""
        return fail(self.code, f"no line `{what}`", Span(self.file, 1, 1))

    def count(self, word: str) -> int:
        """An unsigned whole number."""
        if not _COUNT.fullmatch(word):
            raise self.error(f"{word!r} is not a whole number", word)
        return int(word)

    def number(self, word: str) -> int | float:
        """A number as `number_text` prints it."""
        value = float(word) if _NUMBER.fullmatch(word) else inf
        if abs(value) == inf:
            raise self.error(f"{word!r} is not a number", word)
        return int(word) if word.lstrip("-").isdigit() else value

    def match(self, pattern: re.Pattern[str], body: str, expected: str) -> re.Match[str]:
        """The match of a whole line's rest."""
        if (match := pattern.fullmatch(body)) is None:
            raise self.error(f"the line is not of the form `{expected}`")
        return match
