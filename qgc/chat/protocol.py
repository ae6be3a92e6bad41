"""How a model marks a call in its text: `protocols.toml`, read."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from qgc.chat.functions import CALLABLE, FUNCTIONS
from qgc.ir.machine.config import MachineConfig

if TYPE_CHECKING:
    from qgc.chat.talker import Talker

MODES = ("normal", "advanced")
"""Expressions, or CUDA."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the GPU.

    Attributes:
        source: an expression, or CUDA.
        launch: the line that launches the CUDA; None for an expression.
        end: where the call ends in the text.
    """

    source: str
    launch: str | None
    end: int


@dataclass(frozen=True, slots=True)
class Protocol:
    """A section of `protocols.toml`, which says what the fields are."""

    name: str
    pattern: str
    opening: str
    result: str
    feeds_errors: bool
    context: int
    system: str

    def find(self, text: str, start: int = 0) -> Call | None:
        """The first whole call from `start` on."""
        found = re.compile(self.pattern, re.DOTALL).search(text, start)
        if found is None:
            return None
        groups = found.groupdict()
        return Call(groups["source"].strip(), groups.get("launch"), found.end())

    def instructions(self, machine: MachineConfig) -> str:
        """The system prompt for a machine."""
        limits = (
            f"{machine.words} words of memory for all arrays, {machine.threads} threads a block, no shared memory and no"
            f" barriers; a program has at most {machine.blocks} basic blocks and {machine.registers - 1} registers"
        )
        text = self.system.replace("{functions}", function_lines()).replace("{limits}", limits)
        return text.strip()


def function_lines() -> str:
    """The operators and functions, in two lines."""
    signs = [f.sign for f in FUNCTIONS.values() if f.sign and f.arity == 2]
    names = [f"{name}({', '.join('xy'[: f.arity])})" for name, f in CALLABLE.items()]
    return f"operators {' '.join(signs)} ~ -\nfunctions {' '.join(names)}"


@cache
def protocols() -> dict[str, Protocol]:
    """All of them, by name."""
    text = (Path(__file__).parent / "protocols.toml").read_text(encoding="utf-8")
    return {name: Protocol(name, **fields) for name, fields in tomllib.loads(text).items()}


def choose(talker: Talker, mode: str) -> Protocol:
    """The protocol of a mode: advanced is CUDA; else that of host/ for a model that has its tokens, or fences."""
    known = protocols()
    if mode == "advanced":
        return known["cuda"]
    return known["host" if talker.has_token(known["host"].opening) else "fence"]


class Visible:
    """Tells apart, piece by piece, what people see of a text and what belongs to a call."""

    def __init__(self, opening: str) -> None:
        self._opening = opening
        self._held = ""

    def feed(self, piece: str) -> Iterator[str]:
        """What can be shown after `piece`: everything but a call and what may become one."""
        self._held += piece
        at = self._held.find(self._opening)
        keep = len(self._held) - at if at >= 0 else self._overlap()
        shown, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        if shown:
            yield shown

    def _overlap(self) -> int:
        """How many characters at the end may be the first ones of a call."""
        most = min(len(self._held), len(self._opening) - 1)
        return next((n for n in range(most, 0, -1) if self._held.endswith(self._opening[:n])), 0)

    def take(self) -> str:
        """What is held back; nothing is held any more."""
        held, self._held = self._held, ""
        return held
