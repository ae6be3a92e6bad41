"""Critical edges get a block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from qgc.ir.ssa.edges import split_edge
from qgc.ir.ssa.function import Function


@dataclass(frozen=True, slots=True)
class SplitEdges:
    """Put a block on each edge from a branch to a block with phis.

    The copies that the phis stand for (`phi_copies`) then have a place where they happen on that edge alone.
    """

    name: ClassVar[str] = "split-edges"
    requires: ClassVar[tuple[str, ...]] = ("ir-pred",)
    produces: ClassVar[str | None] = None

    def run(self, function: Function) -> bool:
        """Split in block order."""
        changed = False
        for block in list(function.blocks):
            if len(block.successors) < 2:
                continue
            for target in block.successors:
                if target.phis:
                    split_edge(function, block, target, f"{block.name}.{target.name}")
                    changed = True
        return changed
