"""What to change in a kernel, read off its profile.

A rule looks at one block, or at the launch, and estimates the tokens at stake; the largest come first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from qgc.runtime.profile import BlockCost, Profile

WORTH = 0.05
"""Share of the generated tokens below which a hint is not worth a line."""
WIDE = 4.0
"""Mean slices from which a value counts as wide: 12 bits a lane, or 48 of a uniform value on machines of 4 lanes."""
MOST = 6
"""Hints shown."""

Hint = tuple[int, str]
"""Tokens at stake, and what to do."""


def hints(found: Profile) -> list[str]:
    """The hints that are worth a line, those with most at stake first."""
    made = [
        hint
        for block in found.blocks
        if block.tokens["exec"]
        for rule in RULES
        for hint in rule(found, block)
    ]
    made += _prompt(found)
    worth = [hint for hint in made if hint[0] >= max(1, WORTH * found.generated)]
    return [text for _, text in sorted(worth, key=lambda hint: -hint[0])[:MOST]]


def _share(found: Profile, tokens: int) -> str:
    return f"{tokens / found.generated:.0%} of the tokens"


def _wide(found: Profile, block: BlockCost) -> Iterator[Hint]:
    for out, value in zip(block.block.live_outs, block.values, strict=True):
        if value.sent and value.slices / value.sent >= WIDE:
            saved = value.slices - value.sent
            yield (
                saved,
                (
                    f"block {block.number} writes r{out.register} in {value.slices / value.sent:.1f} slices each time (at most "
                    f"{value.longest}), {_share(found, value.slices)}: keep the value small or equal in all lanes, or compute "
                    "it again where it is used"
                ),
            )


def _many(found: Profile, block: BlockCost) -> Iterator[Hint]:
    count, spent = len(block.values), block.tokens["val"]
    if count > 1 and spent >= 2 * block.tokens["exec"]:
        yield (
            spent - block.tokens["exec"],
            (
                f"block {block.number} writes {count} values for {block.useful} operations, {_share(found, spent)}: fewer "
                "variables that live on from one step to the next cost fewer tokens"
            ),
        )


def _serial(found: Profile, block: BlockCost) -> Iterator[Hint]:
    if block.block.serial:
        spared = block.total - block.total // found.program.config.lanes
        yield (
            spared,
            (
                f"block {block.number} is serial, one thread at a time: {_share(found, block.total)} are atomics; add up in "
                "each thread first, and use one atomic a thread"
            ),
        )


def _small(found: Profile, block: BlockCost) -> Iterator[Hint]:
    runs, stages = block.tokens["exec"], found.program.config.stages
    if 2 * block.useful <= stages and not block.block.serial:
        has = (
            "no operation"
            if not block.useful
            else f"{block.useful} operation{'s' if block.useful > 1 else ''}"
        )
        yield (
            runs * (stages - block.useful) // stages,
            (
                f"block {block.number} has {has} where {stages} fit, and runs {runs} times: unroll the loop it is in, or "
                "replace a branch by a select"
            ),
        )


def _idle_lanes(found: Profile, block: BlockCost) -> Iterator[Hint]:
    runs, lanes = block.tokens["exec"], found.program.config.lanes
    mean = block.lanes / runs
    if mean <= lanes / 2 and not block.block.serial:
        yield (
            int(block.total * (1 - mean / lanes)),
            (
                f"block {block.number} runs with {mean:.1f} of {lanes} lanes: launch more threads, or let the threads of a "
                "group take the same way"
            ),
        )


def _scattered(found: Profile, block: BlockCost) -> Iterator[Hint]:
    stores = block.stores["adr"]
    if not block.block.serial and stores.sent > block.tokens["exec"]:
        yield (
            2 * (stores.sent - block.tokens["exec"]),
            (
                f"block {block.number} stores {stores.sent} words one by one, each with its address: let neighbouring threads "
                "store to neighbouring words"
            ),
        )


def _prompt(found: Profile) -> Iterator[Hint]:
    if found.prompt > 2 * found.generated:
        yield (
            found.prompt,
            (
                f"the prompt is {found.prompt} tokens for {found.generated} generated ones: --bake puts the program into the "
                "weights, or do more in one launch"
            ),
        )


RULES: tuple[Callable[[Profile, BlockCost], Iterator[Hint]], ...] = (
    _wide,
    _many,
    _serial,
    _small,
    _idle_lanes,
    _scattered,
)
"""What is looked for in each block that ran."""
