"""Kernels by name, parameter layouts and buffers, initial data, flat functions."""

from __future__ import annotations

import pytest

from qgc.diagnostics import QgcError
from qgc.ir.ptx.ast import Symbol
from qgc.ir.ptx.constants import literal_bits
from qgc.ir.ptx.data import initial_bytes, variable_size
from qgc.ir.ptx.flat import flatten
from qgc.ir.ptx.kernels import ParamLayout, find_kernel, pack_params, ptx_params, source_name
from qgc.ir.ptx.parse import parse
from qgc.ir.ptx.text import statement_text
from tests.helpers.ptx import HEADER

SEVERAL = HEADER + "".join(
    f".entry {name}() {{ ret; }}\n"
    for name in ("plain", "_Z3addPi", "_Z3addPf", "_ZN2ns4fillIiEEvPT_", "_ZN12_GLOBAL__N_16hiddenEv")
)


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("dot", "dot"),
        ("_Z3dotPKiS0_Pi", "dot"),
        ("_Z3dotIiEvPT_", "dot"),
        ("_ZN2ns5inner3dotEPKi", "ns::inner::dot"),
        ("_ZN12_GLOBAL__N_13fooEv", "foo"),
        ("_ZNK1S3runEv", "S::run"),
        ("_Zxx", "_Zxx"),
    ],
)
def test_source_names(symbol: str, name: str) -> None:
    assert source_name(symbol) == name


def test_find_kernel() -> None:
    module = parse(SEVERAL, "k.ptx")
    assert find_kernel(module, "plain").name == "plain"
    assert find_kernel(module, "fill").name == find_kernel(module, "ns::fill").name == "_ZN2ns4fillIiEEvPT_"
    assert find_kernel(module, "hidden").name == "_ZN12_GLOBAL__N_16hiddenEv"
    assert find_kernel(module, "_Z3addPf").name == "_Z3addPf"
    assert find_kernel(parse(HEADER + ".entry only() { ret; }")).name == "only"


@pytest.mark.parametrize(
    ("text", "name", "code", "hint"),
    [
        (HEADER, None, "kernel-missing", "__global__"),
        (HEADER + ".func f() { ret; } .extern .entry g();", "g", "kernel-missing", "__global__"),
        (SEVERAL, None, "kernel-unnamed", "name one"),
        (SEVERAL, "sub", "kernel-missing", "plain, add (_Z3addPi), add (_Z3addPf), ns::fill"),
        (SEVERAL, "add", "kernel-ambiguous", "_Z3addPi, _Z3addPf"),
    ],
)
def test_kernels_that_cannot_be_found(text: str, name: str | None, code: str, hint: str) -> None:
    with pytest.raises(QgcError) as caught:
        find_kernel(parse(text, "k.ptx"), name)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert diagnostic.hint is not None and hint in diagnostic.hint


PARAMS = (
    ".entry k(.param .u64 .ptr .global .align 4 a, .param .u8 c, .param .u16 h, .param .u32 n,"
    " .param .align 16 .b8 s[20], .param .u32 .ptr q, .param .f64 x) { ret; }"
)


def test_parameters_lie_at_multiples_of_their_alignment() -> None:
    assert ptx_params(parse(HEADER + PARAMS).kernels[0]) == (
        ParamLayout("a", "u64", 0, 8, 8, "global"),
        ParamLayout("c", "u8", 8, 1, 1),
        ParamLayout("h", "u16", 10, 2, 2),
        ParamLayout("n", "u32", 12, 4, 4),
        ParamLayout("s", "b8", 16, 20, 16),
        ParamLayout("q", "u32", 36, 4, 4, ""),
        ParamLayout("x", "f64", 40, 8, 8),
    )


def test_parameter_buffers() -> None:
    kernel = parse(HEADER + PARAMS).kernels[0]
    record = bytes(range(20))
    raw = pack_params(kernel, [0x1122334455667788, 255, -2, 7, record, 1, 0])
    assert raw.hex() == "8877665544332211ff00feff07000000" + record.hex() + "01000000" + "00" * 8
    with pytest.raises(QgcError, match="takes 7 arguments, got 1"):
        pack_params(kernel, [1])
    with pytest.raises(QgcError, match="s has 20 bytes, got 3"):
        pack_params(kernel, [0, 0, 0, 0, b"abc", 0, 0])


def test_initial_bytes() -> None:
    text = """
    .global .u16 nested[2][3] = {{1}, {2, 3}};
    .global .u16 open[][2] = {1, 2, 3};
    .global .u64 pointer[2] = {there+4, generic(there)};
    .global .b8 parts[3] = {0xFF(there), 0xFF00(there), 0xFF0000(there)};
    .global .f32 single[2] = {1.0, 0f40000000};
    .global .f64 double = 1.0;
    .global .s8 small = -1;
    .global .u32 none[3];
    """
    variables = {v.name: v for v in parse(HEADER + text).variables}

    def address_of(symbol: Symbol) -> int:
        return (0x123456 if not symbol.generic else 0xABCDEF) + symbol.offset

    def raw(name: str) -> str:
        assert len(initial_bytes(variables[name], address_of)) == variable_size(variables[name])
        return initial_bytes(variables[name], address_of).hex()

    assert raw("nested") == "010002000300" + "00" * 6
    assert raw("open") == "0100020003000000"
    assert raw("pointer") == "5a34120000000000efcdab0000000000"
    assert raw("parts") == "563412"
    assert raw("single") == "0000803f00000040"
    assert raw("double") == "000000000000f03f"
    assert raw("small") == "ff"
    assert raw("none") == "00" * 12


def test_float_literals_take_the_width_of_the_instruction() -> None:
    from qgc.ir.ptx.ast import Imm, ImmKind

    assert literal_bits(Imm(0x7FEFFFFFFFFFFFFF, ImmKind.F64), "f32") == 0x7F800000
    assert literal_bits(Imm(0x3F800000, ImmKind.F32), "f64") == 0x3FF0000000000000
    assert literal_bits(Imm(0x3F800000, ImmKind.F32), "f32") == 0x3F800000
    assert literal_bits(Imm(-1), "u32") == -1


def test_flat_functions_have_one_name_for_each_thing() -> None:
    text = """
    .entry k() {
        .reg .u32 a; .reg .v2 .b32 v; .local .b32 m;
        L: { .reg .f32 a; .local .b32 m; L: mov.f32 a, 0f00000000; bra L; mov.u64 v, m; }
        { .reg .b32 a; add.u32 a, a, v.y; { bra L; } }
        mov.v2.u32 v, [m]; bra L;
    }
    """
    flat = flatten(parse(HEADER + text).kernels[0])
    assert [statement_text(item) for item in flat.code] == [
        "mov.f32 a$1, 0f00000000;",
        "bra L$1;",
        "mov.u64 {v.x, v.y}, m$1;",
        "add.u32 a$2, a$2, v.y;",
        "bra L;",
        "mov.v2.u32 {v.x, v.y}, [m];",
        "bra L;",
    ]
    assert flat.labels == {"L": 0, "L$1": 0}
    assert flat.registers == {"a": "u32", "v.x": "b32", "v.y": "b32", "a$1": "f32", "a$2": "b32"}
    assert list(flat.variables) == ["m", "m$1"]
    assert not flat.faults and flat.name == "k"
