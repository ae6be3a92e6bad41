"""Which values are the same in all lanes of a group (uniform), and which may differ (varying).

A value varies when
  - its source does: thread registers, atomics, local memory (a load of one shared address is one read for all);
  - an operand or the guard varies (data dependence);
  - it is a phi where the paths of a varying branch meet (sync dependence);
  - it is defined in a loop that lanes leave in different iterations, and used outside of it.

Uniform means: whenever the block runs, the lanes that run it agree. It rests on the block order of stage `ir-div`
(verify.py), by which lanes of one iteration run a block together: a uniform load may not move to where lanes run one
after another.
"""

from __future__ import annotations

from qgc.ir.ssa.cfg import Cfg, Loop, reachable
from qgc.ir.ssa.function import Block, Function, Op, Value
from qgc.ir.ssa.ops import SREGS


class Divergence:
    """The least solution for one function, whose loops must have one header and one latch each."""

    def __init__(self, function: Function) -> None:
        self.cfg = Cfg(function)
        self._users: dict[Value, list[Op]] = {}
        self._block: dict[Op, Block] = {}
        self._varying: dict[Value, None] = {}
        self._work: list[Value] = []
        self._branches: dict[Block, None] = {}
        self._loops: dict[Loop, None] = {}
        for block in self.cfg.order:
            for op in block.ops:
                self._block[op] = block
                for value in op.uses:
                    self._users.setdefault(value, []).append(op)
        for op in self._block:
            if op.result is not None and _is_source(op):
                self._mark(op.result)
        while self._work:
            for user in self._users.get(self._work.pop(), []):
                self._spread(user)

    def is_uniform(self, value: Value) -> bool:
        """Whether all lanes that run the definition of `value` get the same."""
        return value not in self._varying

    def _mark(self, value: Value) -> None:
        if value not in self._varying:
            self._varying[value] = None
            self._work.append(value)

    def _spread(self, user: Op) -> None:
        if user.result is not None:
            self._mark(user.result)
        if user.name == "cbr" and self._block[user] not in self._branches:
            block = self._block[user]
            self._branches[block] = None
            for join in self._joins(block):
                for phi in join.phis:
                    if phi.result is not None:
                        self._mark(phi.result)
            self._leave_loops(block)

    def _joins(self, branch: Block) -> list[Block]:
        """The blocks where two different paths from `branch` meet first, up to its reconvergence.

        Each block on the way carries the name of the last meeting that all paths to it passed.
        """
        cfg, end = self.cfg, self.cfg.reconvergence[branch]
        edges = cfg.forward
        region = reachable(edges, edges[branch], end)
        targets = [*sorted(region, key=cfg.index.__getitem__), *([end] if end is not None else [])]
        label = {target: target for target in edges[branch]}
        joins: list[Block] = []
        arrivals: dict[Block, list[Block]] = {}
        for block in targets:
            came = list(dict.fromkeys(arrivals.get(block, []) + ([label[block]] if block in label else [])))
            if len(came) > 1:
                joins.append(block)
            label[block] = came[0] if len(came) == 1 else block
            if block is not end:
                for successor in edges[block]:
                    arrivals.setdefault(successor, []).append(label[block])
        return joins

    def _leave_loops(self, branch: Block) -> None:
        """Loops around `branch` that end before its lanes meet again are left in different iterations."""
        loop = self.cfg.loop_of.get(branch)
        end = self.cfg.reconvergence[branch]
        while loop is not None and end not in loop.blocks:
            if loop not in self._loops:
                self._loops[loop] = None
                for block in loop.blocks:
                    for op in block.ops:
                        if op.result is not None and self._is_used_outside(op.result, loop):
                            self._mark(op.result)
            loop = loop.parent

    def _is_used_outside(self, value: Value, loop: Loop) -> bool:
        return any(self._block[user] not in loop.blocks for user in self._users.get(value, []))


def _is_source(op: Op) -> bool:
    if op.name == "sreg":
        return not SREGS[str(op.attr("sreg"))].uniform
    return op.name in ("atomic", "cas") or (op.name == "load" and op.attr("space") == "local")


def annotate(function: Function) -> bool:
    """Write the result of the analysis on every value; say whether an annotation changed."""
    divergence = Divergence(function)
    changed = False
    for op in function.ops():
        if op.result is not None and op.result.uniform is not divergence.is_uniform(op.result):
            op.result.uniform = divergence.is_uniform(op.result)
            changed = True
    return changed
