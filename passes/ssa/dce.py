"""Dead code elimination."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from qgc.ir.ssa.function import Function, Op


@dataclass(frozen=True, slots=True)
class DeadCode:
    """Drop pure ops whose results no effect needs, phis in circles too, and results of atomics that nobody reads.

    Keeps: every effect (loads too: they can fault), the order of the rest, control flow.
    """

    name: ClassVar[str] = "dce"
    requires: ClassVar[tuple[str, ...]] = ("ir", "ir-opt", "ir-pred")
    produces: ClassVar[str | None] = None

    def run(self, function: Function) -> bool:
        """Mark what effects need, then sweep."""
        live: dict[Op, None] = {op: None for op in function.ops() if not op.spec.pure}
        for op in (work := list(live)):
            for value in op.uses:
                if value.op is not None and value.op not in live:
                    live[value.op] = None
                    work.append(value.op)
        changed = False
        for block in function.blocks:
            kept = [op for op in block.ops if op in live]
            changed |= len(kept) != len(block.ops)
            block.ops = kept
        return _drop_results(function) or changed


def _drop_results(function: Function) -> bool:
    used = {value for op in function.ops() for value in op.uses}
    changed = False
    for op in function.ops():
        if op.spec.optional_result and op.result is not None and op.result not in used:
            op.result = None
            changed = True
    return changed
