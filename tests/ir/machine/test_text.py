"""The text form of programs: byte-exact round trips, and one fault for each line that is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qgc.diagnostics import QgcError, Span
from qgc.ir.machine.config import PRESETS, MachineConfig, preset
from qgc.ir.machine.program import Block, Branch, Guard, Instr, LiveOut, Param, Program
from qgc.ir.machine.text import parse, parse_with_places, to_text
from tests.helpers.programs import Case, multi_block_programs

DOT = """\
machine simt4
kernel dot
param a ptr
param n int
const k0 = param a
const k1 = -7
const k2 = param a + 16
block 0:
  0: ldx tid, k0 @ dir%20one/dot.ptx:12:3-17
  1: mul f0, r2
  2: sel r1, k1 if !f0
  3: stx tid, k2 <- f2 if r3
  out r1 = f1
  out r15 = f2
  branch f0 ? 1 : exit
block 1 serial:
  branch 0
"""


def test_text_reads_as_documented() -> None:
    program = parse(DOT)
    block = program.blocks[0]
    assert program.params == (Param("a", True), Param("n", False))
    assert program.consts == ("param a", 0xFFFFFFF9, "param a + 16")
    assert block.instrs[0] == Instr("ldx", "tid", "k", const=0)
    assert block.instrs[0].span == Span("dir one/dot.ptx", 12, 3, 17)
    assert block.instrs[2] == Instr("sel", "r1", "k", const=1, guard=Guard("f0", negated=True))
    assert block.instrs[3] == Instr("stx", "tid", "k", "f2", 2, Guard("r3"))
    assert block.live_outs == (LiveOut(1, 1), LiveOut(15, 2))
    assert block.branch == Branch(1, -1, Guard("f0"))
    assert program.blocks[1] == Block((), (), Branch(0), serial=True)
    assert to_text(program) == DOT


@given(st.data())
def test_generated_programs_round_trip(data: st.DataObject) -> None:
    config = preset(data.draw(st.sampled_from(list(PRESETS))))
    case: Case = data.draw(multi_block_programs(config))
    text = to_text(case.program)
    assert parse(text) == case.program
    assert to_text(parse(text)) == text


@given(st.text(max_size=20), st.integers(1, 99999))
def test_any_file_name_survives(file: str, line: int) -> None:
    if not file or any(0xD800 <= ord(c) < 0xE000 for c in file):
        return
    instr = Instr("nop", span=Span(file, line, 2, 9))
    program = Program(preset("nano"), "k", (), (), (Block((instr,), (), Branch(-1)),))
    assert parse(to_text(program)).blocks[0].instrs[0].span == instr.span


@pytest.mark.parametrize(
    "config",
    [
        MachineConfig("simt4", blocks=64),
        MachineConfig("wide", lanes=8, payload=16, multiply_stages=()),
        MachineConfig("like_the_defaults"),
    ],
)
def test_machines_that_are_no_preset_survive(config: MachineConfig) -> None:
    program = Program(config, "k", (), (), (Block((), (), Branch(-1)),))
    assert parse(to_text(program)).config == config
    assert to_text(parse(to_text(program))) == to_text(program)


def test_comments_and_empty_lines_are_skipped() -> None:
    assert parse("# a comment\n\n" + DOT.replace("block 1", "  # another\nblock 1")) == parse(DOT)


@pytest.mark.parametrize(
    ("old", "new", "line", "part"),
    [
        ("machine simt4", "machine simt5", 1, "no machine"),
        ("machine simt4", "machine simt4 lanes=3", 1, "power of two"),
        ("machine simt4", "machine simt4 speed=3", 1, "speed"),
        ("machine simt4", "machine simt4 lanes=4,4", 1, "lanes"),
        ("machine simt4\n", "", 1, "no `machine NAME` line"),
        ("kernel dot\n", "", 1, "no `kernel NAME` line"),
        ("param a ptr", "param a pointer", 3, "param NAME ptr|int"),
        ("const k1", "const k2", 6, "out of order"),
        ("const k1 = -7", "const k1 = 4294967296", 6, "does not fit"),
        ("const k1 = -7", "const k1", 6, "const kROW"),
        ("block 1 serial", "block 2 serial", 16, "out of order"),
        ("block 1 serial", "block 1 parallel", 16, "block NUMBER"),
        ("  1: mul f0, r2", "  2: mul f0, r2", 10, "out of order"),
        ("  1: mul f0, r2", "  1: mul f0", 10, "an instruction reads"),
        ("  1: mul f0, r2", "  1: mul k0, k1", 10, "one row"),
        ("  1: mul f0, r2", "  mul f0, r2", 10, "unknown line 'mul'"),
        ("out r15 = f2", "out f2", 14, "out rREGISTER"),
        ("branch f0 ? 1 : exit", "branch f0 ? 1", 15, "branch TARGET"),
        ("  branch f0 ? 1 : exit\n", "", 8, "has no branch"),
        ("  branch 0", "  branch 0\n  out r1 = f0", 18, "has ended"),
        ("block 0:\n", "", 8, "before the first block"),
        ("  1: mul f0, r2", "  1: mul f0, r99999999999999999999", 10, "an instruction reads"),
    ],
)
def test_a_wrong_line_is_named(old: str, new: str, line: int, part: str) -> None:
    assert old in DOT
    with pytest.raises(QgcError) as caught:
        parse(DOT.replace(old, new), "dot.blocks")
    places = [(d.span.line if d.span else 0, d.message) for d in caught.value.diagnostics]
    assert any(at == line and part in message for at, message in places), places


def test_all_wrong_lines_are_reported() -> None:
    with pytest.raises(QgcError) as caught:
        parse(DOT.replace("mul f0, r2", "mul").replace("out r15 = f2", "out"))
    assert [d.span.line for d in caught.value.diagnostics if d.span] == [10, 14]


def test_places_point_into_the_text() -> None:
    _, places = parse_with_places(DOT, "dot.blocks")
    assert places["block 0 stage 1"] == Span("dot.blocks", 10, 3, 16)
    assert places["const 2"].line == 7
    assert places["block 1 branch"].line == 17


@given(st.text(alphabet="machinekrlpotbuf0123456789:=?!@<->, \n", max_size=200))
def test_no_text_makes_the_parser_crash(text: str) -> None:
    try:
        parse(text)
    except QgcError as err:
        assert err.diagnostics
