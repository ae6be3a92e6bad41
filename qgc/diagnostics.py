"""What every stage says when its input is wrong: a code, a place, what was found, and the way out.

A `QgcError` means that the *input* is at fault (exit code 1). Any other exception that reaches the command line is
a bug in qgc (exit code 70).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A range of characters on one line of one input. Lines and columns count from 1; `end` is exclusive."""

    file: str
    line: int
    column: int
    end: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One fault. `code` is stable and greppable (`ssa-type`), `hint` says what to do about it."""

    code: str
    message: str
    span: Span | None = None
    hint: str | None = None

    def render(self, sources: Mapping[str, str] | None = None) -> str:
        """Format as a compiler does: `file:line:col: error[code]: message`, the line, a caret, the hint."""
        place = f"{self.span}: " if self.span else ""
        lines = [f"{place}error[{self.code}]: {self.message}"]
        text = sources.get(self.span.file) if self.span and sources is not None else None
        if self.span and text is not None:
            lines += _excerpt(text, self.span)
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


def _excerpt(text: str, span: Span) -> list[str]:
    rows = text.splitlines()
    if not 1 <= span.line <= len(rows):
        return []
    row = rows[span.line - 1].replace("\t", " ")
    width = max(1, min(span.end or span.column + 1, len(row) + 1) - span.column)
    return ["  " + row, "  " + " " * (span.column - 1) + "^" * width]


class QgcError(Exception):
    """The input was rejected. Carries every fault that was found, in source order."""

    exit_code = 1

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("\n".join(d.render() for d in diagnostics))
        self.diagnostics = diagnostics


class VerifyError(QgcError):
    """A stage's data broke one of its invariants; after a pass this names the pass in a note."""


def fail(code: str, message: str, span: Span | None = None, hint: str | None = None) -> QgcError:
    """Build the `QgcError` of a single fault; write `raise fail(...)`."""
    return QgcError(Diagnostic(code, message, span, hint))
