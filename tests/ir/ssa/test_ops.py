"""The operation table: every row is complete, and its evaluator computes what NVIDIA's tools compute."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qgc.ir.launch import Place
from qgc.ir.ssa.docs import ssa_markdown
from qgc.ir.ssa.ops import ATTRS, OPS, RMWS, SREGS, OpSpec
from qgc.ir.ssa.types import I32, I64, signed
from tests.helpers.ssa import GOLDEN

M32, M64 = I32.mask, I64.mask
WORDS = st.integers(0, M32)


def evaluate(name: str, bits: int, *operands: int) -> int:
    function = OPS[name].evaluate
    assert function is not None
    return int(function(bits, *operands)) & ((1 << (1 if name.startswith("icmp") else bits)) - 1)


# The values of the first block are folded by ptxas (shared oracle file); the rest follows from the PTX manual.
KNOWN = [
    ("shl", 32, (1, 31), 0x80000000),
    ("shl", 32, (1, 32), 0),
    ("shl", 32, (1, M32), 0),
    ("shr.u", 32, (0x80000000, 32), 0),
    ("shr.s", 32, (0x80000000, 200), M32),
    ("shr.s", 32, (0x7FFFFFFF, 32), 0),
    ("shl", 64, (1, 63), 1 << 63),
    ("shr.s", 64, (1 << 63, 1000), M64),
    ("div.u", 32, (7, 0), M32),
    ("div.s", 32, (0, 0), M32),
    ("rem.u", 32, (7, 0), M32),
    ("rem.s", 32, (-7 & M32, 0), M32),
    ("div.s", 32, (0x80000000, M32), 0x80000000),
    ("rem.s", 32, (0x80000000, M32), 0),
    ("div.s", 32, (-7 & M32, 2), -3 & M32),
    ("rem.s", 32, (-7 & M32, 2), -1 & M32),
    ("rem.s", 32, (7, -2 & M32), 1),
    ("mulhi.s", 32, (M32, M32), 0),
    ("mulhi.u", 32, (M32, M32), M32 - 1),
    ("clz", 32, (0,), 32),
    ("clz", 64, (0,), 64),
    ("popc", 64, (M64,), 64),
    ("brev", 32, (1,), 0x80000000),
    ("bfe.u", 32, (M32, 32, 4), 0),
    ("bfe.u", 32, (0x1234, 4, 8), 0x23),
    ("bfe.u", 32, (0x1234, 256 + 4, 256 + 8), 0x23),
    ("bfe.s", 32, (0x80000000, 40, 8), M32),
    ("bfe.s", 32, (0xF0, 4, 4), M32),
    ("bfe.s", 32, (0x80000000, 28, 8), -8 & M32),
    ("bfe.s", 32, (M32, 3, 0), 0),
    ("bfi", 32, (M32, 0, 28, 8), 0xF0000000),
    ("bfi", 32, (M32, 5, 32, 8), 5),
    ("bfi", 32, (M32, 5, 3, 0), 5),
    ("icmp.lt.s", 32, (M32, 0), 1),
    ("icmp.lt.u", 32, (M32, 0), 0),
    ("min.s", 32, (M32, 1), M32),
    ("max.u", 32, (M32, 1), M32),
]


@pytest.mark.parametrize(("name", "bits", "operands", "want"), KNOWN)
def test_known_values(name: str, bits: int, operands: tuple[int, ...], want: int) -> None:
    assert evaluate(name, bits, *operands) == want


@given(WORDS, WORDS)
def test_quotient_and_remainder_belong_together(a: int, b: int) -> None:
    for sign in "su":
        quotient, remainder = evaluate(f"div.{sign}", 32, a, b), evaluate(f"rem.{sign}", 32, a, b)
        if b:
            assert (quotient * b + remainder - a) & M32 == 0
        if b and sign == "s":
            assert abs(signed(32, remainder)) < abs(signed(32, b))


@given(WORDS, WORDS)
def test_a_product_has_two_halves(a: int, b: int) -> None:
    assert evaluate("mulhi.u", 32, a, b) << 32 | evaluate("mul", 32, a, b) == a * b
    signed_product = signed(32, a) * signed(32, b)
    assert evaluate("mulhi.s", 32, a, b) << 32 | evaluate("mul", 32, a, b) == signed_product & M64


@given(WORDS, WORDS, st.integers(0, 40), st.integers(0, 40))
def test_what_is_inserted_can_be_extracted(a: int, b: int, position: int, length: int) -> None:
    whole = evaluate("bfi", 32, a, b, position, length)
    room = max(0, min(length, 32 - position))
    assert evaluate("bfe.u", 32, whole, position, length) == a & ((1 << room) - 1)


@pytest.mark.parametrize("spec", OPS.values(), ids=lambda spec: spec.name)
def test_rows_are_complete(spec: OpSpec) -> None:
    is_value = spec.pure and spec.name not in ("param", "sreg", "phi")
    assert (spec.evaluate is not None) == is_value
    assert all(kind in ATTRS or kind == "offset" for kind in spec.attrs)
    assert not (spec.pure and spec.terminator)
    assert spec.doc


def test_atomics_give_what_ptx_says() -> None:
    assert RMWS["inc"](32, 5, 5) == 0
    assert RMWS["inc"](32, 4, 5) == 5
    assert RMWS["dec"](32, 0, 5) == 5
    assert RMWS["dec"](32, 6, 5) == 5
    assert RMWS["dec"](32, 3, 5) == 2
    assert RMWS["smin"](32, M32, 1) == -1
    assert RMWS["umin"](32, M32, 1) == 1


def test_special_registers_of_one_thread() -> None:
    place = Place(tid=(1, 2, 0), ntid=(8, 5, 1), ctaid=(3, 0, 0), nctaid=(4, 1, 1))
    read = {name: register.read(place) & M32 for name, register in SREGS.items()}
    assert (read["tid.x"], read["tid.y"], read["ntid.x"], read["ctaid.x"], read["nctaid.x"]) == (
        1,
        2,
        8,
        3,
        4,
    )
    assert (read["laneid"], read["warpid"]) == (17, 0)
    assert read["lanemask_lt"] + read["lanemask_eq"] + read["lanemask_gt"] == M32
    assert read["lanemask_le"] ^ read["lanemask_gt"] == M32
    assert read["lanemask_ge"] ^ read["lanemask_lt"] == M32


def test_every_op_stands_in_a_golden_file() -> None:
    texts = "".join(
        p.read_text() for stage in ("ir", "passes", "ssa-ops") for p in (GOLDEN / stage).rglob("*.ir")
    )
    missing = [
        name
        for name in OPS
        if f" {name} " not in texts and f" {name}." not in texts and f" {name}\n" not in texts
    ]
    assert not missing


def test_the_page_is_generated_from_the_table(golden: Callable[[str, str], None]) -> None:
    golden("../docs/ssa.md", ssa_markdown())
