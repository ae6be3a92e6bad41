"""What each computing instruction of `ops.py` does, on whole arrays: one small function a row.

A function receives the decoded form, then the sources in the row's order, each an array with one element a thread
in the numpy type of its PTX type (.u and .b unsigned, .s signed, .pred bool). It returns the destination, or a
tuple of them, in any type that holds the value: the interpreter truncates and extends to the destination. Numpy
arrays of integers wrap silently, which is what PTX wants.

Sources: the PTX ISA manual; constants that NVIDIA's assembler folds (tests/oracle/ptxas.txt) where the manual is
silent, as for division by zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from qgc.ir.ptx.decode import Form
from qgc.ir.ptx.types import TYPES

Array: TypeAlias = NDArray[Any]
Semantics: TypeAlias = Callable[..., "Array | tuple[Array, ...]"]
_F = TypeVar("_F", bound=Semantics)

SEMANTICS: dict[str, Semantics] = {}
"""Name of a row -> its function. Rows without one touch memory, control or other threads."""


def _op(*names: str) -> Callable[[_F], _F]:
    def register(function: _F) -> _F:
        SEMANTICS.update(dict.fromkeys(names, function))
        return function

    return register


# Widths


def _bits_of(a: Array) -> int:
    return 8 * a.dtype.itemsize


def _wide(a: Array) -> Array:
    """Convert to twice the width; 64 bits stay, where the callers do not need more."""
    size = min(8, 2 * a.dtype.itemsize)
    return a.astype(f"{a.dtype.kind}{size}")


def _unsigned(a: Array) -> Array:
    return a.view(f"u{a.dtype.itemsize}")


def _all_ones(a: Array) -> Array:
    return np.full_like(a, -1) if a.dtype.kind == "i" else ~np.zeros_like(a)


def _clamp32(wide: Array) -> Array:
    return np.clip(wide, -(2**31), 2**31 - 1)


# Integer arithmetic


@_op("add")
def _add(_form: Form, a: Array, b: Array) -> Array:
    return a + b


@_op("sub")
def _sub(_form: Form, a: Array, b: Array) -> Array:
    return a - b


@_op("add.sat")
def _add_sat(_form: Form, a: Array, b: Array) -> Array:
    return _clamp32(_wide(a) + _wide(b))


@_op("sub.sat")
def _sub_sat(_form: Form, a: Array, b: Array) -> Array:
    return _clamp32(_wide(a) - _wide(b))


@_op("mul.lo")
def _mul_lo(_form: Form, a: Array, b: Array) -> Array:
    return a * b


@_op("mul.hi")
def _mul_hi(_form: Form, a: Array, b: Array) -> Array:
    if _bits_of(a) < 64:
        return (_wide(a) * _wide(b)) >> _bits_of(a)
    high = _mul_hi_u64(_unsigned(a), _unsigned(b))
    if a.dtype.kind == "i":  # the sign bit weighs -2^63 rather than 2^63: take the other factor off once
        high = high - np.where(a < 0, _unsigned(b), 0) - np.where(b < 0, _unsigned(a), 0)
    return high


def _mul_hi_u64(a: Array, b: Array) -> Array:
    """High half of a 64 x 64 bit product from four 32 x 32 bit ones, none of which overflows."""
    half, low = np.uint64(32), np.uint64(0xFFFF_FFFF)
    a_low, a_high, b_low, b_high = a & low, a >> half, b & low, b >> half
    middle: Array = a_high * b_low + (a_low * b_low >> half)
    other = a_low * b_high + (middle & low)
    high: Array = a_high * b_high + (middle >> half) + (other >> half)
    return high


@_op("mul.wide")
def _mul_wide(_form: Form, a: Array, b: Array) -> Array:
    return _wide(a) * _wide(b)


@_op("mad.lo")
def _mad_lo(_form: Form, a: Array, b: Array, c: Array) -> Array:
    return a * b + c


@_op("mad.hi")
def _mad_hi(form: Form, a: Array, b: Array, c: Array) -> Array:
    return _mul_hi(form, a, b).astype(c.dtype) + c


@_op("mad.hi.sat")
def _mad_hi_sat(form: Form, a: Array, b: Array, c: Array) -> Array:
    return _clamp32(_mul_hi(form, a, b) + _wide(c))


@_op("mad.wide")
def _mad_wide(_form: Form, a: Array, b: Array, c: Array) -> Array:
    return _wide(a) * _wide(b) + c


def _mul24(a: Array, b: Array) -> Array:
    """48-bit product of the low 24 bits: shifting up and down again extends by the type's sign."""
    return _wide((a << 8) >> 8) * _wide((b << 8) >> 8)


@_op("mul24.lo")
def _mul24_lo(_form: Form, a: Array, b: Array) -> Array:
    return _mul24(a, b)


@_op("mul24.hi")
def _mul24_hi(_form: Form, a: Array, b: Array) -> Array:
    return _mul24(a, b) >> 16


@_op("mad24.lo")
def _mad24_lo(_form: Form, a: Array, b: Array, c: Array) -> Array:
    return _mul24(a, b) + c


@_op("mad24.hi")
def _mad24_hi(_form: Form, a: Array, b: Array, c: Array) -> Array:
    return (_mul24(a, b) >> 16) + c


@_op("sad")
def _sad(_form: Form, a: Array, b: Array, c: Array) -> Array:
    return c + np.where(a > b, a - b, b - a)


def _quotient(a: Array, b: Array) -> Array:
    """Divide towards zero: numpy's `//` rounds down, but an exact division does not round."""
    return (a - np.fmod(a, b)) // b


@_op("div")
def _div(_form: Form, a: Array, b: Array) -> Array:
    safe = np.where(b == 0, np.ones_like(b), b)
    return np.where(b == 0, _all_ones(a), _quotient(a, safe))


@_op("rem")
def _rem(_form: Form, a: Array, b: Array) -> Array:
    safe = np.where(b == 0, np.ones_like(b), b)
    return np.where(b == 0, _all_ones(a), np.fmod(a, safe))


@_op("abs")
def _abs(_form: Form, a: Array) -> Array:
    return np.where(a < 0, -a, a)


@_op("neg")
def _neg(_form: Form, a: Array) -> Array:
    return -a


@_op("min")
def _min(_form: Form, a: Array, b: Array) -> Array:
    return np.minimum(a, b)


@_op("max")
def _max(_form: Form, a: Array, b: Array) -> Array:
    return np.maximum(a, b)


# Single bits


def _to_bits(a: Array) -> Array:
    """Unpack to one row a thread, lowest bit first."""
    raw = np.ascontiguousarray(a)[:, None].view(np.uint8)
    return np.unpackbits(raw, axis=1, bitorder="little")


def _highest(a: Array) -> Array:
    """Place of the highest one, -1 without any."""
    from_top = _to_bits(a)[:, ::-1]
    return np.where(a == 0, -1, np.subtract(_bits_of(a) - 1, from_top.argmax(axis=1)))


@_op("popc")
def _popc(_form: Form, a: Array) -> Array:
    ones: Array = _to_bits(a).sum(axis=1, dtype=np.uint32)
    return ones


@_op("clz")
def _clz(_form: Form, a: Array) -> Array:
    return _bits_of(a) - 1 - _highest(a)


def _without_sign(a: Array) -> Array:
    return np.where(a < 0, ~a, a) if a.dtype.kind == "i" else a


@_op("bfind")
def _bfind(_form: Form, a: Array) -> Array:
    return _highest(_without_sign(a))


@_op("bfind.shiftamt")
def _bfind_shiftamt(_form: Form, a: Array) -> Array:
    place = _highest(_without_sign(a))
    return np.where(place < 0, -1, _bits_of(a) - 1 - place)


@_op("fns")
def _fns(_form: Form, mask: Array, base: Array, offset: Array) -> Array:
    triples = zip(mask.tolist(), base.tolist(), offset.tolist(), strict=True)
    return np.array([_find_nth_set(*triple) for triple in triples], dtype=np.int64)


def _find_nth_set(mask: int, base: int, offset: int) -> int:
    if offset == 0:
        return base if base < 32 and mask >> base & 1 else -1
    places = range(base, 32) if offset > 0 else range(min(base, 31), -1, -1)
    ones = [place for place in places if mask >> place & 1]
    return ones[abs(offset) - 1] if len(ones) >= abs(offset) else -1


@_op("brev")
def _brev(_form: Form, a: Array) -> Array:
    raw = np.packbits(_to_bits(a)[:, ::-1], axis=1, bitorder="little")
    return np.ascontiguousarray(raw).view(a.dtype)[:, 0]


# Shifts and fields. Amounts clamp: numpy, like C, leaves a shift by the width or more undefined.


def _shift_left(a: Array, amount: Array) -> Array:
    bits = _bits_of(a)
    inside = np.minimum(amount, bits - 1).astype(a.dtype)
    return np.where(amount >= bits, np.zeros_like(a), a << inside)


def _shift_right(a: Array, amount: Array) -> Array:
    bits = _bits_of(a)
    shifted = a >> np.minimum(amount, bits - 1).astype(a.dtype)
    return shifted if a.dtype.kind == "i" else np.where(amount >= bits, np.zeros_like(a), shifted)


@_op("shl")
def _shl(_form: Form, a: Array, amount: Array) -> Array:
    return _shift_left(a, amount)


@_op("shr")
def _shr(_form: Form, a: Array, amount: Array) -> Array:
    return _shift_right(a, amount)


def _field(amount: Array, bits: int) -> Array:
    """Read a field's place or length: its low 8 bits count in the 32-bit forms, all 32 in the 64-bit forms."""
    return amount & 0xFF if bits == 32 else amount


@_op("bfe")
def _bfe(_form: Form, a: Array, place: Array, length: Array) -> Array:
    bits = _bits_of(a)
    length = _field(length, bits)
    moved = _shift_right(a, _field(place, bits))
    spare = bits - np.clip(length, 1, bits)  # bits to lose above the field, and to fill from its sign
    kept = _shift_right(_shift_left(moved, spare), spare)
    return np.where(length == 0, np.zeros_like(a), kept)


@_op("bfi")
def _bfi(_form: Form, a: Array, base: Array, place: Array, length: Array) -> Array:
    bits = _bits_of(a)
    place, length = _field(place, bits), _field(length, bits)
    mask = _shift_left(~_shift_left(_all_ones(a), length), place)
    return (base & ~mask) | (_shift_left(a, place) & mask)


def _funnel(form: Form, low: Array, high: Array, amount: Array) -> tuple[Array, Array]:
    both: Array = high.astype(np.uint64) << np.uint64(32) | low
    clamped = np.minimum(amount, 32) if form.choice("WRAP") == "clamp" else amount & 31
    return both, clamped.astype(np.uint64)


@_op("shf.l.WRAP")
def _shf_l(form: Form, low: Array, high: Array, amount: Array) -> Array:
    both, places = _funnel(form, low, high, amount)
    return (both << places) >> np.uint64(32)


@_op("shf.r.WRAP")
def _shf_r(form: Form, low: Array, high: Array, amount: Array) -> Array:
    both, places = _funnel(form, low, high, amount)
    return both >> places


# Logic


@_op("and")
def _and(_form: Form, a: Array, b: Array) -> Array:
    return a & b


@_op("or")
def _or(_form: Form, a: Array, b: Array) -> Array:
    return a | b


@_op("xor")
def _xor(_form: Form, a: Array, b: Array) -> Array:
    return a ^ b


@_op("not")
def _not(_form: Form, a: Array) -> Array:
    return ~a


@_op("cnot")
def _cnot(_form: Form, a: Array) -> Array:
    return np.equal(a, 0)


@_op("lop3")
def _lop3(_form: Form, a: Array, b: Array, c: Array, table: Array) -> Array:
    result = np.zeros_like(a)
    for row in range(8):
        terms = (x if row >> place & 1 else ~x for x, place in ((a, 2), (b, 1), (c, 0)))
        term = np.bitwise_and.reduce(tuple(terms))
        result |= np.where(table >> row & 1, term, np.zeros_like(a))
    return result


# Bytes


def _bytes(a: Array, b: Array) -> Array:
    """The eight bytes of b:a, one row a thread, lowest first."""
    both = np.stack((a, b), axis=1)
    return np.ascontiguousarray(both).view(np.uint8)


def _choose(source: Array, places: Array) -> Array:
    chosen = np.take_along_axis(source, places.astype(np.int64), axis=1)
    return np.ascontiguousarray(chosen).view(np.uint32)[:, 0]


@_op("prmt")
def _prmt(_form: Form, a: Array, b: Array, selector: Array) -> Array:
    nibbles = (selector[:, None] >> np.arange(0, 16, 4, dtype=np.uint32)) & 15
    source = _bytes(a, b)
    signs = np.where(source >= 128, np.uint8(255), np.uint8(0))
    plain, filled = _choose(source, nibbles & 7), _choose(signs, nibbles & 7)
    is_sign = _choose(np.broadcast_to(np.array([0, 255], np.uint8), (len(a), 2)), nibbles >> 3)
    return (plain & ~is_sign) | (filled & is_sign)


_PERMUTE: dict[str, Callable[[Array, Array], Array]] = {
    "f4e": lambda n, i: n + i,
    "b4e": lambda n, i: (n - i) & 7,
    "rc8": lambda n, i: n + 0 * i,
    "ecl": lambda n, i: np.maximum(n, i),
    "ecr": lambda n, i: np.minimum(n, i),
    "rc16": lambda n, i: 2 * (n & 1) + (i & 1),
}
"""Mode -> source byte of result byte i for the selector's low bits n."""


@_op("prmt.PERMUTE")
def _prmt_mode(form: Form, a: Array, b: Array, selector: Array) -> Array:
    n = (selector & 3).astype(np.int64)[:, None]
    return _choose(_bytes(a, b), _PERMUTE[form.choice("PERMUTE")](n, np.arange(4)[None, :]))


def _parts(a: Array, size: int, type_name: str) -> Array:
    raw = np.ascontiguousarray(a)[:, None]
    return raw.view(f"{'i' if type_name[0] == 's' else 'u'}{size}").astype(np.int64)


@_op("dp4a")
def _dp4a(form: Form, a: Array, b: Array, c: Array) -> Array:
    products = _parts(a, 1, form.types[0]) * _parts(b, 1, form.types[1])
    total: Array = products.sum(axis=1)
    return np.add(c, total)


@_op("dp2a.lo", "dp2a.hi")
def _dp2a(form: Form, a: Array, b: Array, c: Array) -> Array:
    pair = slice(0, 2) if form.spec.name == "dp2a.lo" else slice(2, 4)
    products = _parts(a, 2, form.types[0]) * _parts(b, 1, form.types[1])[:, pair]
    total: Array = products.sum(axis=1)
    return np.add(c, total)


# Carry chains. The carry is a bool; `subc` adds the complement, so a set carry means "no borrow".


def _add_with(a: Array, b: Array, carry: Array | int) -> tuple[Array, Array]:
    first = _unsigned(a) + _unsigned(b)
    total = first + np.asarray(carry).astype(first.dtype)
    return total, (first < _unsigned(a)) | (total < first)


@_op("add.cc")
def _add_cc(_form: Form, a: Array, b: Array) -> tuple[Array, ...]:
    return _add_with(a, b, 0)


@_op("addc")
def _addc(_form: Form, a: Array, b: Array, carry: Array) -> Array:
    return _add_with(a, b, carry)[0]


@_op("addc.cc")
def _addc_cc(_form: Form, a: Array, b: Array, carry: Array) -> tuple[Array, ...]:
    return _add_with(a, b, carry)


@_op("sub.cc")
def _sub_cc(_form: Form, a: Array, b: Array) -> tuple[Array, ...]:
    return _add_with(a, ~b, 1)


@_op("subc")
def _subc(_form: Form, a: Array, b: Array, carry: Array) -> Array:
    return _add_with(a, ~b, carry)[0]


@_op("subc.cc")
def _subc_cc(_form: Form, a: Array, b: Array, carry: Array) -> tuple[Array, ...]:
    return _add_with(a, ~b, carry)


def _half(form: Form, a: Array, b: Array) -> Array:
    if ".hi" in form.spec.name:
        return _mul_hi(form, a, b).astype(a.dtype)
    return a * b


@_op("mad.lo.cc", "mad.hi.cc")
def _mad_cc(form: Form, a: Array, b: Array, c: Array) -> tuple[Array, ...]:
    return _add_with(_half(form, a, b), c, 0)


@_op("madc.lo", "madc.hi")
def _madc(form: Form, a: Array, b: Array, c: Array, carry: Array) -> Array:
    return _add_with(_half(form, a, b), c, carry)[0]


@_op("madc.lo.cc", "madc.hi.cc")
def _madc_cc(form: Form, a: Array, b: Array, c: Array, carry: Array) -> tuple[Array, ...]:
    return _add_with(_half(form, a, b), c, carry)


# Comparison and selection

_COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}
_COMBINE: dict[str, Callable[[Array, Array], Array]] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}


def _compare(form: Form, a: Array, b: Array) -> Array:
    return _COMPARE[form.choice("EQ", "CMP", "CMPU")](a, b)


@_op("setp.EQ", "setp.CMP", "setp.CMPU")
def _setp(form: Form, a: Array, b: Array) -> tuple[Array, ...]:
    holds = _compare(form, a, b)
    return holds, ~holds


@_op("setp.EQ.BOOL", "setp.CMP.BOOL", "setp.CMPU.BOOL")
def _setp_bool(form: Form, a: Array, b: Array, c: Array) -> tuple[Array, ...]:
    holds, combine = _compare(form, a, b), _COMBINE[form.choice("BOOL")]
    return combine(holds, c), combine(~holds, c)


@_op("set.EQ", "set.CMP", "set.CMPU")
def _set(form: Form, a: Array, b: Array) -> Array:
    return np.where(_compare(form, a, b), -1, 0)


@_op("set.EQ.BOOL", "set.CMP.BOOL")
def _set_bool(form: Form, a: Array, b: Array, c: Array) -> Array:
    return np.where(_COMBINE[form.choice("BOOL")](_compare(form, a, b), c), -1, 0)


@_op("selp")
def _selp(_form: Form, a: Array, b: Array, c: Array) -> Array:
    return np.where(c, a, b)


@_op("slct")
def _slct(_form: Form, a: Array, b: Array, c: Array) -> Array:
    return np.where(c >= 0, a, b)


# Conversion


@_op("mov")
def _mov(_form: Form, a: Array) -> Array:
    return a


@_op("cvt")
def _cvt(form: Form, a: Array) -> Array:
    return a.astype(numpy_type(form.types[0]))


@_op("cvt.sat")
def _cvt_sat(form: Form, a: Array) -> Array:
    want, have = np.iinfo(numpy_type(form.types[0])), np.iinfo(a.dtype)
    low, high = max(want.min, have.min), min(want.max, have.max)
    return np.clip(a, a.dtype.type(low), a.dtype.type(high)).astype(want.dtype)


def numpy_type(type_name: str) -> np.dtype[Any]:
    """Return the numpy type of a PTX type: signed for .s, bool for .pred, the unsigned bit pattern for the rest."""
    scalar = TYPES[type_name]
    if scalar.kind == "p":
        return np.dtype(bool)
    return np.dtype(f"{'i' if scalar.kind == 's' else 'u'}{scalar.size}")


# Read-modify-write: the new value of memory from the old one and the operands


@_op("atom.add", "red.add")
def _atom_add(_form: Form, old: Array, b: Array) -> Array:
    return old + b


@_op("atom.min", "red.min")
def _atom_min(_form: Form, old: Array, b: Array) -> Array:
    return np.minimum(old, b)


@_op("atom.max", "red.max")
def _atom_max(_form: Form, old: Array, b: Array) -> Array:
    return np.maximum(old, b)


@_op("atom.and", "red.and")
def _atom_and(_form: Form, old: Array, b: Array) -> Array:
    return old & b


@_op("atom.or", "red.or")
def _atom_or(_form: Form, old: Array, b: Array) -> Array:
    return old | b


@_op("atom.xor", "red.xor")
def _atom_xor(_form: Form, old: Array, b: Array) -> Array:
    return old ^ b


@_op("atom.exch")
def _atom_exch(_form: Form, _old: Array, b: Array) -> Array:
    return b


@_op("atom.inc", "red.inc")
def _atom_inc(_form: Form, old: Array, b: Array) -> Array:
    return np.where(old >= b, np.zeros_like(old), old + 1)


@_op("atom.dec", "red.dec")
def _atom_dec(_form: Form, old: Array, b: Array) -> Array:
    return np.where((old == 0) | (old > b), b, old - 1)


@_op("atom.cas")
def _atom_cas(_form: Form, old: Array, compare: Array, new: Array) -> Array:
    return np.where(old == compare, new, old)
