"""What the `schedule` stage is: the layer of every unit and head of a netlist.

In layer n the heads run first, then the units; a layer's units see its heads' reads. In half steps: the heads of layer
n run at time 2n, its units at 2n + 1, and a node sees what was written at earlier times.
"""

from __future__ import annotations

from dataclasses import dataclass

from qgc.ir.netlist.evaluate import head_signals
from qgc.ir.netlist.netlist import FromUnit, Netlist


@dataclass(frozen=True, slots=True)
class Schedule:
    """A layer for each unit and each head, by number, and how many layers there are."""

    layers: int
    unit_layer: tuple[int, ...]
    head_layer: tuple[int, ...]


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
        """The nodes in an order in which every node follows the writers of what it reads."""
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
