"""Constant expressions: C's operators on 64-bit integers (PTX ISA 4.5), folded while parsing."""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from qgc.ir.ptx.ast import Imm, ImmKind

_WARP_SIZE = 32
_BITS = 64
_PRECEDENCE: dict[str, int] = {
    "||": 1,
    "&&": 2,
    "|": 3,
    "^": 4,
    "&": 5,
    **dict.fromkeys(("==", "!="), 6),
    **dict.fromkeys(("<", "<=", ">", ">="), 7),
    **dict.fromkeys(("<<", ">>"), 8),
    **dict.fromkeys(("+", "-"), 9),
    **dict.fromkeys(("*", "/", "%"), 10),
}
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "&&": lambda a, b: a != 0 and b != 0,
    "||": lambda a, b: a != 0 or b != 0,
}
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "/": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "%": lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1),
}


@dataclass(frozen=True, slots=True)
class Constant:
    """A folded constant. `value` is signed or unsigned 64-bit, or the bit pattern of a float literal."""

    value: int
    unsigned: bool = False
    kind: ImmKind = ImmKind.INT


def literal(kind: str, text: str) -> Constant:
    """Read a literal token. `kind` is the terminal of the grammar: INT, F32, F64, DECIMAL or WARP_SZ.

    An integer is .s64 unless it is spelled with U or needs bit 63, then .u64; only its low 64 bits count.
    """
    if kind == "WARP_SZ":
        return Constant(_WARP_SIZE)
    if kind == "DECIMAL":
        return Constant(int.from_bytes(struct.pack(">d", float(text)), "big"), kind=ImmKind.F64)
    if kind in ("F32", "F64"):
        return Constant(int("0x" + text[2:], 0), kind=ImmKind[kind])
    digits = text.rstrip("U")
    is_octal = digits.startswith("0") and digits.isdigit() and len(digits) > 1
    value = int(digits, 8 if is_octal else 0)
    return _wrap(value, digits != text or value >> (_BITS - 1) != 0)


def unary(op: str, arg: Constant) -> Constant:
    """Apply `+ - ~ !`. Raises ValueError for an operator that the operand's kind does not have."""
    if op == "+":
        return arg
    if arg.kind is not ImmKind.INT:
        if op != "-":
            raise ValueError(f"operator {op} needs an integer")
        return Constant(arg.value ^ 1 << (31 if arg.kind is ImmKind.F32 else 63), kind=arg.kind)
    if op == "!":
        return Constant(int(arg.value == 0))
    return _wrap(-arg.value if op == "-" else ~arg.value, arg.unsigned)


def cast(type_name: str, arg: Constant) -> Constant:
    """Apply `(.s64)` or `(.u64)`, the only casts there are."""
    if arg.kind is not ImmKind.INT or type_name not in ("s64", "u64"):
        raise ValueError(f"no constant cast to .{type_name}; .s64 and .u64 exist")
    return _wrap(arg.value, type_name == "u64")


def fold(items: Sequence[Constant | str]) -> Constant:
    """Fold `unit (operator unit)*` by C's precedence. Raises ValueError on a malformed or undefined expression."""
    value, position = _fold_conditional(items, 0)
    if position != len(items):
        raise ValueError(f"operator {items[position]} has no place here")
    return value


def _fold_conditional(items: Sequence[Constant | str], position: int) -> tuple[Constant, int]:
    """Fold `a ? b : c ? d : e`, choosing from the left: a loop, because the right arm alone may nest."""
    while True:
        value, position = _fold_binary(items, position, 1)
        if position == len(items) or items[position] != "?":
            return value, position
        then, colon = _fold_binary(items, position + 1, 1)
        if colon == len(items) or items[colon] != ":":
            raise ValueError("? without its :")
        if value.value != 0:
            return then, len(items)
        position = colon + 1


def _fold_binary(items: Sequence[Constant | str], position: int, level: int) -> tuple[Constant, int]:
    left = _constant(items[position])
    position += 1
    while position < len(items):
        op = str(items[position])
        precedence = _PRECEDENCE.get(op, 0)
        if precedence < level:
            break
        right, position = _fold_binary(items, position + 1, precedence + 1)
        left = binary(op, left, right)
    return left, position


def _constant(item: Constant | str) -> Constant:
    """Narrow the type: the grammar puts a unit on every even place."""
    if isinstance(item, Constant):
        return item
    raise ValueError(f"operator {item} has no left operand")


def binary(op: str, left: Constant, right: Constant) -> Constant:
    """Apply a binary operator. Raises ValueError for float operands and for division by zero."""
    if left.kind is not ImmKind.INT or right.kind is not ImmKind.INT:
        raise ValueError(f"operator {op} needs integers")
    if op in ("<<", ">>"):
        return _shift(op, left, right)
    unsigned = left.unsigned or right.unsigned
    a, b = _wrap(left.value, unsigned).value, _wrap(right.value, unsigned).value
    if op in _COMPARE:
        return Constant(int(_COMPARE[op](a, b)))
    if op in ("/", "%") and b == 0:
        raise ValueError("division by zero in a constant")
    return _wrap(_ARITHMETIC[op](a, b), unsigned)


def _shift(op: str, left: Constant, right: Constant) -> Constant:
    if not 0 <= right.value < _BITS:
        raise ValueError(f"shift by {right.value} in a constant; 0 to 63 are defined")
    value = left.value << right.value if op == "<<" else left.value >> right.value
    return _wrap(value, left.unsigned)


def _wrap(value: int, unsigned: bool) -> Constant:
    value &= (1 << _BITS) - 1
    if not unsigned and value >> (_BITS - 1):
        value -= 1 << _BITS
    return Constant(value, unsigned)


def literal_bits(imm: Imm, type_name: str) -> int:
    """Return the bits of a literal in a float type, or the integer itself: its low bits count (PTX ISA 4.5).

    A literal of the other float width is converted: 0d3FF0000000000000 in an .f32 instruction is 0f3F800000.
    """
    if imm.kind is ImmKind.F64 and type_name in ("f32", "b32"):
        return int(_reinterpret(">f", _rounded(_reinterpret(">Q", imm.value, ">d")), ">I"))
    if imm.kind is ImmKind.F32 and type_name in ("f64", "b64"):
        return int(_reinterpret(">d", _reinterpret(">I", imm.value, ">f"), ">Q"))
    return imm.value


def _reinterpret(source: str, value: float, target: str) -> Any:
    return struct.unpack(target, struct.pack(source, value))[0]


def _rounded(value: float) -> float:
    """Round to f32; what is too large becomes infinite."""
    try:
        return float(_reinterpret(">f", value, ">f"))
    except OverflowError:
        return math.copysign(math.inf, value)
