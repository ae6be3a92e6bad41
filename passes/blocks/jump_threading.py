"""Jump threading: a block that does nothing but go on is skipped by those that lead to it, and dropped.

Keeps: the order of the remaining blocks, and so where lanes meet again; and what lanes wait for. Who waits for an empty
block waits for the one after it, when that is no wait of its own.
Leaves alone: block 0, and an empty block on a back edge that several blocks or a serial one lead to. There lanes that
leave a loop body at different places or times wait for each other; without it the first ones would run ahead, one
iteration at a time.
"""

from __future__ import annotations

from dataclasses import replace

from qgc.ir.machine.program import EXIT, Branch, Program, Wait


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
        if any(_waits(other.branch, number) for other in program.blocks) and (
            branch.taken == EXIT or branch.taken_wait or program.blocks[branch.taken].serial
        ):
            continue
        before = [other for other in program.blocks if number in _targets(other.branch)]
        goes_back = branch.taken != EXIT and branch.taken < number
        if not (goes_back and (len(before) > 1 or any(other.serial for other in before))):
            return number
    return None


def _targets(branch: Branch) -> tuple[int, ...]:
    return (branch.taken, branch.other) if branch.is_conditional else (branch.taken,)


def _waits(branch: Branch, number: int) -> bool:
    """Whether lanes wait on their way to a block."""
    return any((t, w) == (number, w) and w for t, w in _ways(branch))


def _ways(branch: Branch) -> list[tuple[int, Wait]]:
    """Targets and waits."""
    both = [(branch.taken, branch.taken_wait), (branch.other, branch.other_wait)]
    return both if branch.is_conditional else both[:1]


def _without(program: Program, number: int) -> Program:
    """Skip block `number` and drop it."""
    skipped = program.blocks[number].branch

    def moved(block: int, wait: Wait) -> tuple[int, Wait]:
        block, wait = (skipped.taken, wait or skipped.taken_wait) if block == number else (block, wait)
        return (block - 1 if block > number else block), wait

    blocks = []
    for i, block in enumerate(program.blocks):
        if i == number:
            continue
        branch = block.branch
        target, wait = moved(branch.taken, branch.taken_wait)
        other = moved(branch.other, branch.other_wait)
        new = Branch(target, taken_wait=wait)
        if branch.is_conditional and other != (target, wait):
            new = Branch(target, other[0], branch.guard, wait, other[1])
        blocks.append(replace(block, branch=new))
    return replace(program, blocks=tuple(blocks))
