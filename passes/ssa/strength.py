"""Strength reduction: multiplication and division by constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from qgc.ir.ssa.function import Builder, Function, Op, Value
from qgc.ir.ssa.rewrite import const_operand, rewrite


@dataclass(frozen=True, slots=True)
class StrengthReduction:
    """Powers of two become shifts and masks; other unsigned and signed divisors become a high product.

    Keeps: effects and control flow.
    """

    name: ClassVar[str] = "strength"
    requires: ClassVar[tuple[str, ...]] = ("ir", "ir-opt")
    produces: ClassVar[str | None] = None

    def run(self, function: Function) -> bool:
        """Reduce every op on a constant."""
        return rewrite(function, _reduce)


def _reduce(op: Op, b: Builder) -> Value | None:
    if op.name not in ("mul", "div.u", "rem.u", "div.s", "rem.s"):
        return None
    c = const_operand(op)
    if c is None or c == 0:
        return None
    if op.name == "mul":
        return _multiply(op, b, c)
    if op.name.endswith(".u"):
        quotient = _divide_unsigned(op.operands[0], c, b)
    else:
        quotient = _divide_signed(op.operands[0], op.operands[0].ty.signed(c), b)
    if op.name.startswith("div"):
        return quotient
    if op.name == "rem.u" and c & (c - 1) == 0:
        return b.emit("and", op.operands[0], c - 1)
    return b.emit("sub", op.operands[0], b.emit("mul", quotient, op.operands[1]))


def _multiply(op: Op, b: Builder, c: int) -> Value | None:
    x = op.operands[0]
    if c & (c - 1) == 0:
        return b.emit("shl", x, c.bit_length() - 1)
    if x.ty.wrap(-c) == 1:
        return b.emit("sub", 0, x)
    return None


def _divide_unsigned(x: Value, c: int, b: Builder) -> Value:
    """x / c as a shifted high product.

    Source: T. Granlund, P. Montgomery, Division by Invariant Integers using Multiplication (1994), figure 4.1: with
    l = ceil(log2 c) and m = floor(2^N (2^l - c) / c) + 1, and t the high half of m x, the quotient is
    (t + ((x - t) >> 1)) >> (l - 1).
    """
    if c & (c - 1) == 0:
        return b.emit("shr.u", x, c.bit_length() - 1)
    bits, length = x.ty.bits, (c - 1).bit_length()
    multiplier = (((1 << length) - c) << bits) // c + 1
    high = b.emit("mulhi.u", x, multiplier)
    half = b.emit("shr.u", b.emit("sub", x, high), 1)
    return b.emit("shr.u", b.emit("add", high, half), length - 1)


def _divide_signed(x: Value, c: int, b: Builder) -> Value:
    """x / c toward zero.

    Source: the same paper, figure 5.2: with l = max(ceil(log2 |c|), 1) and m = floor(2^(N + l - 1) / |c|) + 1 - 2^N,
    the quotient of |c| is ((x + the signed high half of m x) >> (l - 1)) - (x < 0 ? -1 : 0).
    """
    bits, size = x.ty.bits, abs(c)
    sign = b.emit("shr.s", x, bits - 1)
    if size == 1:
        quotient = x
    elif size & (size - 1) == 0:
        shift = size.bit_length() - 1
        rounded = b.emit("add", x, b.emit("shr.u", sign, bits - shift))
        quotient = b.emit("shr.s", rounded, shift)
    else:
        length = max((size - 1).bit_length(), 1)
        multiplier = (1 << (bits + length - 1)) // size + 1 - (1 << bits)
        high = b.emit("add", x, b.emit("mulhi.s", x, multiplier))
        quotient = b.emit("sub", b.emit("shr.s", high, length - 1), sign)
    return b.emit("sub", 0, quotient) if c < 0 else quotient
