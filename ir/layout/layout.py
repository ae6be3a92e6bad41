"""What the `layout` stage is: a residual coordinate for every wire, a head slot for every head, and the clears.

Coordinates are reused. When a wire is dead and its coordinate is wanted again, a unit of some layer between subtracts
it: that is a *clear*.
"""

from __future__ import annotations

from dataclasses import dataclass

from qgc.ir.layout.schedule import Schedule
from qgc.ir.layout.shape import ModelShape
from qgc.ir.netlist.netlist import ONE, Netlist, Number, Signal, Unit, Wire


@dataclass(frozen=True, slots=True)
class Clear:
    """The units of `layer` subtract the value of `wire` from its coordinate."""

    wire: int
    layer: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything is.

    Attributes:
        coordinate: by wire number. Outputs have none of their own (-1): they are written to `code`.
        head_slot: by head number, the key/value head of its layer.
        constants: coordinates that hold the constant.
        code: coordinates of the token code, by output name. Plus or minus one on input, the next token's on output.
        clears: in order of layer, then wire.
    """

    schedule: Schedule
    coordinate: tuple[int, ...]
    head_slot: tuple[int, ...]
    constants: tuple[int, ...]
    code: dict[str, int]
    clears: tuple[Clear, ...]

    @property
    def netlist(self) -> Netlist:
        """What is laid out."""
        return self.schedule.netlist

    @property
    def shape(self) -> ModelShape:
        """Where it is laid out."""
        return self.schedule.shape

    @property
    def fields(self) -> dict[str, int]:
        """The coordinate of each field of the token."""
        wires = enumerate(self.netlist.wires)
        return {info.token_field: self.coordinate[w] for w, info in wires if info.token_field}


def clear_terms(netlist: Netlist, wire: int) -> list[tuple[Unit, Number]]:
    """The units that set a wire's coordinate back to 0, with the coefficients that they are added with.

    A bit is tested, so that noise stays out; any other value v >= 0 is relu(2 v) / 2.
    """
    info = netlist.wires[wire]
    value = Signal(0, ((Wire(wire), 1),))
    if (info.low, info.high) == (0, 1):
        return [(Unit(2 * value - 1, ONE), -1)]
    terms: list[tuple[Unit, Number]] = [(Unit(2 * value, ONE), -0.5)]
    if info.low < 0:
        terms.append((Unit(-2 * value, ONE), 0.5))
    return terms
