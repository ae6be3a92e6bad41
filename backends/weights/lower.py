"""Lowering: a netlist and its layout to the weights of every compiled layer.

All arithmetic of the compiled model is exact, so this is a translation of integers. With f the norm factor, a wire of
value v is `v * f` after RMSNorm, and a signal becomes a row with `coefficient / f` at the wire's coordinate and
`const / (CONSTANT * f)` at the constant's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from qgc.backends.weights import deltanet, swiglu
from qgc.ir.layout.layout import Layout
from qgc.ir.layout.weights import CODE_LEVEL, CONSTANT, LayerWeights, Weights, norm_factor
from qgc.ir.netlist.netlist import Signal

Row = list[tuple[int, float]]


class Lowering:
    """What both kinds of sublayers need: rows of signals, and where wires' terms go."""

    def __init__(self, layout: Layout) -> None:
        netlist = self.netlist = layout.netlist
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
        self.code_of: dict[int, int] = {
            s.terms[0][0]: layout.code[name] for name, s in netlist.outputs.items()
        }

    def row(self, signal: Signal, scale: float = 1, const: float = 0) -> Row:
        """The entries (column, weight) that compute `scale * signal + const` from the normalised residual."""
        entries = [(self.layout.coordinate[w], scale * c * self._wire_scale) for w, c in signal.terms]
        if offset := scale * signal.const + const:
            entries.append((self.layout.constants[0], offset * self._const_scale))
        return entries

    def target(self, wire: int) -> tuple[int, float]:
        """The coordinate that a wire's terms are added to, and the factor: outputs go to the code, scaled."""
        if (code := self.code_of.get(wire)) is not None:
            return code, 2 * CODE_LEVEL
        return self.layout.coordinate[wire], 1.0


def lower(layout: Layout) -> Weights:
    """The weights of all layers at once."""
    layers = tuple(lower_layers(layout))
    return Weights(layout.shape, layout.constants, layout.fields, layout.code, layers)


def lower_layers(layout: Layout) -> Iterator[LayerWeights]:
    """The weights of every layer, one at a time."""
    lowering = Lowering(layout)
    for layer in range(layout.schedule.layers):
        weights = deltanet.lower_heads(lowering, lowering.heads[layer], lowering.head_targets)
        yield weights | swiglu.lower_units(lowering, layer, lowering.units[layer], lowering.unit_targets)
