"""Uniformity: the divergence analysis, written on the values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from qgc.ir.ssa.divergence import annotate
from qgc.ir.ssa.function import Function


@dataclass(frozen=True, slots=True)
class Uniformity:
    """Mark every value uniform or varying (ir/ssa/divergence.py); the blocks must be in machine order."""

    name: ClassVar[str] = "uniformity"
    requires: ClassVar[tuple[str, ...]] = ("ir-pred",)
    produces: ClassVar[str | None] = "ir-div"

    def run(self, function: Function) -> bool:
        """Annotate all values."""
        return annotate(function)
