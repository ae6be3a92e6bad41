"""Every invariant has a function that breaks it: golden/ssa-invalid/*.ir mark the faulty ops with `; error: CODE`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from qgc.diagnostics import VerifyError
from qgc.ir.ssa import verify as verifier
from qgc.ir.ssa.function import Block, Function, Module, Op, Value, const, make
from qgc.ir.ssa.ops import OPS
from qgc.ir.ssa.text import parse
from qgc.ir.ssa.types import I1, I32
from qgc.ir.ssa.verify import verify
from tests.helpers.ssa import GOLDEN

CASES = sorted((GOLDEN / "ssa-invalid").glob("*.ir"))


@pytest.mark.parametrize("case", CASES, ids=lambda p: p.stem)
def test_marked_faults_are_reported_and_no_others(case: Path) -> None:
    text = case.read_text()
    lines = text.splitlines()
    stage = lines[0].removeprefix("; stage: ")
    want = set()
    for number, line in enumerate(lines, start=1):
        if mark := re.search(r"; error: (\S+)", line):
            want.add((number if not line.startswith(";") else None, mark[1]))
    with pytest.raises(VerifyError) as caught:
        verify(parse(text, case.name), stage)
    assert {(d.span.line if d.span else None, d.code) for d in caught.value.diagnostics} == want
    assert all("kernel k" in d.message for d in caught.value.diagnostics)


def codes_of(function: Function) -> list[str]:
    with pytest.raises(VerifyError) as caught:
        verify(Module([function]))
    return [d.code for d in caught.value.diagnostics]


def test_a_function_needs_a_block() -> None:
    assert codes_of(Function("k", "k.ptx")) == ["ssa-entry"]


def test_a_block_needs_a_terminator() -> None:
    assert codes_of(Function("k", "k.ptx", blocks=[Block("entry")])) == ["ssa-terminator"]


def test_branches_stay_inside() -> None:
    elsewhere = Block("elsewhere", [make("ret")])
    assert codes_of(Function("k", "k.ptx", blocks=[Block("entry", [make("br", blocks=[elsewhere])])])) == [
        "ssa-block"
    ]


def test_values_stay_inside() -> None:
    foreign = Value(I32, "foreign")
    ops = [make("add", foreign, 1), make("ret")]
    assert codes_of(Function("k", "k.ptx", blocks=[Block("entry", ops)])) == ["ssa-definition"]


def test_a_value_has_one_definition() -> None:
    op = make("add", const(I32, 1), 1)
    assert codes_of(Function("k", "k.ptx", blocks=[Block("entry", [op, op, make("ret")])])) == [
        "ssa-definition"
    ]


def test_attributes_exist() -> None:
    op = Op(OPS["sreg"], attrs=("tid.w",), result=Value(I32, "t"))
    assert codes_of(Function("k", "k.ptx", blocks=[Block("entry", [op, make("ret")])])) == ["ssa-attr"]


def test_constants_are_in_range() -> None:
    wrong = const(I1, 1)
    wrong.value = 2
    ops = [make("select", wrong, const(I32, 1), 2), make("ret")]
    assert codes_of(Function("k", "k.ptx", blocks=[Block("entry", ops)])) == ["ssa-type"]


def test_every_listed_code_is_tested() -> None:
    listed = set(re.findall(r"^  (ssa-[a-z]+) ", verifier.__doc__ or "", re.MULTILINE))
    used = set(re.findall(r'"(ssa-[a-z]+)"', Path(verifier.__file__).read_text()))
    tested = set(
        re.findall(r"ssa-[a-z]+", "".join(c.read_text() for c in CASES) + Path(__file__).read_text())
    )
    assert listed == used
    assert listed <= tested
