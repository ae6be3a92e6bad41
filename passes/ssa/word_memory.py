"""One word memory: frames instead of local memory, whole words instead of bytes that are stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from qgc.ir.ssa.function import Builder, Function, Op, Value, const
from qgc.ir.ssa.types import I32, MEMS


@dataclass(frozen=True, slots=True)
class WordMemory:
    """What the machine's memory does not have, in terms of what it has.

    Local memory becomes space `frame`, where each thread has a piece of its own, one after another. A store of 8 or 16 bits
    becomes two atomic operations on the word around it, so that threads may write the bytes of one word.

    Keeps: values, control flow, and the order of accesses.
    """

    name: ClassVar[str] = "word-memory"
    requires: ClassVar[tuple[str, ...]] = ("ir-opt",)
    produces: ClassVar[str | None] = None

    def run(self, function: Function) -> bool:
        """Rewrite every access that needs it."""
        size, changed = function.frame_bytes, False
        for block in function.blocks:
            ops: list[Op] = []
            for op in block.ops:
                b = Builder(ops, op.span)
                if "space" in op.spec.attrs and op.attr("space") == "local":
                    op.operands[0] = b.emit("add", op.operands[0], _frame(b, size))
                    op.attrs = ("frame", *op.attrs[1:])
                    changed = True
                if op.name == "store" and MEMS[str(op.attr("mem"))].bytes < 4:
                    _store_part(op, b)
                    changed = True
                else:
                    ops.append(op)
            block.ops = ops
        return changed


def _frame(b: Builder, size: int) -> Value:
    """Where the thread's frame begins."""
    thread = b.emit("sreg", attrs=("linear",))
    if size & (size - 1) == 0:
        return b.emit("shl", thread, size.bit_length() - 1)
    return b.emit("mul", thread, size)


def _store_part(op: Op, b: Builder) -> None:
    """Clear the bytes in their word, then set their ones."""
    (address, value), bits = op.operands, 8 * MEMS[str(op.attr("mem"))].bytes
    word = b.emit("and", address, -4)
    place = b.emit("shl", b.emit("and", address, 3), 3)
    hole = b.emit("xor", b.emit("shl", const(I32, (1 << bits) - 1), place), -1)
    part = b.emit("shl", b.emit("and", value, (1 << bits) - 1), place)
    for rmw, operand in (("and", hole), ("or", part)):
        b.effect("atomic", word, operand, attrs=(op.attr("space"), rmw, "b32"), guard=op.guard)
