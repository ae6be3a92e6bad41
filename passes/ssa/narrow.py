"""Narrowing: every 64-bit value becomes two 32-bit halves.

A half that nobody needs is then dead code: pointer arithmetic loses its upper half without any assumption about
pointers, and a kernel that needs 64 bits keeps both halves. Addresses have 32 bits: memory reads the lower half.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from qgc.diagnostics import Diagnostic, QgcError
from qgc.ir.ssa.cfg import Cfg
from qgc.ir.ssa.function import Attr, Builder, Const, Function, Op, Value, const, make
from qgc.ir.ssa.types import I1, I32, I64

Halves: TypeAlias = tuple[Value, Value]
"""The lower and the upper half of a 64-bit value."""


@dataclass(frozen=True, slots=True)
class Narrow:
    """Split i64 into i32 halves. Needs wide division, extrema and bit fields expanded before.

    Raises:
        QgcError: `ptx-unsupported` for 64-bit atomics, which two 32-bit ones cannot stand for.
    """

    name: ClassVar[str] = "narrow"
    requires: ClassVar[tuple[str, ...]] = ("ir",)
    produces: ClassVar[str | None] = "ir-opt"

    def run(self, function: Function) -> bool:
        """Split every i64 of the function."""
        return _Splitter(function).run()


class _Splitter:
    """Holds the halves of every 64-bit value, and the 32-bit values that replace results of split ops."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.halves: dict[Value, Halves] = {}
        self.whole: dict[Value, Value] = {}
        self.phis: list[tuple[Op, Op, Op]] = []

    def run(self) -> bool:
        wide = [op for op in self.function.ops() if _is_wide(op)]
        if faults := [_fault(op) for op in wide if op.name in ("atomic", "cas") and op.operands[1].ty is I64]:
            raise QgcError(*faults)
        for op in wide:
            if op.name == "phi":
                self.open_phi(op)
        parts = {phi: (low, high) for phi, low, high in self.phis}
        for block in Cfg(self.function).dominator_preorder:
            ops: list[Op] = []
            for op in block.ops:
                if op in parts:
                    ops.extend(parts[op])
                elif _is_wide(op):
                    self.split(op, ops)
                else:
                    ops.append(op)
            block.ops = ops
        for phi, low, high in self.phis:
            for half, part in enumerate((low, high)):
                part.operands = [self.of(value)[half] for value in phi.operands]
        self.function.replace_uses(self.whole)
        return bool(wide)

    def of(self, value: Value) -> Halves:
        """The halves of a 64-bit value."""
        if isinstance(value, Const):
            return const(I32, value.value), const(I32, value.value >> 32)
        return self.halves[value]

    def open_phi(self, op: Op) -> None:
        """Make the two phis; their operands come when everything is split."""
        if op.result is None:
            return
        name = op.result.name
        low, high = (make("phi", ty=I32, hint=hint, span=op.span) for hint in (name, f"{name}.hi"))
        low.blocks, high.blocks = list(op.blocks), list(op.blocks)
        if low.result is not None and high.result is not None:
            self.halves[op.result] = (low.result, high.result)
        self.phis.append((op, low, high))

    def split(self, op: Op, ops: list[Op]) -> None:
        """Append the parts of an op that has a 64-bit operand or result."""
        b = Builder(ops, op.span, op.result.name if op.result is not None else "")
        if op.name in _ACCESSES:
            op.operands[0] = self.of(op.operands[0])[0] if op.operands[0].ty is I64 else op.operands[0]
            if not _is_wide(op):
                ops.append(op)
                return
        result = _SPLIT[op.name](self, op, b)
        if op.result is None:
            return
        if isinstance(result, tuple):
            self.halves[op.result] = result
            if result[1].op is not None and result[1].name == op.result.name:
                result[1].name += ".hi"
        elif result is not None:
            self.whole[op.result] = result


_ACCESSES = ("load", "store", "atomic", "cas")


def _is_wide(op: Op) -> bool:
    return any(v.ty is I64 for v in op.uses) or (op.result is not None and op.result.ty is I64)


def _fault(op: Op) -> Diagnostic:
    hint = "the machine's words have 32 bits: use 32-bit atomics"
    return Diagnostic("ptx-unsupported", "64-bit atomics are not supported", op.span, hint)


Split: TypeAlias = Callable[[_Splitter, Op, Builder], Halves | Value | None]


def _param(s: _Splitter, op: Op, b: Builder) -> Halves:
    offset = int(op.attr("offset"))
    return b.emit("param", ty=I32, attrs=(offset,)), b.emit("param", ty=I32, attrs=(offset + 4,))


def _add(s: _Splitter, op: Op, b: Builder) -> Halves:
    """The lower sum is less than an operand where it carries."""
    (al, ah), (bl, bh) = (s.of(v) for v in op.operands)
    low = b.emit("add", al, bl)
    carry = b.emit("zext", b.emit("icmp.lt.u", low, al), ty=I32)
    return low, b.emit("add", b.emit("add", ah, bh), carry)


def _sub(s: _Splitter, op: Op, b: Builder) -> Halves:
    (al, ah), (bl, bh) = (s.of(v) for v in op.operands)
    borrow = b.emit("zext", b.emit("icmp.lt.u", al, bl), ty=I32)
    return b.emit("sub", al, bl), b.emit("sub", b.emit("sub", ah, bh), borrow)


def _mul(s: _Splitter, op: Op, b: Builder) -> Halves:
    """The cross products reach the upper half only; that of the upper halves is gone."""
    (al, ah), (bl, bh) = (s.of(v) for v in op.operands)
    cross = b.emit("add", b.emit("mul", al, bh), b.emit("mul", ah, bl))
    return b.emit("mul", al, bl), b.emit("add", b.emit("mulhi.u", al, bl), cross)


def _bitwise(s: _Splitter, op: Op, b: Builder) -> Halves:
    (al, ah), (bl, bh) = (s.of(v) for v in op.operands)
    return b.emit(op.name, al, bl), b.emit(op.name, ah, bh)


def _shl(s: _Splitter, op: Op, b: Builder) -> Halves:
    """Below 32 the first two terms count, above it the third: the amounts of the others clamp."""
    low, high = s.of(op.operands[0])
    n = op.operands[1]
    over = b.emit("shr.u", low, b.emit("sub", 32, n))
    far = b.emit("shl", low, b.emit("add", n, -32))
    return b.emit("shl", low, n), b.emit("or", b.emit("or", b.emit("shl", high, n), over), far)


def _near(s: _Splitter, op: Op, b: Builder) -> Value:
    """The lower half of a right shift by at most 32."""
    low, high = s.of(op.operands[0])
    n = op.operands[1]
    return b.emit("or", b.emit("shr.u", low, n), b.emit("shl", high, b.emit("sub", 32, n)))


def _shr_unsigned(s: _Splitter, op: Op, b: Builder) -> Halves:
    high, n = s.of(op.operands[0])[1], op.operands[1]
    far = b.emit("shr.u", high, b.emit("add", n, -32))
    return b.emit("or", _near(s, op, b), far), b.emit("shr.u", high, n)


def _shr_signed(s: _Splitter, op: Op, b: Builder) -> Halves:
    """As above, but the sign fills: the two cases exclude each other."""
    high, n = s.of(op.operands[0])[1], op.operands[1]
    far = b.emit("shr.s", high, b.emit("add", n, -32))
    low = b.emit("select", b.emit("icmp.lt.u", n, 32), _near(s, op, b), far)
    return low, b.emit("shr.s", high, n)


def _equal(s: _Splitter, op: Op, b: Builder) -> Value:
    (al, ah), (bl, bh) = (s.of(v) for v in op.operands)
    combine = "and" if op.name == "icmp.eq" else "or"
    return b.emit(combine, b.emit(op.name, al, bl), b.emit(op.name, ah, bh))


def _order(s: _Splitter, op: Op, b: Builder) -> Value:
    """The upper halves decide, or are equal and the lower ones do, as unsigned numbers."""
    (al, ah), (bl, bh) = (s.of(v) for v in op.operands)
    relation, sign = op.name.removeprefix("icmp.").split(".")
    upper = (ah, bh) if relation == "lt" else (bh, ah)
    lower = b.emit(f"icmp.{relation}.u", al, bl)
    decided = b.emit(f"icmp.lt.{sign}", *upper)
    return b.emit("or", decided, b.emit("and", b.emit("icmp.eq", ah, bh), lower))


def _select(s: _Splitter, op: Op, b: Builder) -> Halves:
    (al, ah), (bl, bh) = (s.of(v) for v in op.operands[1:])
    return b.emit("select", op.operands[0], al, bl), b.emit("select", op.operands[0], ah, bh)


def _zext(s: _Splitter, op: Op, b: Builder) -> Halves:
    x = op.operands[0]
    return (b.emit("zext", x, ty=I32) if x.ty is I1 else x), const(I32, 0)


def _sext(s: _Splitter, op: Op, b: Builder) -> Halves:
    x = op.operands[0]
    low = b.emit("sext", x, ty=I32) if x.ty is I1 else x
    return low, b.emit("shr.s", low, 31)


def _trunc(s: _Splitter, op: Op, b: Builder) -> Value:
    low = s.of(op.operands[0])[0]
    return b.emit("trunc", low, ty=I1) if op.result is not None and op.result.ty is I1 else low


def _popc(s: _Splitter, op: Op, b: Builder) -> Value:
    low, high = s.of(op.operands[0])
    return b.emit("add", b.emit("popc", low), b.emit("popc", high))


def _clz(s: _Splitter, op: Op, b: Builder) -> Value:
    low, high = s.of(op.operands[0])
    below = b.emit("add", b.emit("clz", low), 32)
    return b.emit("select", b.emit("icmp.eq", high, 0), below, b.emit("clz", high))


def _brev(s: _Splitter, op: Op, b: Builder) -> Halves:
    low, high = s.of(op.operands[0])
    return b.emit("brev", high), b.emit("brev", low)


def _word(op: Op) -> tuple[Attr, ...]:
    return (op.attr("space"), "b32")


def _load(s: _Splitter, op: Op, b: Builder) -> Halves:
    address = op.operands[0]
    low = b.emit("load", address, attrs=_word(op), guard=op.guard)
    return low, b.emit("load", b.emit("add", address, 4), attrs=_word(op), guard=op.guard)


def _store(s: _Splitter, op: Op, b: Builder) -> None:
    address, (low, high) = op.operands[0], s.of(op.operands[1])
    b.effect("store", address, low, attrs=_word(op), guard=op.guard)
    b.effect("store", b.emit("add", address, 4), high, attrs=_word(op), guard=op.guard)


_SPLIT: dict[str, Split] = {
    "param": _param,
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "and": _bitwise,
    "or": _bitwise,
    "xor": _bitwise,
    "shl": _shl,
    "shr.u": _shr_unsigned,
    "shr.s": _shr_signed,
    "icmp.eq": _equal,
    "icmp.ne": _equal,
    "icmp.lt.s": _order,
    "icmp.lt.u": _order,
    "icmp.ge.s": _order,
    "icmp.ge.u": _order,
    "select": _select,
    "zext": _zext,
    "sext": _sext,
    "trunc": _trunc,
    "popc": _popc,
    "clz": _clz,
    "brev": _brev,
    "load": _load,
    "store": _store,
}
