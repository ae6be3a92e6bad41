"""Drop what no output depends on: wires, then units and heads that write only such wires."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from qgc.ir.netlist.graph import map_head, reached
from qgc.ir.netlist.netlist import FromHead, FromUnit, Netlist, Signal, Unit, Wire, WireInfo


@dataclass(frozen=True, slots=True)
class DeadWires:
    """Keep the outputs, the token's fields, and everything that they are computed from; renumber the rest away."""

    name: ClassVar[str] = "dead-wires"

    def run(self, netlist: Netlist) -> bool:
        """Return True exactly when something was dropped."""
        wires, units, heads = reached(netlist)
        wires |= {w for w, info in enumerate(netlist.wires) if info.token_field}
        if (
            len(wires) == len(netlist.wires)
            and len(units) == len(netlist.units)
            and len(heads) == len(netlist.heads)
        ):
            return False
        renumber = {old: Wire(new) for new, old in enumerate(sorted(wires))}
        unit_number = {old: new for new, old in enumerate(sorted(units))}
        head_number = {old: new for new, old in enumerate(sorted(heads))}

        def signal(s: Signal) -> Signal:
            return Signal(s.const, tuple((renumber[w], c) for w, c in s.terms))

        kept = []
        for wire in sorted(wires):
            info = netlist.wires[wire]
            terms = [
                FromUnit(unit_number[t.unit], t.coefficient)
                if isinstance(t, FromUnit)
                else FromHead(head_number[t.head], t.bit)
                for t in info.terms
            ]
            kept.append(WireInfo(info.name, info.token_field, info.low, info.high, list(terms)))
        netlist.units[:] = [
            Unit(signal(netlist.units[u].gate), signal(netlist.units[u].up)) for u in sorted(units)
        ]
        netlist.heads[:] = [map_head(netlist.heads[h], signal) for h in sorted(heads)]
        netlist.outputs = {name: signal(s) for name, s in netlist.outputs.items()}
        netlist.wires[:] = kept
        return True
