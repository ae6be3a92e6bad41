"""What the `layout` stage is: a residual coordinate for every wire, a head slot for every head, and the clears.

Coordinates are reused. When a wire is dead and its coordinate is wanted again, a unit of some layer between subtracts
it: that is a *clear*.
"""

from __future__ import annotations

from dataclasses import dataclass

from qgc.ir.layout.schedule import Schedule
from qgc.ir.layout.shape import ModelShape
from qgc.ir.netlist.netlist import Netlist


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
