"""The one table of SSA operations.

Printer, parser, verifier, interpreter, constant folder, documentation and passes read `OPS`; an operation exists when it
has a row here. Values are unsigned Python integers of their type's width. `evaluate(bits, *operands)` gets the width
of the first operand and may return any integer: the caller reduces it to the result type. What PTX leaves open is
fixed here: a quotient or remainder by zero is all ones (as ptxas folds them), INT_MIN / -1 wraps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from qgc.ir.launch import Place
from qgc.ir.ssa.types import I1, I32, I64, MEMS, SPACES, Ty, signed


@dataclass(frozen=True, slots=True, eq=False)
class TyVar:
    """A type that the operands choose: all uses of one variable in a row are the same type."""

    name: str
    choices: tuple[Ty, ...]


WORD = TyVar("T", (I32, I64))
"""Arithmetic types."""
ANY = TyVar("V", (I1, I32, I64))
"""Types that can be copied, chosen and combined bit by bit."""
ADDRESS = TyVar("A", (I32, I64))
"""Byte addresses."""
RESULT = TyVar("R", (I1, I32, I64))
"""A result type that only the op itself states (conversions, parameters)."""
MEMORY = TyVar("M", (I32, I64))
"""The register type of the op's `mem` attribute."""

Pattern: TypeAlias = Ty | TyVar
Evaluate: TypeAlias = Callable[..., int]


@dataclass(frozen=True, slots=True)
class OpSpec:
    """Everything that is to know about one operation.

    Attributes:
        operands, result: type patterns; `result` None for no result.
        attrs: kinds of the attributes, keys of `ATTRS`, or `offset` for an unsigned integer.
        evaluate: exact meaning of a pure op on integers; None where control flow, memory or the thread matter.
        pure: may be moved, merged and dropped.
        blocks: how many blocks the op names; -1 means one for each operand (phi, whose operands are variadic).
        guardable: may carry a guard `if %p`; where %p is 0 nothing happens and the result is 0.
        optional_result: the result may be left out.
        machine: stays until the stage `ir-pred`, where it is an operation of the machine on 32-bit words.
    """

    name: str
    doc: str
    operands: tuple[Pattern, ...] = ()
    result: Pattern | None = None
    evaluate: Evaluate | None = None
    attrs: tuple[str, ...] = ()
    pure: bool = True
    terminator: bool = False
    commutative: bool = False
    blocks: int = 0
    guardable: bool = False
    optional_result: bool = False
    machine: bool = False


@dataclass(frozen=True, slots=True)
class SpecialRegister:
    """A special register (PTX ISA 10): `uniform` when all threads of a 32-thread warp read the same."""

    read: Callable[[Place], int]
    uniform: bool
    doc: str


def _axis_rows() -> dict[str, SpecialRegister]:
    rows: dict[str, SpecialRegister] = {}
    for field, uniform, doc in (
        ("tid", False, "thread index in its block"),
        ("ntid", True, "block size in threads"),
        ("ctaid", True, "block index in the grid"),
        ("nctaid", True, "grid size in blocks"),
    ):
        for axis, letter in enumerate("xyz"):
            rows[f"{field}.{letter}"] = SpecialRegister(
                lambda p, field=field, axis=axis: getattr(p, field)[axis],  # type: ignore[misc]
                uniform,
                f"{doc}, {letter}",
            )
    return rows


SREGS: dict[str, SpecialRegister] = {
    **_axis_rows(),
    "linear": SpecialRegister(lambda p: p.linear, False, "thread in its block, x fastest"),
    "warpbase": SpecialRegister(lambda p: p.linear & -32, True, "first thread of this warp in the block"),
    "laneid": SpecialRegister(lambda p: p.linear % 32, False, "thread in its 32-thread warp"),
    "warpid": SpecialRegister(lambda p: p.linear // 32, True, "32-thread warp in its block"),
    "lanemask_eq": SpecialRegister(lambda p: 1 << p.linear % 32, False, "bit of this lane"),
    "lanemask_lt": SpecialRegister(lambda p: (1 << p.linear % 32) - 1, False, "bits of lower lanes"),
    "lanemask_le": SpecialRegister(lambda p: (2 << p.linear % 32) - 1, False, "bits up to this lane"),
    "lanemask_gt": SpecialRegister(lambda p: -2 << p.linear % 32, False, "bits of higher lanes"),
    "lanemask_ge": SpecialRegister(lambda p: -1 << p.linear % 32, False, "bits from this lane up"),
}

RMWS: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda bits, old, x: old + x,
    "and": lambda bits, old, x: old & x,
    "or": lambda bits, old, x: old | x,
    "xor": lambda bits, old, x: old ^ x,
    "exch": lambda bits, old, x: x,
    "smin": lambda bits, old, x: min(signed(bits, old), signed(bits, x)),
    "smax": lambda bits, old, x: max(signed(bits, old), signed(bits, x)),
    "umin": lambda bits, old, x: min(old, x),
    "umax": lambda bits, old, x: max(old, x),
    "inc": lambda bits, old, x: 0 if old >= x else old + 1,
    "dec": lambda bits, old, x: x if old == 0 or old > x else old - 1,
}
"""What an atomic stores, from the width, the old value and the operand (PTX ISA 9.7.13, `atom`)."""

ATTRS: dict[str, tuple[str, ...]] = {
    "sreg": tuple(SREGS),
    "space": SPACES,
    "mem": tuple(MEMS),
    "rmw": tuple(RMWS),
}
"""The names that an attribute of each kind can take."""


def _divide(bits: int, a: int, b: int) -> int:
    return a // b if b else -1


def _remainder(bits: int, a: int, b: int) -> int:
    return a % b if b else -1


def _divide_signed(bits: int, a: int, b: int) -> int:
    if b == 0:
        return -1
    a, b = signed(bits, a), signed(bits, b)
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder_signed(bits: int, a: int, b: int) -> int:
    if b == 0:
        return -1
    rest = abs(signed(bits, a)) % abs(signed(bits, b))
    return -rest if signed(bits, a) < 0 else rest


def _clamped(shift: Callable[[int, int, int], int]) -> Evaluate:
    """Shift by at most the width: PTX clamps larger amounts."""
    return lambda bits, a, n: shift(bits, a, min(n, bits))


def _field(bits: int, position: int, length: int) -> tuple[int, int]:
    """Position and length of a bit field: 32-bit forms use 8 bits of each, 64-bit forms all of them."""
    return (position & 255, length & 255) if bits == 32 else (position, length)


def _extract(bits: int, a: int, position: int, length: int) -> int:
    position, length = _field(bits, position, length)
    return (a >> position) & ((1 << min(length, bits)) - 1) if position < bits else 0


def _extract_signed(bits: int, a: int, position: int, length: int) -> int:
    position, length = _field(bits, position, length)
    if length == 0:
        return 0
    sign = a >> min(position + length - 1, bits - 1) & 1
    field = _extract(bits, a, position, length)
    return field - (sign << min(length, bits - position if position < bits else 0))


def insert(bits: int, a: int, base: int, position: int, length: int) -> int:
    """`base` with bits [position, position + length) replaced by the low bits of `a`."""
    position, length = _field(bits, position, length)
    if position >= bits:
        return base
    mask = (1 << min(length, bits - position)) - 1 << position
    return (base & ~mask) | (a << position & mask)


def _reverse(bits: int, a: int) -> int:
    return int(format(a, f"0{bits}b")[::-1], 2)


def _binary(
    name: str, doc: str, evaluate: Evaluate, commutative: bool = False, machine: bool = False
) -> OpSpec:
    return OpSpec(name, doc, (WORD, WORD), WORD, evaluate, commutative=commutative, machine=machine)


def _logic(name: str, doc: str, evaluate: Evaluate) -> OpSpec:
    return OpSpec(name, doc, (ANY, ANY), ANY, evaluate, commutative=True, machine=True)


def _shift(name: str, doc: str, evaluate: Evaluate) -> OpSpec:
    return OpSpec(name, doc, (WORD, I32), WORD, _clamped(evaluate), machine=True)


def _compare(
    name: str, doc: str, evaluate: Evaluate, commutative: bool = False, machine: bool = True
) -> OpSpec:
    return OpSpec(name, doc, (WORD, WORD), I1, evaluate, commutative=commutative, machine=machine)


def _convert(name: str, doc: str, source: TyVar, evaluate: Evaluate, machine: bool = False) -> OpSpec:
    return OpSpec(name, doc, (source,), RESULT, evaluate, machine=machine)


_ARITHMETIC = (
    _binary("add", "a + b", lambda bits, a, b: a + b, commutative=True, machine=True),
    _binary("sub", "a - b", lambda bits, a, b: a - b, machine=True),
    _binary("mul", "a * b, low half", lambda bits, a, b: a * b, commutative=True, machine=True),
    _binary(
        "mulhi.s",
        "signed a * b, high half",
        lambda bits, a, b: signed(bits, a) * signed(bits, b) >> bits,
        commutative=True,
    ),
    _binary("mulhi.u", "unsigned a * b, high half", lambda bits, a, b: a * b >> bits, commutative=True),
    _binary("div.s", "signed a / b toward zero; b = 0 gives all ones", _divide_signed),
    _binary("div.u", "unsigned a / b; b = 0 gives all ones", _divide),
    _binary("rem.s", "signed remainder with the sign of a; b = 0 gives all ones", _remainder_signed),
    _binary("rem.u", "unsigned remainder; b = 0 gives all ones", _remainder),
    _binary(
        "min.s",
        "signed minimum",
        lambda bits, a, b: min(signed(bits, a), signed(bits, b)),
        commutative=True,
    ),
    _binary("min.u", "unsigned minimum", lambda bits, a, b: min(a, b), commutative=True),
    _binary(
        "max.s",
        "signed maximum",
        lambda bits, a, b: max(signed(bits, a), signed(bits, b)),
        commutative=True,
    ),
    _binary("max.u", "unsigned maximum", lambda bits, a, b: max(a, b), commutative=True),
)

_BITS = (
    _logic("and", "a & b", lambda bits, a, b: a & b),
    _logic("or", "a | b", lambda bits, a, b: a | b),
    _logic("xor", "a ^ b; not is xor with all ones", lambda bits, a, b: a ^ b),
    _shift("shl", "a << n; 0 when n reaches the width", lambda bits, a, n: a << n),
    _shift("shr.u", "a >> n, zeros move in; 0 when n reaches the width", lambda bits, a, n: a >> n),
    _shift(
        "shr.s",
        "a >> n, the sign moves in; all sign when n reaches the width",
        lambda bits, a, n: signed(bits, a) >> n,
    ),
    OpSpec("popc", "number of ones", (WORD,), I32, lambda bits, a: a.bit_count(), machine=True),
    OpSpec(
        "clz",
        "zeros above the highest one; the width for 0",
        (WORD,),
        I32,
        lambda bits, a: bits - a.bit_length(),
        machine=True,
    ),
    OpSpec("brev", "bits in reverse order", (WORD,), WORD, _reverse, machine=True),
    OpSpec("bfe.u", "bits [pos, pos + len) of a, zero extended", (WORD, I32, I32), WORD, _extract),
    OpSpec("bfe.s", "bits [pos, pos + len) of a, sign extended", (WORD, I32, I32), WORD, _extract_signed),
    OpSpec(
        "bfi", "b with bits [pos, pos + len) replaced by a's low bits", (WORD, WORD, I32, I32), WORD, insert
    ),
)

_COMPARES = (
    _compare("icmp.eq", "a == b", lambda bits, a, b: a == b, commutative=True),
    _compare("icmp.ne", "a != b", lambda bits, a, b: a != b, commutative=True),
    _compare("icmp.lt.s", "signed a < b", lambda bits, a, b: signed(bits, a) < signed(bits, b)),
    _compare(
        "icmp.le.s", "signed a <= b", lambda bits, a, b: signed(bits, a) <= signed(bits, b), machine=False
    ),
    _compare(
        "icmp.gt.s", "signed a > b", lambda bits, a, b: signed(bits, a) > signed(bits, b), machine=False
    ),
    _compare("icmp.ge.s", "signed a >= b", lambda bits, a, b: signed(bits, a) >= signed(bits, b)),
    _compare("icmp.lt.u", "unsigned a < b", lambda bits, a, b: a < b),
    _compare("icmp.le.u", "unsigned a <= b", lambda bits, a, b: a <= b, machine=False),
    _compare("icmp.gt.u", "unsigned a > b", lambda bits, a, b: a > b, machine=False),
    _compare("icmp.ge.u", "unsigned a >= b", lambda bits, a, b: a >= b),
    OpSpec("select", "c ? a : b", (I1, ANY, ANY), ANY, lambda bits, c, a, b: a if c else b, machine=True),
)

_CONVERSIONS = (
    _convert("zext", "extend with zeros to a wider type", ANY, lambda bits, a: a, machine=True),
    _convert("sext", "extend with the sign to a wider type", ANY, signed),
    _convert("trunc", "low bits in a narrower type", WORD, lambda bits, a: a),
)

_SOURCES = (
    OpSpec("param", "the parameter bytes at this offset", (), RESULT, attrs=("offset",), machine=True),
    OpSpec("sreg", "a special register", (), I32, attrs=("sreg",), machine=True),
)

_EFFECTS = (
    OpSpec(
        "load",
        "read memory at byte address a",
        (ADDRESS,),
        MEMORY,
        attrs=("space", "mem"),
        pure=False,
        guardable=True,
        machine=True,
    ),
    OpSpec(
        "store",
        "write the low bytes of v to byte address a",
        (ADDRESS, MEMORY),
        attrs=("space", "mem"),
        pure=False,
        guardable=True,
        machine=True,
    ),
    OpSpec(
        "atomic",
        "in one step read memory at a, combine it with v, write it back; gives the old value",
        (ADDRESS, MEMORY),
        MEMORY,
        attrs=("space", "rmw", "mem"),
        pure=False,
        guardable=True,
        optional_result=True,
        machine=True,
    ),
    OpSpec(
        "cas",
        "in one step read memory at a and, where it equals c, write v; gives the old value",
        (ADDRESS, MEMORY, MEMORY),
        MEMORY,
        attrs=("space", "mem"),
        pure=False,
        guardable=True,
        optional_result=True,
        machine=True,
    ),
    OpSpec(
        "syncwarp",
        "wait for all threads of the warp that have not ended and do not wait for the block",
        pure=False,
        machine=True,
    ),
    OpSpec(
        "barrier",
        "wait for all threads of the block that have not ended",
        attrs=("offset",),
        pure=False,
        machine=True,
    ),
)

_CONTROL = (
    OpSpec("phi", "the operand of the block that control came from", (ANY,), ANY, blocks=-1, machine=True),
    OpSpec("br", "go to the block", pure=False, terminator=True, blocks=1, machine=True),
    OpSpec(
        "cbr",
        "go to the first block where c holds, else to the second",
        (I1,),
        pure=False,
        terminator=True,
        blocks=2,
        machine=True,
    ),
    OpSpec("ret", "the thread ends", pure=False, terminator=True, machine=True),
)

_TABLE = (*_ARITHMETIC, *_BITS, *_COMPARES, *_CONVERSIONS, *_SOURCES, *_EFFECTS, *_CONTROL)

OPS: dict[str, OpSpec] = {spec.name: spec for spec in _TABLE}
