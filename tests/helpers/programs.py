"""Random machine programs that verify and end: one random block, or several with divergent branches and loops.

`bare_block`, `single_block` and `multi_block` make a `Case`: a program, a block size and arrays. `case.launch()`
links it, `run_isa` runs it. Accesses are in range nearly always: one address in sixteen is wild, so that faults occur too.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from qgc.ir.machine.config import MachineConfig
from qgc.ir.machine.isa import OPS, Unit, unit_stages
from qgc.ir.machine.program import ALWAYS, EXIT, Block, Branch, Guard, Instr, LiveOut, Param, Program, Wait
from qgc.ir.machine.verify import verify
from qgc.runtime.launch import Launch, link

T = TypeVar("T")
MASK = 0xFFFFFFFF
ODD_WORDS = (0x7FFFFFFF, 0x80000000, 0xFFFF, 0x10000, 0x55555555, 0xDEADBEEF, 2047, 2048, 3, 4)
WORDS = st.one_of(
    st.integers(0, 40),
    st.integers(-40, -1).map(lambda v: v & MASK),
    st.sampled_from(ODD_WORDS),
    st.integers(0, MASK),
)
"""Words with the values where things go wrong."""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A program and what to launch it with."""

    program: Program
    threads: int
    args: tuple[NDArray[Any], ...]

    def launch(self, include_program: bool = True) -> Launch:
        """Link it with fresh copies of the arrays."""
        args = [array.copy() for array in self.args]
        return link(self.program, (1, 1, 1), (self.threads, 1, 1), args, include_program=include_program)

    def __repr__(self) -> str:
        from qgc.ir.machine.text import to_text

        arrays = ", ".join(str(array.tolist()) for array in self.args)
        return f"Case({self.threads} threads, {arrays})\n{to_text(self.program)}"


class Dice(ABC):
    """Where random choices come from."""

    @abstractmethod
    def integer(self, low: int, high: int) -> int:
        """A number from `low` to `high`."""

    def pick(self, options: Sequence[T]) -> T:
        """One of some options."""
        return options[self.integer(0, len(options) - 1)]

    def flag(self) -> bool:
        """True or False."""
        return self.integer(0, 1) == 1

    def word(self) -> int:
        """A word, often one of those where things go wrong."""
        kinds = ((0, 40), (-40, -1), (0, len(ODD_WORDS) - 1), (0, MASK))
        kind = self.integer(0, 3)
        value = self.integer(*kinds[kind])
        return ODD_WORDS[value] if kind == 2 else value & MASK

    def some(self, options: Sequence[T], most: int) -> list[T]:
        """Up to `most` different ones."""
        left = list(options)
        count = self.integer(0, min(most, len(left)))
        return [left.pop(self.integer(0, len(left) - 1)) for _ in range(count)]


class Drawn(Dice):
    """Choices that hypothesis makes, and shrinks."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw

    def integer(self, low: int, high: int) -> int:
        value: int = self.draw(st.integers(low, high))
        return value


class Rolled(Dice):
    """Choices that a seed makes: no two alike, where hypothesis repeats itself."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self.rng.randint(low, high)


class _Maker:
    """Draws blocks for one machine. The last word array is the only one that is stored to."""

    def __init__(self, dice: Dice, config: MachineConfig, threads: int, size: int) -> None:
        self.dice = dice
        self.config = config
        self.threads = threads
        self.size = size
        self.consts: list[int | str] = ["param a", "param b"]
        self.reserved: tuple[int, ...] = ()
        self.filled: list[int] = []

    def chance(self, one_in: int) -> bool:
        """True once in so many."""
        return self.dice.integer(1, one_in) == one_in

    def row(self, value: int | str) -> int:
        """A row of the bank with this value, or row 0 when the bank is full."""
        if value not in self.consts and len(self.consts) < self.config.consts:
            self.consts.append(value)
        return self.consts.index(value) if value in self.consts else 0

    def register(self) -> int:
        """Any register, but more often one that a block has written."""
        anything = list(range(self.config.registers))
        return self.dice.pick(anything + self.filled * (2 * len(anything) // max(1, len(self.filled))))

    def operand(self, ready: list[int], allow_const: bool = True) -> str:
        """A source: a forward, a register, the thread index or the constant."""
        kinds = ["register", "tid"] + ["const"] * allow_const + ["forward"] * 3 * bool(ready)
        kind = self.dice.pick(kinds)
        if kind == "forward":
            return f"f{self.dice.pick(ready)}"
        if kind == "register":
            return f"r{self.register()}"
        return "tid" if kind == "tid" else "k"

    def guard(self, ready: list[int]) -> Guard:
        """Often always, else a register or a forward."""
        if self.dice.flag():
            return ALWAYS
        source = self.operand(ready, allow_const=False)
        return Guard(self.predicate(source), self.dice.flag()) if source != "tid" else ALWAYS

    def predicate(self, source: str) -> str:
        """The source itself, or a register that guards can read in its place."""
        return f"r{int(source[1:]) % self.config.guard_rows}" if source.startswith("r") else source

    def ready(self, instrs: list[Instr], stage: int) -> list[int]:
        """The stages that can be forwarded to `stage`."""
        config = self.config
        return [
            i
            for i, instr in enumerate(instrs)
            if stage - i >= (config.multiply_latency if OPS[instr.op].unit is Unit.MULTIPLY else 1)
        ]

    def instr(self, instrs: list[Instr], masked: list[int]) -> Instr:
        """The next operation of a block; `masked` are stages whose results are small indices."""
        config, stage = self.config, len(instrs)
        ready = self.ready(instrs, stage)
        kinds = ["alu"] * 4 + ["load", "load"] * (stage in config.loads) + ["mask"]
        if stage in config.multiply_stages:
            kinds += ["mul", "mul"]
        if stage == config.store_stage:
            kinds += ["store"] * 9
        kind = self.dice.pick(kinds)
        if kind in ("load", "store"):
            return self.access(kind, ready, [i for i in masked if i in ready])
        if kind == "mask":
            masked.append(stage)
            return Instr("and", self.operand(ready, allow_const=False), "k", const=self.row(self.size - 1))
        plain = (Unit.ALU, Unit.REVERSE)
        alu = [
            name
            for name, spec in OPS.items()
            if spec.unit in plain and stage in unit_stages(config, spec.unit) and name != "nop"
        ]
        op = self.dice.pick(["mul", "mul", "lsum"]) if kind == "mul" else self.dice.pick(alu)
        a, b = self.operand(ready), self.operand(ready)
        const = self.row(self.dice.word()) if "k" in (a, b) else None
        return Instr(op, a, b, const=const, guard=self.guard(ready) if OPS[op].guarded else ALWAYS)

    def access(self, kind: str, ready: list[int], masked: list[int]) -> Instr:
        """A load or store, in range but for the wild ones."""
        name = "ld" if kind == "load" else "st"
        index = self.dice.pick(["tid", "r0", *(f"f{i}" for i in masked)])
        array = self.dice.integer(0, 1) if kind == "load" else 1
        op, a, b, const = name + "x", index, "k", array
        if index == "r0":
            op, const = (
                name,
                self.row(f"param {'ab'[array]} + {4 * self.dice.integer(1, self.size - 1)}"),
            )
        if self.chance(16):
            a = self.operand(ready, allow_const=False)
        data = None
        if kind == "store":
            data = self.operand(ready, allow_const=False)
            op = op.replace("st", "stl") if self.chance(4) else op
        return Instr(op, a, b, data, const, self.guard(ready))

    def block(self, branch: Branch, head: tuple[Instr, ...] = (), outs: tuple[LiveOut, ...] = ()) -> Block:
        """A random block that begins with `head` and leaves `outs` behind."""
        config = self.config
        instrs, masked = list(head), list[int]()
        least = max(1, len(head))
        count = self.dice.pick([config.stages] * 4 + list(range(least, config.stages)))
        while len(instrs) < count:
            instrs.append(self.instr(instrs, masked))
        taken = {out.register for out in outs}
        free = [r for r in range(1, config.registers) if r not in taken and r not in self.reserved]
        chosen = self.dice.some(free, config.stages - len(outs))
        live = [*outs, *(LiveOut(r, self.dice.integer(0, config.stages - 1)) for r in chosen)]
        self.filled = sorted({*self.filled, *(out.register for out in live)})
        return Block(tuple(instrs), tuple(live), branch, serial=self.chance(6))


def _setup(maker: _Maker) -> Block:
    """A block that fills registers from the arrays, the thread index and the bank."""
    instrs, outs = [], []
    free = list(range(1, maker.config.registers))
    for stage in range(min(maker.config.stages, len(free))):
        kind = maker.dice.pick(["a", "b"] * (stage in maker.config.loads) + ["tid", "const"])
        if kind in "ab":
            instr = Instr("ldx", "tid", "k", const="ab".index(kind))
        elif kind == "tid":
            instr = Instr("add", "tid", "k", const=maker.row(maker.dice.word()))
        else:
            instr = Instr("or", "k", "r0", const=maker.row(maker.dice.word()))
        instrs.append(instr)
        outs.append(LiveOut(free.pop(maker.dice.integer(0, len(free) - 1)), stage))
    maker.filled = sorted(out.register for out in outs)
    return Block(tuple(instrs), tuple(outs), Branch(1))


def _start(dice: Dice, config: MachineConfig) -> tuple[_Maker, int, tuple[NDArray[Any], ...]]:
    """A maker, a thread count and two arrays of the same power-of-two size."""
    size = max(2, min(16, config.words // 2))
    threads = dice.integer(1, min(config.threads, size))
    arrays = tuple(np.array([dice.word() for _ in range(size)], dtype=np.uint32) for _ in range(2))
    return _Maker(dice, config, threads, size), threads, arrays


def _finish(maker: _Maker, blocks: list[Block], threads: int, arrays: tuple[NDArray[Any], ...]) -> Case:
    params = (Param("a", True), Param("b", True))
    program = Program(maker.config, "random", params, tuple(maker.consts), tuple(blocks))
    program = replace(program, blocks=tuple(_waiting(maker, block, blocks) for block in blocks))
    verify(program)
    return Case(program, threads, arrays)


def _waiting(maker: _Maker, block: Block, blocks: list[Block]) -> Block:
    """The block, perhaps with branches that wait."""
    branch = block.branch
    taken, other = (_wait(maker, target, blocks) for target in (branch.taken, branch.other))
    if not branch.is_conditional:
        other = Wait.NONE
    return replace(block, branch=replace(branch, taken_wait=taken, other_wait=other))


def _wait(maker: _Maker, target: int, blocks: list[Block]) -> Wait:
    if target == EXIT or blocks[target].serial:
        return Wait.NONE
    return maker.dice.pick([Wait.NONE, Wait.NONE, Wait.WARP, Wait.CTA])


def single_block(dice: Dice, config: MachineConfig) -> Case:
    """A block that fills registers, then one random block."""
    maker, threads, arrays = _start(dice, config)
    blocks = [_setup(maker), maker.block(Branch(EXIT))]
    return _finish(maker, blocks, threads, arrays)


def bare_block(dice: Dice, config: MachineConfig) -> Case:
    """One random block, whose registers hold what earlier launches have left."""
    maker, threads, arrays = _start(dice, config)
    maker.filled = list(range(1, config.registers))
    return _finish(maker, [maker.block(Branch(EXIT))], threads, arrays)


def multi_block(dice: Dice, config: MachineConfig) -> Case:
    """Random blocks, forward branches on data, and perhaps one loop that every lane leaves after at most four rounds.

    The loop counts in the highest register, which no other block writes; it starts as `tid & 3`.
    """
    maker, threads, arrays = _start(dice, config)
    count = dice.integer(2, min(8, config.blocks))
    counter = config.registers - 1
    latch = dice.integer(1, count - 1) if config.stages >= 2 and dice.flag() else None
    maker.reserved = (counter,)
    first = Instr("and", "tid", "k", const=maker.row(3))
    blocks = [maker.block(_forward(maker, 0, count, 1), (first,), (LiveOut(counter, 0),))]
    header = dice.integer(1, latch) if latch is not None else 0
    for number in range(1, count):
        if number != latch:
            blocks.append(maker.block(_forward(maker, number, count, 1)))
            continue
        less = Instr("sub", f"r{counter}", "k", const=maker.row(1))
        again = Instr("setge", "f0", "r0")
        branch = Branch(header, number + 1 if number + 1 < count else EXIT, Guard("f1"))
        blocks.append(maker.block(branch, (less, again), (LiveOut(counter, 0),)))
    return _finish(maker, blocks, threads, arrays)


def _forward(maker: _Maker, number: int, count: int, least: int) -> Branch:
    """A branch to later blocks or to exit, on a register or a result of the block."""
    later = [*range(number + least, count), EXIT]
    taken, other = (maker.dice.pick(later) for _ in range(2))
    if maker.dice.flag():
        return Branch(later[0])
    source = maker.predicate(maker.dice.pick([f"r{maker.register()}", "f0"]))
    return Branch(taken, other, Guard(source, maker.dice.flag()))


# Strategies and samples --------------------------------------------------------------------------------------------

Make = Callable[[Dice, MachineConfig], Case]


@st.composite
def _cases(draw: st.DrawFn, make: Make, config: MachineConfig) -> Case:
    return make(Drawn(draw), config)


def bare_block_programs(config: MachineConfig) -> st.SearchStrategy[Case]:
    """Cases of `bare_block`."""
    return _cases(bare_block, config)


def single_block_programs(config: MachineConfig) -> st.SearchStrategy[Case]:
    """Cases of `single_block`."""
    return _cases(single_block, config)


def multi_block_programs(config: MachineConfig) -> st.SearchStrategy[Case]:
    """Cases of `multi_block`."""
    return _cases(multi_block, config)


def sample(make: Make, config: MachineConfig, count: int, seed: int = 0) -> list[Case]:
    """So many different cases."""
    return [make(Rolled(seed + number), config) for number in range(count)]
