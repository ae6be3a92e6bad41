"""Moves, conversions, comparisons and selections (PTX ISA 9.7.7, 9.7.6, 9.7.9)."""

from __future__ import annotations

from collections.abc import Callable

from qgc.backends.ssa.context import Context, type_of
from qgc.ir.ptx.ast import Operand, Pair, Vector
from qgc.ir.ptx.types import TYPES, ScalarType
from qgc.ir.ssa.function import Value, const
from qgc.ir.ssa.types import I32, I64, Ty

U32 = TYPES["u32"]

_COMPARE = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}
_COMPARE_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_COMBINE = ("and", "or", "xor")


def lower_mov(c: Context) -> None:
    """`mov` of registers, constants, special registers and addresses; packing and unpacking of vectors."""
    d, a = c.instruction.operands
    if isinstance(d, Vector):
        _unpack(c, d, c.source(a))
    elif isinstance(a, Vector):
        c.write(d, _pack(c, a))
    else:
        c.write(d, c.source(a))


def _element(c: Context, vector: Vector) -> ScalarType:
    """The type of a vector's elements: the instruction's bits shared among them."""
    bits = c.type.bits // len(vector.items)
    if bits not in (16, 32):
        raise c.unsupported("elements of a packed register have 16 or 32 bits")
    return TYPES[f"u{bits}"]


def _pack(c: Context, vector: Vector) -> Value:
    element, ty = _element(c, vector), type_of(c.type)
    result: Value | None = None
    for place, item in enumerate(vector.items):
        value = c.extend(c.source(item, element), element, ty)
        if place:
            value = c.emit("shl", value, place * element.bits)
        result = value if result is None else c.emit("or", result, value)
    return result if result is not None else const(ty, 0)


def _unpack(c: Context, vector: Vector, value: Value) -> None:
    element = _element(c, vector)
    for place, item in enumerate(vector.items):
        part = c.emit("shr.u", value, place * element.bits) if place else value
        if part.ty is I64:
            part = c.emit("trunc", part, ty=I32)
        c.write(item, part, element)


def lower_cvt(c: Context) -> None:
    """`cvt` between integers: read by the source type, clamp under `.sat`, give the destination type's bits."""
    d, a = c.instruction.operands
    types = c.types
    if len(types) != 2 or any(t.kind not in "su" or t.bits > 64 for t in types):
        raise c.unsupported("the machine converts between integers of at most 64 bits")
    to, source = types
    value = c.number(a, source)
    if c.has("sat"):
        value = _clamp(c, value, to, source)
    c.write(d, _resize(c, value, source, type_of(to)), to)


def _clamp(c: Context, value: Value, to: ScalarType, source: ScalarType) -> Value:
    """The nearest number that `to` can hold."""
    low, high = _range(to)
    source_low, source_high = _range(source)
    sign = source.kind
    if low > source_low:
        value = c.emit(f"max.{sign}", value, low)
    if high < source_high:
        value = c.emit(f"min.{sign}", value, high)
    return value


def _range(scalar: ScalarType) -> tuple[int, int]:
    half = 1 << (scalar.bits - 1)
    return (-half, half - 1) if scalar.kind == "s" else (0, 2 * half - 1)


def _resize(c: Context, value: Value, source: ScalarType, ty: Ty) -> Value:
    if ty.bits < value.ty.bits:
        return c.emit("trunc", value, ty=ty)
    if ty.bits > value.ty.bits:
        return c.emit("sext" if source.kind == "s" else "zext", value, ty=ty)
    return value


def lower_cvta(c: Context) -> None:
    """`cvta`: generic and global addresses are the same numbers; other spaces have no generic addresses here."""
    d, a = c.instruction.operands
    if not c.has("global") and not (c.has("to") and c.generic_is_global):
        hint = "shared, local and constant memory are reached through their own state spaces only"
        raise c.unsupported(hint)
    c.write(d, c.source(a))


def _compare(c: Context, a: Operand, b: Operand) -> Value:
    modifier = c.instruction.modifiers[0]
    scalar = c.integer_type()
    op = _COMPARE_UNSIGNED.get(modifier) or _COMPARE.get(modifier)
    if op is None:
        raise c.unsupported("comparisons of integers are eq, ne, lt, le, gt, ge, lo, ls, hi, hs")
    if op not in ("eq", "ne"):
        op = f"{op}.{'s' if scalar.kind == 's' else 'u'}"
    return c.emit(f"icmp.{op}", c.number(a, scalar), c.number(b, scalar))


def _combined(c: Context, result: Value, operands: tuple[Operand, ...]) -> Value:
    """Combine with the predicate that `.and`, `.or` or `.xor` names."""
    op = next((m for m in c.instruction.modifiers[1:] if m in _COMBINE), None)
    if op is None:
        return result
    return c.emit(op, result, c.source(operands[0], TYPES["pred"]))


def lower_setp(c: Context) -> None:
    """`setp`: p = (a cmp b) op c, and q = !(a cmp b) op c when there is a second destination."""
    d, a, b, *rest = c.instruction.operands
    result = _compare(c, a, b)
    p = _combined(c, result, tuple(rest))
    q = _combined(c, c.builder.negate(result), tuple(rest)) if isinstance(d, Pair) else p
    pred = TYPES["pred"]
    if isinstance(d, Pair):
        c.write(d.first, p, pred)
        c.write(d.second, q, pred)
    else:
        c.write(d, p, pred)


def lower_set(c: Context) -> None:
    """`set`: all ones where the comparison holds, else 0."""
    d, a, b, *rest = c.instruction.operands
    if c.types[0].kind == "f":
        raise c.unsupported("the machine computes on integers")
    result = _combined(c, _compare(c, a, b), tuple(rest))
    c.write(d, c.emit("select", result, const(I32, -1), 0), U32)


def lower_selp(c: Context) -> None:
    """`selp`."""
    d, a, b, p = c.instruction.operands
    c.write(d, c.emit("select", c.source(p, TYPES["pred"]), c.source(a), c.source(b)))


def lower_slct(c: Context) -> None:
    """`slct`: a where the third operand is at least 0, else b."""
    d, a, b, sign = c.instruction.operands
    to, tested = c.types
    if tested.kind == "f":
        raise c.unsupported("the machine computes on integers")
    condition = c.emit("icmp.ge.s", c.source(sign, tested), 0)
    c.write(d, c.emit("select", condition, c.source(a, to), c.source(b, to)), to)


MOVES: dict[str, Callable[[Context], None]] = {
    "mov": lower_mov,
    "cvt": lower_cvt,
    "cvta": lower_cvta,
    "setp": lower_setp,
    "set": lower_set,
    "selp": lower_selp,
    "slct": lower_slct,
}
"""The lowering of each opcode."""
