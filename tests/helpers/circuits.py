"""Circuits for tests: one on a bench (its inputs and its output as numbers), small ones, and random ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from qgc.backends.circuits import adders
from qgc.backends.circuits.gates import all_of, any_of, bit_of, conjunction, staircase
from qgc.ir.layout.shape import ModelShape
from qgc.ir.netlist.evaluate import Evaluator
from qgc.ir.netlist.graph import Graph
from qgc.ir.netlist.netlist import ONE, ZERO, Builder, Head, Key, Netlist, Signal
from qgc.ir.netlist.verify import verify
from qgc.passes.netlist.dead_wires import DeadWires

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


# Small circuits that fit a page ------------------------------------------------------------------------------------


def two_bit_adder() -> Netlist:
    """`sum = x + y`, two bits and two bits to three."""
    b = Builder()
    x, y = ([b.token(f"{name}[{i}]") for i in range(2)] for name in "xy")
    out = b.bus("sum", 3)
    digits = adders.add(b, "digit", x, y, width=1)
    adders.finish(b, digits, out[:2], ZERO)
    for term in adders.carry_terms(digits, ZERO, 2):
        b.add(out[2], conjunction(*term))
    return _with_outputs(b, out)


def memory_cell() -> Netlist:
    """Four rows of two bits: `write` stores `data` at `row`, and every token reads there."""
    b = Builder()
    write, data, row = (
        b.token("write"),
        [b.token(f"data[{i}]") for i in range(2)],
        [b.token(f"row[{i}]") for i in range(2)],
    )
    return _with_outputs(b, b.memory("cell", data, write, Key(tuple(row)), Key(tuple(row)), rows=4))


def counter() -> Netlist:
    """How many `event` tokens have come since `reset`, one-hot, up to two: a row that is halved."""
    b = Builder()
    reset, event = b.token("reset"), b.token("event")
    value = b.wire("value", high=4)
    b.head(Head("value", 1, (reset,), reset + 0.5 * event, Key(), Key(), Signal(1), scale=4), {0: [value]})
    out = b.bus("count", 3)
    staircase(b, value, [0, 1, 2, 4], [(wire, _equals(4 >> n)) for n, wire in enumerate(out)])
    return _with_outputs(b, out)


SMALL: dict[str, Callable[[], Netlist]] = {"adder2": two_bit_adder, "cell": memory_cell, "counter": counter}
TIGHT = ModelShape("tight", 12, 24, heads=2, value_heads=2, attention_heads=1, kv_heads=1, attention_dim=16)
"""A shape so narrow that small circuits use coordinates again; its constant takes three."""
NARROW = ModelShape("narrow", 16, 24, heads=2, value_heads=2, attention_heads=1, kv_heads=1, attention_dim=16)
SHARED = ModelShape("shared", 32, 24, heads=2, value_heads=4, attention_heads=1, kv_heads=1, attention_dim=16)
"""Two value heads on a key head."""


def _equals(expected: int) -> Callable[[int], int]:
    return lambda value: int(value == expected)


def _with_outputs(b: Builder, wires: Sequence[Signal]) -> Netlist:
    for wire in wires:
        b.output(b.info(wire).name, wire)
    DeadWires().run(b.netlist)
    return b.netlist


# Random circuits ---------------------------------------------------------------------------------------------------


@dataclass
class _Grower:
    """A circuit that grows; `bits` are its 0/1 signals so far."""

    draw: st.DrawFn
    b: Builder
    bits: list[Signal]
    made: int = 0

    def literal(self) -> Signal:
        bit = self.draw(st.sampled_from(self.bits))
        return bit if self.draw(st.booleans()) else 1 - bit

    def literals(self, most: int = 4) -> list[Signal]:
        return [self.literal() for _ in range(self.draw(st.integers(1, most)))]

    def grow(self) -> None:
        """Add one random part."""
        self.made += 1
        kinds = [
            self.conjunction,
            self.any,
            self.xor,
            self.mux,
            self.count,
            self.flip,
            self.memory,
            self.counter,
        ]
        self.bits += self.draw(st.sampled_from(kinds))(self.b.with_scope(f"p{self.made}"))

    def conjunction(self, b: Builder) -> list[Signal]:
        return [all_of(b, "and", self.literals())]

    def any(self, b: Builder) -> list[Signal]:
        return [any_of(b, "or", self.literals())]

    def xor(self, b: Builder) -> list[Signal]:
        x, y, out = self.literal(), self.literal(), b.wire("xor")
        b.add(out, x - y)
        b.add(out, y - x)
        return [out]

    def mux(self, b: Builder) -> list[Signal]:
        which, out = self.literal(), b.wire("mux")
        b.add(out, conjunction(which), self.literal())
        b.add(out, conjunction(1 - which), self.literal())
        return [out]

    def count(self, b: Builder) -> list[Signal]:
        parts = self.literals(5)
        ones, out = b.wire("ones", high=len(parts)), b.bus("digit", len(parts).bit_length())
        for part in parts:
            b.add(ones, conjunction(part))
        staircase(b, ones, range(len(parts) + 1), [(wire, bit_of(i)) for i, wire in enumerate(out)])
        return out

    def flip(self, b: Builder) -> list[Signal]:
        bit, change = self.literal(), b.wire("change", low=-1)
        b.add(change, conjunction(*self.literals(2)), 1 - 2 * bit)
        return [bit + change]

    def memory(self, b: Builder) -> list[Signal]:
        address = self.draw(st.integers(0, 2))
        write_key, read_key = (Key(tuple(self.literal() for _ in range(address))) for _ in range(2))
        read = self.literal() if self.draw(st.booleans()) else ONE
        return b.memory("row", self.literals(3), self.literal(), write_key, read_key, 1 << address, read)

    def counter(self, b: Builder) -> list[Signal]:
        most = self.draw(st.integers(1, 3))
        reset = self.literal()
        event = all_of(b, "event", [self.literal(), 1 - reset])
        value, out = b.wire("value", high=1 << most), b.bus("count", most + 1)
        write = reset + 0.5 * event
        b.head(Head(f"{b.scope}n", 1, (reset,), write, Key(), Key(), ONE, scale=1 << most), {0: [value]})
        points = [0, *(1 << i for i in range(most + 1))]
        staircase(b, value, points, [(wire, _equals(1 << (most - n))) for n, wire in enumerate(out)])
        return out


FIELDS = tuple(f"f{i}" for i in range(4))


@st.composite
def circuits(draw: st.DrawFn) -> Netlist:
    """A random netlist of gates, sums, memories and counters on the fields `FIELDS`; nothing in it is dead."""
    b = Builder()
    grower = _Grower(draw, b, [b.token(name) for name in FIELDS])
    for _ in range(draw(st.integers(1, 12))):
        grower.grow()
    for i in range(draw(st.integers(1, 3))):
        out = b.wire(f"out{i}")
        b.add(out, conjunction(*grower.literals(2), grower.bits[-1 - i]))
        b.output(f"out{i}", out)
    DeadWires().run(b.netlist)
    return b.netlist


def tokens() -> st.SearchStrategy[list[dict[str, int]]]:
    """Field values of a few tokens."""
    token = st.fixed_dictionaries({name: st.integers(0, 1) for name in FIELDS})
    return st.lists(token, min_size=1, max_size=12)
