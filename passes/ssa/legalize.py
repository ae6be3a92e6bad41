"""Legalisation: ops that the machine lacks become sequences of ops that it has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from qgc.ir.ssa.function import Builder, Const, Function, Op, Value, const
from qgc.ir.ssa.ops import insert
from qgc.ir.ssa.rewrite import rewrite
from qgc.ir.ssa.types import I1, I32, I64, MEMS, Ty
from qgc.passes.ssa.simplify import swapped


@dataclass(frozen=True, slots=True)
class Legalize:
    """Expand what is not an operation of the machine: the result has 32-bit machine ops only.

    With `wide`, expand ops on i64 alone, to ops that `narrow` can split; the stage stays. Division must be gone.
    Bytes and halfwords are read as parts of words.

    Raises:
        QgcError: `ptx-unsupported` for every access that no sequence of word accesses can stand for.
    """

    wide: bool = False
    name: ClassVar[str] = "legalize"
    requires: ClassVar[tuple[str, ...]] = ("ir", "ir-opt")

    @property
    def produces(self) -> str | None:
        """The machine's stage, once everything is expanded."""
        return None if self.wide else "ir-pred"

    def run(self, function: Function) -> bool:
        """Expand until only the machine's ops are left."""
        return rewrite(function, self._expand)

    def _expand(self, op: Op, b: Builder) -> Value | None:
        if self.wide and not any(v.ty is I64 for v in op.operands):
            return None
        expansion = _EXPANSIONS.get(op.name)
        if expansion is None or (self.wide and op.name in _SPLITS):
            return None
        return expansion(op, b)


_SPLITS = ("load", "sext", "zext", "trunc", "popc", "clz", "brev")
"""Ops on i64 that `narrow` splits as they are."""


def _ty(op: Op) -> Ty:
    return op.result.ty if op.result is not None else I32


def _compare(op: Op, b: Builder) -> Value | None:
    """a > b is b < a, a <= b is b >= a."""
    if op.name.split(".")[1] not in ("gt", "le"):
        return None
    return b.emit(swapped(op.name), op.operands[1], op.operands[0])


def _minmax(op: Op, b: Builder) -> Value:
    """Compare and select."""
    x, y = op.operands
    kind, sign = op.name.split(".")
    less = b.emit(f"icmp.lt.{sign}", x, y)
    return b.emit("select", less, *((x, y) if kind == "min" else (y, x)))


def _mulhi_unsigned(op: Op, b: Builder) -> Value:
    """Schoolbook product of half words: the carries of the middle column go up."""
    x, y = op.operands
    half = x.ty.bits // 2
    mask = (1 << half) - 1
    xl, xh = b.emit("and", x, mask), b.emit("shr.u", x, half)
    yl, yh = b.emit("and", y, mask), b.emit("shr.u", y, half)
    low = b.emit("shr.u", b.emit("mul", xl, yl), half)
    left = b.emit("add", b.emit("mul", xh, yl), low)
    right = b.emit("add", b.emit("mul", xl, yh), b.emit("and", left, mask))
    top = b.emit("add", b.emit("mul", xh, yh), b.emit("shr.u", left, half))
    return b.emit("add", top, b.emit("shr.u", right, half))


def _mulhi_signed(op: Op, b: Builder) -> Value:
    """The unsigned high half, less the other operand for each negative one."""
    x, y = op.operands
    bits = x.ty.bits
    high = b.emit("mulhi.u", x, y)
    for a, other in ((x, y), (y, x)):
        if not isinstance(a, Const) or a.ty.signed(a.value) < 0:
            high = b.emit("sub", high, b.emit("and", b.emit("shr.s", a, bits - 1), other))
    return high


def _field(op: Op, b: Builder, at: int) -> tuple[Value, Value]:
    """Position and length; the 32-bit forms read 8 bits of each."""
    position, length = op.operands[at : at + 2]
    if op.operands[0].ty is I32:
        position, length = b.emit("and", position, 255), b.emit("and", length, 255)
    return position, length


def _ones(b: Builder, ty: Ty, length: Value) -> Value:
    """`length` ones at the bottom; shifts clamp, so a length of the width and more gives all ones."""
    return b.emit("xor", b.emit("shl", const(ty, -1), length), -1)


def _bfe_unsigned(op: Op, b: Builder) -> Value:
    """Shift down and mask."""
    x = op.operands[0]
    position, length = _field(op, b, 1)
    return b.emit("and", b.emit("shr.u", x, position), _ones(b, x.ty, length))


def _bfe_signed(op: Op, b: Builder) -> Value:
    """Shift the field's top bit to the top, then down again; what lies above the value is its sign."""
    x = op.operands[0]
    bits = x.ty.bits
    position, length = _field(op, b, 1)
    shifted = b.emit("shr.s", x, position)
    space = b.emit("select", b.emit("icmp.lt.u", length, bits), b.emit("sub", bits, length), 0)
    field = b.emit("shr.s", b.emit("shl", shifted, space), space)
    return b.emit("select", b.emit("icmp.eq", length, 0), const(x.ty, 0), field)


def _bfi(op: Op, b: Builder) -> Value:
    """Mask the field out and the inserted bits in; what is shifted past the top is gone.

    A constant mask costs nothing to complement; another one is used once, on the difference.
    """
    x, base, position, length = op.operands
    if isinstance(position, Const) and isinstance(length, Const):
        mask = insert(x.ty.bits, x.ty.mask, 0, position.value, length.value)
        inserted = b.emit("and", b.emit("shl", x, position), mask)
        return b.emit("or", b.emit("and", base, ~mask), inserted)
    position, length = _field(op, b, 2)
    field = b.emit("shl", _ones(b, x.ty, length), position)
    return b.emit("xor", base, b.emit("and", b.emit("xor", base, b.emit("shl", x, position)), field))


def _sext(op: Op, b: Builder) -> Value:
    return b.emit("select", op.operands[0], const(_ty(op), -1), 0)


def _trunc(op: Op, b: Builder) -> Value | None:
    if _ty(op) is not I1:
        return None
    return b.emit("icmp.ne", b.emit("and", op.operands[0], 1), 0)


def _load(op: Op, b: Builder) -> Value | None:
    """A byte or halfword is a part of an aligned word."""
    mem = MEMS[str(op.attr("mem"))]
    if mem.bytes >= 4:
        return None
    address, size = op.operands[0], 8 * mem.bytes
    word = b.emit("load", b.emit("and", address, -4), attrs=(op.attr("space"), "b32"), guard=op.guard)
    place = b.emit("shl", b.emit("and", address, 3), 3)
    if mem.is_signed:
        top = b.emit("shl", word, b.emit("sub", 32 - size, place))
        return b.emit("shr.s", top, 32 - size)
    return b.emit("and", b.emit("shr.u", word, place), (1 << size) - 1)


_EXPANSIONS: dict[str, Callable[[Op, Builder], Value | None]] = {
    **{f"icmp.{r}.{s}": _compare for r in ("le", "gt") for s in "su"},
    **{f"{kind}.{s}": _minmax for kind in ("min", "max") for s in "su"},
    "mulhi.u": _mulhi_unsigned,
    "mulhi.s": _mulhi_signed,
    "bfe.u": _bfe_unsigned,
    "bfe.s": _bfe_signed,
    "bfi": _bfi,
    "sext": _sext,
    "trunc": _trunc,
    "load": _load,
}
