"""Which virtual registers are live where units meet."""

from __future__ import annotations

from dataclasses import dataclass

from qgc.backends.simt.code import Code, Reg, Unit


@dataclass(frozen=True, slots=True)
class Liveness:
    """For each unit the registers live at its head (its phis' results not counted) and at its end.

    An argument of a successor's phi is live at the end, the phi's result is not.
    """

    head: dict[Unit, set[Reg]]
    end: dict[Unit, set[Reg]]


def liveness(code: Code) -> Liveness:
    """Backward data flow over units until nothing changes."""
    head: dict[Unit, set[Reg]] = {unit: set() for unit in code.units}
    end: dict[Unit, set[Reg]] = {unit: set() for unit in code.units}
    changed = True
    while changed:
        changed = False
        for unit in reversed(code.units):
            live = _at_end(unit, head)
            end[unit] = live
            at_head = _before(unit, live)
            if at_head != head[unit]:
                head[unit] = at_head
                changed = True
    return Liveness(head, end)


def _at_end(unit: Unit, head: dict[Unit, set[Reg]]) -> set[Reg]:
    live: set[Reg] = set()
    for successor in unit.successors:
        live |= head[successor]
        live.update(arg for phi in successor.phis if isinstance(arg := phi.args[unit], Reg))
    return live


def _before(unit: Unit, live: set[Reg]) -> set[Reg]:
    live = set(live)
    if unit.condition is not None:
        live.add(unit.condition.reg)
    for node in reversed(unit.nodes):
        if node.result is not None:
            live.discard(node.result)
        live.update(node.reads())
    return live - {phi.result for phi in unit.phis}
