"""Every computing row of the table against plain Python integers, in all its types and choices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qgc.ir.ptx.decode import Form, decode, resolve_type
from qgc.ir.ptx.ops import GROUPS, OPS, OperandSpec, OpSpec
from qgc.ir.ptx.parse import parse
from qgc.ir.ptx.semantics import SEMANTICS
from qgc.ir.ptx.types import TYPES
from tests.helpers.ptx import HEADER, REGISTERS, launch

THREADS = 40
MODIFIED = ("atom", "red")  # rows whose function describes a memory cell: see test_interpret.py
ROWS = [spec for spec in OPS if spec.name in SEMANTICS and spec.opcode not in MODIFIED]

Reference = Callable[..., Any]
"""From the form's width in bits and the sources (signed where the type is) to one or more results, of any size."""


def wrapped(value: int, bits: int, signed: bool = False) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def clamp(value: int, low: int, high: int) -> int:
    return max(low, min(high, value))


def clamp32(value: int) -> int:
    return clamp(value, -(2**31), 2**31 - 1)


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def is_signed_form(form: Form) -> bool:
    return form.types[0][0] == "s"


def product24(form: Form, a: int, b: int) -> int:
    return wrapped(a, 24, is_signed_form(form)) * wrapped(b, 24, is_signed_form(form))


def highest_bit(bits: int, a: int) -> int:
    return (a if a >= 0 else ~a).bit_length() - 1


def shift_amount(bits: int, a: int) -> int:
    place = highest_bit(bits, a)
    return -1 if place < 0 else bits - 1 - place


def nth_set(_bits: int, mask: int, base: int, offset: int) -> int:
    step, count, place = (1 if offset > 0 else -1), abs(offset), base
    if offset == 0:
        return base if base < 32 and mask >> base & 1 else -1
    if base >= 32:
        return -1 if offset > 0 else nth_set(32, mask, 31, offset)
    while 0 <= place < 32:
        count -= mask >> place & 1
        if count == 0:
            return place
        place += step
    return -1


def extracted(form: Form, a: int, place: int, length: int) -> int:
    bits = TYPES[form.types[0]].bits
    if bits == 32:
        place, length = place & 255, length & 255
    if length == 0:
        return 0
    sign = (a >> min(place + length - 1, bits - 1)) & 1 if is_signed_form(form) else 0
    raw = wrapped(a, bits)
    chosen = [raw >> i & 1 if i < bits else sign for i in range(place, min(place + length, place + bits))]
    chosen += [sign] * (bits - len(chosen))
    return sum(bit << i for i, bit in enumerate(chosen))


def inserted(bits: int, a: int, base: int, place: int, length: int) -> int:
    if bits == 32:
        place, length = place & 255, length & 255
    for i in range(min(length, bits)):
        if place + i < bits:
            base = base & ~(1 << (place + i)) | (a >> i & 1) << (place + i)
    return base


def funnel_left(form: Form, low: int, high: int, amount: int) -> int:
    return ((high << 32 | low) << funnel_places(form, amount)) >> 32


def funnel_places(form: Form, amount: int) -> int:
    return min(amount, 32) if form.choice("WRAP") == "clamp" else amount % 32


def permuted(_bits: int, a: int, b: int, selector: int) -> int:
    source, result = (b << 32 | a).to_bytes(8, "little"), 0
    for i in range(4):
        nibble = selector >> 4 * i & 15
        byte = source[nibble & 7]
        result |= (255 * (byte >> 7) if nibble & 8 else byte) << 8 * i
    return result


def permuted_mode(form: Form, a: int, b: int, selector: int) -> int:
    n, source = selector & 3, (b << 32 | a).to_bytes(8, "little")
    places = {
        "f4e": [n, n + 1, n + 2, n + 3],
        "b4e": [n, (n - 1) % 8, (n - 2) % 8, (n - 3) % 8],
        "rc8": [n] * 4,
        "ecl": [max(n, i) for i in range(4)],
        "ecr": [min(n, i) for i in range(4)],
        "rc16": [0, 1, 0, 1] if n % 2 == 0 else [2, 3, 2, 3],
    }[form.choice("PERMUTE")]
    return int.from_bytes(bytes(source[place] for place in places), "little")


def lookup3(_bits: int, a: int, b: int, c: int, table: int) -> int:
    return sum((table >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i for i in range(32))


def signed_parts(value: int, size: int, type_name: str) -> list[int]:
    return [wrapped(value >> place, size, type_name[0] == "s") for place in range(0, 32, size)]


def dot4(form: Form, a: int, b: int, c: int) -> int:
    left, right = (signed_parts(x, 8, t) for x, t in zip((a, b), form.types, strict=True))
    return c + sum(x * y for x, y in zip(left, right, strict=True))


def dot2(form: Form, a: int, b: int, c: int) -> int:
    left, right = signed_parts(a, 16, form.types[0]), signed_parts(b, 8, form.types[1])
    return c + sum(
        x * y for x, y in zip(left, right[:2] if ".lo" in form.spec.name else right[2:], strict=True)
    )


def with_carry(bits: int, a: int, b: int, carry: int) -> tuple[int, int]:
    total = wrapped(a, bits) + wrapped(b, bits) + carry
    return total, total >> bits


def multiplied(form: Form, bits: int, a: int, b: int) -> int:
    return a * b >> bits if ".hi" in form.spec.name else a * b


HOLDS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lo": lambda a, b: a < b,
    "ls": lambda a, b: a <= b,
    "hi": lambda a, b: a > b,
    "hs": lambda a, b: a >= b,
}
COMBINE: dict[str, Callable[[bool, bool], bool]] = {
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "xor": lambda a, b: a != b,
}


def compared(form: Form, a: int, b: int, c: bool | None = None) -> tuple[bool, bool]:
    holds = HOLDS[form.choice("EQ", "CMP", "CMPU")](a, b)
    if c is None:
        return holds, not holds
    combine = COMBINE[form.choice("BOOL")]
    return combine(holds, bool(c)), combine(not holds, bool(c))


def saturated(form: Form, a: int) -> int:
    scalar = TYPES[form.types[0]]
    if scalar.kind == "s":
        return clamp(a, -(1 << scalar.bits - 1), (1 << scalar.bits - 1) - 1)
    return clamp(a, 0, (1 << scalar.bits) - 1)


PLAIN: dict[str, Reference] = {
    "add": lambda n, a, b: a + b,
    "add.sat": lambda n, a, b: clamp32(a + b),
    "sub": lambda n, a, b: a - b,
    "sub.sat": lambda n, a, b: clamp32(a - b),
    "mul.lo": lambda n, a, b: a * b,
    "mul.hi": lambda n, a, b: a * b >> n,
    "mul.wide": lambda n, a, b: a * b,
    "mad.lo": lambda n, a, b, c: a * b + c,
    "mad.hi": lambda n, a, b, c: (a * b >> n) + c,
    "mad.hi.sat": lambda n, a, b, c: clamp32((a * b >> n) + c),
    "mad.wide": lambda n, a, b, c: a * b + c,
    "sad": lambda n, a, b, c: c + abs(a - b),
    "div": lambda n, a, b: quotient(a, b) if b else -1,
    "rem": lambda n, a, b: a - quotient(a, b) * b if b else -1,
    "abs": lambda n, a: abs(a),
    "neg": lambda n, a: -a,
    "min": lambda n, a, b: min(a, b),
    "max": lambda n, a, b: max(a, b),
    "popc": lambda n, a: a.bit_count(),
    "clz": lambda n, a: n - a.bit_length(),
    "bfind": highest_bit,
    "bfind.shiftamt": shift_amount,
    "fns": nth_set,
    "brev": lambda n, a: int(f"{a:0{n}b}"[::-1], 2),
    "bfi": inserted,
    "selp": lambda n, a, b, c: a if c else b,
    "slct": lambda n, a, b, c: a if c >= 0 else b,
    "and": lambda n, a, b: a & b,
    "or": lambda n, a, b: a | b,
    "xor": lambda n, a, b: a ^ b,
    "not": lambda n, a: ~a,
    "cnot": lambda n, a: a == 0,
    "lop3": lookup3,
    "shl": lambda n, a, b: a << b if b < n else 0,
    "shr": lambda n, a, b: a >> min(b, n),
    "prmt": permuted,
    "mov": lambda n, a: a,
    "cvt": lambda n, a: a,
}
FORMED: dict[str, Reference] = {
    "mul24.lo": lambda form, a, b: product24(form, a, b),
    "mul24.hi": lambda form, a, b: product24(form, a, b) >> 16,
    "mad24.lo": lambda form, a, b, c: product24(form, a, b) + c,
    "mad24.hi": lambda form, a, b, c: (product24(form, a, b) >> 16) + c,
    "bfe": extracted,
    "shf.l.WRAP": funnel_left,
    "shf.r.WRAP": lambda form, low, high, c: (high << 32 | low) >> funnel_places(form, c),
    "prmt.PERMUTE": permuted_mode,
    "dp4a": dot4,
    "dp2a.lo": dot2,
    "dp2a.hi": dot2,
    "cvt.sat": saturated,
    **{f"setp.{c}{b}": compared for c in ("EQ", "CMP", "CMPU") for b in ("", ".BOOL")},
    **{
        name: lambda form, *args: -int(compared(form, *args)[0])
        for name in ("set.EQ", "set.CMP", "set.CMPU", "set.EQ.BOOL", "set.CMP.BOOL")
    },
}
CARRIES: dict[str, Reference] = {
    "add.cc": lambda form, n, a, b: with_carry(n, a, b, 0),
    "addc": lambda form, n, a, b, c: with_carry(n, a, b, c)[:1],
    "addc.cc": lambda form, n, a, b, c: with_carry(n, a, b, c),
    "sub.cc": lambda form, n, a, b: with_carry(n, a, ~b, 1),
    "subc": lambda form, n, a, b, c: with_carry(n, a, ~b, c)[:1],
    "subc.cc": lambda form, n, a, b, c: with_carry(n, a, ~b, c),
    **{
        name: lambda form, n, a, b, c: with_carry(n, multiplied(form, n, a, b), c, 0)
        for name in ("mad.lo.cc", "mad.hi.cc")
    },
    **{
        name: lambda form, n, a, b, c, carry: with_carry(n, multiplied(form, n, a, b), c, carry)
        for name in ("madc.lo.cc", "madc.hi.cc")
    },
    **{
        name: lambda form, n, a, b, c, carry: with_carry(n, multiplied(form, n, a, b), c, carry)[:1]
        for name in ("madc.lo", "madc.hi")
    },
}


def forms(spec: OpSpec) -> Iterator[Form]:
    """Every instruction of a row: all choices, all types (`cvt` pairs them all)."""
    for words in product(*(GROUPS.get(word, (word,)) for word in spec.name.split(".")[1:])):
        for types in product(*spec.types):
            form = decode(spec.opcode, (*words, *types))
            if isinstance(form, Form) and form.spec is spec:
                yield form


def test_every_row_has_a_reference() -> None:
    assert sorted(spec.name for spec in ROWS) == sorted({**PLAIN, **FORMED, **CARRIES})


def mnemonic(form: Form) -> str:
    words = [dict(form.choices).get(word, word) for word in form.spec.name.split(".")]
    return ".".join((*words, *form.types))


def bits_of(spec: OperandSpec, form: Form) -> int:
    if spec.kind == "flag":
        return 1
    scalar = TYPES[resolve_type(spec.type, form.types)]
    return 1 if scalar.kind == "p" else scalar.bits


def is_signed(spec: OperandSpec, form: Form) -> bool:
    return spec.kind != "flag" and resolve_type(spec.type, form.types)[0] == "s"


def register(bits: int, number: int) -> str:
    return {1: "p", 8: "h", 16: "h", 32: "r", 64: "d"}[bits] + str(number)


def kernel(form: Form, table: int) -> str:
    """A kernel in which thread t reads its sources from row t of `a`, and writes its results to row t of `b`."""
    sources = [s for s in form.spec.operands if not s.is_dest and s.kind != "imm"]
    targets = [s for s in form.spec.operands if s.is_dest]
    lines = [f"mad.wide.u32 d30, r30, {8 * len(sources)}, d30;", f"mad.wide.u32 d31, r30, {16}, d31;"]
    names = {}
    for i, spec in enumerate(sources):
        name = names[spec.name] = register(bits_of(spec, form), i)
        lines.append(f"ld.global.b64 d{i}, [d30+{8 * i}];")
        if spec.kind == "flag":
            lines.append(f"cvt.u32.u64 r29, d{i}; add.cc.u32 r29, r29, -1;")
        elif name[0] == "p":
            lines.append(f"setp.ne.b64 {name}, d{i}, 0;")
        elif name[0] != "d":
            lines.append(f"cvt.u{16 if name[0] == 'h' else 32}.u64 {name}, d{i};")
    written = [
        names[s.name] if s.kind != "imm" else str(table)
        for s in form.spec.operands
        if s in sources or s.kind == "imm"
        if s.kind != "flag"
    ]
    first = register(bits_of(targets[0], form), 7)
    dest = f"{first}|p6" if targets[0].kind == "pair" else first
    lines.append(f"{mnemonic(form)} {', '.join((dest, *written))};")
    lines += ["addc.u32 r28, 0, 0; st.global.u32 [d31+8], r28;"] if len(targets) > 1 else []
    lines += ["selp.b32 r28, 1, 0, p6; st.global.u32 [d31+8], r28;"] if targets[0].kind == "pair" else []
    if first[0] == "p":
        lines += ["selp.b32 r7, 1, 0, p7;"]
        first = "r7"
    lines.append(f"st.global.b{ {'h': 16, 'r': 32, 'd': 64}[first[0]] } [d31], {first};")
    body = "\n".join(lines)
    return (
        f"{HEADER}.visible .entry k(.param .u64 a, .param .u64 b) {{\n{REGISTERS}\nmov.u32 r30, %tid.x;\n"
        f"ld.param.u64 d30, [a]; ld.param.u64 d31, [b];\n{body}\nret;\n}}\n"
    )


def sample(random: Random, bits: int) -> int:
    """A value in which edges are likely: near zero, near a power of two, or anything."""
    top = (1 << bits) - 1
    near = random.choice([0, 0, top, 1 << random.randrange(bits), random.getrandbits(bits)])
    return (near + random.randint(-2, 2)) & top


def expected(form: Form, args: list[int], table: list[int]) -> tuple[int, ...]:
    name, n = form.spec.name, TYPES[form.types[0]].bits
    if name in CARRIES:
        result = CARRIES[name](form, n, *args)
    elif name in FORMED:
        result = FORMED[name](form, *args)
    else:
        result = PLAIN[name](n, *args, *table)
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("spec", ROWS, ids=lambda spec: spec.name)
@settings(max_examples=2)
@given(seed=st.integers(0, 2**32))
def test_row_matches_python_integers(spec: OpSpec, seed: int) -> None:
    random = Random(seed)
    for form in forms(spec):
        sources = [s for s in spec.operands if not s.is_dest and s.kind != "imm"]
        has_table = any(s.kind == "imm" for s in spec.operands)
        table = [random.getrandbits(8)] if has_table else []
        raw = [
            [sample(random, max(bits_of(s, form), 16) if bits_of(s, form) > 1 else 1) for s in sources]
            for _ in range(THREADS)
        ]
        a, b = np.array(raw, dtype=np.uint64).ravel(), np.zeros(2 * THREADS, np.uint64)
        text = kernel(form, *(table or [0]))
        out = launch(parse(text), {"a": a, "b": b}, block=(THREADS, 1, 1))["b"].reshape(THREADS, 2)
        dest = form.spec.operands[0]
        bits = bits_of(dest, form)
        for row, got in zip(raw, out.tolist(), strict=True):
            args = [
                wrapped(v, bits_of(s, form), is_signed(s, form)) for v, s in zip(row, sources, strict=True)
            ]
            want = list(expected(form, args, table))
            want[0] = (
                wrapped(want[0], bits, is_signed(dest, form)) & ((1 << max(bits, 16)) - 1)
                if bits > 1
                else bool(want[0] & 1)
            )
            assert got[: len(want)] == [int(w) for w in want], (mnemonic(form), args, table)
