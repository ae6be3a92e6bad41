"""Adders, shifters and the multiplier against Python integers: small widths exhaustively, 32 bits by samples."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qgc.backends.circuits import adders, multiplier, shifter
from qgc.ir.netlist.netlist import ONE, ZERO, Builder, Signal
from tests.helpers.circuits import Bench, Inputs

MASK = 0xFFFFFFFF
words = st.integers(0, MASK) | st.sampled_from([0, 1, MASK, 1 << 31, (1 << 31) - 1, 0x55555555, 0xAAAAAAAA])


def adder(width: int, digit: int) -> Bench:
    def make(b: Builder, inputs: Inputs, out: list[Signal]) -> None:
        carry, when = inputs["carry"][0], inputs["when"][0]
        digits = adders.add(b, "add", inputs["x"], inputs["y"], when=when, width=digit)
        adders.finish(b, digits, out, carry, when)

    return Bench({"x": width, "y": width, "carry": 1, "when": 1}, width, make)


def shifts(width: int, amount: int) -> Bench:
    def make(b: Builder, inputs: Inputs, out: list[Signal]) -> None:
        run = shifter.Directions(*inputs["run"])
        shifter.shift(b, inputs["x"], inputs["y"], b.bus("partial", width), run, out)

    return Bench({"x": width, "y": amount, "run": 3}, width, make)


def product_of(width: int) -> Bench:
    def make(b: Builder, inputs: Inputs, out: list[Signal]) -> None:
        columns = b.bus("columns", width, high=width)
        digits = multiplier.multiply(b, "mul", inputs["x"], inputs["y"], columns, inputs["when"][0])
        adders.finish(b, digits, out, ZERO)

    return Bench({"x": width, "y": width, "when": 1}, width, make)


def shifted(x: int, amount: int, run: int, width: int) -> int:
    """What a shifter gives: `run` is a bit for left, one for logical right, one for arithmetic right."""
    if run == 0:
        return 0
    if run == 1:
        return x << amount & ((1 << width) - 1) if amount < width else 0
    if run == 2:
        return x >> amount if amount < width else 0
    value = x - (1 << width) if x >> (width - 1) else x
    return value >> min(amount, width - 1) & ((1 << width) - 1)


ADDER, SHIFTER, MULTIPLIER = adder(32, 2), shifts(32, 32), product_of(32)


@pytest.mark.parametrize("digit", [1, 2, 3])
def test_every_sum_of_four_bits(digit: int) -> None:
    bench = adder(4, digit)
    for x, y, carry in product(range(16), range(16), range(2)):
        assert bench(x, y, carry, 1) == (x + y + carry) & 15
    assert bench(15, 15, 1, 0) == 0


@pytest.mark.parametrize("width", [1, 3, 4, 5])
def test_every_small_product(width: int) -> None:
    bench = product_of(width)
    for x, y in product(range(1 << width), repeat=2):
        assert bench(x, y, 1) == x * y & ((1 << width) - 1)
    assert bench((1 << width) - 1, 1, 0) == 0


@pytest.mark.parametrize("run", [0, 1, 2, 4])
def test_every_shift_of_eight_bits(run: int) -> None:
    bench = shifts(8, 4)
    for x, amount in product([0, 1, 0x80, 0xFF, 0x5A, 0xA5, 0x7E, 0x93], range(16)):
        assert bench(x, amount, run) == shifted(x, amount, run, 8)


@given(words, words, st.integers(0, 1), st.integers(0, 1))
def test_adder(x: int, y: int, carry: int, when: int) -> None:
    assert ADDER(x, y, carry, when) == ((x + y + carry) & MASK if when else 0)


@given(words, st.integers(0, 40) | words, st.sampled_from([0, 1, 2, 4]))
def test_shifter(x: int, amount: int, run: int) -> None:
    assert SHIFTER(x, amount, run) == shifted(x, amount, run, 32)


@given(words, words)
def test_multiplier(x: int, y: int) -> None:
    assert MULTIPLIER(x, y, 1) == x * y & MASK
    assert MULTIPLIER(x, y, 0) == 0


def test_layers() -> None:
    assert (ADDER.layers, SHIFTER.layers, MULTIPLIER.layers) == (2, 2, 5)


@given(
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
    st.integers(0, 15),
    st.integers(0, 15),
    st.integers(0, 15),
)
def test_idle_circuits_add_nothing_whatever_shared_wires_hold(
    counts: list[int], x: int, y: int, junk: int
) -> None:
    """Circuits that are never busy together share wires; another one's numbers must not open an idle one's gates."""

    def make(b: Builder, inputs: Inputs, out: list[Signal]) -> None:
        shared = b.bus("shared", 4, high=4)
        for wire, bit, count in zip(shared, inputs["junk"], counts, strict=True):
            b.add(wire, 2 * bit - 1, count + 1)
        idle = b.wire("idle")
        digits = adders.add(b, "add", inputs["x"], inputs["y"], shared, idle)
        adders.finish(b, digits, out, inputs["y"][0], idle)
        shifter.shift(b, inputs["x"], inputs["y"], shared, shifter.Directions(idle, idle, idle), out)
        bits = b.bus("bits", 4)
        for wire, bit in zip(bits, inputs["junk"], strict=True):
            b.add(wire, 2 * bit - 1)
        adders.finish(b, multiplier.multiply(b, "mul", inputs["x"], inputs["y"], bits, idle), out, ZERO, idle)
        b.add(out[0], 1 - 2 * total_of(inputs["junk"]))

    bench = Bench({"x": 4, "y": 4, "junk": 4}, 4, make)
    assert bench(x, y, junk) == int(junk == 0)


def total_of(bits: list[Signal]) -> Signal:
    """How many bits are on."""
    return sum(bits, Signal())


def test_a_digit_too_wide_for_its_carry_is_refused() -> None:
    b = Builder()
    x = b.token("x")
    with pytest.raises(ValueError, match="does not fit radix 4"):
        adders.classify(b, "digit", 7 * x, b.bus("s", 2), 7, ONE)
    adders.classify(b, "top", 7 * x, b.bus("s", 2), 7, ONE, is_top=True)
