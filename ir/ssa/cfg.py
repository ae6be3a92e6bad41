"""Facts about a function's control flow: orders, dominators, loops, and the forward graph that lanes follow.

A `Cfg` is a snapshot: a pass that changes edges makes a new one. All results are in an order that depends on the text
of the function alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from qgc.ir.ssa.dominance import dominance_frontiers, immediate_dominators
from qgc.ir.ssa.function import Block, Function

Edges: TypeAlias = Mapping[Block, list[Block]]


@dataclass(eq=False, slots=True)
class Loop:
    """A natural loop: all back edges to one header. `blocks` are in reverse postorder, header first."""

    header: Block
    latches: list[Block]
    blocks: list[Block]
    parent: Loop | None = field(default=None, repr=False)

    @property
    def exits(self) -> list[tuple[Block, Block]]:
        """The edges that leave, as (inside, outside)."""
        return [(b, s) for b in self.blocks for s in b.successors if s not in self.blocks]


class Cfg:
    """Control flow of one function, blocks that nothing reaches left out."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.entry = function.entry

    @cached_property
    def order(self) -> list[Block]:
        """The blocks that can be reached, in reverse postorder, first successors first."""
        return reverse_postorder(self.entry)

    @cached_property
    def index(self) -> dict[Block, int]:
        """The place of each block in `order`."""
        return {block: i for i, block in enumerate(self.order)}

    @cached_property
    def predecessors(self) -> dict[Block, list[Block]]:
        """For each block the blocks that branch to it, each once, in function order."""
        result: dict[Block, list[Block]] = {block: [] for block in self.order}
        for block in self.function.blocks:
            if block in self.index:
                for successor in block.successors:
                    result[successor].append(block)
        return result

    @cached_property
    def idom(self) -> dict[Block, Block]:
        """The immediate dominator of each block but the entry."""
        return immediate_dominators(self.order, self.predecessors)

    @cached_property
    def dominator_tree(self) -> dict[Block, list[Block]]:
        """The blocks that each block immediately dominates, in reverse postorder."""
        tree: dict[Block, list[Block]] = {block: [] for block in self.order}
        for block in self.order[1:]:
            tree[self.idom[block]].append(block)
        return tree

    @cached_property
    def dominator_preorder(self) -> list[Block]:
        """Every block after the blocks that dominate it, the blocks below one block together."""
        result: list[Block] = []
        stack = [self.entry]
        while stack:
            block = stack.pop()
            result.append(block)
            stack.extend(reversed(self.dominator_tree[block]))
        return result

    @cached_property
    def _span(self) -> dict[Block, tuple[int, int]]:
        """For each block its place in `dominator_preorder` and the first place after all that it dominates."""
        size = dict.fromkeys(self.order, 1)
        for block in reversed(self.dominator_preorder):
            if block in self.idom:
                size[self.idom[block]] += size[block]
        return {block: (i, i + size[block]) for i, block in enumerate(self.dominator_preorder)}

    def dominates(self, a: Block, b: Block) -> bool:
        """Whether every path from the entry to `b` passes `a` (a block dominates itself)."""
        start, end = self._span[a]
        return start <= self._span[b][0] < end

    @cached_property
    def frontiers(self) -> dict[Block, list[Block]]:
        """The dominance frontier of each block, in reverse postorder."""
        return dominance_frontiers(self.order, self.predecessors, self.idom)

    @cached_property
    def back_edges(self) -> list[tuple[Block, Block]]:
        """Edges to a block that dominates their source."""
        return [(b, s) for b in self.order for s in b.successors if self.dominates(s, b)]

    @cached_property
    def irreducible_edges(self) -> list[tuple[Block, Block]]:
        """Edges against the order that are no back edges: they enter a loop beside its header."""
        return [
            (b, s)
            for b in self.order
            for s in b.successors
            if self.index[s] <= self.index[b] and not self.dominates(s, b)
        ]

    @cached_property
    def loops(self) -> list[Loop]:
        """Natural loops, outer ones before the loops inside them."""
        latches: dict[Block, list[Block]] = {}
        for source, header in self.back_edges:
            latches.setdefault(header, []).append(source)
        loops: list[Loop] = []
        for header in sorted(latches, key=self.index.__getitem__):
            loop = Loop(header, latches[header], self._loop_blocks(header, latches[header]))
            around = [outer for outer in loops if header in outer.blocks]
            loop.parent = min(around, key=lambda outer: len(outer.blocks), default=None)
            loops.append(loop)
        return loops

    def _loop_blocks(self, header: Block, latches: list[Block]) -> list[Block]:
        inside = {header}
        work = list(latches)
        while work:
            block = work.pop()
            if block not in inside:
                inside.add(block)
                work.extend(self.predecessors[block])
        return sorted(inside, key=self.index.__getitem__)

    @cached_property
    def loop_of(self) -> dict[Block, Loop]:
        """The innermost loop around each block that is in one."""
        return {block: loop for loop in self.loops for block in loop.blocks}

    @cached_property
    def forward(self) -> dict[Block, list[Block]]:
        """The edges that lanes follow from one block to a later one.

        A back edge is replaced by edges to where its loop exits: a lane at the latch goes around, and leaves there in
        the end. The graph of a reducible function is acyclic.
        """
        back = set(self.back_edges)
        loops = {loop.header: loop for loop in self.loops}
        result: dict[Block, list[Block]] = {}
        for block in self.order:
            work = [(block, successor) for successor in block.successors]
            seen = set(work)
            targets: dict[Block, None] = {}
            for edge in work:
                if edge not in back:
                    targets[edge[1]] = None
                    continue
                found = [e for e in loops[edge[1]].exits if e not in seen]
                seen.update(found)
                work.extend(found)
            result[block] = list(targets)
        return result

    @cached_property
    def reconvergence(self) -> dict[Block, Block | None]:
        """For each block its immediate post-dominator in `forward`; None when its lanes only meet by ending."""
        return post_dominators(self.forward)


def reverse_postorder(entry: Block) -> list[Block]:
    """The blocks reachable from `entry`; without back edges every block stands after its predecessors."""
    seen: dict[Block, list[Block]] = {}
    work = [entry]
    while work:
        block = work.pop()
        if block not in seen:
            seen[block] = block.successors
            work.extend(seen[block])
    return reverse_postorder_of(entry, seen)


def reverse_postorder_of(entry: Block, edges: Edges) -> list[Block]:
    """The nodes reachable along `edges`, first successors first."""
    postorder: list[Block] = []
    seen = {entry}
    stack = [(entry, iter(reversed(edges[entry])))]
    while stack:
        block, successors = stack[-1]
        fresh = next((s for s in successors if s not in seen), None)
        if fresh is None:
            postorder.append(block)
            stack.pop()
        else:
            seen.add(fresh)
            stack.append((fresh, iter(reversed(edges[fresh]))))
    return postorder[::-1]


def post_dominators(edges: Edges) -> dict[Block, Block | None]:
    """Immediate post-dominators of an acyclic graph; None stands for the end."""
    end = Block("end")
    after = {block: successors or [end] for block, successors in edges.items()} | {end: []}
    before: dict[Block, list[Block]] = {block: [] for block in after}
    for block, successors in after.items():
        for successor in successors:
            before[successor].append(block)
    found = immediate_dominators(reverse_postorder_of(end, before), after)
    return {block: found[block] if found[block] is not end else None for block in edges}


def reachable(edges: Edges, starts: Iterable[Block], stop: Block | None = None) -> list[Block]:
    """The blocks on paths from `starts` that do not enter `stop`, in the order that a search finds them."""
    found = dict.fromkeys(b for b in starts if b is not stop)
    for block in (work := list(found)):
        for successor in edges[block]:
            if successor is not stop and successor not in found:
                found[successor] = None
                work.append(successor)
    return list(found)
