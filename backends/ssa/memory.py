"""Loads, stores, atomics and barriers (PTX ISA 9.7.9, 9.7.13).

Threads run one op after another, and no pass reorders accesses: what PTX says about caching, volatility and memory order
holds by itself.
"""

from __future__ import annotations

from collections.abc import Callable

from qgc.backends.ssa.collective import lower_barrier_reduction, lower_warp_barrier
from qgc.backends.ssa.context import Context, type_of
from qgc.ir.ptx.ast import Address, Element, Imm, Operand, Reg, Sink, Symbol, Vector
from qgc.ir.ptx.types import ScalarType
from qgc.ir.ssa.function import Block, Value, const, make
from qgc.ir.ssa.types import I32, SPACES

_ATOMICS = {"add": "add", "and": "and", "or": "or", "xor": "xor", "exch": "exch", "inc": "inc", "dec": "dec"}


def _space(c: Context) -> str:
    """The state space among the modifiers; generic accesses are global where the kernel makes no other pointers."""
    for modifier in c.instruction.modifiers:
        space = modifier.split("::")[0]
        if space in (*SPACES, "param"):
            return space
    if not c.generic_is_global:
        hint = "a kernel that takes generic addresses of shared or local memory must name the space of each access"
        raise c.unsupported(hint, f"{c.instruction.name} through a generic address")
    return "global"


def _mem(c: Context, scalar: ScalarType) -> str:
    """The access in SSA's names."""
    if scalar.bits > 64:
        raise c.unsupported("accesses have at most 64 bits an element")
    return f"b{scalar.bits}" if scalar.bits >= 32 else f"{'s' if scalar.kind == 's' else 'u'}{scalar.bits}"


def _address(c: Context, operand: Operand) -> tuple[Value, int]:
    """The base of an address and the constant that is added to it."""
    if isinstance(operand, Element):
        size = c.type.size
        base = c.address_of(operand.base)
        if isinstance(operand.index, Imm):
            return const(I32, base), operand.index.value * size
        return c.emit("mul", c.read_register(operand.index.name), size), base
    if not isinstance(operand, Address):
        raise c.unsupported("an address is written in brackets", "this kind of operand")
    if isinstance(operand.base, Reg):
        return c.read_register(operand.base.name), operand.offset
    if isinstance(operand.base, Symbol):
        return const(I32, c.address_of(operand.base)), operand.offset
    return const(I32, operand.base.value), operand.offset


def _at(c: Context, base: Value, offset: int) -> Value:
    return c.emit("add", base, offset) if offset else base


def _items(operand: Operand) -> tuple[Operand, ...]:
    return operand.items if isinstance(operand, Vector) else (operand,)


def lower_ld(c: Context) -> None:
    """`ld`, `ldu`, scalar and vector; a guarded load reads 0 where the guard is 0, and `write` restores the old value."""
    d, a = c.instruction.operands
    space = _space(c)
    if space == "param":
        _load_param(c, d, a)
        return
    base, offset = _address(c, a)
    mem = _mem(c, c.type)
    for place, item in enumerate(_items(d)):
        at = _at(c, base, offset + place * c.type.size)
        value = c.builder.emit("load", at, attrs=(space, mem), guard=c.guard)
        c.write(item, value)


def _load_param(c: Context, d: Operand, a: Operand) -> None:
    if not isinstance(a, Address) or not isinstance(a.base, Symbol):
        raise c.unsupported("kernel parameters are read by name", "a parameter's address in a register")
    param = c.params.get(a.base.name)
    if param is None:
        raise c.unsupported("functions are called in the host compiler's inlined form only", f"{a.base.name}")
    for place, item in enumerate(_items(d)):
        c.write(item, _param(c, param.offset + a.offset + place * c.type.size))


def _param(c: Context, offset: int) -> Value:
    """The parameter bytes at an offset: words are read whole, and smaller ones cut out of them."""
    scalar = c.type
    size, ty = max(scalar.size, 4), type_of(scalar)
    if scalar.bits > 64 or offset % scalar.size:
        raise c.unsupported("parameters are read at a multiple of the access's size")
    word = c.emit("param", ty=ty, attrs=(offset // size * size,))
    return c.emit("shr.u", word, offset % size * 8) if offset % size else word


def lower_st(c: Context) -> None:
    """`st`, scalar and vector."""
    a, source = c.instruction.operands
    base, offset = _address(c, a)
    space, mem = _space(c), _mem(c, c.type)
    for place, item in enumerate(_items(source)):
        at = _at(c, base, offset + place * c.type.size)
        c.builder.effect("store", at, c.source(item), attrs=(space, mem), guard=c.guard)


def lower_atom(c: Context) -> None:
    """`atom`, and `red`, which has no destination."""
    d, a, *sources = (
        c.instruction.operands if c.instruction.opcode == "atom" else (Sink(), *c.instruction.operands)
    )
    scalar = c.integer_type()
    if scalar.bits not in (32, 64):
        raise c.unsupported("atomics have 32 or 64 bits")
    base, offset = _address(c, a)
    space, mem = _space(c), _mem(c, scalar)
    values = [c.source(s) for s in sources]
    if c.has("cas"):
        old = c.builder.emit("cas", _at(c, base, offset), *values, attrs=(space, mem), guard=c.guard)
    else:
        rmw = _rmw(c, scalar)
        if rmw in _WRAP:
            c.write(d, _wrapping(c, rmw, _at(c, base, offset), values[0], (space, mem)))
            return
        attrs = (space, rmw, mem)
        old = c.builder.emit("atomic", _at(c, base, offset), *values, attrs=attrs, guard=c.guard)
    c.write(d, old)


def _wrapping(c: Context, rmw: str, address: Value, limit: Value, access: tuple[str, str]) -> Value:
    """`inc` and `dec` try the new value until nobody came between: they take more than one block of the machine.

    Gives the old value; 0 where the guard is 0.
    """
    before = c.block
    name = f"{before.name}.{rmw}"
    again, after = Block(name), Block(f"{name}.after")
    if c.guard is None:
        c.builder.effect("br", blocks=[again])
    else:
        c.builder.effect("cbr", c.guard, blocks=[again, after])
    c.open(again)
    old = c.emit("load", address, attrs=access)
    got = c.emit("cas", address, old, _WRAP[rmw](c, old, limit), attrs=access)
    c.builder.effect("cbr", c.emit("icmp.eq", got, old), blocks=[after, again])
    c.open(after)
    if c.guard is None:
        return got
    phi = make("phi", got, 0, ty=got.ty, blocks=[again, before], span=c.builder.span)
    after.ops.append(phi)
    return phi.result or got


def _inc(c: Context, old: Value, limit: Value) -> Value:
    return c.emit("select", c.emit("icmp.ge.u", old, limit), 0, c.emit("add", old, 1))


def _dec(c: Context, old: Value, limit: Value) -> Value:
    """`old - 1`, which wraps for 0, where it is below the limit; old 0 and old above the limit give the limit."""
    less = c.emit("sub", old, 1)
    return c.emit("select", c.emit("icmp.lt.u", less, limit), less, limit)


_WRAP: dict[str, Callable[[Context, Value, Value], Value]] = {"inc": _inc, "dec": _dec}


def _rmw(c: Context, scalar: ScalarType) -> str:
    for modifier in c.instruction.modifiers:
        if modifier in _ATOMICS:
            return _ATOMICS[modifier]
        if modifier in ("min", "max"):
            return f"{'s' if scalar.kind == 's' else 'u'}{modifier}"
    raise c.unsupported(f"atomic operations are {', '.join([*_ATOMICS, 'min', 'max', 'cas'])}")


def lower_bar(c: Context) -> None:
    """`bar.sync`, `barrier.sync`, `bar.red` of all threads of the block, and `bar.warp.sync`."""
    operands = c.instruction.operands
    if c.has("warp"):
        lower_warp_barrier(c)
        return
    if c.has("red"):
        lower_barrier_reduction(c)
        return
    if not c.has("sync") or len(operands) != 1 or not isinstance(operands[0], Imm):
        raise c.unsupported("the barrier that is lowered is __syncthreads(): bar.sync with a constant number")
    c.builder.effect("barrier", attrs=(operands[0].value,))


def lower_nothing(c: Context) -> None:
    """Hints, and fences between accesses that are in order anyway."""


MEMORY: dict[str, Callable[[Context], None]] = {
    "ld": lower_ld,
    "ldu": lower_ld,
    "st": lower_st,
    "atom": lower_atom,
    "red": lower_atom,
    "bar": lower_bar,
    "barrier": lower_bar,
    "membar": lower_nothing,
    "fence": lower_nothing,
    "prefetch": lower_nothing,
    "prefetchu": lower_nothing,
    "nanosleep": lower_nothing,
}
"""The lowering of each opcode."""

GUARDABLE = ("ld", "ldu", "st", "atom", "red", "membar", "fence", "prefetch", "prefetchu", "nanosleep")
"""Opcodes above that carry a PTX guard as they are; the others are branched around."""
