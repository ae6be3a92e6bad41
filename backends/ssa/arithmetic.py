"""Integer arithmetic, logic, shifts and bit fields (PTX ISA 9.7.1, 9.7.2, 9.7.8)."""

from __future__ import annotations

from collections.abc import Callable

from qgc.backends.ssa.context import CARRY, Context
from qgc.ir.ptx.ast import Imm, Operand
from qgc.ir.ptx.types import TYPES, ScalarType
from qgc.ir.ssa.function import Value, const
from qgc.ir.ssa.types import I32, I64

U32 = TYPES["u32"]


def _by_sign(name: str, scalar: ScalarType) -> str:
    return f"{name}.{'s' if scalar.kind == 's' else 'u'}"


def _binary(op: str) -> Callable[[Context], None]:
    """An op that needs no more than the low bits of its operands, and gives no more."""

    def lower(c: Context) -> None:
        d, a, b = c.instruction.operands
        c.integer_type()
        c.write(d, c.emit(op, c.source(a), c.source(b)))

    return lower


def _signed(op: str) -> Callable[[Context], None]:
    """An op that exists for signed and for unsigned numbers."""

    def lower(c: Context) -> None:
        d, a, b = c.instruction.operands
        c.write(d, c.emit(_by_sign(op, c.integer_type()), c.number(a), c.number(b)))

    return lower


def lower_add_sub(c: Context) -> None:
    """`add`, `sub`; `.sat.s32` clamps, `.cc` writes the carry."""
    d, a, b = c.instruction.operands
    c.integer_type()
    x, y, op = c.source(a), c.source(b), c.instruction.opcode
    if c.has("cc"):
        carry_in = 0 if op == "add" else 1
        c.write(d, _with_carry(c, x, y if op == "add" else c.emit("xor", y, -1), carry_in))
        return
    result = c.emit(op, x, y)
    c.write(d, _saturate(c, op, x, y, result) if c.has("sat") else result)


def _saturate(c: Context, op: str, x: Value, y: Value, result: Value) -> Value:
    """`add` overflows when both operands differ in sign from the result, `sub` when x differs from y and result."""
    differs = c.emit("xor", y, result) if op == "add" else c.emit("xor", x, y)
    overflow = c.emit("icmp.lt.s", c.emit("and", c.emit("xor", x, result), differs), 0)
    limit = c.emit("xor", c.emit("shr.s", x, 31), 0x7FFFFFFF)
    return c.emit("select", overflow, limit, result)


def _with_carry(c: Context, x: Value, y: Value, carry: Value | int) -> Value:
    """x + y + carry; with `.cc` the carry out is kept. `sub` adds the complement: the flag is NOT borrow."""
    total = c.emit("add", x, y)
    out = c.emit("icmp.lt.u", total, x)
    result = total
    if carry != 0:
        result = c.emit("add", total, carry if isinstance(carry, int) else c.emit("zext", carry, ty=x.ty))
        out = c.emit("or", out, c.emit("icmp.lt.u", result, total))
    if c.has("cc"):
        c.write_register(CARRY, out)
    return result


def lower_add_carry(c: Context) -> None:
    """`addc`, `subc` (PTX ISA 9.7.2)."""
    d, a, b = c.instruction.operands
    c.integer_type()
    y = c.source(b)
    if c.instruction.opcode == "subc":
        y = c.emit("xor", y, -1)
    c.write(d, _with_carry(c, c.source(a), y, c.read_register(CARRY)))


def _product(c: Context, a: Operand, b: Operand) -> tuple[Value, ScalarType]:
    """The product that `.lo`, `.hi` or `.wide` of `mul` and `mad` asks for, and its type."""
    scalar = c.integer_type()
    x, y = c.number(a), c.number(b)
    if c.has("wide"):
        wide = TYPES[f"{scalar.kind}{2 * scalar.bits}"]
        if scalar.bits == 32:
            x, y = c.extend(x, scalar, I64), c.extend(y, scalar, I64)
        return c.emit("mul", x, y), wide
    if not c.has("hi"):
        return c.emit("mul", x, y), scalar
    if scalar.bits < 32:
        shift = "shr.s" if scalar.kind == "s" else "shr.u"
        return c.emit(shift, c.emit("mul", x, y), scalar.bits), scalar
    return c.emit(_by_sign("mulhi", scalar), x, y), scalar


def lower_mul(c: Context) -> None:
    """`mul.lo`, `mul.hi`, `mul.wide`."""
    d, a, b = c.instruction.operands
    product, scalar = _product(c, a, b)
    c.write(d, product, scalar)


def lower_mad(c: Context) -> None:
    """`mad`, `madc`: the product plus the third operand, which has the product's type."""
    d, a, b, addend = c.instruction.operands
    product, scalar = _product(c, a, b)
    z = c.source(addend, scalar)
    if c.has("cc") or c.instruction.opcode == "madc":
        carry = c.read_register(CARRY) if c.instruction.opcode == "madc" else 0
        c.write(d, _with_carry(c, product, z, carry), scalar)
        return
    result = c.emit("add", product, z)
    c.write(d, _saturate(c, "add", product, z, result) if c.has("sat") else result, scalar)


def _product24(c: Context, a: Operand, b: Operand) -> Value:
    """`mul24`: 24-bit factors; `.lo` is bits 0 to 31 of the product, `.hi` bits 16 to 47 (PTX ISA 9.7.1)."""
    scalar = c.integer_type()
    shift = _by_sign("shr", scalar)
    x, y = (c.emit(shift, c.emit("shl", c.source(operand), 8), 8) for operand in (a, b))
    low = c.emit("mul", x, y)
    if not c.has("hi"):
        return low
    high = c.emit(_by_sign("mulhi", scalar), x, y)
    return c.emit("or", c.emit("shr.u", low, 16), c.emit("shl", high, 16))


def lower_mul24(c: Context) -> None:
    """`mul24`, `mad24`."""
    d, a, b, *addend = c.instruction.operands
    product = _product24(c, a, b)
    if not addend:
        c.write(d, product)
        return
    z = c.source(addend[0])
    result = c.emit("add", product, z)
    c.write(d, _saturate(c, "add", product, z, result) if c.has("sat") else result)


def lower_neg(c: Context) -> None:
    """`neg`."""
    d, a = c.instruction.operands
    c.integer_type()
    x = c.source(a)
    c.write(d, c.emit("sub", 0, x))


def lower_abs(c: Context) -> None:
    """`abs`; of the smallest number it is that number itself."""
    d, a = c.instruction.operands
    c.integer_type()
    x = c.number(a)
    c.write(d, c.emit("max.s", x, c.emit("sub", 0, x)))


def lower_sad(c: Context) -> None:
    """`sad`: the third operand plus |a - b|."""
    d, a, b, addend = c.instruction.operands
    scalar = c.integer_type()
    x, y = c.number(a), c.number(b)
    distance = c.emit("sub", c.emit(_by_sign("max", scalar), x, y), c.emit(_by_sign("min", scalar), x, y))
    c.write(d, c.emit("add", c.source(addend), distance))


def lower_not(c: Context) -> None:
    """`not`."""
    d, a = c.instruction.operands
    c.integer_type()
    c.write(d, c.emit("xor", c.source(a), -1))


def lower_cnot(c: Context) -> None:
    """`cnot`: 1 where the operand is 0, else 0."""
    d, a = c.instruction.operands
    x = c.number(a, c.integer_type())
    c.write(d, c.emit("zext", c.emit("icmp.eq", x, 0), ty=I32))


def lower_shift(c: Context) -> None:
    """`shl`, `shr`: the amount is an unsigned 32-bit number and clamps at the width."""
    d, a, amount = c.instruction.operands
    scalar = c.integer_type()
    n = c.source(amount, U32)
    if c.instruction.opcode == "shl":
        c.write(d, c.emit("shl", c.source(a), n))
        return
    c.write(d, c.emit(_by_sign("shr", scalar), c.number(a), n))


def lower_funnel(c: Context) -> None:
    """`shf.l`, `shf.r`: shift the 64 bits {b, a}; because shifts clamp, an amount of 0 or 32 needs no case."""
    d, a, b, amount = c.instruction.operands
    low, high, n = c.source(a), c.source(b), c.source(amount, U32)
    n = c.emit("and", n, 31) if c.has("wrap") else c.emit("min.u", n, 32)
    rest = c.emit("sub", 32, n)
    if c.has("l"):
        c.write(d, c.emit("or", c.emit("shl", high, n), c.emit("shr.u", low, rest)))
    else:
        c.write(d, c.emit("or", c.emit("shr.u", low, n), c.emit("shl", high, rest)))


def lower_count(c: Context) -> None:
    """`popc`, `clz`: the result is a 32-bit number for either width."""
    d, a = c.instruction.operands
    c.write(d, c.emit(c.instruction.opcode, c.source(a)), U32)


def lower_brev(c: Context) -> None:
    """`brev`."""
    d, a = c.instruction.operands
    c.write(d, c.emit("brev", c.source(a)))


def lower_bfind(c: Context) -> None:
    """`bfind`: the place of the highest bit that differs from the sign, all ones when there is none."""
    d, a = c.instruction.operands
    scalar = c.integer_type()
    x = c.source(a)
    if scalar.kind == "s":
        x = c.emit("xor", x, c.emit("shr.s", x, scalar.bits - 1))
    zeros = c.emit("clz", x)
    if c.has("shiftamt"):
        found = c.emit("select", c.emit("icmp.eq", x, 0), -1, zeros)
    else:
        found = c.emit("sub", scalar.bits - 1, zeros)
    c.write(d, found, U32)


def lower_bfe(c: Context) -> None:
    """`bfe`."""
    d, a, position, length = c.instruction.operands
    op = _by_sign("bfe", c.integer_type())
    c.write(d, c.emit(op, c.source(a), c.source(position, U32), c.source(length, U32)))


def lower_bfi(c: Context) -> None:
    """`bfi`: insert a into b."""
    d, a, b, position, length = c.instruction.operands
    fields = c.source(position, U32), c.source(length, U32)
    c.write(d, c.emit("bfi", c.source(a), c.source(b), *fields))


def lower_prmt(c: Context) -> None:
    """`prmt` in its default mode: each selector nibble names one of the 8 bytes of {b, a}, or its sign."""
    if len(c.instruction.modifiers) > 1:
        raise c.unsupported("only the default mode of prmt is lowered")
    d, a, b, selector = c.instruction.operands
    low, high, select = c.source(a), c.source(b), c.source(selector)
    result: Value = const(I32, 0)
    for i in range(4):
        nibble = c.emit("shr.u", select, 4 * i)
        shift = c.emit("shl", c.emit("and", nibble, 3), 3)
        word = c.emit("select", c.emit("icmp.ne", c.emit("and", nibble, 4), 0), high, low)
        byte = c.emit("and", c.emit("shr.u", word, shift), 255)
        sign = c.emit("mul", c.emit("shr.u", byte, 7), 255)
        byte = c.emit("select", c.emit("icmp.ne", c.emit("and", nibble, 8), 0), sign, byte)
        result = c.emit("or", result, c.emit("shl", byte, 8 * i))
    c.write(d, result)


_TWO_INPUT: dict[int, Callable[[Context, Value, Value], Value]] = {
    0b0000: lambda c, a, b: const(I32, 0),
    0b1111: lambda c, a, b: const(I32, -1),
    0b1100: lambda c, a, b: a,
    0b1010: lambda c, a, b: b,
    0b1000: lambda c, a, b: c.emit("and", a, b),
    0b1110: lambda c, a, b: c.emit("or", a, b),
    0b0110: lambda c, a, b: c.emit("xor", a, b),
    0b0100: lambda c, a, b: c.emit("and", a, c.emit("xor", b, -1)),
    0b0010: lambda c, a, b: c.emit("and", c.emit("xor", a, -1), b),
}
"""Bitwise functions of two inputs by truth table: bit 2a + b is the result. The rest are complements of these."""


def _two_input(c: Context, table: int, a: Value, b: Value) -> Value:
    if table in _TWO_INPUT:
        return _TWO_INPUT[table](c, a, b)
    return c.emit("xor", _TWO_INPUT[table ^ 0b1111](c, a, b), -1)


def lower_lop3(c: Context) -> None:
    """`lop3`: bit 4a + 2b + c of the table is the result; choose by `a` between two functions of b and c."""
    d, x, y, z, table = c.instruction.operands
    if not isinstance(table, Imm) or c.has("and") or c.has("or"):
        raise c.unsupported("lop3 is lowered with a constant table and without a predicate")
    a, y_value, z_value = c.source(x), c.source(y), c.source(z)
    zero, one = table.value & 15, table.value >> 4 & 15
    low = _two_input(c, zero, y_value, z_value)
    if zero == one:
        c.write(d, low)
    elif zero == one ^ 15:
        c.write(d, c.emit("xor", a, low))
    else:
        high = _two_input(c, one, y_value, z_value)
        different = c.emit("xor", high, low)
        c.write(d, c.emit("xor", low, c.emit("and", a, different)))


ARITHMETIC: dict[str, Callable[[Context], None]] = {
    "add": lower_add_sub,
    "sub": lower_add_sub,
    "addc": lower_add_carry,
    "subc": lower_add_carry,
    "mul": lower_mul,
    "mad": lower_mad,
    "madc": lower_mad,
    "mul24": lower_mul24,
    "mad24": lower_mul24,
    "div": _signed("div"),
    "rem": _signed("rem"),
    "min": _signed("min"),
    "max": _signed("max"),
    "neg": lower_neg,
    "abs": lower_abs,
    "sad": lower_sad,
    "and": _binary("and"),
    "or": _binary("or"),
    "xor": _binary("xor"),
    "not": lower_not,
    "cnot": lower_cnot,
    "shl": lower_shift,
    "shr": lower_shift,
    "shf": lower_funnel,
    "popc": lower_count,
    "clz": lower_count,
    "brev": lower_brev,
    "bfind": lower_bfind,
    "bfe": lower_bfe,
    "bfi": lower_bfi,
    "prmt": lower_prmt,
    "lop3": lower_lop3,
}
"""The lowering of each opcode."""
