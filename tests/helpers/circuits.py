"""A circuit on a bench: its inputs as numbers, its output as a number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from qgc.ir.netlist.evaluate import Evaluator
from qgc.ir.netlist.graph import Graph
from qgc.ir.netlist.netlist import Builder, Signal
from qgc.ir.netlist.verify import verify

Inputs = dict[str, list[Signal]]
Make = Callable[[Builder, Inputs, list[Signal]], None]


class Bench:
    """A circuit from named fields of some width to one output field."""

    def __init__(self, fields: Mapping[str, int], width: int, make: Make, high: int = 1) -> None:
        self.fields = dict(fields)
        self.b = Builder()
        inputs = {name: [self.b.token(f"{name}[{i}]") for i in range(n)] for name, n in fields.items()}
        out = self.b.bus("out", width, high)
        make(self.b, inputs, out)
        for i, wire in enumerate(out):
            self.b.output(f"out[{i}]", wire)
        verify(self.b.netlist)
        self.evaluator = Evaluator(self.b.netlist)

    def values(self, *numbers: int) -> list[float]:
        """The output wires, given one number for each field."""
        token = {
            f"{name}[{i}]": number >> i & 1
            for (name, width), number in zip(self.fields.items(), numbers, strict=True)
            for i in range(width)
        }
        return list(self.evaluator.step(token).values())

    def __call__(self, *numbers: int) -> int:
        """The output as a number, low bit first; its wires must be bits."""
        bits = self.values(*numbers)
        assert set(bits) <= {0.0, 1.0}
        return sum(int(bit) << i for i, bit in enumerate(bits))

    @property
    def layers(self) -> int:
        """Layers from inputs to output."""
        wires, _ = Graph(self.b.netlist).depths()
        return max(wires)

    @property
    def units(self) -> int:
        """Units that the circuit takes."""
        return len(self.b.netlist.units)


def number(bits: Sequence[Signal]) -> Signal:
    """The unsigned number of a field, low bit first."""
    return sum((bit * (1 << i) for i, bit in enumerate(bits)), Signal())
