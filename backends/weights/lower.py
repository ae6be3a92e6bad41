"""Lowering: a netlist and its layout to the weights of every compiled layer.

All arithmetic of the compiled model is exact, so this is a translation of integers. With f the norm factor, a wire of
value v is `v * f` after RMSNorm, and a signal becomes a row with `coefficient / f` at the wire's coordinate and
`const / (CONSTANT * f)` at the constant's.
"""

from __future__ import annotations

from collections import defaultdict

from qgc.backends.weights import deltanet, swiglu
from qgc.ir.layout.layout import Layout
from qgc.ir.layout.weights import CODE_LEVEL, CONSTANT, LayerWeights, norm_factor
from qgc.ir.netlist.netlist import Netlist, Signal

Row = list[tuple[int, float]]


class Lowering:
    """What both kinds of sublayers need: rows of signals, and where wires' terms go."""

    def __init__(self, netlist: Netlist, layout: Layout) -> None:
        self.netlist = netlist
        self.layout = layout
        factor = norm_factor(layout.shape)
        self._wire_scale = 1 / factor
        self._const_scale = 1 / (CONSTANT * factor)
        self.units: dict[int, list[int]] = defaultdict(list)
        for number, layer in enumerate(layout.schedule.unit_layer):
            self.units[layer].append(number)
        self.heads: dict[int, list[int]] = defaultdict(list)
        for number, layer in enumerate(layout.schedule.head_layer):
            self.heads[layer].append(number)
        self.unit_targets, self.head_targets = swiglu.targets(netlist), deltanet.targets(netlist)
        self.code_of = {s.terms[0][0]: layout.code[name] for name, s in netlist.outputs.items()}

    def row(self, signal: Signal, scale: float = 1, const: float = 0) -> Row:
        """The entries (column, weight) that compute `scale * signal + const` from the normalised residual."""
        entries = [(self.layout.coordinate[w], scale * c * self._wire_scale) for w, c in signal.terms]
        if offset := scale * signal.const + const:
            entries.append((self.layout.constants[0], offset * self._const_scale))
        return entries

    def target(self, wire: int) -> tuple[int, float]:
        """The coordinate that a wire's terms are added to, and the factor: outputs go to the code, scaled."""
        if (code := self.code_of.get(wire)) is not None:  # type: ignore[call-overload]
            return code, 2 * CODE_LEVEL
        return self.layout.coordinate[wire], 1.0


def lower_layer(lowering: Lowering, layer: int) -> LayerWeights:
    """The weights of one layer."""
    weights = deltanet.lower_heads(lowering, lowering.heads[layer], lowering.head_targets)
    return weights | swiglu.lower_units(lowering, layer, lowering.units[layer], lowering.unit_targets)
