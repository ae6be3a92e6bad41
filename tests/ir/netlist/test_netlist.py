"""Signals form a module, and the builder folds what is constant and makes equal units once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qgc.ir.netlist.netlist import ONE, Builder, FromUnit, Number, Signal, Wire, total

small = st.integers(-5, 5)
signals = st.builds(
    lambda const, terms: total([Signal(0, ((Wire(w), c),)) for w, c in terms.items() if c], const),
    small,
    st.dictionaries(st.integers(0, 3), small),
)


def value(signal: Signal, wires: list[int]) -> Number:
    return signal.const + sum(c * wires[w] for w, c in signal.terms)


@given(signals, signals, small, st.lists(small, min_size=4, max_size=4))
def test_signals_are_affine_forms(x: Signal, y: Signal, k: int, wires: list[int]) -> None:
    assert value(x + y, wires) == value(x, wires) + value(y, wires)
    assert value(x - y, wires) == value(x, wires) - value(y, wires)
    assert value(k * x + k, wires) == k * value(x, wires) + k
    assert value(k - x, wires) == k - value(x, wires)
    assert x - x == Signal()
    assert (x + y).terms == tuple(sorted((x + y).terms))
    assert all(c for _, c in (x + y).terms)


def test_units_that_add_nothing_are_left_out() -> None:
    b = Builder()
    x, out = b.token("x"), b.wire("out")
    b.add(out, Signal(-1), x)
    b.add(out, Signal(0))
    b.add(out, x, 0)
    b.add(out, x, Signal())
    assert b.netlist.units == []


def test_equal_units_are_made_once() -> None:
    b = Builder()
    x, first, second = b.token("x"), b.wire("first"), b.wire("second")
    b.add(first, x)
    b.with_scope("inner").add(second, x, ONE, -2)
    b.add(second, x, 3)
    assert len(b.netlist.units) == 1
    assert b.info(first).terms == [FromUnit(0, 1)]
    assert b.info(second).terms == [FromUnit(0, -2), FromUnit(0, 3)]


def test_wide_memories_take_several_heads() -> None:
    b = Builder().with_scope("s")
    data = [b.wire(f"d{i}") for i in range(70)]
    out = b.memory("m", data, ONE)
    assert [(h.name, len(h.data)) for h in b.netlist.heads] == [("s.m.0", 32), ("s.m.1", 32), ("s.m.2", 6)]
    assert len(out) == 70


def test_only_plain_wires_are_added_to() -> None:
    b = Builder()
    x = b.wire("x")
    for signal in (1 - x, 2 * x, x + 1, Signal(1)):
        with pytest.raises(ValueError, match="not a plain wire"):
            b.add(signal, ONE)
