"""What threads of a warp, or of a block, compute together: shuffles, votes, matches, reductions (PTX ISA 9.7.9, 9.7.13).

Threads meet in memory that no program names, the state space `exchange`: a word for the block, and after it a word for
each thread. Whoever writes a word first waits for the others (`syncwarp`, `barrier`), who may still have to read it, and
waits again before anybody reads what was written.

A *tally* is such a word that threads only add to. Its old value, read before all have added, taken from its new one is
the sum of what they added, so nobody has to clear it. The threads of one membermask use the word of the mask's lowest
lane: of masks that are in use at one time no two share a lane.
"""

from __future__ import annotations

from collections.abc import Callable

from qgc.backends.ssa.context import Context
from qgc.ir.ptx.ast import Operand, Pair
from qgc.ir.ptx.types import TYPES
from qgc.ir.ssa.function import Block, Value, const, make
from qgc.ir.ssa.types import I1, I32

_WORD = ("exchange", "b32")
_PRED, _B32 = TYPES["pred"], TYPES["b32"]


def _warp(c: Context) -> Value:
    """The number of the warp's first thread in the block."""
    return c.emit("sreg", attrs=("warpbase",))


def _word(c: Context, thread: Value) -> Value:
    """The address of a thread's word."""
    return c.emit("add", c.emit("shl", thread, 2), 4)


def _lane_word(c: Context, lane: Value) -> Value:
    """The address of the word of a lane of this warp."""
    return _word(c, c.emit("add", _warp(c), lane))


def _wait(c: Context) -> None:
    c.builder.effect("syncwarp")


def _lowest(c: Context, mask: Value) -> Value:
    """The lowest lane of a mask."""
    return c.emit("clz", c.emit("brev", mask))


def _publish(c: Context, value: Value) -> None:
    """Write a value for the others of the warp, and wait until all have."""
    _wait(c)
    c.builder.effect("store", _word(c, c.emit("sreg", attrs=("linear",))), value, attrs=_WORD)
    _wait(c)


def _added(c: Context, address: Value, amount: Value, wait: Callable[[Context], None]) -> Value:
    """The sum of all amounts: how much a tally grows while everybody adds."""
    before = c.emit("load", address, attrs=_WORD)
    wait(c)
    c.builder.effect("atomic", address, amount, attrs=("exchange", "add", "b32"))
    wait(c)
    return c.emit("sub", c.emit("load", address, attrs=_WORD), before)


def _ballot(c: Context, held: Value, mask: Value) -> Value:
    """The lanes of a membermask in which an i1 holds."""
    bit = c.emit("shl", c.emit("zext", held, ty=I32), c.emit("sreg", attrs=("laneid",)))
    return _added(c, _lane_word(c, _lowest(c, mask)), bit, _wait)


def _fold(
    c: Context, members: Value, start: Value, step: Callable[[Value, Value, Value], Value], name: str
) -> Value:
    """`step(so far, lane, its word)` over the lanes of a mask that is not 0, from the lowest one up."""
    before, body, after = c.block, Block(f"{c.block.name}.{name}"), Block(f"{c.block.name}.after")
    c.builder.effect("br", blocks=[body])
    c.open(body)
    left = make("phi", members, members, ty=I32, blocks=[before, body], span=c.builder.span)
    so_far = make("phi", start, start, ty=I32, blocks=[before, body], span=c.builder.span)
    body.ops += [left, so_far]
    if left.result is None or so_far.result is None:
        raise TypeError("a phi has a result")
    lane = _lowest(c, left.result)
    new = step(so_far.result, lane, c.emit("load", _lane_word(c, lane), attrs=_WORD))
    rest = c.emit("and", left.result, c.emit("sub", left.result, 1))
    left.operands[1], so_far.operands[1] = rest, new
    c.builder.effect("cbr", c.emit("icmp.ne", rest, 0), blocks=[body, after])
    c.open(after)
    return new


def _write_pair(c: Context, operand: Operand, value: Value, held: Value) -> None:
    """A destination `d|p`, whose second part may be missing."""
    first, second = (operand.first, operand.second) if isinstance(operand, Pair) else (operand, None)
    c.write(first, value, _B32)
    if second is not None:
        c.write(second, held, _PRED)


def lower_shfl(c: Context) -> None:
    """`shfl.sync`: c packs the segment mask (bits 8 to 12) and the clamp lane (bits 0 to 4).

    What comes from a lane that does not take part is open, as in PTX.
    """
    d, a, b, packed, _mask = c.instruction.operands
    value, amount, control = (c.source(operand, _B32) for operand in (a, b, packed))
    lane = c.emit("sreg", attrs=("laneid",))
    amount = c.emit("and", amount, 31)
    segment = c.emit("and", c.emit("shr.u", control, 8), 31)
    inside = c.emit("xor", segment, 31)
    first = c.emit("and", lane, segment)
    last = c.emit("or", first, c.emit("and", control, inside))
    if c.has("up"):
        wanted = c.emit("sub", lane, amount)
    elif c.has("down"):
        wanted = c.emit("add", lane, amount)
    elif c.has("bfly"):
        wanted = c.emit("xor", lane, amount)
    else:
        wanted = c.emit("or", first, c.emit("and", amount, inside))
    held = c.emit("icmp.ge.s" if c.has("up") else "icmp.le.s", wanted, last)
    _publish(c, value)
    found = c.emit("load", _lane_word(c, c.emit("select", held, wanted, lane)), attrs=_WORD)
    _write_pair(c, d, found, held)


def lower_vote(c: Context) -> None:
    """`vote.sync`: `ballot`, and `all`, `any`, `uni` as ballots of the predicate or of its complement."""
    d, a, m = c.instruction.operands
    held, mask = c.source(a, _PRED), c.source(m, _B32)
    if c.has("ballot"):
        c.write(d, _ballot(c, held, mask), _B32)
        return
    some = c.emit("icmp.ne", _ballot(c, held, mask), 0) if not c.has("all") else None
    every = None
    if not c.has("any"):
        every = c.emit("icmp.eq", _ballot(c, c.builder.negate(held), mask), 0)
    if some is None or every is None:
        result = every if some is None else some
    else:
        result = c.emit("or", every, c.builder.negate(some))
    if result is None:
        raise ValueError("a vote is one of all, any, uni and ballot")
    c.write(d, result, _PRED)


def lower_match(c: Context) -> None:
    """`match.any.sync`, `match.all.sync` on 32 bits."""
    d, a, m = c.instruction.operands
    if c.type.bits != 32 or c.types[0].bits != 32:
        raise c.unsupported("match two halves of 32 bits, and combine them")
    value, mask = c.source(a, _B32), c.source(m, _B32)
    members = _ballot(c, const(I1, 1), mask)
    _publish(c, value)
    if c.has("any"):

        def add(so_far: Value, lane: Value, word: Value) -> Value:
            bit = c.emit("shl", c.emit("zext", c.emit("icmp.eq", word, value), ty=I32), lane)
            return c.emit("or", so_far, bit)

        c.write(d, _fold(c, members, const(I32, 0), add, "match"), _B32)
        return
    first = c.emit("load", _lane_word(c, _lowest(c, members)), attrs=_WORD)
    held = c.emit("icmp.eq", _ballot(c, c.emit("icmp.ne", value, first), mask), 0)
    _write_pair(c, d, c.emit("select", held, members, 0), held)


def lower_redux(c: Context) -> None:
    """`redux.sync`: a sum is a tally, anything else goes over the words of the members."""
    d, a, m = c.instruction.operands
    scalar = c.type
    value, mask = c.source(a, scalar), c.source(m, _B32)
    if c.has("add"):
        c.write(d, _added(c, _lane_word(c, _lowest(c, mask)), value, _wait))
        return
    members = _ballot(c, const(I1, 1), mask)
    _publish(c, value)
    kind = next(k for k in ("min", "max", "and", "or", "xor") if c.has(k))
    op = f"{kind}.{'s' if scalar.kind == 's' else 'u'}" if kind in ("min", "max") else kind
    start = const(I32, 0) if kind == "xor" else value
    c.write(d, _fold(c, members, start, lambda so_far, _lane, word: c.emit(op, so_far, word), "redux"))


def lower_activemask(c: Context) -> None:
    """`activemask`: the lanes of the warp that come here together, which are those that wait for each other here.

    They share the word of lane 0 with whoever else uses it, so they wait before they read it, and leave it as it was.
    """
    word = _lane_word(c, const(I32, 0))
    bit = c.emit("shl", const(I32, 1), c.emit("sreg", attrs=("laneid",)))
    _wait(c)
    active = _added(c, word, bit, _wait)
    _wait(c)
    c.builder.effect("atomic", word, c.emit("sub", 0, bit), attrs=("exchange", "add", "b32"))
    c.write(c.instruction.operands[0], active, _B32)


def lower_barrier_reduction(c: Context) -> None:
    """`bar.red` of all threads of the block: how many hold, whether all do, whether some do."""
    d, _number, *threads, a = c.instruction.operands
    if threads:
        raise c.unsupported("the barrier that is lowered is of all threads of the block")
    held = c.source(a, _PRED)

    def wait(c: Context) -> None:
        c.builder.effect("barrier", attrs=(0,))

    counted = c.builder.negate(held) if c.has("and") else held
    count = _added(c, const(I32, 0), c.emit("zext", counted, ty=I32), wait)
    if c.has("popc"):
        c.write(d, count, TYPES["u32"])
    else:
        c.write(d, c.emit("icmp.eq" if c.has("and") else "icmp.ne", count, 0), _PRED)


def lower_warp_barrier(c: Context) -> None:
    """`bar.warp.sync`."""
    _wait(c)


COLLECTIVES: dict[str, Callable[[Context], None]] = {
    "shfl": lower_shfl,
    "vote": lower_vote,
    "match": lower_match,
    "redux": lower_redux,
    "activemask": lower_activemask,
}
"""The lowering of each opcode; a guarded one is branched around."""
