"""The `ptx` stage: PTX text exactly as a compiler or a person wrote it, comments and spacing included."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from qgc.ir.ptx.ast import Module
from qgc.ir.ptx.parse import parse as parse_module
from qgc.ir.ptx.verify import verify as verify_module


@dataclass(frozen=True, slots=True)
class PtxSource:
    """A PTX file: its text, and the name that diagnostics give it."""

    text: str
    file: str = field(default="<ptx>", compare=False)

    def module(self) -> Module:
        """The syntax tree. Raises QgcError `ptx-syntax`."""
        return parse_module(self.text, self.file)


def parse(text: str, file: str = "<ptx>") -> PtxSource:
    """Take the text as it is."""
    return PtxSource(text, file)


def to_text(source: PtxSource) -> str:
    """The text as it was."""
    return source.text


def verify(source: PtxSource) -> None:
    """Check that the text is PTX, and everything that `ir.ptx.verify` checks.

    Raises:
        QgcError: `ptx-syntax`; VerifyError with all other faults.
    """
    verify_module(source.module())


def evaluate(source: PtxSource, *args: Any, **kwargs: Any) -> Any:
    """Run a kernel of the text: the arguments of `ir.ptx.interpret.run` after the module."""
    from qgc.ir.ptx.interpret import run

    return run(source.module(), *args, **kwargs)
