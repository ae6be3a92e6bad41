"""Adders, shifters and the multiplier against Python integers."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from qgc.backends.circuits import adders, multiplier, shifter
from qgc.ir.netlist.evaluate import Evaluator
from qgc.ir.netlist.graph import Graph
from qgc.ir.netlist.netlist import ONE, ZERO, Builder, Signal

MASK = 0xFFFFFFFF
words = st.integers(0, MASK) | st.sampled_from([0, 1, MASK, 1 << 31, (1 << 31) - 1, 0x55555555, 0xAAAAAAAA])


class Bench:
    """A circuit of two 32-bit operands and some flags, with a 32-bit result."""

    def __init__(
        self, make: Callable[[Builder, list[Signal], list[Signal], list[Signal], list[Signal]], None]
    ) -> None:
        self.b = Builder()
        x, y = ([self.b.token(f"{n}{i}") for i in range(32)] for n in "xy")
        flags = [self.b.token(f"flag{i}") for i in range(3)]
        out = self.b.bus("out", 32)
        make(self.b, x, y, flags, out)
        for i, wire in enumerate(out):
            self.b.output(f"out{i}", wire)
        self.evaluator = Evaluator(self.b.netlist)

    def __call__(self, x: int, y: int, *flags: int) -> int:
        token = {f"{n}{i}": v >> i & 1 for n, v in (("x", x), ("y", y)) for i in range(32)}
        out = self.evaluator.step(token | {f"flag{i}": f for i, f in enumerate(flags)})
        assert set(out.values()) <= {0.0, 1.0}
        return sum(int(out[f"out{i}"]) << i for i in range(32))

    @property
    def depth(self) -> int:
        """Layers from operands to result."""
        return max(Graph(self.b.netlist).depths()[0])


def _adder(b: Builder, x: list[Signal], y: list[Signal], flags: list[Signal], out: list[Signal]) -> None:
    adders.finish(b, adders.add(b, "add", x, y), out, flags[0], when=flags[1])


def _shifter(b: Builder, x: list[Signal], y: list[Signal], flags: list[Signal], out: list[Signal]) -> None:
    shifter.shift(b, x, y, b.bus("partial", 32), shifter.Directions(*flags), out)


def _multiplier(b: Builder, x: list[Signal], y: list[Signal], flags: list[Signal], out: list[Signal]) -> None:
    adders.finish(
        b, multiplier.multiply(b, "mul", x, y, b.bus("count", 32, high=32), flags[0]), out, ZERO, when=ONE
    )


ADDER, SHIFTER, MULTIPLIER = Bench(_adder), Bench(_shifter), Bench(_multiplier)


@given(words, words, st.integers(0, 1), st.integers(0, 1))
def test_adder(x: int, y: int, carry: int, when: int) -> None:
    assert ADDER(x, y, carry, when) == ((x + y + carry) & MASK if when else 0)


@given(words, st.integers(0, 40) | words)
def test_shifter(x: int, amount: int) -> None:
    signed = x - (1 << 32) if x >> 31 else x
    assert SHIFTER(x, amount, 1, 0, 0) == ((x << amount) & MASK if amount < 32 else 0)
    assert SHIFTER(x, amount, 0, 1, 0) == (x >> amount if amount < 32 else 0)
    assert SHIFTER(x, amount, 0, 0, 1) == (signed >> min(amount, 31)) & MASK
    assert SHIFTER(x, amount, 0, 0, 0) == 0


@given(words, words)
def test_multiplier(x: int, y: int) -> None:
    assert MULTIPLIER(x, y, 1) == x * y & MASK
    assert MULTIPLIER(x, y, 0) == 0


def test_layers() -> None:
    assert (ADDER.depth, SHIFTER.depth, MULTIPLIER.depth) == (2, 2, 5)
