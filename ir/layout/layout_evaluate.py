"""The reference evaluator of layouts: exact numbers on the coordinates of the residual stream, with the clears.

The layout is seen as a netlist whose wires are coordinates: whatever shares one adds up there, and a clear is a unit.
So a wire that is overwritten too early, cleared too late or read too soon gives wrong numbers here as it would in the
model. The constant and the token's own code are left out.
"""

from __future__ import annotations

from qgc.ir.layout.layout import Layout, clear_terms
from qgc.ir.netlist.evaluate import Evaluator
from qgc.ir.netlist.graph import map_head
from qgc.ir.netlist.netlist import FromUnit, Netlist, Signal, Unit, Wire, WireInfo, total

_BOUND = 1 << 20
"""No coordinate holds more than this; sums of whatever shares one are not checked more closely."""


def evaluator(layout: Layout) -> Evaluator:
    """An evaluator whose `values` are the `hidden` coordinates after each token."""
    netlist, times = residual_netlist(layout)
    return Evaluator(netlist, times)


def residual_netlist(layout: Layout) -> tuple[Netlist, list[int]]:
    """The layout as a netlist of coordinates, and the half step of each of its nodes."""
    return _Residual(layout).build()


class _Residual:
    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.place = list(layout.coordinate)
        for name, signal in layout.netlist.outputs.items():
            self.place[signal.terms[0][0]] = layout.code[name]

    def build(self) -> tuple[Netlist, list[int]]:
        """Map every part, append the clears."""
        layout, netlist = self.layout, self.layout.netlist
        out = Netlist(
            [WireInfo(f"x{i}", None, -_BOUND, _BOUND) for i in range(layout.shape.hidden)],
            [self._unit(unit) for unit in netlist.units],
            [map_head(head, self._signal) for head in netlist.heads],
            {name: self._signal(signal) for name, signal in netlist.outputs.items()},
        )
        units = [2 * layer + 1 for layer in layout.schedule.unit_layer]
        for wire, info in enumerate(netlist.wires):
            target = out.wires[self.place[wire]]
            target.token_field = info.token_field or target.token_field
            target.terms += info.terms
        for clear in layout.clears:
            for unit, coefficient in clear_terms(netlist, clear.wire):
                out.wires[self.place[clear.wire]].terms.append(FromUnit(len(out.units), coefficient))
                out.units.append(self._unit(unit))
                units.append(2 * clear.layer + 1)
        return out, units + [2 * layer for layer in layout.schedule.head_layer]

    def _signal(self, signal: Signal) -> Signal:
        terms = (Signal(0, ((Wire(self.place[wire]), c),)) for wire, c in signal.terms)
        return total(terms, signal.const)

    def _unit(self, unit: Unit) -> Unit:
        return Unit(self._signal(unit.gate), self._signal(unit.up))
