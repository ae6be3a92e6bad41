"""Rewriting a function op by op, and known bits: what passes share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from qgc.ir.ssa.function import Builder, Const, Function, Op, Value
from qgc.ir.ssa.types import MEMS

Rule: TypeAlias = Callable[[Op, Builder], Value | None]
"""Gives the value to use in place of the op's result, or None to keep the op. The builder appends before the op."""


def rewrite(function: Function, rule: Rule) -> bool:
    """Apply a rule to every op until it has nothing more to say; replaced ops are removed.

    A rule must make progress by itself: what it emits is looked at again.
    """
    changed = False
    while _sweep(function, rule):
        changed = True
    return changed


def _sweep(function: Function, rule: Rule) -> bool:
    new: dict[Value, Value] = {}
    changed = False
    for block in function.blocks:
        ops: list[Op] = []
        for op in block.ops:
            op.replace_uses({v: resolve(v, new) for v in op.uses if v in new})
            name = op.result.name if op.result is not None else ""
            value = rule(op, Builder(ops, op.span, name))
            if value is None or op.result is None:
                ops.append(op)
                continue
            new[op.result] = value
            changed = True
        block.ops = ops
    function.replace_uses(new)
    return changed


def resolve(value: Value, new: dict[Value, Value]) -> Value:
    """Follow replacements to their end."""
    while value in new:
        value = new[value]
    return value


def defined_by(value: Value, *names: str) -> Op | None:
    """The op that defines `value`, when it has one of these names."""
    return value.op if value.op is not None and value.op.name in names else None


def const_operand(op: Op, index: int = 1) -> int | None:
    """The constant at an operand of `op`, if it is one."""
    operand = op.operands[index]
    return operand.value if isinstance(operand, Const) else None


_DEPTH = 6


def zero_bits(value: Value, depth: int = _DEPTH) -> int:
    """A mask of bits of `value` that are 0 in every execution."""
    if isinstance(value, Const):
        return value.ty.mask & ~value.value
    op = value.op
    if op is None or depth == 0:
        return 0
    if op.name == "and":
        return zero_bits(op.operands[0], depth - 1) | zero_bits(op.operands[1], depth - 1)
    if op.name in ("or", "xor"):
        return zero_bits(op.operands[0], depth - 1) & zero_bits(op.operands[1], depth - 1)
    if op.name == "select":
        return zero_bits(op.operands[1], depth - 1) & zero_bits(op.operands[2], depth - 1)
    if op.name == "zext":
        source = op.operands[0]
        return (value.ty.mask & ~source.ty.mask) | zero_bits(source, depth - 1)
    if op.name == "trunc":
        return zero_bits(op.operands[0], depth - 1) & value.ty.mask
    if op.name in ("shl", "shr.u"):
        return _shifted(op, depth)
    if op.name == "load":
        mem = MEMS[str(op.attr("mem"))]
        return 0 if mem.is_signed else value.ty.mask & ~((1 << 8 * mem.bytes) - 1)
    return 0


def _shifted(op: Op, depth: int) -> int:
    source, amount = op.operands[0], const_operand(op)
    if amount is None or amount >= source.ty.bits:
        return 0
    known = zero_bits(source, depth - 1)
    if op.name == "shl":
        return source.ty.wrap(known << amount) | ((1 << amount) - 1)
    return known >> amount | (source.ty.mask & ~(source.ty.mask >> amount))
