"""Units to SwiGLU neurons: `silu(gate) * up`, with the gate so large that silu is relu.

A netlist gate is an integer and the neuron's is GATE times it. silu(128) is 128 in float32 and bfloat16, and silu(-128)
is exactly 0, because exp(-128) is below float32's smallest number: a gate is exactly open or shut. The unit's value times GATE leaves the neuron, and down_proj divides.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from qgc.ir.layout.layout import clear_terms
from qgc.ir.layout.weights import CODE_LEVEL, CONSTANT, Entries, LayerWeights
from qgc.ir.netlist.netlist import ONE, FromUnit, Netlist, Number, Unit

if TYPE_CHECKING:
    from qgc.backends.weights.lower import Lowering

GATE = 128.0

Targets = dict[int, list[tuple[int, Number]]]


def targets(netlist: Netlist) -> Targets:
    """For each unit the wires that it adds to, with coefficients."""
    out: Targets = defaultdict(list)
    for wire, info in enumerate(netlist.wires):
        for term in info.terms:
            if isinstance(term, FromUnit):
                out[term.unit].append((wire, term.coefficient))
    return out


def lower_units(lowering: Lowering, layer: int, units: list[int], to: Targets) -> LayerWeights:
    """The MLP of one layer: its units, then its clears, and in the last layer the output stage."""
    mlp = _Mlp(lowering)
    for number in units:
        merged: dict[int, float] = defaultdict(float)
        for wire, coefficient in to[number]:
            coordinate, factor = lowering.target(wire)
            merged[coordinate] += factor * coefficient
        mlp.neuron(lowering.netlist.units[number], merged)
    for clear in lowering.layout.clears:
        if clear.layer == layer:
            coordinate = lowering.layout.coordinate[clear.wire]
            for unit, coefficient in clear_terms(lowering.netlist, clear.wire):
                mlp.neuron(unit, {coordinate: coefficient})
    if layer == lowering.layout.schedule.layers - 1:
        finish = {c: -CONSTANT for c in lowering.layout.constants}
        finish |= {c: -CODE_LEVEL for c in lowering.layout.code.values()}
        mlp.neuron(Unit(ONE, ONE), finish)
    return mlp.weights


class _Mlp:
    def __init__(self, lowering: Lowering) -> None:
        self._lowering = lowering
        self._count = 0
        self._gate, self._up, self._down = Entries(), Entries(), Entries()

    def neuron(self, unit: Unit, to: dict[int, float]) -> None:
        """Append one neuron that adds `unit * coefficient` to coordinates."""
        for column, value in self._lowering.row(unit.gate, GATE):
            self._gate.add(self._count, column, value)
        for column, value in self._lowering.row(unit.up):
            self._up.add(self._count, column, value)
        for coordinate, coefficient in to.items():
            self._down.add(coordinate, self._count, coefficient / GATE)
        self._count += 1

    @property
    def weights(self) -> LayerWeights:
        return {
            "mlp.gate_proj.weight": self._gate,
            "mlp.up_proj.weight": self._up,
            "mlp.down_proj.weight": self._down,
        }
