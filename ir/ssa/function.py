"""What an SSA stage is: functions of blocks of ops, values with identity, and a builder for them.

A value is defined once, by an op; constants are values without an op. Blocks stand in order: the first one is the entry,
and from stage `ir-div` on a block's place is its number on the machine. Names are hints (PTX registers, labels); the
printer makes them unique.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from qgc.diagnostics import Span
from qgc.ir.ssa.ops import MEMORY, OPS, OpSpec, Pattern, TyVar
from qgc.ir.ssa.types import I1, MEMS, Ty

Attr: TypeAlias = str | int


@dataclass(eq=False, slots=True)
class Value:
    """The result of `op`. `uniform` is set by the divergence analysis: all lanes of a group agree on it."""

    ty: Ty
    name: str = ""
    op: Op | None = field(default=None, repr=False)
    uniform: bool | None = None


@dataclass(eq=False, slots=True)
class Const(Value):
    """A constant, unsigned and below 2^bits. Two constants may be equal without being the same object."""

    value: int = 0


def const(ty: Ty, value: int) -> Const:
    """The constant `value` modulo 2^bits."""
    return Const(ty, value=ty.wrap(value))


def is_const(value: Value, number: int | None = None) -> bool:
    """Whether `value` is a constant, and equal to `number` (of any sign) when that is given."""
    return isinstance(value, Const) and (number is None or value.value == value.ty.wrap(number))


@dataclass(eq=False, slots=True)
class Op:
    """One operation.

    `blocks` are a terminator's successors in order, or the blocks that a phi's operands come from. `guard` is an i1:
    where it is 0 the op does nothing and its result is 0. `span` is the place in the PTX source.
    """

    spec: OpSpec
    operands: list[Value] = field(default_factory=list, repr=False)
    attrs: tuple[Attr, ...] = ()
    result: Value | None = field(default=None, repr=False)
    blocks: list[Block] = field(default_factory=list, repr=False)
    guard: Value | None = field(default=None, repr=False)
    span: Span | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The name of the operation in the table."""
        return self.spec.name

    @property
    def uses(self) -> list[Value]:
        """Operands and guard, in text order."""
        return self.operands if self.guard is None else [*self.operands, self.guard]

    def attr(self, kind: str) -> Attr:
        """The attribute of this kind (`space`, `mem`, `rmw`, `sreg`, `offset`)."""
        return self.attrs[self.spec.attrs.index(kind)]

    def replace_uses(self, new: Mapping[Value, Value]) -> bool:
        """Read `new[v]` in place of each v; say whether anything changed."""
        if not any(v in new for v in self.uses):
            return False
        self.operands = [new.get(v, v) for v in self.operands]
        if self.guard is not None:
            self.guard = new.get(self.guard, self.guard)
        return True


@dataclass(eq=False, slots=True)
class Block:
    """A straight line of ops: phis first, one terminator last."""

    name: str = ""
    ops: list[Op] = field(default_factory=list, repr=False)

    @property
    def phis(self) -> list[Op]:
        """The phis at the head."""
        return [op for op in self.ops if op.name == "phi"]

    @property
    def body(self) -> list[Op]:
        """Everything between the phis and the terminator."""
        return [op for op in self.ops if op.name != "phi" and not op.spec.terminator]

    @property
    def terminator(self) -> Op:
        """The last op."""
        return self.ops[-1]

    @property
    def successors(self) -> list[Block]:
        """Where control goes, without repetition."""
        return list(dict.fromkeys(self.terminator.blocks))


@dataclass(frozen=True, slots=True)
class Param:
    """A kernel parameter: its PTX name and type (`u64`, `b8[24]`), its byte offset and size, whether it says `.ptr`."""

    name: str
    type: str
    offset: int
    size: int
    is_pointer: bool = False


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable: `size` bytes at `address` of its own state space, with the bytes that it starts with."""

    name: str
    space: str
    address: int
    size: int
    init: bytes = b""


@dataclass(eq=False, slots=True)
class Function:
    """One kernel. `source` is the file that the line numbers of its ops count in."""

    name: str
    source: str
    params: tuple[Param, ...] = ()
    symbols: tuple[Symbol, ...] = ()
    blocks: list[Block] = field(default_factory=list, repr=False)

    @property
    def entry(self) -> Block:
        """The block where every thread starts."""
        return self.blocks[0]

    @property
    def param_bytes(self) -> int:
        """Size of the parameter space, a multiple of 8."""
        return -(-max((p.offset + p.size for p in self.params), default=0) // 8) * 8

    @property
    def frame_bytes(self) -> int:
        """Size of a thread's local memory, a multiple of 4."""
        ends = (s.address + s.size for s in self.symbols if s.space == "local")
        return -(-max(ends, default=0) // 4) * 4

    def ops(self) -> Iterator[Op]:
        """Every op, in block order."""
        for block in self.blocks:
            yield from block.ops

    def replace_uses(self, new: Mapping[Value, Value]) -> bool:
        """Read `new[v]` in place of each v, following chains; say whether anything changed."""
        if not new:
            return False
        flat: dict[Value, Value] = {}
        for old in new:
            target = new[old]
            while target in new:
                target = new[target]
            flat[old] = target
        changed = False
        for op in self.ops():
            changed |= op.replace_uses(flat)
        return changed


@dataclass(eq=False, slots=True)
class Module:
    """The kernels of one file, in its order."""

    functions: list[Function] = field(default_factory=list)


def _bind(pattern: Pattern, ty: Ty, bound: dict[TyVar, Ty]) -> None:
    if isinstance(pattern, TyVar):
        bound.setdefault(pattern, ty)


def _resolve(pattern: Pattern, bound: Mapping[TyVar, Ty]) -> Ty:
    return bound[pattern] if isinstance(pattern, TyVar) else pattern


def attr_binding(spec: OpSpec, attrs: Sequence[Attr]) -> dict[TyVar, Ty]:
    """The type variables that attributes decide: M is the register type of the access."""
    for kind, attr in zip(spec.attrs, attrs, strict=False):
        if kind == "mem" and attr in MEMS:
            return {MEMORY: MEMS[str(attr)].ty}
    return {}


def make(
    name: str,
    *operands: Value | int,
    attrs: tuple[Attr, ...] = (),
    ty: Ty | None = None,
    hint: str = "",
    blocks: Sequence[Block] = (),
    guard: Value | None = None,
    span: Span | None = None,
    result: bool = True,
) -> Op:
    """Build an op with the result type that its row implies.

    Integers among the operands become constants of the type that the other operands fix. `ty` states the result type of
    conversions, `param` and phis; `result=False` leaves an optional result out.
    """
    spec = OPS[name]
    patterns = spec.operands * len(operands) if spec.blocks < 0 else spec.operands
    bound = attr_binding(spec, attrs)
    if ty is not None and isinstance(spec.result, TyVar):
        bound[spec.result] = ty
    for pattern, operand in zip(patterns, operands, strict=True):
        if isinstance(operand, Value):
            _bind(pattern, operand.ty, bound)
    values = [
        v if isinstance(v, Value) else const(_resolve(p, bound), v)
        for p, v in zip(patterns, operands, strict=True)
    ]
    op = Op(spec, values, attrs, None, list(blocks), guard, span)
    if spec.result is not None and result:
        op.result = Value(_resolve(spec.result, bound), hint, op)
    return op


@dataclass(slots=True)
class Builder:
    """Appends ops to a list; every op gets the current `span` and `hint` unless it is given its own."""

    ops: list[Op]
    span: Span | None = None
    hint: str = ""

    def emit(
        self,
        name: str,
        *operands: Value | int,
        attrs: tuple[Attr, ...] = (),
        ty: Ty | None = None,
        hint: str | None = None,
        guard: Value | None = None,
    ) -> Value:
        """Append an op and return its result."""
        op = make(
            name,
            *operands,
            attrs=attrs,
            ty=ty,
            hint=self.hint if hint is None else hint,
            guard=guard,
            span=self.span,
        )
        self.ops.append(op)
        if op.result is None:
            raise ValueError(f"{name} has no result")
        return op.result

    def effect(
        self,
        name: str,
        *operands: Value | int,
        attrs: tuple[Attr, ...] = (),
        blocks: Sequence[Block] = (),
        guard: Value | None = None,
    ) -> Op:
        """Append an op whose result, if it has one, is not wanted."""
        op = make(name, *operands, attrs=attrs, blocks=blocks, guard=guard, span=self.span, result=False)
        self.ops.append(op)
        return op

    def negate(self, condition: Value) -> Value:
        """The complement of an i1."""
        if isinstance(condition, Const):
            return const(I1, condition.value ^ 1)
        return self.emit("xor", condition, const(I1, 1))
