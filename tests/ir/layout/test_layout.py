"""Layouts: every invariant has an input that breaks it, and what breaks it computes wrong numbers."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from qgc.backends.weights.allocate import allocate
from qgc.backends.weights.plan import plan
from qgc.backends.weights.scheduler import schedule
from qgc.diagnostics import QgcError, VerifyError
from qgc.ir.layout import layout_verify as module
from qgc.ir.layout.layout import Clear
from qgc.ir.layout.layout_evaluate import evaluator
from qgc.ir.layout.layout_text import parse, to_text
from qgc.ir.layout.layout_verify import load, verify
from qgc.ir.layout.shape import SHAPES, ModelShape, shape
from qgc.ir.layout.shape_text import read_shape, shape_text
from qgc.ir.lines import LineReader
from qgc.ir.machine.config import PRESETS
from tests.helpers.circuits import NARROW, two_bit_adder

TEXT = """\
layout
shape s hidden=8 intermediate=4 heads=2 value_heads=4 head_dim=128 attention_heads=1 kv_heads=1 attention_dim=16
layers 3
constants 0 1
token x @ 3
token y @ 4
wire a @ 5
wire b 0..2 @ 6
wire c @ 5
wire out @ -
unit relu(2*x - 1) -> a @ 0
unit relu(2*a - 1) -> c @ 1
unit relu(2*b + 2*c - 3) -> out @ 2
head h rows 1 @ 1 slot 0
  data a
  write x
  read 1
  to 0: b
head g rows 1 @ 1 slot 2
  data y
  write x
  read 1
  to 0: b
output next = out @ 2
clear a @ 1
"""

WRONG = {
    "layout-coordinate": ("wire b 0..2 @ 6", "wire b 0..2 @ 8", 8),
    "layout-constant": ("constants 0 1", "constants 0", None),
    "layout-output": ("wire out @ -", "wire out @ 7", 10),
    "layout-share": ("clear a @ 1\n", "", 9),
    "layout-clear": ("clear a @ 1", "clear a @ 0", 25),
    "layout-slot": ("slot 2", "slot 1", 19),
    "layout-units": ("intermediate=4", "intermediate=1", None),
    "layout-norm": ("wire b 0..2", "wire b 0..999999999", None),
    "layout-margin": ("token x @ 3", "token x 0..1000 @ 3", 5),
    "schedule-order": ("-> a @ 0", "-> a @ 2", 12),
}

MORE = [
    ("layout-coordinate", "wire b 0..2 @ 6", "wire b 0..2 @ 0"),
    ("layout-coordinate", "wire b 0..2 @ 6", "wire b 0..2 @ 2"),
    ("layout-coordinate", "wire b 0..2 @ 6", "wire b 0..2 @ -"),
    ("layout-coordinate", "constants 0 1", "constants 0 0"),
    ("layout-coordinate", "= out @ 2", "= out @ 9"),
    ("layout-coordinate", "= out @ 2", "= out @ 1"),
    ("layout-output", "next = out @", "next = c @"),
    ("layout-output", "next = out @", "next = 2*out @"),
    ("layout-output", "output next = out @ 2\n", "output next = out @ 2\noutput more = out @ 7\n"),
    ("layout-output", "next = out @", "next = x @"),
    ("layout-share", "token y @ 4", "token y @ 3"),
    ("layout-share", "wire b 0..2 @ 6", "wire b 0..2 @ 5"),
    ("layout-clear", "clear a @ 1", "clear a @ 9"),
    ("layout-clear", "clear a @ 1", "clear a @ 1\nclear a @ 1"),
    ("layout-clear", "clear a @ 1", "clear a @ 1\nclear b @ 0"),
    ("layout-clear", "clear a @ 1", "clear a @ 1\nclear out @ 2"),
    ("layout-slot", "slot 2", "slot 4"),
    ("layout-slot", "slot 2", "slot 0"),
    ("layout-units", "intermediate=4", "intermediate=1"),
]


def test_the_text_is_right() -> None:
    layout = load(TEXT)
    assert to_text(layout) == TEXT
    assert layout.fields == {"x": 3, "y": 4}
    assert [evaluator(layout).step({"x": x, "y": 1})["next"] for x in (1, 0)] == [3, 0]


@pytest.mark.parametrize("code", WRONG)
def test_a_fault_in_a_text(code: str) -> None:
    old, new, line = WRONG[code]
    with pytest.raises(VerifyError) as caught:
        load(TEXT.replace(old, new), "k")
    fault = next(d for d in caught.value.diagnostics if d.code == code)
    assert (fault.span and fault.span.line) == line


@pytest.mark.parametrize(("code", "old", "new"), MORE)
def test_more_faults(code: str, old: str, new: str) -> None:
    text = TEXT.replace(old, new)
    with pytest.raises(VerifyError) as caught:
        load(text)
    codes = {d.code for d in caught.value.diagnostics}
    assert (
        code in codes
        or (old.startswith("intermediate") and "schedule-units" in codes)
        or codes == {"netlist-dead"}
    )


def test_sizes_are_checked() -> None:
    layout = load(TEXT)
    for part in ({"coordinate": (3, 4)}, {"head_slot": (0,)}, {"code": {"other": 2}}):
        with pytest.raises(VerifyError, match="layout-size"):
            verify(replace(layout, **part))


def test_every_code_has_a_failing_test() -> None:
    listed = set(re.findall(r"^    (layout-[a-z]+)", module.__doc__ or "", re.MULTILINE))
    assert listed == {*(code for code in WRONG if code.startswith("layout")), "layout-size"}


def test_sharing_shows_in_the_numbers() -> None:
    """A wire that is not cleared adds to the next one on its coordinate."""
    dirty = parse(TEXT.replace("clear a @ 1\n", ""))
    assert evaluator(dirty).step({"x": 1, "y": 0})["next"] == 3
    assert evaluator(parse(TEXT)).step({"x": 1, "y": 0})["next"] == 1


def test_a_clear_too_early_shows_in_the_numbers() -> None:
    early = parse(TEXT.replace("clear a @ 1", "clear a @ 0"))
    assert evaluator(early).step({"x": 1, "y": 0})["next"] == 3


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("layout\nwire a\n", "2:1", "ends with"),
        ("layout\nconstants a\n", "2:11", "not a whole number"),
        ("layout\nwire a @ 1\nclear a\n", "3:1", "clear WIRE @ LAYER"),
        ("layout\nhead h rows 1 @ 3\n", "2:17", "ends with"),
        (TEXT.replace("constants 0 1\n", ""), "1:1", "no line `constants"),
    ],
)
def test_what_is_not_understood(text: str, place: str, words: str) -> None:
    with pytest.raises(QgcError) as caught:
        parse(text, "k")
    fault = caught.value.diagnostics[0]
    assert (fault.code, str(fault.span)) == ("layout-syntax", f"k:{place}")
    assert words in fault.message


# Machines that do not fit ------------------------------------------------------------------------------------------


def test_too_narrow() -> None:
    with pytest.raises(QgcError) as caught:
        plan(PRESETS["nano"], replace(SHAPES["tiny"], hidden=256))
    fault = caught.value.diagnostics[0]
    assert fault.code == "layout-width"
    assert "hidden size 256" in fault.message
    assert re.search(r"about \d+ coordinates", fault.hint or "")


def test_no_unit_left_for_clears() -> None:
    circuit = two_bit_adder()
    scheduled = schedule(circuit, replace(NARROW, hidden=12))
    full = replace(
        scheduled,
        shape=replace(scheduled.shape, intermediate=max(scheduled.unit_layer.count(n) for n in (0, 1))),
    )
    with pytest.raises(QgcError, match=r"layout-units.*to clear"):
        allocate(full)


def test_an_output_must_be_a_wire_of_its_own() -> None:
    circuit = two_bit_adder()
    circuit.outputs["more"] = 1 - circuit.outputs["sum[0]"]
    with pytest.raises(QgcError, match="layout-output"):
        allocate(schedule(circuit, NARROW))


# Shapes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hidden", "constants"), [(1024, 1), (2048, 2), (2560, 10), (4096, 1), (3072, 3), (12, 3)]
)
def test_constants_make_the_norm_factor_a_power_of_two(hidden: int, constants: int) -> None:
    made = replace(NARROW, hidden=hidden)
    assert made.constants == constants
    ratio = hidden // constants
    assert hidden % constants == 0
    assert ratio & (ratio - 1) == 0
    assert ratio.bit_length() % 2 == 1


def test_shapes_by_name() -> None:
    assert shape("tiny").hidden == 1024
    with pytest.raises(QgcError, match=r"shape-unknown.*no model shape 'huge'[\s\S]*shapes: qwen3\.5-0\.8b"):
        shape("huge")
    with pytest.raises(QgcError, match="shape-heads"):
        ModelShape("odd", 64, 64, heads=3, value_heads=4)


@pytest.mark.parametrize("made", [*SHAPES.values(), NARROW], ids=lambda made: made.name)
def test_shapes_as_text(made: ModelShape) -> None:
    line = shape_text(made)
    assert read_shape(LineReader("k", "x-syntax", {}), line.removeprefix("shape ")) == made


def test_clears_come_in_order_of_layers() -> None:
    layout = load(TEXT)
    verify(replace(layout, clears=(Clear(0, 1), Clear(2, 1))))
    with pytest.raises(VerifyError, match=r"layout-clear.*clears are not in order of layers"):
        verify(replace(layout, clears=(Clear(4, 2), Clear(2, 1))))
