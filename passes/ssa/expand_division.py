"""Division without a divider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from qgc.ir.ssa.edges import rename_predecessor
from qgc.ir.ssa.function import Block, Builder, Function, Op, Value, const, make
from qgc.ir.ssa.types import I32, I64, Ty


@dataclass(frozen=True, slots=True)
class ExpandDivision:
    """Quotients and remainders become a loop over the bits of the dividend (restoring division).

    With `wide`, only those of i64. A divisor of 0 gives all ones, as `div` and `rem` are defined.
    """

    wide: bool = False
    name: ClassVar[str] = "expand-division"
    requires: ClassVar[tuple[str, ...]] = ("ir", "ir-opt")
    produces: ClassVar[str | None] = None

    def run(self, function: Function) -> bool:
        """Expand every division, the last of a block first, so that the rest of the block stays in place."""
        changed = False
        for block in list(function.blocks):
            for op in reversed(block.ops):
                if op.name in _NAMES and (not self.wide or op.operands[0].ty is I64):
                    _expand(function, block, op)
                    changed = True
        return changed


_NAMES = ("div.u", "div.s", "rem.u", "rem.s")


def _expand(function: Function, block: Block, op: Op) -> None:
    """Cut `block` at `op`: before it the magnitudes, then the loop, then the signs and the rest."""
    at = block.ops.index(op)
    rest = Block(f"{block.name}.divided", block.ops[at + 1 :])
    loop = Block(f"{block.name}.divide")
    del block.ops[at:]
    for successor in rest.successors:
        rename_predecessor(successor, block, rest)
    place = function.blocks.index(block) + 1
    function.blocks[place:place] = [loop, rest]

    name = op.result.name if op.result is not None else ""
    head, tail_ops = Builder(block.ops, op.span, name), list[Op]()
    tail = Builder(tail_ops, op.span, name)
    signed = op.name.endswith(".s")
    x, y = (_magnitude(head, v) if signed else v for v in op.operands)
    quotient, remainder = _loop(loop, block, rest, x, y, Builder([], op.span, name))
    head.effect("br", blocks=[loop])
    if op.name.startswith("div"):
        result = _signed_quotient(tail, quotient, op) if signed else quotient
    else:
        result = _with_sign_of(tail, remainder, op.operands[0]) if signed else remainder
        result = tail.emit("select", tail.emit("icmp.eq", op.operands[1], 0), const(result.ty, -1), result)
    rest.ops[:0] = tail_ops
    if op.result is not None:
        function.replace_uses({op.result: result})


def _magnitude(b: Builder, x: Value) -> Value:
    """|x|; of the smallest number it is that number, read without sign."""
    return b.emit("select", b.emit("icmp.lt.s", x, 0), b.emit("sub", 0, x), x)


def _loop(loop: Block, before: Block, after: Block, x: Value, y: Value, b: Builder) -> tuple[Value, Value]:
    """Fill the loop; it shifts the dividend out and the quotient in, and gives quotient and remainder.

    The remainder is less than the divisor, so shifting it may overflow only where the divisor is subtracted anyway:
    its old top bit decides together with the comparison.
    """
    ty = x.ty
    bits, rest, count = _phi(ty, "quotient"), _phi(ty, "remainder"), _phi(I32, "bits")
    b.ops = loop.ops
    values = [_result(phi) for phi in (bits, rest, count)]
    loop.ops += [bits, rest, count]
    shifted = b.emit("or", b.emit("shl", values[1], 1), b.emit("shr.u", values[0], ty.bits - 1))
    overflow = b.emit("icmp.lt.s", values[1], 0)
    fits = b.emit("or", overflow, b.emit("icmp.ge.u", shifted, y))
    remainder = b.emit("select", fits, b.emit("sub", shifted, y), shifted)
    quotient = b.emit("or", b.emit("shl", values[0], 1), b.emit("zext", fits, ty=ty))
    left = b.emit("add", values[2], -1)
    b.effect("cbr", b.emit("icmp.ne", left, 0), blocks=[loop, after])
    starts = (x, const(ty, 0), const(I32, ty.bits))
    for phi, start, step in zip((bits, rest, count), starts, (quotient, remainder, left), strict=True):
        phi.blocks, phi.operands, phi.span = [before, loop], [start, step], b.span
    return quotient, remainder


def _phi(ty: Ty, name: str) -> Op:
    return make("phi", ty=ty, hint=name)


def _result(op: Op) -> Value:
    if op.result is None:
        raise ValueError(f"{op.name} has no result")
    return op.result


def _with_sign_of(b: Builder, magnitude: Value, x: Value) -> Value:
    return b.emit("select", b.emit("icmp.lt.s", x, 0), b.emit("sub", 0, magnitude), magnitude)


def _signed_quotient(b: Builder, magnitude: Value, op: Op) -> Value:
    """Negative where the signs differ; all ones where the divisor is 0."""
    x, y = op.operands
    quotient = _with_sign_of(b, magnitude, b.emit("xor", x, y))
    return b.emit("select", b.emit("icmp.eq", y, 0), const(y.ty, -1), quotient)
