"""What a machine is fed and must answer: launches of generated programs, one after the other in one context."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from qgc.ir.machine.config import MachineConfig
from qgc.ir.machine.interpreter import FAULT, HALT, Machine
from qgc.ir.machine.tokens import ROM_SLOTS, Token, Vocabulary, rom_word_bits, scalar_tokens
from tests.helpers.programs import Case


class Feeds(Protocol):
    """Anything that takes tokens and says which comes next."""

    def feed(self, token: Token) -> Token: ...


@dataclass(frozen=True, slots=True)
class Context:
    """A context: its tokens, what must follow each (None within prompts, and after the end), and the final memory."""

    tokens: list[Token]
    answers: list[Token | None]
    memory: list[int]

    def ids(self, vocabulary: Vocabulary) -> list[int]:
        return [vocabulary.id(token) for token in self.tokens]

    def expected(self) -> dict[int, Token]:
        """The answers that count, by position."""
        return {i: answer for i, answer in enumerate(self.answers) if answer is not None}


class _Launches:
    """Launches in one machine, until one faults."""

    def __init__(self, config: MachineConfig, include_program: bool, keep_memory: bool) -> None:
        self.machine = Machine(config)
        self.include_program = include_program
        self.keep_memory = keep_memory
        self.context = Context([], [], self.machine.memory)

    def _feed(self, token: Token, counts: bool) -> Token:
        answer = self.machine.feed(token)
        self.context.tokens.append(token)
        self.context.answers.append(answer if counts else None)
        return answer

    def run(self, case: Case, budget: int) -> bool:
        """Whether the case ended with a halt; otherwise the context ends."""
        is_first = not self.context.tokens
        answer = HALT
        for prompt in case.launch(self.include_program).prompts if is_first else [self._changes(case)]:
            for i, token in enumerate(prompt):
                answer = self._feed(token, i == len(prompt) - 1)
            while answer not in (HALT, FAULT):
                if len(self.context.tokens) > budget:
                    return False
                answer = self._feed(answer, True)
            if answer == FAULT:
                return False
            self._feed(HALT, False)
        return True

    def _changes(self, case: Case) -> list[Token]:
        """The prompt of a later launch: what differs from what the machine holds, zeros included."""
        fresh = Machine(self.machine.config)
        prompt = case.launch(self.include_program).prompts[0]
        for token in prompt:
            fresh.feed(token)
        config, tokens = self.machine.config, list[Token]()
        used = len(case.program.blocks) if self.include_program else 0
        for number in range(used):
            for slot, word in enumerate(fresh.rom[number]):
                if word != self.machine.rom[number][slot]:
                    tokens.append(Token("rom", number * ROM_SLOTS + slot))
                    tokens += scalar_tokens(config, "mem_s", word, rom_word_bits(config))
        rows = [("const", self.machine.consts, fresh.consts)]
        if not self.keep_memory:
            rows.append(("adr", self.machine.memory, fresh.memory))
        for kind, now, wanted in rows:
            for row, word in enumerate(wanted):
                if word != now[row]:
                    tokens += [Token(kind, row), *scalar_tokens(config, "mem_s", word)]
        return [*tokens, *(t for t in prompt if t.kind in ("start", "warp"))]


def contexts(
    config: MachineConfig,
    cases: Iterable[Case],
    size: int = 1 << 30,
    include_program: bool = True,
    keep_memory: bool = False,
) -> list[Context]:
    """Launch cases one after the other; a new context begins after a fault, and when one has `size` tokens.

    With `keep_memory` later launches find in memory what the ones before have left, not their arrays.
    """
    done, launches = [], _Launches(config, include_program, keep_memory)
    for case in cases:
        if not launches.run(case, 100_000) or len(launches.context.tokens) >= size:
            done.append(launches.context)
            launches = _Launches(config, include_program, keep_memory)
    return [*done, launches.context] if launches.context.tokens else done


def assert_follows(machine: Feeds, context: Context) -> None:
    """A machine answers every generated position as the interpreter does."""
    for i, (token, answer) in enumerate(zip(context.tokens, context.answers, strict=True)):
        got = machine.feed(token)
        if answer is not None and got != answer:
            raise AssertionError(f"position {i}: after {token} comes {got}, not {answer}")
