"""The closing layer, between the compiled layers and the base's, and the machine's rows of the output table.

The compiled layers have taken the constant away and written the next token's code, +-1024. The closing layer makes this code so
strong (about 2**40) that no layer of the base can change it, and takes the guard of text away.

A gate of at most 2**-24 in size is halved by silu, exactly, so a unit with such a gate is a product of two linear forms; with both
x_i it is x_i**2, and RMSNorm makes the sum of these the same for every token.
"""

from __future__ import annotations

from qgc.backends.merge.silence import Silence
from qgc.ir.layout.shape import ModelShape
from qgc.ir.layout.weights import Entries, LayerWeights

STRONG = 2.0**40
"""A code bit becomes this times the square of its normalised value."""
_OPEN = 1024.0
_HALVED = 2.0**-30


def closing_layer(shape: ModelShape, code: list[int], silence: Silence) -> LayerWeights:
    """The layer's MLP; its heads are idle."""
    gate, up, down = Entries(), Entries(), Entries()
    unit = 0
    for coordinate in code:
        for sign in (1, -1):
            gate.add(unit, coordinate, sign * _OPEN)
            up.add(unit, coordinate, 1)
            down.add(coordinate, unit, STRONG / _OPEN)
            unit += 1
    if silence.kind == "guard":
        for coordinate in range(shape.hidden):
            gate.add(unit, coordinate, _HALVED)
            up.add(unit, coordinate, 2 / _HALVED)
            down.add(silence.coordinates[0], unit, -silence.share(shape.hidden))
            unit += 1
    return {"mlp.gate_proj.weight": gate, "mlp.up_proj.weight": up, "mlp.down_proj.weight": down}


def deciding_units(code: list[int]) -> int:
    """How many units, from the first on, are shut on text; those after them take the guard away."""
    return 2 * len(code)
