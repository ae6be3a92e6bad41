"""If-conversion: short forks become straight code with guards and selects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from qgc.ir.ssa.cfg import Cfg
from qgc.ir.ssa.divergence import Divergence
from qgc.ir.ssa.edges import drop_unreachable, merge_chains
from qgc.ir.ssa.function import Block, Builder, Function, Op, Value


@dataclass(frozen=True, slots=True)
class IfConversion:
    """Run both sides of a fork that meet again at once, in one block.

    Pure ops are run for all lanes; loads, stores and atomics get the condition, or its complement, as their guard;
    phis of the meeting place become selects.

    A branch keeps its condition in the mask of the lanes for free and lets a group skip a side that no lane takes;
    straight code saves a pass of the machine for each side, but has to carry the condition to every guarded access.
    So only forks of a `cost` up to `limit` are converted, up to `uniform_limit` those that all lanes of a group take
    together: larger limits cost more tokens on the examples.
    """

    limit: int = 6
    uniform_limit: int = 3
    name: ClassVar[str] = "if-conversion"
    requires: ClassVar[tuple[str, ...]] = ("ir-opt", "ir-pred")
    produces: ClassVar[str | None] = None

    def run(self, function: Function) -> bool:
        """Convert inner forks first, round after round, until none is short enough."""
        divergence = None if Cfg(function).irreducible_edges else Divergence(function)
        changed = False
        while self._round(function, divergence):
            drop_unreachable(function)
            merge_chains(function)
            changed = True
        return changed

    def _round(self, function: Function, divergence: Divergence | None) -> bool:
        """Convert every fork without forks in it; they have no block in common but where they meet."""
        predecessors = Cfg(function).predecessors
        forks = [fork for block in function.blocks if (fork := _fork(block, predecessors)) is not None]
        short = [fork for fork in forks if fork.cost <= self._limit(fork, divergence)]
        for fork in short:
            fork.flatten()
        return bool(short)

    def _limit(self, fork: _Fork, divergence: Divergence | None) -> int:
        condition = fork.head.terminator.operands[0]
        uniform = divergence is not None and divergence.is_uniform(condition)
        return self.uniform_limit if uniform else self.limit


@dataclass(frozen=True, slots=True)
class _Fork:
    """`head` branches to `sides` (None where it goes to `join` directly), which all go on to `join`."""

    head: Block
    sides: tuple[Block | None, Block | None]
    join: Block

    @property
    def ends(self) -> tuple[Block, Block]:
        """The blocks from which the join is reached, where the condition holds and where it does not."""
        return (self.sides[0] or self.head, self.sides[1] or self.head)

    @property
    def cost(self) -> int:
        """What every lane would run: the ops of both sides, and a select for each phi."""
        inside = sum(_cost(op) for side in self.sides if side is not None for op in side.body)
        return inside + len(self.join.phis)

    def flatten(self) -> None:
        """Move everything into the head."""
        branch = self.head.ops.pop()
        condition = branch.operands[0]
        b = Builder(self.head.ops, branch.span, condition.name)
        for side, holds in zip(self.sides, (True, False), strict=True):
            if side is not None:
                self._move(side, condition if holds else None, condition, b)
        self._select(condition, b)
        b.span = branch.span
        b.effect("br", blocks=[self.join])

    def _move(self, side: Block, guard: Value | None, condition: Value, b: Builder) -> None:
        for op in side.body:
            if op.spec.guardable:
                b.span, b.hint = op.span, condition.name
                guard = guard if guard is not None else b.negate(condition)
                op.guard = guard if op.guard is None else b.emit("and", op.guard, guard)
            b.ops.append(op)

    def _select(self, condition: Value, b: Builder) -> None:
        true, false = self.ends
        for phi in self.join.phis:
            x = phi.operands[phi.blocks.index(true)]
            y = phi.operands[phi.blocks.index(false)]
            b.span, b.hint = phi.span, phi.result.name if phi.result is not None else ""
            value = x if x is y else b.emit("select", condition, x, y)
            kept = [
                (block, v)
                for block, v in zip(phi.blocks, phi.operands, strict=True)
                if block not in (true, false, self.head)
            ]
            phi.blocks = [*(block for block, _ in kept), self.head]
            phi.operands = [*(v for _, v in kept), value]


def _cost(op: Op) -> int:
    """Launch constants are operands of instructions and a predicate is a word already; a guard is a value to carry."""
    if op.name in ("param", "sreg", "zext"):
        return 0
    return 3 if op.spec.guardable else 1


def _fork(block: Block, predecessors: Mapping[Block, list[Block]]) -> _Fork | None:
    if block.terminator.name != "cbr":
        return None
    taken, other = block.terminator.blocks
    if taken is other:
        return None
    first, second = (_is_side(side, predecessors[side]) for side in (taken, other))
    join = None
    sides: tuple[Block | None, Block | None] = (None, None)
    if first and second and taken.successors == other.successors:
        sides, join = (taken, other), taken.successors[0]
    elif first and taken.successors == [other]:
        sides, join = (taken, None), other
    elif second and other.successors == [taken]:
        sides, join = (None, other), taken
    return _Fork(block, sides, join) if join is not None and join is not block else None


def _is_side(block: Block, predecessors: list[Block]) -> bool:
    """Whether only one branch leads to the block, and all of it can be run under a guard."""
    return (
        len(predecessors) == 1
        and block.terminator.name == "br"
        and all(op.spec.pure or op.spec.guardable for op in block.body)
        and not block.phis
    )
