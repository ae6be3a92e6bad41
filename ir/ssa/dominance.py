"""Dominators of any graph that is given as nodes in reverse postorder and the predecessors of each.

Source: Cooper, Harvey, Kennedy, "A simple, fast dominance algorithm": dominators are numbers in the order, and two of them
meet by walking up from the larger one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def immediate_dominators(
    order: Sequence[Node], predecessors: Mapping[Node, Iterable[Node]]
) -> dict[Node, Node]:
    """The immediate dominator of each node but the first, which is the entry.

    Args:
        order: the nodes that the entry reaches, in reverse postorder.
        predecessors: of each of them, all in `order`.
    """
    index = {node: i for i, node in enumerate(order)}
    before = [[index[p] for p in predecessors[node]] for node in order]
    idom = [0, *[-1] * (len(order) - 1)]  # -1: not known yet
    changed = True
    while changed:
        changed = False
        for i in range(1, len(order)):
            known = [p for p in before[i] if idom[p] >= 0]
            new = known[0]
            for other in known[1:]:
                new = _meet(idom, new, other)
            changed |= new != idom[i]
            idom[i] = new
    return {node: order[idom[i]] for i, node in enumerate(order) if i}


def _meet(idom: Sequence[int], a: int, b: int) -> int:
    """The nearest node that dominates both."""
    while a != b:
        if a > b:
            a = idom[a]
        else:
            b = idom[b]
    return a


def dominance_frontiers(
    order: Sequence[Node], predecessors: Mapping[Node, Iterable[Node]], idom: Mapping[Node, Node]
) -> dict[Node, list[Node]]:
    """For each node those that it just does not dominate: it dominates a predecessor of them, but not them; in order."""
    found: dict[Node, dict[Node, None]] = {node: {} for node in order}
    for node in order:
        for predecessor in predecessors[node]:
            walker: Node | None = predecessor
            while walker is not None and walker != idom.get(node):
                found[walker][node] = None
                walker = idom.get(walker)
    return {node: list(frontier) for node, frontier in found.items()}
