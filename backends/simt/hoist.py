"""Hoisting: a unit that only copies, on one side of a branch, moves its copies before the branch and so costs no block.

The other side pays for values that it does not need, a token each, and nobody pays when they fit unused stages. Copies
never move into an inner loop. Two sides that start one register with the same constant share one copy.
"""

from __future__ import annotations

from qgc.backends.simt.coalesce import Classes, is_free, loop_depths
from qgc.backends.simt.code import COPY, Code, Node, Unit

LIMIT = 4
"""Copies that a branch takes on at most: more cost the other side more than a block."""


def hoist_copies(code: Code, classes: Classes) -> None:
    """Empty the units that only copy, where the registers allow it."""
    depth = loop_depths(code)
    for unit in code.units:
        if len(unit.successors) < 2:
            continue
        for target in unit.successors:
            if _only_copies(code, unit, target) and depth[unit] <= depth[target]:
                _hoist(code, classes, unit, target)


def _only_copies(code: Code, before: Unit, unit: Unit) -> bool:
    """Whether a unit consists of copies and is reached from one place only."""
    is_alone = all(unit not in other.successors for other in code.units if other is not before)
    is_short = 0 < len(unit.nodes) <= LIMIT and not unit.phis and unit.condition is None
    return is_alone and is_short and all(node.op in (COPY, "nop") for node in unit.nodes)


def _hoist(code: Code, classes: Classes, before: Unit, unit: Unit) -> None:
    nodes, old = list(unit.nodes), list(before.nodes)
    args = [(phi, dict(phi.args)) for other in code.units for phi in other.phis]
    unit.nodes = []
    for node in nodes:
        twin = next((n for n in before.nodes if _is_twin(n, node, classes)), None)
        if twin is None or twin.result is None or node.result is None:
            before.nodes.append(node)
            continue
        for phi, _ in args:
            phi.args = {u: twin.result if arg is node.result else arg for u, arg in phi.args.items()}
    written = [classes(node.result) for node in before.nodes if node.result is not None]
    if len(set(written)) < len(written) or not all(
        is_free(code, classes, one) for one in dict.fromkeys(written)
    ):
        unit.nodes, before.nodes = nodes, old
        for phi, kept in args:
            phi.args = kept


def _is_twin(a: Node, b: Node, classes: Classes) -> bool:
    """Whether two copies put the same constant into one register."""
    if a.result is None or b.result is None or classes(a.result) is not classes(b.result):
        return False
    return (a.op, a.a) == (b.op, b.a)
