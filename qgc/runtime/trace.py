"""A launch in words: every generated token with its blocks, lanes, registers and words of memory.

The tokens are only read here. The machine's reference interpreter is fed with them, as they are, to spell the values
that consecutive slices make up; it predicts nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from qgc.ir.machine.isa import signed
from qgc.ir.machine.program import Program
from qgc.ir.machine.rom import place
from qgc.ir.machine.text import block_lines
from qgc.ir.machine.tokens import Token, Vocabulary
from qgc.runtime.faults import loaded

if TYPE_CHECKING:
    from qgc.runtime.isa import Run


def trace(program: Program, run: Run, arrays: Mapping[str, range]) -> Iterator[str]:
    """Yield the lines of a launch, one for each generated token, and a block's listing where it first runs.

    Args:
        program: what ran.
        run: the stream.
        arrays: the words of global memory where each array lies, to name addresses.
    """
    reader = _Reader(program, arrays)
    vocabulary = Vocabulary(program.config)
    number = 0
    for token, is_generated in zip(run.tokens, run.generated, strict=True):
        if not is_generated:
            reader.machine.feed(token)
            continue
        words = reader.read(token)
        yield f"{number:5}  {vocabulary.name(token):<22} {words}".rstrip()
        if token.kind == "exec":
            yield from (f"{'':29} | {line}" for line in reader.listing())
        number += 1


class _Reader:
    """What the tokens so far have made of the machine."""

    def __init__(self, program: Program, arrays: Mapping[str, range]) -> None:
        self.program = program
        self.arrays = arrays
        self.machine = loaded(program)
        self._listed: set[int] = set()
        self._live_out = -1
        self._address = 0
        self._value = ""

    def read(self, token: Token) -> str:
        """Feed one token; say what it did."""
        kind, payload = token.kind, token.payload
        if kind not in ("more", "rest"):
            self._value = kind
        if kind.startswith("val"):
            self._live_out += 1
        if self._value.startswith("val") and self._live_out >= len(self._live_outs()):
            return "a value that the block does not have"
        self.machine.feed(token)
        if kind == "exec":
            self._live_out = -1
            return f"block {self.machine.block}, {self._threads()}"
        if kind in ("adr", "adr_v"):
            self._address = payload
            return f"to {self._place(payload)}"
        if self._value.startswith("val"):
            return self._register()
        if self._value.startswith("mem"):
            return self._memory()
        if kind == "warp":
            return self._turn()
        return {"halt": "all threads have ended"}.get(kind, "out of range")

    def _turn(self) -> str:
        """A group's turn, and who goes on after a wait."""
        machine = self.machine
        if machine.group or not machine.resumed:
            return f"group {machine.group} next"
        block, wait = place(self.program.config, machine.resumed)
        return f"group {machine.group} next; who waits for the {wait.name.lower()} at block {block} goes on"

    def listing(self) -> Iterator[str]:
        """The current block's lines, the first time that it runs."""
        if self.machine.block in self._listed:
            return
        self._listed.add(self.machine.block)
        yield from (line.split(" @ ")[0] for line in block_lines(self.program.blocks[self.machine.block]))

    def _live_outs(self) -> tuple[int, ...]:
        return tuple(out.register for out in self.program.blocks[self.machine.block].live_outs)

    def _lanes(self) -> list[int]:
        return [lane for lane, on in enumerate(self.machine.mask) if on]

    def _threads(self) -> str:
        base = self.machine.group * self.program.config.lanes
        lanes = self._lanes()
        return f"thread{'s' if len(lanes) > 1 else ''} {' '.join(str(base + lane) for lane in lanes)}"

    def _register(self) -> str:
        register = self._live_outs()[self._live_out]
        words = self.machine.registers[self.machine.group][register]
        return f"r{register} = {_numbers(words[lane] for lane in self._lanes())}"

    def _memory(self) -> str:
        if self._value == "mem_s":
            return f"{self._place(self._address)} = {_numbers([self.machine.memory[self._address]])}"
        words = [self._address + lane for lane in self._lanes()]
        values = _numbers(self.machine.memory[word] for word in words)
        return f"{' '.join(self._place(word) for word in words)} = {values}"

    def _place(self, word: int) -> str:
        for name, words in self.arrays.items():
            if word in words:
                return f"{name}[{word - words.start}]"
        return f"word {word}"


def _numbers(words: Iterable[int]) -> str:
    return " ".join(str(signed(word)) for word in words)
