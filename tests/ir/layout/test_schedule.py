"""Schedules: every invariant has an input that breaks it; a node sees what was written before it and nothing else."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given

from qgc.backends.weights.scheduler import schedule
from qgc.diagnostics import QgcError, VerifyError
from qgc.ir.layout import schedule_verify as module
from qgc.ir.layout.schedule import lives
from qgc.ir.layout.schedule_evaluate import evaluator
from qgc.ir.layout.schedule_text import parse
from qgc.ir.layout.schedule_verify import load, verify
from qgc.ir.netlist.netlist import Netlist
from tests.helpers.circuits import NARROW, circuits

SHAPE = "shape s hidden=16 intermediate=2 heads=1 value_heads=1 head_dim=128 attention_heads=1 kv_heads=1 attention_dim=16"
TEXT = f"""\
schedule
{SHAPE}
layers 2
token x
wire a
wire b
wire out
unit relu(2*x - 1) -> a @ 0
unit relu(2*a + 2*b - 3) -> out @ 1
head h rows 1 @ 1
  data a
  write x
  read 1
  to 0: b
output next = out
"""

SECOND = "head g rows 1 @ 1\n  data a\n  write x\n  read 1\n  to 0: b\n"
WRONG = {
    "schedule-size": ("h rows 1 @ 1", "h rows 1 @ 2", 10),
    "schedule-order": ("-> a @ 0", "-> a @ 1", 9),
    "schedule-units": (
        "-> out @ 1",
        "-> out @ 1\nunit relu(2*a) -> out @ 1\nunit relu(2*b) -> out @ 1",
        None,
    ),
    "schedule-heads": ("output next = out\n", SECOND + "output next = out\n", None),
    "schedule-rows": ("rows 1 @ 1\n  data a\n", "rows 200 @ 1\n  data a\n", 10),
    "netlist-dead": ("wire out\n", "wire out\nwire dead\n", 8),
}
KEYS = "  write-key x, x, x, x, x, x, x, x\n  read-key x, x, x, x, x, x, x, x\n"


def test_the_text_is_right() -> None:
    scheduled = load(TEXT)
    assert (scheduled.unit_layer, scheduled.head_layer) == ((0, 1), (1,))
    assert scheduled.times == [1, 3, 2]
    assert lives(scheduled) == [(-1, 2), (1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("code", WRONG)
def test_a_fault_in_a_text(code: str) -> None:
    old, new, line = WRONG[code]
    text = TEXT.replace(old, new)
    if code == "schedule-rows":
        text = text.replace("  write x\n", KEYS + "  write x\n")
    with pytest.raises(VerifyError) as caught:
        load(text, "k")
    fault = next(d for d in caught.value.diagnostics if d.code == code)
    assert (fault.span and fault.span.line) == line


def test_every_node_has_a_layer() -> None:
    scheduled = parse(TEXT)
    with pytest.raises(VerifyError, match="2 units, and layers for 1"):
        verify(replace(scheduled, unit_layer=(0,)))


def test_every_code_has_a_failing_test() -> None:
    listed = set(re.findall(r"^    (schedule-[a-z]+)", module.__doc__ or "", re.MULTILINE))
    assert listed == {code for code in WRONG if code.startswith("schedule")}


def test_a_reader_too_early_computes_something_else() -> None:
    text = TEXT.replace("  write x\n", "  write 1\n")
    assert evaluator(parse(text)).step({"x": 1}) == {"next": 1}
    late = text.replace("-> a @ 0", "-> a @ 1")
    assert evaluator(parse(late)).step({"x": 1}) == {"next": 0}


@pytest.mark.parametrize(
    ("text", "code", "place", "words"),
    [
        ("", "schedule-syntax", "1:1", "no line `schedule`"),
        ("schedule\n", "schedule-syntax", "1:1", "no line `shape"),
        (f"schedule\n{SHAPE}\n", "schedule-syntax", "1:1", "no line `layers COUNT`"),
        ("schedule\nlayers x\n", "schedule-syntax", "2:8", "not a whole number"),
        ("schedule\nshape s hidden=1\n", "schedule-syntax", "2:1", "no intermediate"),
        ("schedule\nshape s hidden=x\n", "schedule-syntax", "2:16", "'x' is not a whole number"),
        ("schedule\nshape s width=1\n", "schedule-syntax", "2:9", "not FIELD=NUMBER"),
        (f"schedule\n{SHAPE.replace('head_dim=128', 'head_dim=64')}\n", "shape-heads", "2:1", "must be 128"),
        ("schedule\ntoken x @ 3\n", "schedule-syntax", "2:11", "no note"),
        ("schedule\nunit relu(1)\n", "schedule-syntax", "2:1", "ends with"),
        ("schedule\nunit relu(1) @ top\n", "schedule-syntax", "2:16", "ends with"),
    ],
)
def test_what_is_not_understood(text: str, code: str, place: str, words: str) -> None:
    with pytest.raises(QgcError) as caught:
        parse(text, "k")
    fault = caught.value.diagnostics[0]
    assert (fault.code, str(fault.span)) == (code, f"k:{place}")
    assert words in fault.message


@given(circuits())
def test_the_scheduler_keeps_the_limits(netlist: Netlist) -> None:
    for shape in (NARROW, replace(NARROW, intermediate=4, heads=1, value_heads=1)):
        verify(schedule(netlist, shape))


def test_a_cycle_is_refused() -> None:
    text = TEXT.replace("relu(2*x - 1)", "relu(2*out - 1)")
    with pytest.raises(QgcError, match="netlist-cycle"):
        schedule(parse(text).netlist, NARROW)


def test_layers_without_use_are_a_fault() -> None:
    with pytest.raises(VerifyError, match=r"schedule-size.*9 layers, and nothing after layer 1"):
        load(TEXT.replace("layers 2", "layers 9"))


def test_a_shape_without_units_is_refused() -> None:
    with pytest.raises(QgcError, match=r"schedule-width.*intermediate 1 leaves no unit"):
        schedule(parse(TEXT).netlist, replace(NARROW, intermediate=1))
