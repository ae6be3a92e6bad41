"""The netlist as a graph of nodes: what reads and writes what, in which order things can run, and at which depth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from qgc.diagnostics import fail
from qgc.ir.netlist.netlist import FromUnit, Head, Key, Netlist, Signal


def head_signals(head: Head) -> list[Signal]:
    """Every signal that a head reads."""
    return [*head.data, head.write, *head.write_key.bits, *head.read_key.bits, head.read]


def map_head(head: Head, signal: Callable[[Signal], Signal]) -> Head:
    """The head with every signal that it reads replaced."""
    return replace(
        head,
        data=tuple(signal(s) for s in head.data),
        write=signal(head.write),
        write_key=Key(tuple(signal(s) for s in head.write_key.bits)),
        read_key=Key(tuple(signal(s) for s in head.read_key.bits)),
        read=signal(head.read),
    )


class Graph:
    """The netlist as nodes: units first, then heads. All lists are by node or wire number.

    Attributes:
        reads: wires that a node reads.
        writes: wires that a node adds to.
        readers, writers: the reverse.
        parity: 0 for heads, 1 for units (a node's times are congruent to it modulo 2).
    """

    def __init__(self, netlist: Netlist) -> None:
        units, heads = netlist.units, netlist.heads
        self.netlist = netlist
        self.parity = [1] * len(units) + [0] * len(heads)
        self.reads: list[list[int]] = []
        for unit in units:
            self.reads.append(sorted({w for s in (unit.gate, unit.up) for w, _ in s.terms}))
        for head in heads:
            self.reads.append(sorted({w for s in head_signals(head) for w, _ in s.terms}))
        self.writes: list[list[int]] = [[] for _ in self.parity]
        self.writers: list[list[int]] = []
        self.readers: list[list[int]] = [[] for _ in netlist.wires]
        for wire, info in enumerate(netlist.wires):
            nodes = sorted({t.unit if isinstance(t, FromUnit) else len(units) + t.head for t in info.terms})
            self.writers.append(nodes)
            for node in nodes:
                self.writes[node].append(wire)
        for node, wires in enumerate(self.reads):
            for wire in wires:
                self.readers[wire].append(node)

    def order(self) -> list[int]:
        """The nodes in an order in which every node follows the writers of what it reads; on a cycle, fewer nodes."""
        open_writers = [len(w) for w in self.writers]
        open_reads = [sum(1 for w in wires if open_writers[w]) for wires in self.reads]
        ready = [n for n, count in enumerate(open_reads) if count == 0]
        for node in ready:
            for wire in self.writes[node]:
                open_writers[wire] -= 1
                if open_writers[wire] == 0:
                    for reader in self.readers[wire]:
                        open_reads[reader] -= 1
                        if open_reads[reader] == 0:
                            ready.append(reader)
        return ready

    def depths(self) -> tuple[list[int], list[int]]:
        """The depth of every wire and of every node: a node's is one more than the highest among the wires it reads.

        Raises:
            QgcError: `netlist-cycle`, naming wires that depend on themselves.
        """
        wires, nodes = [0] * len(self.writers), [0] * len(self.parity)
        order = self.order()
        for node in order:
            nodes[node] = 1 + max((wires[w] for w in self.reads[node]), default=0)
            for wire in self.writes[node]:
                wires[wire] = max(wires[wire], nodes[node])
        if len(order) < len(nodes):
            stuck = [w for node, depth in enumerate(nodes) if depth == 0 for w in self.writes[node]]
            names = ", ".join(self.netlist.wires[w].name for w in sorted(set(stuck))[:5])
            raise fail("netlist-cycle", f"wires depend on themselves, among them {names}")
        return wires, nodes


def reached(netlist: Netlist) -> tuple[set[int], set[int], set[int]]:
    """The wires, units and heads that outputs depend on."""
    wires: set[int] = set()
    units: set[int] = set()
    heads: set[int] = set()
    todo = [w for s in netlist.outputs.values() for w, _ in s.terms]
    while todo:
        wire = todo.pop()
        if wire in wires:
            continue
        wires.add(wire)
        for term in netlist.wires[wire].terms:
            if isinstance(term, FromUnit):
                if term.unit not in units:
                    units.add(term.unit)
                    unit = netlist.units[term.unit]
                    todo += [w for s in (unit.gate, unit.up) for w, _ in s.terms]
            elif term.head not in heads:
                heads.add(term.head)
                todo += [w for s in head_signals(netlist.heads[term.head]) for w, _ in s.terms]
    return wires, units, heads
