"""What the `schedule` stage is: the layer of every unit and head of a netlist.

In layer n the heads run first, then the units; a layer's units see its heads' reads. In half steps: the heads of layer
n run at time 2n, its units at 2n + 1, and a node sees what was written at earlier times.
"""

from __future__ import annotations

from dataclasses import dataclass

from qgc.ir.layout.shape import ModelShape
from qgc.ir.netlist.graph import Graph
from qgc.ir.netlist.netlist import Netlist


@dataclass(frozen=True, slots=True)
class Schedule:
    """A netlist in layers of a shape: the layer of each unit and each head, by number, and how many layers there are."""

    netlist: Netlist
    shape: ModelShape
    layers: int
    unit_layer: tuple[int, ...]
    head_layer: tuple[int, ...]

    @property
    def times(self) -> list[int]:
        """The half step in which each node runs: units first, then heads."""
        return [2 * n + 1 for n in self.unit_layer] + [2 * n for n in self.head_layer]


def lives(schedule: Schedule) -> list[tuple[int, int]]:
    """For each wire the half step of its first write (-1 for the token's fields and constant 0) and of its last read."""
    graph, times = Graph(schedule.netlist), schedule.times
    found = []
    for wire in range(len(schedule.netlist.wires)):
        born = min((times[n] for n in graph.writers[wire]), default=-1)
        found.append((born, max([born, 0, *(times[n] for n in graph.readers[wire])])))
    return found
