"""The machine side of the pipeline in order: netlist, schedule, layout, weights."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from qgc.backends.circuits.machine import interpreter_netlist
from qgc.backends.weights.allocate import allocate
from qgc.backends.weights.lower import lower, lower_layers
from qgc.backends.weights.scheduler import schedule
from qgc.ir.layout.layout import Layout
from qgc.ir.layout.schedule import Schedule
from qgc.ir.layout.shape import ModelShape
from qgc.ir.layout.weights import LayerWeights, Weights
from qgc.ir.machine.config import MachineConfig
from qgc.ir.machine.program import Program
from qgc.ir.netlist.netlist import Netlist
from qgc.passes.netlist.dead_wires import DeadWires


@dataclass(frozen=True, slots=True)
class Plan:
    """A machine laid out in a model shape."""

    machine: MachineConfig
    layout: Layout

    @property
    def netlist(self) -> Netlist:
        """The machine as a circuit."""
        return self.layout.netlist

    def layers(self) -> Iterator[LayerWeights]:
        """The weights of every compiled layer, one at a time."""
        return lower_layers(self.layout)

    def weights(self) -> Weights:
        """The weights of all compiled layers at once."""
        return lower(self.layout)


def plan(
    machine: MachineConfig,
    shape: ModelShape,
    bake: Program | None = None,
    reserve: Callable[[Schedule], Collection[int]] = lambda schedule: (),
) -> Plan:
    """Lay a machine out; with `bake`, one whose program is part of it. What `reserve` says is nobody's coordinate."""
    netlist = interpreter_netlist(machine, bake)
    DeadWires().run(netlist)
    scheduled = schedule(netlist, shape)
    return Plan(machine, allocate(scheduled, reserve(scheduled)))
