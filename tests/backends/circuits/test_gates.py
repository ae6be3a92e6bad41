"""Gates, decoders and staircases: every input of small ones."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qgc.backends.circuits.gates import (
    add_clean,
    all_of,
    any_of,
    bit_of,
    clean,
    conjunction,
    decode,
    matches,
    staircase,
    weighted,
)
from qgc.ir.netlist.evaluate import Evaluator
from qgc.ir.netlist.netlist import ONE, Builder, Signal
from tests.helpers.circuits import Bench, Inputs


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_conjunctions_leave_a_margin(count: int) -> None:
    """The gate form is 1 or at most -1: one layer of relu makes it exactly a bit."""
    b = Builder()
    gate = conjunction(*(b.token(f"x{i}") for i in range(count)))
    for bits in product((0, 1), repeat=count):
        value = gate.const + sum(c * bits[w] for w, c in gate.terms)
        assert value == 1 if all(bits) else value <= -1


@pytest.mark.parametrize("count", [0, 1, 3])
def test_and_or(count: int) -> None:
    def make(b: Builder, inputs: Inputs, out: list[Signal]) -> None:
        b.add(out[0], conjunction(all_of(b, "and", inputs["x"])))
        b.add(out[1], conjunction(any_of(b, "or", inputs["x"])))

    bench = Bench({"x": count}, 2, make)
    for x in range(1 << count):
        assert bench(x) == int(x == (1 << count) - 1) + 2 * int(x > 0)


def test_or_of_integers() -> None:
    def make(b: Builder, inputs: Inputs, out: list[Signal]) -> None:
        b.add(out[0], conjunction(any_of(b, "any", [weighted(inputs["x"]), 3 * inputs["y"][0]])))

    bench = Bench({"x": 3, "y": 1}, 1, make)
    for x, y in product(range(8), range(2)):
        assert bench(x, y) == int(x > 0 or y > 0)


@pytest.mark.parametrize("width", [1, 3, 4])
def test_decode(width: int) -> None:
    def make(b: Builder, inputs: Inputs, out: list[Signal]) -> None:
        for value, line in decode(b, "is", inputs["x"], range(1 << width)).items():
            b.add(out[value], conjunction(line))

    bench = Bench({"x": width}, 1 << width, make)
    assert (bench.units, bench.layers) == (2 << width, 2)
    for x in range(1 << width):
        assert bench(x) == 1 << x


def test_matches_are_the_literals_of_a_value() -> None:
    b = Builder()
    x, y = b.token("x"), b.token("y")
    assert matches([x, y], 2) == [1 - x, y]


@given(st.integers(0, 15), st.lists(st.floats(-0.05, 0.05), min_size=4, max_size=4))
def test_clean_conjunctions_do_not_pass_noise_on(x: int, noise: list[float]) -> None:
    """Literals that are off by a twentieth give exactly 0 or 1, where a plain conjunction doubles what they are off by."""
    b = Builder()
    bits = [b.token(f"x{i}") for i in range(4)]
    out, copies = b.wire("out"), clean(b, "copy", bits)
    add_clean(b, out, bits)
    b.output("out", out)
    for i, copy in enumerate(copies):
        b.output(f"copy{i}", copy)
    for info in b.netlist.wires:
        info.low, info.high = -1, 2
    values = Evaluator(b.netlist).step({f"x{i}": (x >> i & 1) + noise[i] for i in range(4)})
    exact = {"out": float(x == 15), **{f"copy{i}": float(x >> i & 1) for i in range(4)}}
    assert values == pytest.approx(exact, abs=1e-12)


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=9), st.integers(0, 8), st.booleans())
def test_staircase(steps: list[int], x: int, when: bool) -> None:
    """Any function of a small number in one layer; nothing at all while it is shut."""

    def make(b: Builder, inputs: Inputs, out: list[Signal]) -> None:
        target = b.wire("target", low=-3, high=3)
        staircase(
            b, weighted(inputs["x"]), range(len(steps)), [(target, lambda v: steps[v])], inputs["when"][0]
        )
        b.output("target", target)
        b.add(out[0], ONE)

    bench = Bench({"x": 4, "when": 1}, 1, make)
    bench.values(x % len(steps), int(when))
    wire = [info.name for info in bench.b.netlist.wires].index("target")
    assert bench.evaluator.values[wire] == (steps[x % len(steps)] if when else 0)


def test_staircase_shares_its_hinges() -> None:
    def make(b: Builder, inputs: Inputs, out: list[Signal]) -> None:
        staircase(b, weighted(inputs["x"]), range(8), [(wire, bit_of(i)) for i, wire in enumerate(out)])

    bench = Bench({"x": 3}, 3, make)
    assert (bench.units, bench.layers) == (7, 1)
    assert [bench(x) for x in range(8)] == list(range(8))


def test_staircase_at_powers_of_two_takes_exact_fractions() -> None:
    """Slopes between powers of two are dyadic."""

    def make(b: Builder, inputs: Inputs, out: list[Signal]) -> None:
        points = [0, 1, 2, 4, 8]
        functions = [(wire, lambda v, n=n: int(v == 1 << n)) for n, wire in enumerate(out)]
        staircase(b, weighted(inputs["x"]), points, functions)

    bench = Bench({"x": 4}, 4, make)
    assert [bench(1 << n) for n in range(4)] == [1, 2, 4, 8]
    assert bench(0) == 0
