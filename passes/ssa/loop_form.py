"""One latch for each loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from qgc.diagnostics import Diagnostic, QgcError
from qgc.ir.ssa.cfg import Cfg, Loop
from qgc.ir.ssa.edges import merge_edges
from qgc.ir.ssa.function import Function


@dataclass(frozen=True, slots=True)
class LoopForm:
    """Give every loop one back edge, from a block that is in no loop inside it.

    Lanes that go around in different ways then meet at the latch before any of them starts the next iteration.

    Raises:
        QgcError: `ptx-irreducible` for a loop that is entered beside its header.
    """

    name: ClassVar[str] = "loop-form"
    requires: ClassVar[tuple[str, ...]] = ("ir-pred",)
    produces: ClassVar[str | None] = None

    def run(self, function: Function) -> bool:
        """Put a block on the back edges of each loop that needs one."""
        hint = "remove the goto, or the switch with fallthrough, that jumps into the loop"
        if edges := Cfg(function).irreducible_edges:
            message = "the branch enters a loop beside its header"
            raise QgcError(
                *(Diagnostic("ptx-irreducible", message, b.terminator.span, hint) for b, _ in edges)
            )
        changed = False
        while loop := _unformed(Cfg(function)):
            merge_edges(function, loop.latches, loop.header, f"{loop.header.name}.latch")
            changed = True
        return changed


def _unformed(cfg: Cfg) -> Loop | None:
    return next((p for p in cfg.loops if len(p.latches) > 1 or cfg.loop_of[p.latches[0]] is not p), None)
