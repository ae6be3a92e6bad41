"""What every CUDA front end takes and offers, and how a compiler's messages become diagnostics."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from qgc.diagnostics import Diagnostic, QgcError, Span


@dataclass(frozen=True, slots=True)
class CudaSource:
    """A CUDA translation unit: its text, the name that messages use, and the folder of its own includes.

    `pointer_bits` is 32 or 64, or None for the front end's own choice.
    """

    text: str
    file: str
    folder: Path | None = None
    pointer_bits: Literal[32, 64] | None = None


class Frontend(Protocol):
    """A compiler from CUDA C++ to PTX."""

    name: str
    install_hint: str

    def is_available(self) -> bool:
        """Whether the compiler is installed; cheap, starts no process."""
        ...

    def compile(self, source: CudaSource) -> str:
        """Return PTX. Raises QgcError: `cuda-error`, one diagnostic for each error, or `cuda-option`."""
        ...


def rejected(diagnostics: list[Diagnostic], log: str, source: CudaSource) -> QgcError:
    """Build the error of a failed compilation; without any recognised message the log itself is the message."""
    if diagnostics:
        return QgcError(*diagnostics)
    message = log.strip() or "the compiler failed without a message"
    return QgcError(Diagnostic("cuda-error", message, Span(source.file, 1, 1)))


def word_end(text: str, line: int, column: int) -> int:
    """Return the column after the identifier or number at a place, for the caret; one character at least."""
    rows = text.splitlines()
    row = rows[line - 1] if 1 <= line <= len(rows) else ""
    match = re.compile(r"\w+").match(row, column - 1)
    return match.end() + 1 if match else column + 1
