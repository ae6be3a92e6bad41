"""Simplification of control flow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from qgc.ir.ssa.cfg import Cfg
from qgc.ir.ssa.edges import drop_unreachable, merge_chains, redirect, remove_predecessor
from qgc.ir.ssa.function import Const, Function, is_const, make


@dataclass(frozen=True, slots=True)
class SimplifyControlFlow:
    """Fold branches, drop unreachable blocks, merge chains, skip empty blocks, keep one return.

    Keeps: every other op and its order on each path.
    """

    name: ClassVar[str] = "simplify-cfg"
    requires: ClassVar[tuple[str, ...]] = ("ir", "ir-opt", "ir-pred")
    produces: ClassVar[str | None] = None

    def run(self, function: Function) -> bool:
        """Repeat until nothing changes."""
        changed = False
        while sum(step(function) for step in _STEPS):
            changed = True
        return changed


def _fold_branches(function: Function) -> bool:
    """A branch on a constant, or to one block either way, is no branch; one on a complement is turned around."""
    changed = False
    for block in function.blocks:
        branch = block.terminator
        if branch.name != "cbr":
            continue
        condition, (taken, other) = branch.operands[0], branch.blocks
        complement = condition.op
        if isinstance(condition, Const) or taken is other:
            target = taken if taken is other or is_const(condition, 1) else other
            if taken is not other:
                remove_predecessor(other if target is taken else taken, block)
            block.ops[-1] = make("br", blocks=[target], span=branch.span)
            changed = True
        elif complement is not None and complement.name == "xor" and is_const(complement.operands[1], 1):
            block.ops[-1] = make("cbr", complement.operands[0], blocks=[other, taken], span=branch.span)
            changed = True
    return changed


def _skip_empty(function: Function) -> bool:
    """Branches to a block that only branches on go where it goes."""
    changed = False
    for block in list(function.blocks):
        if block is function.entry or len(block.ops) != 1 or block.terminator.name != "br":
            continue
        target = block.terminator.blocks[0]
        if target is block:
            continue
        for predecessor in Cfg(function).predecessors.get(block, []):
            if target.phis and target in predecessor.successors:
                continue
            redirect(predecessor, block, target)
            changed = True
    return drop_unreachable(function) or changed


def _one_return(function: Function) -> bool:
    """All blocks that only return are the first of them."""
    returns = [b for b in function.blocks if len(b.ops) == 1 and b.terminator.name == "ret"]
    again = [b for b in returns[1:] if b is not function.entry]
    for block in function.blocks:
        for target in block.successors:
            if target in again:
                redirect(block, target, returns[0])
    return drop_unreachable(function)


_STEPS = (_fold_branches, drop_unreachable, merge_chains, _skip_empty, _one_return)
