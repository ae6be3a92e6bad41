"""The netlist evaluator keeps its promises, and tells which one a circuit breaks."""

from __future__ import annotations

import pytest

from qgc.diagnostics import QgcError
from qgc.ir.netlist.evaluate import Evaluator
from qgc.ir.netlist.graph import Graph
from qgc.ir.netlist.netlist import ONE, Builder, Head, Key, Signal
from qgc.ir.netlist.text import parse

CELL = """\
netlist
token write
token data
token read
token row0
token row1
wire out
head h rows 3
  data data
  write-key row0, row1
  read-key row0, row1
  write write
  read read
  to 0: out
output out = out
"""


def step(evaluator: Evaluator, **token: float) -> float:
    return evaluator.step(token)["out"]


def test_memory_is_written_then_read() -> None:
    cell = Evaluator(parse(CELL))
    assert step(cell, read=1) == 0
    assert step(cell, write=1, data=1, row0=1, read=1) == 1
    assert step(cell, row0=1) == 0
    assert step(cell, row0=1, read=1) == 1
    assert step(cell, row1=1, read=1) == 0
    assert step(cell, write=1, row0=1, read=1) == 0
    step(cell, write=1, data=1)
    cell.reset()
    assert step(cell, read=1) == 0


@pytest.mark.parametrize(
    ("code", "token"),
    [
        ("netlist-write", {"write": 2}),
        ("netlist-write", {"write": 0.25}),
        ("netlist-read", {"read": 3}),
        ("netlist-bit", {"write": 1, "data": 2}),
        ("netlist-key", {"write": 1, "row0": 0.5}),
        ("netlist-key", {"read": 1, "row0": 1, "row1": 1}),
        ("netlist-key", {"read": 1, "row0": -1}),
    ],
)
def test_broken_promises(code: str, token: dict[str, float]) -> None:
    with pytest.raises(QgcError) as caught:
        Evaluator(parse(CELL)).step(token)
    fault = caught.value.diagnostics[0]
    assert (fault.code, "head h: " in fault.message) == (code, True)


def test_values_are_kept_within_their_range() -> None:
    text = "netlist\ntoken a\nwire b 0..2\nunit relu(a) -> b\noutput out = b\n"
    evaluator = Evaluator(parse(text))
    assert step(evaluator, a=1) == 1
    with pytest.raises(QgcError, match=r"netlist-range.*wire a is 3, outside 0\.\.1"):
        step(evaluator, a=3)


def test_shut_heads_are_not_looked_at() -> None:
    """Neither write nor read: whatever stands on data and keys is ignored."""
    text = CELL.replace("write\n", "write -1..1\n", 1).replace("data\n", "data 0..7\n", 1)
    shut = Evaluator(parse(text.replace("token read\n", "token read -5..1\n")))
    assert step(shut, data=7, row0=0.3, write=-1, read=-5) == 0


def test_a_counter_halves() -> None:
    b = Builder()
    reset, event, out = b.token("reset"), b.token("event"), b.wire("out", high=8)
    b.head(Head("n", 1, (reset,), reset + 0.5 * event, Key(), Key(), ONE, scale=8), {0: [out]})
    b.output("out", out)
    evaluator = Evaluator(b.netlist)
    values = [step(evaluator, **{name: 1}) for name in ("event", "reset", "event", "event", "reset")]
    assert values == [0, 8, 4, 2, 8]


def test_fractions_survive_steps_without_units() -> None:
    """A step that has heads alone must not round what they read."""
    b = Builder()
    reset, event, out = b.token("reset"), b.token("event"), b.wire("out")
    b.head(Head("n", 1, (reset,), reset + 0.5 * event, Key(), Key(), ONE, scale=1), {0: [out]})
    b.output("out", out)
    evaluator = Evaluator(b.netlist, [0])
    assert [step(evaluator, reset=1), step(evaluator, event=1)] == [1, 0.5]


def test_times_decide_what_a_node_sees() -> None:
    text = "netlist\ntoken a\nwire b\nwire c\nunit relu(a) -> b\nunit relu(b) -> c\noutput out = c\n"
    assert step(Evaluator(parse(text), [1, 3]), a=1) == 1
    assert step(Evaluator(parse(text), [1, 1]), a=1) == 0
    assert step(Evaluator(parse(text), [3, 1]), a=1) == 0


def test_depths_and_cycles() -> None:
    text = "netlist\ntoken a\nwire b\nwire c\nunit relu(a) -> b\nunit relu(b) -> c\noutput out = c\n"
    assert Graph(parse(text)).depths() == ([0, 1, 2], [1, 2])
    with pytest.raises(QgcError, match=r"netlist-cycle.*among them b, c"):
        Graph(parse(text.replace("relu(a)", "relu(c)"))).depths()


def test_constant_units_run_first() -> None:
    b = Builder()
    out = b.wire("out", high=2)
    b.add(out, Signal(2))
    b.output("out", out)
    assert Evaluator(b.netlist).step({}) == {"out": 2}
