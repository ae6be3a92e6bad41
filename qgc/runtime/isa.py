"""The `isa` engine: a launch on the machine's reference interpreter, with every token it takes and makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from qgc.ir.machine.interpreter import Machine
from qgc.ir.machine.tokens import Token
from qgc.runtime.faults import Watch
from qgc.runtime.launch import Launch

BUDGET = 100_000
"""Generated tokens after which a launch is taken to run for ever."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A finished launch.

    Attributes:
        arrays: by parameter, as they are at the end.
        tokens: the whole stream: prompts, and after each one what the machine generated, `halt` included.
        generated: for each token whether the machine made it.
        memory: the words of global memory.
    """

    arrays: dict[str, NDArray[Any]]
    tokens: list[Token]
    generated: list[bool]
    memory: list[int]

    @property
    def answers(self) -> list[Token]:
        """The generated tokens."""
        return [token for token, is_own in zip(self.tokens, self.generated, strict=True) if is_own]


def run_isa(launch: Launch, budget: int = BUDGET) -> Run:
    """Run a launch to its end.

    Raises:
        QgcError: `run-fault`, `run-store` or `run-budget`; the message says where and what was done so far.
    """
    watch = Watch(launch)
    tokens: list[Token] = []
    generated: list[bool] = []
    for token, is_own in stream_isa(watch, budget):
        tokens.append(token)
        generated.append(is_own)
    return Run(launch.read(watch.machine.memory), tokens, generated, watch.machine.memory)


def run_chain_isa(launches: Sequence[Launch], budget: int = BUDGET) -> list[Run]:
    """Run launches of one context (`launch.link_chain`) one after another.

    Returns:
        A run for each; its tokens are those of its own launch.

    Raises:
        QgcError: as `run_isa`.
    """
    machine: Machine | None = None
    runs = []
    for launch in launches:
        watch = Watch(launch, machine)
        stream = list(stream_isa(watch, budget))
        machine = watch.machine
        memory = list(machine.memory)
        tokens, generated = [token for token, _ in stream], [is_own for _, is_own in stream]
        runs.append(Run(launch.read(memory), tokens, generated, memory))
    return runs


def stream_isa(watch: Watch, budget: int = BUDGET) -> Iterator[tuple[Token, bool]]:
    """The stream of the watched launch as it is made: each token, and whether the machine generated it.

    Raises:
        QgcError: as `run_isa`.
    """
    left = budget
    for number, prompt in enumerate(watch.launch.prompts):
        watch.ctaid = number
        yield from ((token, False) for token in prompt)
        answer = watch.prompt(prompt)
        while True:
            if left == 0:
                raise watch.exhausted(budget)
            left -= 1
            yield answer, True
            following = watch.step(answer)
            if answer.kind == "halt":
                break
            answer = following
