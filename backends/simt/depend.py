"""What must come before what inside one unit.

Three kinds of dependence: a *flow* edge carries a value, which is forwarded in the same block or read from a register in
a later one; a *weak* edge wants the first node in the same block or an earlier one (all operands of a block are read
before any register or memory word is written); a *strong* edge wants an earlier block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from qgc.backends.simt.address import Address
from qgc.backends.simt.code import Node, Reg, Unit
from qgc.ir.machine.isa import OPS
from qgc.ir.machine.isa import Unit as Circuit
from qgc.ir.machine.symbols import is_spill_slot

Classes = Callable[[Reg], Reg]
"""The register that stands for all those that share a machine register with this one."""


@dataclass(slots=True)
class Graph:
    """The nodes of one unit in an order that agrees with all edges, and for each the indices that it depends on."""

    nodes: list[Node]
    flow: list[list[int]] = field(default_factory=list)
    weak: list[list[int]] = field(default_factory=list)
    strong: list[list[int]] = field(default_factory=list)


def is_load(node: Node) -> bool:
    """Whether the node reads memory."""
    return node.op in OPS and OPS[node.op].unit is Circuit.LOAD


def is_store(node: Node) -> bool:
    """Whether the node writes memory."""
    return node.op in OPS and OPS[node.op].unit is Circuit.STORE


def may_alias(a: Address | None, b: Address | None) -> bool:
    """Whether two accesses may touch one word: not when only their constant offsets differ."""
    if a is None or b is None:
        return True
    if a.param != b.param and any(p is not None and is_spill_slot(p) for p in (a.param, b.param)):
        return False  # a spill slot is nobody else's memory
    same_base = (a.values, a.scaled, a.param) == (b.values, b.scaled, b.param)
    return not same_base or a.offset == b.offset


def dependence_graph(unit: Unit, classes: Classes) -> Graph | None:
    """The graph of a unit; None when no order satisfies it.

    Args:
        unit: its nodes in program order.
        classes: which registers are one. Of such a class a unit holds at most one at its head and writes at most one.
    """
    edges = _Edges(unit)
    edges.values()
    edges.memory()
    edges.registers(classes)
    order = _order(edges)
    if order is None:
        return None
    at = {old: new for new, old in enumerate(order)}
    graph = Graph([unit.nodes[i] for i in order])
    for kind in ("flow", "weak", "strong"):
        lists: list[list[int]] = getattr(edges, kind)
        setattr(graph, kind, [sorted(at[j] for j in lists[i]) for i in order])
    return graph


class _Edges:
    """Predecessors of each node of a unit, by index in program order."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.nodes = unit.nodes
        self.flow: list[list[int]] = [[] for _ in self.nodes]
        self.weak: list[list[int]] = [[] for _ in self.nodes]
        self.strong: list[list[int]] = [[] for _ in self.nodes]

    def values(self) -> None:
        """A node after those that compute its operands."""
        writer = {node.result: i for i, node in enumerate(self.nodes) if node.result is not None}
        for i, node in enumerate(self.nodes):
            self.flow[i] = list(dict.fromkeys(writer[reg] for reg in node.reads() if reg in writer))

    def memory(self) -> None:
        """Accesses of possibly the same word in their order, unless both are loads."""
        accesses = [i for i, node in enumerate(self.nodes) if is_load(node) or is_store(node)]
        for n, i in enumerate(accesses):
            for j in accesses[:n]:
                earlier, later = self.nodes[j], self.nodes[i]
                if not may_alias(earlier.place, later.place):
                    continue
                if is_store(earlier):
                    self.strong[i].append(j)
                elif is_store(later) and (not later.atom or later.atom != earlier.atom):
                    self.weak[i].append(j)

    def registers(self, classes: Classes) -> None:
        """A register is overwritten no earlier than its old value is last read."""
        writers: dict[Reg, int] = {}
        for i, node in enumerate(self.nodes):
            if node.result is not None:
                writers[classes(node.result)] = i
        for i, node in enumerate(self.nodes):
            for reg in dict.fromkeys(node.reads()):
                j = writers.get(classes(reg))
                if j is not None and j != i and self.nodes[j].result is not reg:
                    self.weak[j].append(i)

    def after(self, i: int) -> list[int]:
        """All that node i depends on."""
        return [*self.flow[i], *self.weak[i], *self.strong[i]]


def _order(edges: _Edges) -> list[int] | None:
    """A topological order that keeps atomic groups together and is else close to program order; None for a cycle."""
    nodes = edges.nodes
    leader: list[int] = []
    first_of: dict[int, int] = {}
    for i, node in enumerate(nodes):
        leader.append(first_of.setdefault(node.atom, i) if node.atom else i)
    members: dict[int, list[int]] = {}
    for i, lead in enumerate(leader):
        members.setdefault(lead, []).append(i)
    needs = {
        lead: {leader[j] for i in group for j in edges.after(i)} - {lead} for lead, group in members.items()
    }
    order: list[int] = []
    done: set[int] = set()
    waiting = list(members)
    while waiting:
        ready = next((lead for lead in waiting if needs[lead] <= done), None)
        if ready is None:
            return None
        waiting.remove(ready)
        done.add(ready)
        order += members[ready]
    return order
