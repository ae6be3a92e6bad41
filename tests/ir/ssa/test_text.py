"""The text form: what is read is printed again, and what cannot be read is refused at its place."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qgc.diagnostics import QgcError, Span
from qgc.ir.ssa.function import Block, Function, Module, Value, make
from qgc.ir.ssa.text import function_text, parse, to_text
from qgc.ir.ssa.types import I32
from qgc.ir.ssa.verify import verify
from tests.helpers.ssa import GOLDEN


def test_every_construct(golden: Callable[[str, str], None]) -> None:
    """golden/ssa-ops/ops.ir holds one line for each op, attribute and kind of constant."""
    module = parse((GOLDEN / "ssa-ops" / "ops.ir").read_text(), "ops.ir")
    verify(module)
    golden("ssa-ops/ops.ir", to_text(module))


def test_names_stay_and_are_made_unique() -> None:
    ops = [make("sreg", attrs=("tid.x",), hint=hint) for hint in ("r", "r", "r.1", "", "")]
    entry = Block("if", [*ops, make("br", blocks=[end := Block("if", [make("ret")])])])
    text = function_text(Function("k", "k.ptx", blocks=[entry, end]))
    for name in ("%r:", "%r.1:", "%r.2:", "%0:", "%1:", "if.1:", "if.2:"):
        assert name in text
    assert to_text(parse(text, "k.ir")) == text


def test_lines_of_the_source_are_kept_and_places_in_the_text_stand_in() -> None:
    text = 'kernel k from "k.ptx" {\nentry:\n  barrier 0  @12\n  ret\n}\n'
    (function,) = parse(text, "k.ir").functions
    barrier, ret = function.entry.ops
    assert barrier.span == Span("k.ptx", 12, 1)
    assert ret.span == Span("k.ir", 4, 3, 6)
    assert "barrier 0  @12\n" in function_text(function)
    assert "  ret\n" in function_text(function)


def test_a_module_may_hold_several_kernels() -> None:
    text = (
        "".join(f'kernel {name} from "k.ptx" {{\n\nentry:  ; #0\n  ret\n}}\n\n' for name in "abc").rstrip(
            "\n"
        )
        + "\n"
    )
    module = parse(text, "k.ir")
    assert [f.name for f in module.functions] == ["a", "b", "c"]
    assert to_text(module) == text
    assert to_text(Module()) == ""
    assert parse("; nothing\n", "k.ir").functions == []


def test_faulty_functions_print_too() -> None:
    op = make("add", Value(I32, "lost"), 1)
    function = Function("k", "k.ptx", blocks=[Block("entry", [op, make("br", blocks=[Block("lost")])])])
    assert "add %undefined.lost, 1" in function_text(function)
    assert "br unknown.lost" in function_text(function)


BAD = [
    (
        'kernel k from "k.ptx" {\ne:\n %a: i32 = add 1, 99999999999999999999999999\n}',
        "ssa-syntax",
        "the number is too long",
        3,
        19,
    ),
    ('kernel k from "k\\q.ptx" {', "ssa-syntax", "unknown escape", 1, 15),
    ("kernel k {", "ssa-syntax", "expected 'from', found '{'", 1, 10),
    ('kernel k from "k.ptx" {', "ssa-syntax", "the kernel is not closed", 1, 1),
    ('kernel k from "k.ptx" {\ne:\n  %a: i8 = add 1, 2\n ret\n}', "ssa-syntax", "no type 'i8'", 3, 7),
    ('kernel k from "k.ptx" {\ne:\n  %a: i32 = frob 1, 2\n}', "ssa-unknown-op", "no operation 'frob'", 3, 13),
    ('kernel k from "k.ptx" {\ne:\n  load.nowhere.b32 1\n}', "ssa-attr", "load needs a space", 3, 3),
    ('kernel k from "k.ptx" {\ne:\n  load.global.b32.x 1\n}', "ssa-attr", "load has no attribute 'x'", 3, 3),
    (
        'kernel k from "k.ptx" {\ne:\n  %a: i32 = add 1 2\n}',
        "ssa-syntax",
        "expected the end of the line, found '2'",
        3,
        19,
    ),
    (
        'kernel k from "k.ptx" {\ne:\n  %a: i32 = add %b, 2\n ret\n}',
        "ssa-undefined",
        "%b is not defined",
        3,
        17,
    ),
    ('kernel k from "k.ptx" {\ne:\n  br away\n}', "ssa-undefined", "no block 'away'", 3, 6),
    (
        'kernel k from "k.ptx" {\ne:\n %a: i32 = add 1, 2\n %a: i32 = add 1, 2\n}',
        "ssa-duplicate",
        "%a is defined twice",
        4,
        2,
    ),
    ('kernel k from "k.ptx" {\ne:\n ret\ne:\n ret\n}', "ssa-duplicate", "block 'e' is defined twice", 4, 1),
    ('kernel k from "k.ptx" {\ne:\n ret ~\n}', "ssa-syntax", "cannot read '~'", 3, 6),
    (
        'kernel k from "k.ptx" {\nshared 0: 4 "x" = abc\ne:\n ret\n}',
        "ssa-syntax",
        "pairs of hexadecimal digits",
        2,
        1,
    ),
    (
        'kernel k from "k.ptx" {\nheap 0: 4 "x"\ne:\n ret\n}',
        "ssa-syntax",
        "a parameter, a variable or a label",
        2,
        1,
    ),
    (
        'kernel k from "k.ptx" {\ne:\n %p: uniform i1 = icmp.eq 1, 2\n cbr varying %p, f, f\nf:\n ret\n}',
        "ssa-uniformity",
        "the condition is not varying",
        4,
        6,
    ),
]


@pytest.mark.parametrize(("text", "code", "message", "line", "column"), BAD)
def test_refusals(text: str, code: str, message: str, line: int, column: int) -> None:
    with pytest.raises(QgcError) as caught:
        parse(text, "bad.ir")
    (fault,) = caught.value.diagnostics
    assert fault.code == code
    assert message in fault.message
    assert fault.span is not None
    assert (fault.span.file, fault.span.line, fault.span.column) == ("bad.ir", line, column)


def test_all_undefined_names_are_told_at_once() -> None:
    text = 'kernel k from "k.ptx" {\ne:\n  %a: i32 = add %b, %c\n br f\n}'
    with pytest.raises(QgcError) as caught:
        parse(text, "bad.ir")
    assert len(caught.value.diagnostics) == 3


@pytest.mark.parametrize(
    "junk", ["\0", "kernel", "}", "%", '"', 'kernel k from "k" { e: }', "= = =", "ret", "\ud800"]
)
def test_junk_is_a_clean_error(junk: str) -> None:
    with pytest.raises(QgcError):
        parse(junk, "junk.ir")


FILES = [*sorted((GOLDEN / "ir").glob("*.clang32.ir")), GOLDEN / "ssa-ops" / "ops.ir"]
TOKENS = st.sampled_from(
    [
        "",
        "{",
        "}",
        ":",
        ",",
        "=",
        '"',
        "\\",
        "@",
        "%x",
        "-1",
        "08",
        "0x",
        "i64",
        "phi",
        "br",
        "if",
        "ret",
        ";",
    ]
)


@given(st.data())
def test_damaged_text_is_read_or_refused(data: st.DataObject) -> None:
    words = re.split(r"(\s+)", data.draw(st.sampled_from(FILES)).read_text())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(words) - 1))
        words[at] = data.draw(st.one_of(TOKENS, st.sampled_from(words)))
    try:
        module = parse("".join(words), "damaged.ir")
        text = to_text(module)
        assert to_text(parse(text, "damaged.ir")) == text
        verify(module)
    except QgcError as error:
        assert error.exit_code == 1
