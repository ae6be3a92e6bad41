"""The parser: what real files contain, what broken ones are told, and that nothing ends in a traceback."""

from __future__ import annotations

from pathlib import Path
from random import Random
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qgc.diagnostics import QgcError
from qgc.ir.ptx.ast import (
    Address,
    Block,
    Element,
    Function,
    Group,
    Guard,
    Imm,
    ImmKind,
    Instruction,
    Module,
    Not,
    Operand,
    Pair,
    Prototype,
    Reg,
    RegDecl,
    Sink,
    Special,
    Symbol,
    Targets,
    Vector,
)
from qgc.ir.ptx.parse import _WORDS, MAX_NESTING, _grammar, parse
from qgc.ir.ptx.text import to_text
from tests.helpers.ptx import HEADER

GOLDEN = Path(__file__).parents[3] / "golden" / "ptx"


def body(text: str) -> tuple[object, ...]:
    """The statements of a kernel that holds `text`, after a round trip through the printer."""
    module = parse(f"{HEADER}.entry k()\n{{\n{text}\n}}\n", "k.ptx")
    assert parse(to_text(module)) == module
    block = module.functions[0].body
    assert block is not None
    return block.items


def instruction(text: str) -> Instruction:
    item = body(text)[-1]
    assert isinstance(item, Instruction)
    return item


def operand(text: str) -> Operand:
    return instruction(f"op {text};").operands[0]


def message(text: str, file: str = "k.ptx") -> str:
    with pytest.raises(QgcError) as caught:
        parse(text, file)
    return str(caught.value).splitlines()[0]


# What files contain


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("%r1", Reg("%r1")),
        ("%tid.x", Special("%tid.x")),
        ("%laneid", Special("%laneid")),
        ("%r1.b3", Reg("%r1", "b3")),
        ("_", Sink()),
        ("table", Symbol("table")),
        ("table+8", Symbol("table", 8)),
        ("!%p1", Not(Reg("%p1"))),
        ("%p1|%p2", Pair(Reg("%p1"), Reg("%p2"))),
        ("%r1|_", Pair(Reg("%r1"), Sink())),
        ("[%rd1]", Address(Reg("%rd1"))),
        ("[%rd1+-4]", Address(Reg("%rd1"), -4)),
        ("[%rd1 + 0x10]", Address(Reg("%rd1"), 16)),
        ("[table+4*3]", Address(Symbol("table"), 12)),
        ("[16]", Address(Imm(16))),
        ("[tex, {%f1, %f2}]", Address(Symbol("tex"), 0, (Vector((Reg("%f1"), Reg("%f2"))),))),
        ("table[3]", Element(Symbol("table"), Imm(3))),
        ("table[%r1]", Element(Symbol("table"), Reg("%r1"))),
        ("{%r1, _, 3}", Vector((Reg("%r1"), Sink(), Imm(3)))),
        ("0f3F800000", Imm(0x3F800000, ImmKind.F32)),
        ("0F3f800000", Imm(0x3F800000, ImmKind.F32)),
        ("0d3FF0000000000000", Imm(0x3FF0000000000000, ImmKind.F64)),
        ("1.0", Imm(0x3FF0000000000000, ImmKind.F64)),
        ("-1.5e0", Imm(0xBFF8000000000000, ImmKind.F64)),
        ("-0f3F800000", Imm(0xBF800000, ImmKind.F32)),
    ],
)
def test_operands(text: str, want: Operand) -> None:
    assert operand(text) == want


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("017", 15),
        ("0x1F", 31),
        ("0b101", 5),
        ("5U", 5),
        ("WARP_SZ", 32),
        ("-9223372036854775808", 2**63),
        ("0xffffffffffffffffU", 2**64 - 1),
        ("18446744073709551616", 0),
        ("(1<<3)|2", 10),
        ("1+2*3-4", 3),
        ("-7/2", -3),
        ("-7 % 3", -1),
        ("7 % -3", 1),
        ("!0 + !5", 1),
        ("~0", -1),
        ("(5U-6)>>63", 1),
        ("(5-6)>>63", -1),
        ("(.u64)(5-6) >> 63", 1),
        ("(.s64)0xffffffffffffffff >> 63", -1),
        ("1 > 2 ? 3 : 4", 4),
        ("0 ? 1 : 2 ? 3 : 4", 3),
        ("1 ? (0 ? 2 : 5) : 4", 5),
        ("-1 < 1U", 0),
        ("-1 < 1", 1),
        ("1 == 1 && 2 != 2 || 3 <= 3", 1),
        ("6 & 3 ^ 8 | 1", 11),
        ("9223372036854775807 + 1", 2**63),
        ("2 - 1 - 1", 0),
    ],
)
def test_constant_expressions(text: str, value: int) -> None:
    assert operand(text) == Imm(value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1/0", "division by zero"),
        ("1 % 0", "division by zero"),
        ("1 << 64", "shift by 64"),
        ("1 ? 2", "? without its :"),
        ("1 : 2", "operator : has no place here"),
        ("1.0 + 1", "operator + needs integers"),
        ("~1.0", "operator ~ needs an integer"),
        ("(.s32)1", "no constant cast to .s32"),
        ("1" * 5000, "5000 digits"),
    ],
)
def test_undefined_constant_expressions(text: str, reason: str) -> None:
    found = message(f"{HEADER}.entry k() {{ mov.u32 %r1, {text}; }}")
    assert found.startswith("k.ptx:4:27: error[ptx-constant]") and reason in found


def test_instructions() -> None:
    assert instruction("@!%p1 ld.global.nc.v2.u32 {%r1, %r2}, [%rd1];") == Instruction(
        "ld",
        ("global", "nc", "v2", "u32"),
        (Vector((Reg("%r1"), Reg("%r2"))), Address(Reg("%rd1"))),
        Guard(Reg("%p1"), True),
    )
    assert (
        instruction("ld.global.L1::no_allocate.L2::128B .u32 %r1, [%r2];").name
        == "ld.global.L1::no_allocate.L2::128B.u32"
    )
    assert instruction("ret;") == Instruction("ret")
    call = instruction("call.uni (retval0), f, (param0, 3), proto;")
    assert call.operands == (
        Group((Symbol("retval0"),)),
        Symbol("f"),
        Group((Symbol("param0"), Imm(3))),
        Symbol("proto"),
    )
    assert instruction("call f;").operands == (Symbol("f"),)
    assert instruction("call %rd1, (param0), proto;").operands[0] == Reg("%rd1")


def test_names_without_percent_are_registers_where_they_are_declared() -> None:
    items = body(
        ".reg .u32 a, v<2>; mov.u32 a, b; { .reg .pred b; mov.pred b, 1; setp.eq.u32 b|_, a, v1; } add.u32 v0, b, [a];"
    )
    assert isinstance(items[0], RegDecl) and items[0].names[1].expand() == ("v0", "v1")
    assert items[1] == Instruction("mov", ("u32",), (Reg("a"), Symbol("b")))
    inner = items[2]
    assert isinstance(inner, Block)
    assert inner.items[1] == Instruction("mov", ("pred",), (Reg("b"), Imm(1)))
    assert items[3] == Instruction("add", ("u32",), (Reg("v0"), Symbol("b"), Address(Reg("a"))))


def test_variables_with_a_percent_are_symbols() -> None:
    module = parse(HEADER + ".global .u32 %g; .entry k() { ld.global.u32 %r1, [%g]; ret; }")
    block = module.functions[0].body
    assert block is not None
    assert block.items[0] == Instruction("ld", ("global", "u32"), (Reg("%r1"), Address(Symbol("%g"))))


def test_labels_lists_and_prototypes() -> None:
    items = body(
        "a: b : list: .branchtargets a, b; brx.idx %r1, list;\n"
        "proto: .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 8 .b8 _[16]) .noreturn;"
    )
    assert items[2] == Targets("list", "branchtargets", ("a", "b"))
    proto = items[4]
    assert isinstance(proto, Prototype)
    assert (proto.results[0].type, proto.params[1].dims, proto.directives[0].name) == (
        "b32",
        (16,),
        "noreturn",
    )


def test_directives_that_carry_no_meaning_are_skipped() -> None:
    text = """
    .file 1 "/dir/k.cu", 123, 456
    @@DWARF .b8 1
    .section .debug_info { .b32 1 \n .b8 2 }
    .section .debug_str, "flag" { .b8 0 }
    .visible .entry k() /* a } in a comment */
    .maxntid 256, 1, 1
    .minnctapersm 2
    .pragma "used_bytes_mask 4095";
    {  // {
        .pragma "nounroll";
        .loc 1 5 3
        .loc 1 9 3, function_name $L__info, inlined_at 1 8 3
        { // callseq 0, 0
        .reg .b32 temp_param_reg;
        } // callseq 0
        // <end>}
        ret; bra $L; $L: }
    """
    module = parse(HEADER + text)
    kernel = module.kernels[0]
    assert [(d.name, d.values) for d in kernel.directives] == [
        ("maxntid", (256, 1, 1)),
        ("minnctapersm", (2,)),
    ]
    assert kernel.body is not None and len(kernel.body.items) == 4


def test_declarations() -> None:
    text = """
    .visible .const .align 4 .b8 bytes[8] = {1, 0xFF, 3};
    .extern .shared .align 16 .b8 dynamic[];
    .weak .global .attribute(.managed) .align 8 .u64 a, b = generic(bytes)+4;
    .common .global .v4 .f32 quad[2][3];
    .global .b8 parts[2] = {0xFF(bytes), 0xFF00(generic(bytes))};
    .global .texref image; .const[2] .u32 banked;
    .extern .func (.param .b32 r) vprintf (.param .b64 p0, .param .b64 p1) ;
    .func (.reg .u32 r) old(.reg .u32 a, .param .align 8 .b8 s[24]) .noreturn { mov.u32 r, a; ret; }
    .alias twin, old;
    .entry k(.param .u32 .ptr .global .align 8 p, .param .u64 .ptr q) { ret; }
    """
    module = parse(HEADER + text)
    assert parse(to_text(module)) == module
    names = {v.name: v for v in module.variables}
    assert names["bytes"].linkage == ("visible",) and names["bytes"].dims == (8,)
    assert names["dynamic"].dims == (None,) and names["a"].attributes == ("managed",)
    assert names["b"].init == Symbol("bytes", 4, True) and names["quad"].vector == 4
    assert names["banked"].space == "const"
    functions = {f.name: f for f in module.functions}
    assert functions["vprintf"].body is None and len(functions["vprintf"].params) == 2
    assert functions["old"].results[0].space == "reg" and functions["old"].directives[0].name == "noreturn"
    p, q = functions["k"].params
    assert p.pointer is not None and (p.pointer.space, p.pointer.align) == ("global", 8)
    assert q.pointer is not None and q.pointer.space is None


def test_spans_point_at_the_operand() -> None:
    item = instruction("  add.u32 %r1,\n  %r2, 5;")
    places = [(op.span.line, op.span.column, op.span.end) for op in item.operands if op.span]
    assert places == [(6, 11, 14), (7, 3, 6), (7, 8, 9)]


# What broken files are told


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("", "k.ptx:1:1: error[ptx-syntax]: found the end of the file, expected .version"),
        ("int main() {}", "k.ptx:1:1: error[ptx-syntax]: found 'int', expected .version"),
        (
            ".version 7.8\n.address_size 16\n",
            "k.ptx:2:15: error[ptx-syntax]: found address size 16, expected 32 or 64",
        ),
        (
            ".version 7.8\n.entry k() { add.u32 %r1 %r2; }",
            "k.ptx:2:26: error[ptx-syntax]: found '%r2', expected '+', ',', ';', '[' or '|'",
        ),
        (
            ".version 7.8\n.entry k() { add.u32 %r1,, 1; }",
            "k.ptx:2:26: error[ptx-syntax]: found ',', expected an operand",
        ),
        (
            ".version 7.8\n.entry k() { ld.u32 %r1, [%r2-4]; }",
            "k.ptx:2:30: error[ptx-syntax]: found '-', expected '+', ',' or ']'",
        ),
        (
            ".version 7.8\n.entry k() { ret;",
            "k.ptx:2:18: error[ptx-syntax]: found the end of the file, expected '{', '}', .reg, .visible, a guard, a",
        ),
        (
            ".version 7.8\n.entry ( ) { }",
            "k.ptx:2:12: error[ptx-syntax]: found '{', expected a name",
        ),
        (
            ".version 7.8\n.reg .u32 a;",
            "k.ptx:2:1: error[ptx-syntax]: found '.reg', expected .address_size, .alias, .entry, .func, .target, ",
        ),
        (
            ".version 7.8\n.entry k() { mov.u32 %r1, 048; }",
            "k.ptx:2:27: error[ptx-syntax]: found '048', expected an operand",
        ),
        (
            ".version 7.8\n.entry k() { .reg .u32 r<9999999>; }",
            "k.ptx:2:26: error[ptx-syntax]: 9999999 registers, at most 1048576",
        ),
        (".version 7.8\n.global x;", "k.ptx:2:9: error[ptx-syntax]: x has no type"),
        (
            ".version 7.8\n.global .align 3 .u32 x;",
            "k.ptx:2:16: error[ptx-syntax]: found alignment 3, expected a power of two",
        ),
        (
            ".version 7.8\n.global .u32 x.y;",
            "k.ptx:2:14: error[ptx-syntax]: found x.y, expected a name without a dot",
        ),
        (
            ".version 7.8\n.global .u32 x[1.5];",
            "k.ptx:2:15: error[ptx-syntax]: an array length is a non-negative integer",
        ),
        (
            ".version 7.8\n.global .u64 x = near(y);",
            "k.ptx:2:18: error[ptx-syntax]: found near(...), expected generic(...)",
        ),
    ],
)
def test_messages(text: str, want: str) -> None:
    assert message(text).startswith(want)


@pytest.mark.parametrize("pair", ["()", "{}"])
def test_deep_nesting_is_refused(pair: str) -> None:
    many = MAX_NESTING * 10
    inner = {"()": f"mov.u32 %r1, {'(' * many}1{')' * many};", "{}": "{" * many + "}" * many}[pair]
    assert "ptx-nesting" in message(f"{HEADER}.entry k() {{ {inner} }}")


def test_a_200_line_kernel_parses_in_well_under_0_3_seconds() -> None:
    lines = "\n".join(
        f"@%p1 mad.lo.s32 %r{i}, %r{i}, {i}, %r1; ld.global.u32 %r1, [%rd1+{i}];" for i in range(200)
    )
    text = f"{HEADER}.entry k() {{\n{lines}\n}}"
    parse(text)
    start = process_time()
    parse(text)
    assert process_time() - start < 0.15


MUTATIONS = [
    *list(",;:.[]{}()<>|!@%_$+-*/~?=\"'\\ \n\t0123xabcu#"),
    ".reg",
    ".b32",
    "ld",
    "%r1",
    "0f",
    "//",
    "/*",
    "{{",
    "1/0",
]


def broken(seed: int) -> str:
    """A golden file with a few pieces cut, doubled or put in."""
    random = Random(seed)
    text = random.choice(FILES)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(text))
        length = random.choice([0, 1, 1, 5, 40])
        text = (
            text[:at]
            + random.choice(["", random.choice(MUTATIONS), text[at : at + length] * 2])
            + text[at + length :]
        )
    return text


FILES = [path.read_text(encoding="utf-8") for path in sorted(GOLDEN.glob("*.ptx"))]


@given(st.integers(0, 2**32))
def test_damaged_files_parse_or_are_refused(seed: int) -> None:
    for number in range(10):
        try:
            module: Module = parse(broken(seed + number))
        except QgcError as err:
            assert all(d.span is not None for d in err.diagnostics)
        else:
            assert parse(to_text(module)) == module


@given(st.text(max_size=60))
def test_any_text_parses_or_is_refused(text: str) -> None:
    for candidate in (text, f"{HEADER}.entry k() {{ {text} }}"):
        try:
            functions: tuple[Function, ...] = parse(candidate).functions
        except QgcError:
            continue
        assert all(isinstance(function, Function) for function in functions)


def test_every_terminal_has_a_name_for_people() -> None:
    terminals = {t.name for t in _grammar().terminals if not t.name.startswith("__IGNORE")}
    assert terminals | {"$END", "OPERAND"} == set(_WORDS)
