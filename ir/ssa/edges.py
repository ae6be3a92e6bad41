"""Changing edges while phis stay right."""

from __future__ import annotations

from qgc.ir.ssa.cfg import Cfg
from qgc.ir.ssa.function import Block, Function, Op, Value, make


def remove_predecessor(block: Block, predecessor: Block) -> None:
    """Drop the phi operands of an edge that is gone."""
    for phi in block.phis:
        kept = [(b, v) for b, v in zip(phi.blocks, phi.operands, strict=True) if b is not predecessor]
        phi.blocks, phi.operands = [b for b, _ in kept], [v for _, v in kept]


def rename_predecessor(block: Block, old: Block, new: Block) -> None:
    """Let the phis of `block` expect `new` where they expected `old`."""
    for phi in block.phis:
        phi.blocks = [new if b is old else b for b in phi.blocks]


def redirect(block: Block, old: Block, new: Block) -> None:
    """Let `block` branch to `new` instead of `old`, an empty block that goes on to `new`.

    Phis of `new` get for this edge what they have for the edge from `old`; phis of `old` lose the edge.
    """
    for phi in new.phis:
        if old in phi.blocks:
            phi.blocks.append(block)
            phi.operands.append(phi.operands[phi.blocks.index(old)])
    remove_predecessor(old, block)
    branch = block.terminator
    branch.blocks = [new if b is old else b for b in branch.blocks]


def drop_unreachable(function: Function) -> bool:
    """Drop blocks that nothing reaches; say whether there were any."""
    reached = Cfg(function).index
    dead = [block for block in function.blocks if block not in reached]
    for block in dead:
        for successor in block.successors:
            if successor in reached:
                remove_predecessor(successor, block)
    function.blocks = [block for block in function.blocks if block in reached]
    return bool(dead)


def merge_chains(function: Function) -> bool:
    """Let each block whose only successor has no other predecessor take it in; say whether one did."""
    predecessors = Cfg(function).predecessors
    into: dict[Block, Block] = {}
    for block in function.blocks:
        while block not in into and block.terminator.name == "br":
            target = block.terminator.blocks[0]
            if target is block or target is function.entry or len(predecessors[target]) != 1:
                break
            function.replace_uses({p.result: p.operands[0] for p in target.phis if p.result is not None})
            block.ops = [*block.ops[:-1], *target.body, target.terminator]
            into[target] = block
            for successor in target.successors:
                rename_predecessor(successor, target, block)
                predecessors[successor] = [block if p is target else p for p in predecessors[successor]]
    function.blocks = [block for block in function.blocks if block not in into]
    return bool(into)


def split_edge(function: Function, source: Block, target: Block, name: str) -> Block:
    """Put a new block on an edge, in the list after its source."""
    middle = Block(name, [make("br", blocks=[target], span=source.terminator.span)])
    branch = source.terminator
    branch.blocks = [middle if b is target else b for b in branch.blocks]
    rename_predecessor(target, source, middle)
    function.blocks.insert(function.blocks.index(source) + 1, middle)
    return middle


def merge_edges(function: Function, sources: list[Block], target: Block, name: str) -> Block:
    """Put one new block on several edges to `target`; phis of the new block join what they bring."""
    middle = Block(name)
    for phi in target.phis:
        brought = [phi.operands[phi.blocks.index(source)] for source in sources]
        kept = [(b, v) for b, v in zip(phi.blocks, phi.operands, strict=True) if b not in sources]
        joined = _join(phi, brought, sources, middle)
        phi.blocks = [*(b for b, _ in kept), middle]
        phi.operands = [*(v for _, v in kept), joined]
    middle.ops.append(make("br", blocks=[target], span=sources[-1].terminator.span))
    for source in sources:
        branch = source.terminator
        branch.blocks = [middle if b is target else b for b in branch.blocks]
    function.blocks.insert(function.blocks.index(sources[-1]) + 1, middle)
    return middle


def _join(phi: Op, brought: list[Value], sources: list[Block], middle: Block) -> Value:
    """One value for what several edges bring: it is the same, or a phi in the new block chooses."""
    if all(value is brought[0] for value in brought):
        return brought[0]
    hint = phi.result.name if phi.result is not None else ""
    op = make("phi", *brought, blocks=sources, hint=hint, span=phi.span)
    middle.ops.append(op)
    return op.result if op.result is not None else brought[0]


def phi_copies(predecessor: Block, successor: Block) -> list[tuple[Value, Value]]:
    """The parallel copy (phi result, source) that an edge performs: all sources are read before any result is written."""
    return [
        (phi.result, phi.operands[phi.blocks.index(predecessor)])
        for phi in successor.phis
        if phi.result is not None
    ]
