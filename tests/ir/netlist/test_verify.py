"""Every invariant of netlists has an input that breaks it, and the fault points at the place."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from qgc.diagnostics import QgcError, VerifyError
from qgc.ir.netlist import verify as module
from qgc.ir.netlist.netlist import FromHead, FromUnit, Head, Key, Netlist, Number, Signal, Unit, Wire
from qgc.ir.netlist.text import parse
from qgc.ir.netlist.verify import is_exact, load, verify

TEXT = """\
netlist
token store
token bit
wire kept
wire count 0..4
wire out
unit relu(2*kept + 2*bit - 3) -> out
unit relu(2*count) -> 0.5*out
head memory rows 2
  data bit
  write-key bit
  read-key store
  write store
  read 1
  to 0: kept
head counter rows 1 scale 4
  data store
  write store
  read 1
  to 0: count
output next = out
"""

WRONG = {
    "netlist-name": ("head counter", "head memory", 16),
    "netlist-number": ("- 3)", "- 257)", 7),
    "netlist-range": ("0..4", "1..4", 5),
    "netlist-token": ("-> 0.5*out", "-> 0.5*bit", 3),
    "netlist-unit": ("relu(2*count)", "relu(0)", 8),
    "netlist-head": ("rows 2", "rows 3", 9),
    "netlist-counter": ("scale 4", "scale 3", 16),
    "netlist-cycle": ("2*count)", "2*out)", None),
    "netlist-output": ("output next = out\n", "", None),
}
"""By code: what to replace in the text, by what, and the line of the fault."""

SIGNAL = Signal(0, ((Wire(9), 1),))


def changed(**parts: object) -> Netlist:
    return replace(parse(TEXT), **parts)  # type: ignore[arg-type]


def with_term(term: FromUnit | FromHead) -> Netlist:
    netlist = parse(TEXT)
    netlist.wires[4].terms.append(term)
    return netlist


def with_head(**parts: object) -> Netlist:
    netlist = parse(TEXT)
    netlist.heads[0] = replace(netlist.heads[0], **parts)  # type: ignore[arg-type]
    return netlist


def renamed(name: str) -> Netlist:
    netlist = parse(TEXT)
    netlist.wires[2].name = name
    return netlist


IN_MEMORY = [
    ("netlist-name", renamed("out")),
    ("netlist-name", renamed("2bad")),
    ("netlist-name", with_head(name="a b")),
    ("netlist-wire", with_term(FromUnit(7, 1))),
    ("netlist-wire", with_term(FromHead(5, 0))),
    ("netlist-wire", with_term(FromHead(0, 1))),
    ("netlist-wire", changed(units=[Unit(SIGNAL, SIGNAL)])),
    ("netlist-wire", changed(outputs={"next": Signal(0, ((Wire(4), 1), (Wire(2), 1)))})),
    ("netlist-wire", changed(outputs={"next": Signal(0, ((Wire(4), 0),))})),
    ("netlist-number", with_term(FromUnit(0, 0))),
    ("netlist-number", with_term(FromUnit(0, float("nan")))),
    ("netlist-unit", changed(units=[Unit(Signal(1), Signal(0))] * 2)),
    ("netlist-head", with_head(data=())),
    ("netlist-head", with_head(data=(Signal(1),) * 33)),
    ("netlist-head", with_head(rows=0)),
    ("netlist-head", with_head(read_key=Key())),
    ("netlist-counter", with_head(scale=2)),
    ("netlist-output", changed(outputs={"2": Signal(0, ((Wire(4), 1),))})),
]


def test_the_text_is_right() -> None:
    netlist = load(TEXT)
    verify(netlist, is_pruned=True)


@pytest.mark.parametrize("code", WRONG)
def test_a_fault_in_a_text(code: str) -> None:
    old, new, line = WRONG[code]
    with pytest.raises(VerifyError) as caught:
        load(TEXT.replace(old, new), "k.netlist")
    fault = next(d for d in caught.value.diagnostics if d.code == code)
    assert (fault.span and fault.span.line) == line


@pytest.mark.parametrize(("code", "netlist"), IN_MEMORY)
def test_a_fault_in_memory(code: str, netlist: Netlist) -> None:
    with pytest.raises(VerifyError) as caught:
        verify(netlist)
    assert code in {d.code for d in caught.value.diagnostics}


def test_dead_parts_are_told_up_to_twenty() -> None:
    dead = "".join(f"wire dead{i}\n" for i in range(30))
    netlist = load(TEXT.replace("wire out\n", "wire out\n" + dead))
    with pytest.raises(VerifyError) as caught:
        verify(netlist, is_pruned=True)
    assert {d.code for d in caught.value.diagnostics} == {"netlist-dead"}
    assert len(caught.value.diagnostics) == 21
    assert "and 10 more" in caught.value.diagnostics[-1].message


def test_all_faults_are_reported() -> None:
    text = TEXT.replace("0..4", "1..4").replace("rows 2", "rows 3").replace("scale 4", "scale 3")
    with pytest.raises(QgcError) as caught:
        load(text)
    codes = [d.code for d in caught.value.diagnostics]
    assert codes == ["netlist-range", "netlist-head", "netlist-head", "netlist-counter"]


def test_every_code_has_a_failing_test() -> None:
    listed = set(re.findall(r"^    (netlist-[a-z]+)", module.__doc__ or "", re.MULTILINE))
    assert listed == {*WRONG, *(code for code, _ in IN_MEMORY), "netlist-dead"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, True), (255, True), (257, False), (-510, True), (0.375, True), (0.1, False), (float("inf"), False)],
)
def test_exact_numbers(value: Number, expected: bool) -> None:
    assert is_exact(value) == expected


def test_heads_of_one_row_need_no_key() -> None:
    head = Head("h", 1, (Signal(1),), Signal(1), Key(), Key(), Signal(1))
    netlist = parse(TEXT)
    netlist.heads[0] = head
    verify(netlist)
