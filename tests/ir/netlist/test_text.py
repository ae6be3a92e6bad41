"""The text form of netlists: what is not understood is told with its place; signals and numbers in all their forms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qgc.backends.circuits.machine import interpreter_netlist
from qgc.diagnostics import QgcError
from qgc.ir.machine.config import PRESETS
from qgc.ir.netlist.netlist import FromUnit, Netlist, Signal, Unit, Wire, WireInfo
from qgc.ir.netlist.text import parse, signal_text, to_text
from qgc.passes.netlist.dead_wires import DeadWires

HEAD = "netlist\ntoken a\nwire b\n"


@pytest.mark.parametrize(
    ("text", "code", "place", "words"),
    [
        ("", "netlist-syntax", "1:1", "no line `netlist`"),
        ("netlist\nnetlist\n", "netlist-syntax", "2:1", "twice"),
        ("netlist x\n", "netlist-syntax", "1:1", "form"),
        (HEAD + "wires c\n", "netlist-syntax", "4:1", "unknown line 'wires'"),
        (HEAD + "wire\n", "netlist-syntax", "4:1", "wire NAME"),
        (HEAD + "wire c 0..\n", "netlist-syntax", "4:1", "wire NAME"),
        (HEAD + "wire c @ 3\n", "netlist-syntax", "4:10", "no note"),
        (HEAD + "wire 2c\n", "netlist-name", "4:6", "'2c' is not a name"),
        (HEAD + "wire b\n", "netlist-name", "4:6", "'b' is there already"),
        (HEAD + "unit relu(c) -> b\n", "netlist-name", "4:11", "no wire 'c'"),
        (HEAD + "unit relu(2*c) -> b\n", "netlist-name", "4:13", "no wire 'c'"),
        (HEAD + "unit relu(a) -> c\n", "netlist-name", "4:17", "no wire 'c'"),
        (HEAD + "unit relu(a) -> 3\n", "netlist-syntax", "4:17", "'3' is not COEFFICIENT*WIRE"),
        (HEAD + "unit relu(a a) -> b\n", "netlist-syntax", "4:11", "'a a' is not a sum"),
        (HEAD + "unit relu(a + ) -> b\n", "netlist-name", "4:1", "no wire ''"),
        (HEAD + "unit relu(a * b) -> b\n", "netlist-syntax", "4:11", "not a sum"),
        (HEAD + "unit relu(x*a) -> b\n", "netlist-syntax", "4:11", "'x' is not a number"),
        (HEAD + "unit relu(1e999999*a) -> b\n", "netlist-syntax", "4:11", "number"),
        (HEAD + "unit a -> b\n", "netlist-syntax", "4:1", "unit relu"),
        (HEAD + "head h\n", "netlist-syntax", "4:1", "head NAME rows"),
        (HEAD + "data a\n", "netlist-syntax", "4:1", "before the first head"),
        (HEAD + "to 0: b\n", "netlist-syntax", "4:1", "before the first head"),
        (HEAD + "head h rows 1\n  to b\n", "netlist-syntax", "5:3", "to BIT"),
        (HEAD + "head h rows 1\n  read a, b\n", "netlist-syntax", "5:3", "one read signal"),
        (HEAD + "output o\n", "netlist-syntax", "4:1", "output NAME"),
        (HEAD + "output o = a\noutput o = b\n", "netlist-name", "5:8", "'o' is there already"),
    ],
)
def test_what_is_not_understood(text: str, code: str, place: str, words: str) -> None:
    with pytest.raises(QgcError) as caught:
        parse(text, "k")
    fault = caught.value.diagnostics[0]
    assert (fault.code, str(fault.span)) == (code, f"k:{place}")
    assert words in fault.message


def test_every_wrong_line_is_reported() -> None:
    with pytest.raises(QgcError) as caught:
        parse(HEAD + "wire b\nunit relu(c)\nfoo\n")
    assert [d.span and d.span.line for d in caught.value.diagnostics] == [4, 5, 6]


def test_comments_and_indentation_are_free() -> None:
    text = "# a circuit\nnetlist\n\n   token a\n  # the result\nwire b\nunit relu(a) -> b\noutput o = b\n"
    assert to_text(parse(text)) == "netlist\ntoken a\nwire b\nunit relu(a) -> b\noutput o = b\n"


numbers = st.integers(-300, 300) | st.sampled_from([0.5, -0.25, 2.0, 2.0**-20, 1e300, 2.0**60, 2.0**52 + 1])


@given(st.dictionaries(st.integers(0, 3), numbers.filter(bool)), numbers)
def test_signals(terms: dict[int, float], const: float) -> None:
    signal = Signal(const, tuple(sorted((Wire(w), c) for w, c in terms.items())))
    names = ["a", "b[0]", "c.d=3", "e-f"]
    netlist = Netlist([WireInfo(n, n) for n in names], [Unit(signal, Signal(1))], [], {"o": signal})
    read = parse(to_text(netlist))
    assert read.outputs["o"] == signal
    assert read.units[0].gate == signal
    assert signal_text(signal, names) == signal_text(read.outputs["o"], names)


def test_a_signal_is_printed_as_a_sum() -> None:
    names = ["a", "b"]
    assert signal_text(Signal(), names) == "0"
    assert signal_text(Signal(-3), names) == "-3"
    assert signal_text(Signal(1, ((Wire(0), -1), (Wire(1), 0.5))), names) == "-a + 0.5*b + 1"


def test_equal_terms_are_printed_as_one() -> None:
    a, b = WireInfo("a", "a"), WireInfo("b", terms=[FromUnit(1, 1), FromUnit(0, 1), FromUnit(1, 2)])
    unit = Unit(Signal(0, ((Wire(0), 1),)), Signal(1))
    text = to_text(Netlist([a, b], [unit, unit], [], {"o": Signal(0, ((Wire(1), 1),))}))
    assert "unit relu(a) -> b\nunit relu(a) -> 3*b\n" in text
    assert parse(text).wires[1].terms == [FromUnit(0, 1), FromUnit(1, 3)]


def test_the_smallest_machine_survives_the_round_trip() -> None:
    netlist = interpreter_netlist(PRESETS["nano"])
    DeadWires().run(netlist)
    text = to_text(netlist)
    read = parse(text)
    assert to_text(read) == text
    assert (read.units, read.heads, read.outputs) == (netlist.units, netlist.heads, netlist.outputs)
    for wire, info in zip(read.wires, netlist.wires, strict=True):
        assert (wire.name, wire.token_field, wire.low, wire.high) == (
            info.name,
            info.token_field,
            info.low,
            info.high,
        )
        assert set(wire.terms) == set(info.terms)
