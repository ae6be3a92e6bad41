"""Constant folding and algebraic simplification."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from qgc.ir.ssa.function import Builder, Const, Function, Op, Value, const, is_const
from qgc.ir.ssa.rewrite import Rule, const_operand, defined_by, rewrite, zero_bits
from qgc.ir.ssa.types import I1, Ty


@dataclass(frozen=True, slots=True)
class Simplify:
    """Replace ops by constants, by their operands, or by simpler ops.

    Keeps: effects, control flow, and the set of operations (nothing becomes an op that the machine lacks).
    """

    name: ClassVar[str] = "simplify"
    requires: ClassVar[tuple[str, ...]] = ("ir", "ir-opt", "ir-pred")
    produces: ClassVar[str | None] = None

    def run(self, function: Function) -> bool:
        """Simplify until nothing changes."""
        changed = rewrite(function, _simplify)
        while _constant_guards(function):
            rewrite(function, _simplify)
            changed = True
        return changed


def _simplify(op: Op, b: Builder) -> Value | None:
    if op.result is None or (not op.spec.pure and op.guard is None):
        return None
    if op.spec.evaluate is not None and all(isinstance(v, Const) for v in op.operands):
        return fold(op)
    for rule in (_constant_to_the_right, *_RULES.get(op.name, ())):
        value = rule(op, b)
        if value is not None and value is not op.result:
            return value
    return None


def fold(op: Op) -> Const:
    """The constant that a pure op on constants is."""
    if op.result is None or op.spec.evaluate is None:
        raise ValueError(f"{op.name} cannot be folded")
    numbers = [v.value for v in op.operands if isinstance(v, Const)]
    return const(op.result.ty, int(op.spec.evaluate(op.operands[0].ty.bits, *numbers)))


def _constant_guards(function: Function) -> bool:
    """A guard that is 1 goes; an op whose guard is 0 goes itself."""
    never: dict[Value, Value] = {}
    changed = False
    for block in function.blocks:
        kept: list[Op] = []
        for op in block.ops:
            if not isinstance(op.guard, Const):
                kept.append(op)
                continue
            changed = True
            if op.guard.value:
                op.guard = None
                kept.append(op)
            elif op.result is not None:
                never[op.result] = const(op.result.ty, 0)
        block.ops = kept
    function.replace_uses(never)
    return changed


_SWAPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_INVERSE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "le": "gt", "gt": "le"}


def swapped(name: str) -> str:
    """The comparison that holds for (b, a) where `name` holds for (a, b)."""
    return _renamed(name, _SWAPPED)


def inverse(name: str) -> str:
    """The comparison that holds exactly where `name` does not."""
    return _renamed(name, _INVERSE)


def _renamed(name: str, table: dict[str, str]) -> str:
    head, relation, *sign = name.split(".")
    return ".".join([head, table.get(relation, relation), *sign])


def _constant_to_the_right(op: Op, b: Builder) -> Value | None:
    """The constant of a commutative op or a comparison stands second, where the rules look for it."""
    if len(op.operands) != 2 or not isinstance(op.operands[0], Const) or isinstance(op.operands[1], Const):
        return None
    if op.spec.commutative:
        return b.emit(op.name, op.operands[1], op.operands[0])
    if op.name.startswith("icmp"):
        return b.emit(swapped(op.name), op.operands[1], op.operands[0])
    return None


# Arithmetic


def _neutral(number: int) -> Rule:
    """x op number = x."""
    return lambda op, b: op.operands[0] if is_const(op.operands[1], number) else None


def _absorbing(number: int) -> Rule:
    """x op number = number."""
    return lambda op, b: op.operands[1] if is_const(op.operands[1], number) else None


def _associate(op: Op, b: Builder) -> Value | None:
    """(x op c) op d = x op (c op d)."""
    inner = defined_by(op.operands[0], op.name)
    d = const_operand(op)
    if inner is None or d is None or op.spec.evaluate is None:
        return None
    c = const_operand(inner)
    if c is None:
        return None
    return b.emit(op.name, inner.operands[0], const(inner.operands[1].ty, op.spec.evaluate(64, c, d)))


def _same(result: Callable[[Op], Value]) -> Rule:
    """x op x."""
    return lambda op, b: result(op) if op.operands[0] is op.operands[1] else None


def _zero(op: Op) -> Value:
    return const(_ty(op), 0)


def _ty(op: Op) -> Ty:
    return op.result.ty if op.result is not None else I1


def _first(op: Op) -> Value:
    return op.operands[0]


def _boolean(number: int) -> Callable[[Op], Value]:
    return lambda op: const(I1, number)


def _subtract_constant(op: Op, b: Builder) -> Value | None:
    """x - c = x + (-c)."""
    c = const_operand(op)
    return None if c is None else b.emit("add", op.operands[0], -c)


def _subtract_sum(op: Op, b: Builder) -> Value | None:
    """(x + y) - x = y, x - (x - y) = y, and x - (0 - y) = x + y."""
    x, y = op.operands
    added = defined_by(x, "add")
    if added is not None and y in added.operands:
        return added.operands[1] if added.operands[0] is y else added.operands[0]
    taken = defined_by(y, "sub")
    if taken is not None and taken.operands[0] is x:
        return taken.operands[1]
    if taken is not None and is_const(taken.operands[0], 0):
        return b.emit("add", x, taken.operands[1])
    return None


def _add_difference(op: Op, b: Builder) -> Value | None:
    """(x - y) + y = x, and (0 - y) + x = x - y."""
    for taken, other in ((op.operands[0], op.operands[1]), (op.operands[1], op.operands[0])):
        inner = defined_by(taken, "sub")
        if inner is not None and inner.operands[1] is other:
            return inner.operands[0]
        if inner is not None and is_const(inner.operands[0], 0):
            return b.emit("sub", other, inner.operands[1])
    return None


# Bits


def _needless_mask(op: Op, b: Builder) -> Value | None:
    """x & m = x where the bits outside m are 0 already."""
    mask = const_operand(op)
    if mask is None:
        return None
    outside = op.operands[0].ty.mask & ~mask
    return op.operands[0] if zero_bits(op.operands[0]) & outside == outside else None


def _no_common_bits(op: Op, b: Builder) -> Value | None:
    """x & m = 0 where all bits of m are 0 in x."""
    mask = const_operand(op)
    return _zero(op) if mask is not None and zero_bits(op.operands[0]) & mask == mask else None


def _big_shift(op: Op, b: Builder) -> Value | None:
    """Shifts by constants: of everything, by nothing, and amounts that clamp."""
    amount, bits = const_operand(op), op.operands[0].ty.bits
    if is_const(op.operands[0], 0) or amount == 0:
        return op.operands[0]
    if amount is None or amount < bits:
        return None
    return b.emit("shr.s", op.operands[0], bits - 1) if op.name == "shr.s" else _zero(op)


def _shift_shift(op: Op, b: Builder) -> Value | None:
    """Two shifts by constants the same way are one, the other way around a mask."""
    inner, n = defined_by(op.operands[0], "shl", "shr.u", "shr.s"), const_operand(op)
    if inner is None or n is None:
        return None
    m, x = const_operand(inner), inner.operands[0]
    bits = x.ty.bits
    if m is None or m >= bits or n >= bits:
        return None
    if inner.name == op.name:
        return b.emit(op.name, x, min(m + n, bits))
    if m == n and op.name == "shl":
        return b.emit("and", x, x.ty.mask << n)
    if m == n and op.name == "shr.u" and inner.name == "shl":
        return b.emit("and", x, x.ty.mask >> n)
    return None


def _arithmetic_shift_of_positive(op: Op, b: Builder) -> Value | None:
    """The sign of x is known to be 0: zeros move in."""
    x = op.operands[0]
    return b.emit("shr.u", *op.operands) if zero_bits(x) >> (x.ty.bits - 1) else None


def _inverse_comparison(op: Op, b: Builder) -> Value | None:
    """The complement of a comparison is the inverse comparison."""
    if _ty(op) is not I1 or not is_const(op.operands[1], 1):
        return None
    compare = op.operands[0].op
    if compare is None or not compare.name.startswith("icmp"):
        return None
    return b.emit(inverse(compare.name), *compare.operands)


# Comparisons


def _compare_ends(op: Op, b: Builder) -> Value | None:
    """Unsigned comparisons with 0 and 1, and the ends of the range."""
    x, c = op.operands[0], const_operand(op)
    if c is None:
        return None
    name, top, sign = op.name, x.ty.mask, 1 << (x.ty.bits - 1)
    if (name, c) in (("icmp.lt.u", 0), ("icmp.gt.u", top), ("icmp.lt.s", sign), ("icmp.gt.s", sign - 1)):
        return const(I1, 0)
    if (name, c) in (("icmp.ge.u", 0), ("icmp.le.u", top), ("icmp.ge.s", sign), ("icmp.le.s", sign - 1)):
        return const(I1, 1)
    if (name, c) in (("icmp.lt.u", 1), ("icmp.le.u", 0)):
        return b.emit("icmp.eq", x, 0)
    if (name, c) in (("icmp.ge.u", 1), ("icmp.gt.u", 0)):
        return b.emit("icmp.ne", x, 0)
    return None


def _strict_constant(op: Op, b: Builder) -> Value | None:
    """x <= c is x < c + 1, and x > c is x >= c + 1: the machine's own comparisons (the ends are gone above)."""
    c = const_operand(op)
    names = {
        "icmp.le.s": "icmp.lt.s",
        "icmp.gt.s": "icmp.ge.s",
        "icmp.le.u": "icmp.lt.u",
        "icmp.gt.u": "icmp.ge.u",
    }
    return None if c is None or op.name not in names else b.emit(names[op.name], op.operands[0], c + 1)


def _compare_known_bits(op: Op, b: Builder) -> Value | None:
    """x == c where a bit of c is 1 that is 0 in x; x < 0 where the sign is 0."""
    x, c = op.operands[0], const_operand(op)
    if c is None:
        return None
    known = zero_bits(x)
    if op.name in ("icmp.eq", "icmp.ne") and known & c:
        return const(I1, int(op.name == "icmp.ne"))
    if c == 0 and known >> (x.ty.bits - 1) and op.name in ("icmp.lt.s", "icmp.ge.s"):
        return const(I1, int(op.name == "icmp.ge.s"))
    return None


def _compare_predicate(op: Op, b: Builder) -> Value | None:
    """A comparison of zext(p), or of select(p, c, d), with a constant is p, not p, or known."""
    c = const_operand(op)
    made = defined_by(op.operands[0], "zext", "select")
    if c is None or made is None or made.operands[0].ty is not I1 or op.spec.evaluate is None:
        return None
    arms = (
        [const(op.operands[0].ty, 1), const(op.operands[0].ty, 0)]
        if made.name == "zext"
        else made.operands[1:]
    )
    if not isinstance(arms[0], Const) or not isinstance(arms[1], Const):
        return None
    bits = op.operands[0].ty.bits
    true, false = (bool(op.spec.evaluate(bits, arm.value, c)) for arm in arms if isinstance(arm, Const))
    if true == false:
        return const(I1, int(true))
    return made.operands[0] if true else b.negate(made.operands[0])


def _compare_offset(op: Op, b: Builder) -> Value | None:
    """x + c == d is x == d - c; x ^ y == 0 and x - y == 0 are x == y."""
    if op.name not in ("icmp.eq", "icmp.ne"):
        return None
    d, inner = const_operand(op), op.operands[0].op
    if d is None or inner is None:
        return None
    if inner.name in ("sub", "xor") and d == 0:
        return b.emit(op.name, *inner.operands)
    c = const_operand(inner) if inner.name in ("add", "xor") else None
    if c is None:
        return None
    return b.emit(op.name, inner.operands[0], d - c if inner.name == "add" else d ^ c)


def _compare_extended(op: Op, b: Builder) -> Value | None:
    """Compare what was extended: both sides by sign, or both by zeros."""
    first = defined_by(op.operands[0], "zext", "sext")
    if first is None or first.operands[0].ty is I1:
        return None
    x, y = first.operands[0], op.operands[1]
    second = defined_by(y, first.name)
    if second is not None and second.operands[0].ty is x.ty:
        narrow = second.operands[0]
    elif isinstance(y, Const) and _fits(y, first.name, x.ty):
        narrow = const(x.ty, y.value)
    else:
        return None
    name = op.name
    if first.name == "zext" and name.endswith(".s"):
        name = name[:-1] + "u"
    return b.emit(name, x, narrow)


def _fits(value: Const, extension: str, ty: Ty) -> bool:
    """Whether a constant is the extension of its low bits."""
    low = ty.wrap(value.value)
    return value.value == (low if extension == "zext" else value.ty.wrap(ty.signed(low)))


# Selections and conversions


def _select(op: Op, b: Builder) -> Value | None:
    """A known condition, equal arms, a complemented condition."""
    c, x, y = op.operands
    if isinstance(c, Const):
        return x if c.value else y
    if x is y or (isinstance(x, Const) and isinstance(y, Const) and x.value == y.value):
        return x
    complement = defined_by(c, "xor")
    if complement is not None and is_const(complement.operands[1], 1):
        return b.emit("select", complement.operands[0], y, x)
    return None


def _select_predicate(op: Op, b: Builder) -> Value | None:
    """Selections of predicates are and, or; of 1 and 0, the condition itself."""
    c, x, y = op.operands
    if _ty(op) is not I1:
        if is_const(x, 1) and is_const(y, 0):
            return b.emit("zext", c, ty=_ty(op))
        return None
    if is_const(y, 0) or x is c:
        return b.emit("and" if is_const(y, 0) else "or", c, x if is_const(y, 0) else y)
    if is_const(x, 1) or y is c:
        return b.emit("or" if is_const(x, 1) else "and", c, y if is_const(x, 1) else x)
    if is_const(x, 0):
        return b.emit("and", b.negate(c), y)
    if is_const(y, 1):
        return b.emit("or", b.negate(c), x)
    return None


def _extend_extended(op: Op, b: Builder) -> Value | None:
    """An extension of an extension is one; of a number without sign, by zeros."""
    x = op.operands[0]
    inner = defined_by(x, "zext", "sext")
    if inner is not None and (inner.name == op.name or inner.name == "zext"):
        return b.emit(inner.name, inner.operands[0], ty=_ty(op))
    if op.name == "sext" and zero_bits(x) >> (x.ty.bits - 1):
        return b.emit("zext", x, ty=_ty(op))
    return None


def _truncate(op: Op, b: Builder) -> Value | None:
    """The low bits of an extension are what was extended."""
    inner = defined_by(op.operands[0], "zext", "sext", "trunc")
    if inner is None:
        return None
    x, ty = inner.operands[0], _ty(op)
    if inner.name == "trunc" or ty.bits < x.ty.bits:
        return b.emit("trunc", x, ty=ty)
    return x if ty is x.ty else b.emit(inner.name, x, ty=ty)


def _phi(op: Op, b: Builder) -> Value | None:
    """All operands are one value, or the phi itself."""
    others = [v for v in op.operands if v is not op.result]
    first = others[0] if others else None
    if first is None or any(v is not first and not _equal_constants(v, first) for v in others):
        return None
    return first


def _equal_constants(x: Value, y: Value) -> bool:
    return isinstance(x, Const) and isinstance(y, Const) and x.value == y.value


_COMPARES: tuple[Rule, ...] = (
    _compare_ends,
    _strict_constant,
    _compare_known_bits,
    _compare_predicate,
    _compare_offset,
    _compare_extended,
)
_SHIFTS: tuple[Rule, ...] = (_big_shift, _shift_shift)

_RULES: dict[str, tuple[Rule, ...]] = {
    "add": (_neutral(0), _associate, _add_difference),
    "sub": (_same(_zero), _subtract_constant, _subtract_sum),
    "mul": (_absorbing(0), _neutral(1), _associate),
    "mulhi.u": (_absorbing(0), lambda op, b: _zero(op) if is_const(op.operands[1], 1) else None),
    "mulhi.s": (_absorbing(0),),
    "div.u": (_neutral(1),),
    "div.s": (_neutral(1),),
    "rem.u": (lambda op, b: _zero(op) if is_const(op.operands[1], 1) else None,),
    "rem.s": (lambda op, b: _zero(op) if is_const(op.operands[1], 1) else None,),
    "min.s": (_same(_first),),
    "min.u": (_same(_first), _absorbing(0), _neutral(-1)),
    "max.s": (_same(_first),),
    "max.u": (_same(_first), _absorbing(-1), _neutral(0)),
    "and": (_same(_first), _absorbing(0), _neutral(-1), _associate, _needless_mask, _no_common_bits),
    "or": (_same(_first), _absorbing(-1), _neutral(0), _associate),
    "xor": (_same(_zero), _neutral(0), _associate, _inverse_comparison),
    "shl": _SHIFTS,
    "shr.u": _SHIFTS,
    "shr.s": (*_SHIFTS, _arithmetic_shift_of_positive),
    "icmp.eq": (_same(_boolean(1)), *_COMPARES),
    "icmp.ne": (_same(_boolean(0)), *_COMPARES),
    **{f"icmp.{r}.{s}": (_same(_boolean(0)), *_COMPARES) for r in ("lt", "gt") for s in "su"},
    **{f"icmp.{r}.{s}": (_same(_boolean(1)), *_COMPARES) for r in ("le", "ge") for s in "su"},
    "select": (_select, _select_predicate),
    "zext": (_extend_extended,),
    "sext": (_extend_extended,),
    "trunc": (_truncate,),
    "phi": (_phi,),
}
