"""Every invariant of a program has a program that breaks it, and the fault points at the line."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qgc.diagnostics import Span, VerifyError
from qgc.ir.machine import verify as module
from qgc.ir.machine.config import PRESETS, preset
from qgc.ir.machine.program import EXIT, Block, Branch, Guard, Instr, LiveOut, Param, Program
from qgc.ir.machine.verify import load, verify
from tests.helpers.programs import Case, multi_block_programs

GOOD = """\
machine simt4
kernel k
param a ptr
const k0 = param a
const k1 = 7
block 0:
  0: ldx tid, k0
  1: mul f0, f0
  2: add f0, k1
  3: stx tid, k0 <- f1 if !r2
  out r1 = f2
  branch f2 ? cta 0 : exit
"""

BROKEN = [
    ("blocks-wait", "block 0:", "block 0 serial:", 12),
    ("blocks-name", "kernel k", "kernel 7up", 2),
    ("blocks-name", "param a ptr", "param a ptr\nparam a int", 4),
    ("blocks-name", "param a ptr", "param a ptr\nparam 5 int", 4),
    ("blocks-const", "param a\n", "param b\n", 4),
    ("blocks-const", "const k1 = 7", "const k1 = ntid.w", 5),
    ("blocks-stages", "  out r1 = f2", "  4: add f0, f0\n  out r1 = f2", 6),
    ("blocks-stages", "  3: stx tid, k0 <- f1 if !r2", "  3: nop", 6),
    ("blocks-op", "add f0, k1", "plus f0, k1", 9),
    ("blocks-unit", "2: add f0, k1", "2: st r1, k1 <- r2", 9),
    ("blocks-unit", "3: stx tid, k0 <- f1 if !r2", "3: mul r1, r2", 10),
    ("blocks-operand", "add f0, k1", "add r16, k1", 9),
    ("blocks-operand", "add f0, k1", "add ntid, k1", 9),
    ("blocks-forward", "add f0, k1", "add f2, k1", 9),
    ("blocks-forward", "1: mul f0, f0", "1: mul f0, f1", 8),
    ("blocks-latency", "add f0, k1", "add f1, k1", 9),
    ("blocks-const-row", "add f0, k1", "add f0, k2", 9),
    ("blocks-const-row", "add f0, k1", "add f0, k", 9),
    ("blocks-data", "stx tid, k0 <- f1 if !r2", "stx tid, k0", 10),
    ("blocks-data", "add f0, k1", "add f0, k1 <- f0", 9),
    ("blocks-guard", "add f0, k1", "add f0, k1 if r1", 9),
    ("blocks-guard", "if !r2", "if tid", 10),
    ("blocks-guard", "branch f2", "branch tid", 12),
    ("blocks-live-out", "out r1 = f2", "out r0 = f2", 11),
    ("blocks-live-out", "out r1 = f2", "out r16 = f2", 11),
    ("blocks-live-out", "out r1 = f2", "out r1 = f4", 11),
    ("blocks-live-out", "out r1 = f2", "out r1 = f2\n  out r1 = f0", 12),
    ("blocks-live-out", "out r1 = f2", "\n".join(f"  out r{i} = f0" for i in range(1, 6)), 6),
    ("blocks-target", "cta 0 :", "1 :", 12),
]


@pytest.mark.parametrize(("code", "old", "new", "line"), BROKEN)
def test_a_broken_program_is_refused_at_its_line(code: str, old: str, new: str, line: int) -> None:
    assert GOOD.count(old) == 1
    with pytest.raises(VerifyError) as caught:
        load(GOOD.replace(old, new), "k.blocks")
    assert [(d.code, d.span.line if d.span else 0) for d in caught.value.diagnostics] == [(code, line)]


def test_empty_program() -> None:
    with pytest.raises(VerifyError, match="blocks-empty"):
        verify(Program(preset("simt4"), "k", (), (), ()))


def test_program_too_large_for_the_rom_gives_the_numbers() -> None:
    block = Block((), (), Branch(EXIT))
    with pytest.raises(VerifyError, match=r"too large.* 33 blocks.* 32") as caught:
        verify(Program(preset("simt4"), "big", (), (), (block,) * 33))
    assert caught.value.diagnostics[0].code == "blocks-rom"
    assert "machine with more blocks" in (caught.value.diagnostics[0].hint or "")


def test_too_many_constants_give_the_numbers() -> None:
    with pytest.raises(VerifyError, match=r"too large.* 65 constants.* 64") as caught:
        verify(Program(preset("simt4"), "big", (), tuple(range(65)), (Block((), (), Branch(EXIT)),)))
    assert caught.value.diagnostics[0].code == "blocks-bank"


def test_a_constant_is_an_unsigned_word() -> None:
    with pytest.raises(VerifyError, match="blocks-const"):
        verify(Program(preset("simt4"), "k", (), (-1,), (Block((), (), Branch(EXIT)),)))


def test_a_row_named_but_not_read() -> None:
    block = Block((Instr("add", "r1", "r2", const=0),), (), Branch(EXIT))
    with pytest.raises(VerifyError, match="blocks-const-row"):
        verify(Program(preset("simt4"), "k", (), (1,), (block,)))


def test_without_a_text_the_place_is_the_source_of_the_operation() -> None:
    span = Span("k.ptx", 9, 1, 4)
    block = Block((Instr("add", "r99", span=span),), (LiveOut(1, 0),), Branch(EXIT))
    with pytest.raises(VerifyError) as caught:
        verify(Program(preset("simt4"), "k", (), (), (block,)))
    assert [d.span for d in caught.value.diagnostics] == [span]


def test_all_faults_are_reported_in_program_order() -> None:
    text = GOOD.replace("mul f0, f0", "mul f0, r77").replace("out r1", "out r77").replace("cta 0", "9")
    with pytest.raises(VerifyError) as caught:
        load(text)
    codes = [d.code for d in caught.value.diagnostics]
    assert codes == ["blocks-operand", "blocks-live-out", "blocks-target"]


def test_every_code_is_listed_and_tested() -> None:
    listed = re.findall(r"^    (blocks-[a-z-]+) ", module.__doc__ or "", re.MULTILINE)
    tested = {code for code, *_ in BROKEN} | {"blocks-empty", "blocks-rom", "blocks-bank"}
    assert sorted(listed) == sorted(tested)


@given(st.data())
def test_generated_programs_are_valid(data: st.DataObject) -> None:
    config = preset(data.draw(st.sampled_from(list(PRESETS))))
    case: Case = data.draw(multi_block_programs(config))
    verify(case.program)


def test_a_guard_may_read_a_product_late_enough() -> None:
    program = Program(
        preset("simt4"),
        "k",
        (Param("a", True),),
        ("param a",),
        (Block((Instr("mul", "r1", "r1"),), (), Branch(0, EXIT, Guard("f0"))),),
    )
    verify(program)
