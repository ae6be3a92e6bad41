"""Jump threading: a block that does nothing but go on is skipped by those that lead to it, and dropped.

Keeps: the order of the remaining blocks, and so where lanes meet again.
Leaves alone: block 0, and an empty block on a back edge that several blocks or a serial one lead to. There lanes that
leave a loop body at different places or times wait for each other; without it the first ones would run ahead, one
iteration at a time.
"""

from __future__ import annotations

from dataclasses import replace

from qgc.ir.machine.program import EXIT, Branch, Program


def thread_jumps(program: Program) -> Program:
    """The program without needless blocks, renumbered."""
    while (skipped := _skippable(program)) is not None:
        program = _without(program, skipped)
    return program


def _skippable(program: Program) -> int | None:
    """The first block that can be skipped."""
    for number, block in enumerate(program.blocks):
        branch = block.branch
        is_empty = not block.instrs and not block.live_outs and not branch.is_conditional
        if number == 0 or not is_empty or branch.taken == number:
            continue
        before = [other for other in program.blocks if number in _targets(other.branch)]
        goes_back = branch.taken != EXIT and branch.taken < number
        if not (goes_back and (len(before) > 1 or any(other.serial for other in before))):
            return number
    return None


def _targets(branch: Branch) -> tuple[int, ...]:
    return (branch.taken, branch.other) if branch.is_conditional else (branch.taken,)


def _without(program: Program, number: int) -> Program:
    """Skip block `number` and drop it."""
    target = program.blocks[number].branch.taken

    def moved(block: int) -> int:
        block = target if block == number else block
        return block - 1 if block > number else block

    blocks = []
    for i, block in enumerate(program.blocks):
        if i == number:
            continue
        branch = block.branch
        new = Branch(moved(branch.taken))
        if branch.is_conditional and moved(branch.other) != new.taken:
            new = Branch(new.taken, moved(branch.other), branch.guard)
        blocks.append(replace(block, branch=new))
    return replace(program, blocks=tuple(blocks))
