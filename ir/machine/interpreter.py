"""The ISA interpreter: the exact reference of what the model does, token by token.

`Machine.feed` takes one token and returns the token that the model must predict after it, exactly as a forward pass
does: program, constants, memory and threads come in as tokens, and after the last prompt token the machine's own
answers are fed back until `halt`. All state that the netlist keeps in memory heads is here in plain fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from qgc.ir.machine.config import MachineConfig
from qgc.ir.machine.isa import MASK, OPS, SourceTable, Unit
from qgc.ir.machine.program import Block, Guard, Instr, Wait
from qgc.ir.machine.rom import decode_block, exit_key, key, place
from qgc.ir.machine.tokens import ROM_SLOTS, Token, Vocabulary, rom_word_bits, scalar_tokens, vector_tokens

HALT, FAULT = Token("halt"), Token("fault")


@dataclass(slots=True)
class _Value:
    """The value that val/mem/more tokens are spelling: its format and the slices so far."""

    kind: str = "mem_s"
    slices: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Access:
    """An access that faulted: which block, stage and lane, and the byte address."""

    block: int
    stage: int
    lane: int
    address: int


class Machine:
    """The state of one machine, fed with tokens.

    Attributes:
        memory: `config.words` unsigned 32-bit words.
        registers: `[group][register][lane]`, unsigned 32-bit.
        keys: `[group][lane]`: where each lane stands (`rom.key`).
        resumed: the key at which waiting lanes went on when this round of the groups began; 0 when there were none.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        self.sources = SourceTable(config)
        self.rom = [[0] * (config.stages + 2) for _ in range(config.blocks)]
        self.consts = [0] * config.consts
        self.memory = [0] * config.words
        self.registers = [[[0] * config.lanes for _ in range(config.registers)] for _ in range(config.groups)]
        self.keys = [[0] * config.lanes for _ in range(config.groups)]
        self.resumed = 0
        self._waiting = 0
        self.group = self.last_group = self.block = 0
        self.mask = [True] * config.lanes
        self.fault: Access | None = None
        self._target = ("adr", 0)
        self._ordinal = -1
        self._value = _Value()
        self._answers: Iterator[Token] = iter(())
        self._decoded: dict[int, Block] = {}

    def feed(self, token: Token) -> Token:
        """Consume one token; return the token that comes next."""
        kind, payload = token.kind, token.payload
        if kind in ("exec", "start", "warp"):
            getattr(self, f"_{kind}")(payload)
        elif kind in ("adr", "adr_v", "rom", "const"):
            self._target = (kind, payload)
        elif kind in ("halt", "fault"):
            self.mask = [True] * self.config.lanes
        else:
            self._slice(kind, payload)
        return next(self._answers, None) or self._where_next(has_turn=kind == "warp")

    def where(self, group: int) -> list[tuple[int, Wait]]:
        """The block (or EXIT) where each lane of a group stands, and what it waits for."""
        return [place(self.config, number) for number in self.keys[group]]

    # Control -------------------------------------------------------------------------------------------------------

    def _start(self, payload: int) -> None:
        self.group = self.last_group = payload & (self.config.groups - 1)
        lanes = self._lanes(payload >> self.config.group_bits)
        self.keys[self.group] = [0 if on else exit_key(self.config) for on in lanes]
        self._answers = iter(())

    def _warp(self, payload: int) -> None:
        self.group = payload & (self.config.groups - 1)
        waiting = payload >> self.config.group_bits
        if self.group == 0:
            self.resumed, self._waiting = waiting, 0
        else:
            self._waiting = waiting
        self._answers = iter(())

    def _lanes(self, payload: int) -> list[bool]:
        return [bool(payload >> lane & 1) for lane in range(self.config.lanes)]

    def _where_next(self, has_turn: bool) -> Token:
        """The lanes at the smallest key run its block; a group whose lanes wait or have ended hands over.

        Waiting lanes go on when their group's turn begins in a round that resumes their key.
        """
        config, keys = self.config, self.keys[self.group]
        least = min(keys)
        if least < config.blocks or (has_turn and least == self.resumed):
            mask = sum(1 << lane for lane, number in enumerate(keys) if number == least)
            return Token("exec", (least & (config.blocks - 1)) << config.lanes | mask)
        waiting = min((k for k in (least, self._waiting) if 0 < k < exit_key(config)), default=0)
        if self.group != self.last_group:
            return Token("warp", waiting << config.group_bits | self.group + 1)
        return Token("warp", waiting << config.group_bits) if waiting else HALT

    # Values --------------------------------------------------------------------------------------------------------

    def _slice(self, kind: str, payload: int) -> None:
        if kind not in ("more", "rest"):
            self._value = _Value(kind)
            self._ordinal += kind.startswith("val")
        self._value.slices.append(payload)
        if self._value.kind.startswith("val"):
            self._write_register()
        else:
            self._write_target()

    def _words(self) -> list[int]:
        """The value spelled so far, one 32-bit word a lane, sign-extended."""
        config, value = self.config, self._value
        if value.kind in ("val_u", "mem_s"):
            return [self._spelled(value.slices, config.payload, 32)] * config.lanes
        bits = config.lane_bits
        parts = [
            [s >> (lane * bits) & ((1 << bits) - 1) for s in value.slices] for lane in range(config.lanes)
        ]
        return [self._spelled(p, bits, 32) for p in parts]

    @staticmethod
    def _spelled(parts: list[int], bits: int, total: int) -> int:
        value = sum(p << (i * bits) for i, p in enumerate(parts))
        if parts[-1] >> (bits - 1) & 1:
            value -= 1 << (bits * len(parts))
        return value & ((1 << total) - 1)

    def _write_register(self) -> None:
        outs = self._current().live_outs
        register = self.registers[self.group][outs[self._ordinal].register]
        for lane, word in enumerate(self._words()):
            if self.mask[lane]:
                register[lane] = word

    def _write_target(self) -> None:
        kind, where = self._target
        if kind == "rom":
            bits = rom_word_bits(self.config)
            word = self._spelled(self._value.slices, self.config.payload, bits)
            self.rom[where // ROM_SLOTS][where % ROM_SLOTS] = word
            self._decoded.pop(where // ROM_SLOTS, None)
        elif kind == "const":
            self.consts[where] = self._words()[0]
        elif kind == "adr":
            self.memory[where] = self._words()[0]
        else:
            for lane, word in enumerate(self._words()):
                if self.mask[lane] and where + lane < self.config.words:
                    self.memory[where + lane] = word

    # One block -----------------------------------------------------------------------------------------------------

    def _current(self) -> Block:
        if self.block not in self._decoded:
            self._decoded[self.block] = decode_block(self.config, self.rom[self.block])
        return self._decoded[self.block]

    def _exec(self, payload: int) -> None:
        self.block = payload >> self.config.lanes
        self.mask = self._lanes(payload)
        block = self._current()
        if block.serial:
            first = self.mask.index(True)
            self.mask = [lane == first for lane in range(self.config.lanes)]
        self._ordinal = -1
        self.fault = None
        lanes = [lane for lane, on in enumerate(self.mask) if on]
        results = self._run(block, lanes)
        branch = block.branch
        taken_key = key(self.config, branch.taken, branch.taken_wait)
        other_key = key(self.config, branch.other, branch.other_wait)
        for lane in lanes:
            taken = self._guard(branch.guard, lane, results[lane], None)
            self.keys[self.group][lane] = taken_key if taken else other_key
        self._answers = iter(
            [FAULT] if self.fault else [*self._live_outs(block, results), *self._store(block, results)]
        )

    def _run(self, block: Block, lanes: list[int]) -> dict[int, list[int]]:
        """By lane the results of a block's stages; a store's result is the word to store."""
        results: dict[int, list[int]] = {lane: [] for lane in lanes}
        for stage, instr in enumerate(block.instrs):
            combine = OPS[instr.op].combine
            if combine:
                value = combine({lane: self._read(instr.a, lane, results[lane], instr) for lane in lanes})
                for lane in lanes:
                    results[lane].append(value)
            else:
                for lane in lanes:
                    results[lane].append(self._result(stage, instr, lane, results[lane]))
        rest = [0] * (self.config.stages - len(block.instrs))
        return {lane: before + rest for lane, before in results.items()}

    def _result(self, stage: int, instr: Instr, lane: int, before: list[int]) -> int:
        """The result of one operation in one lane, given those of the stages before."""
        spec = OPS[instr.op]
        a, b = (self._read(s, lane, before, instr) for s in (instr.a, instr.b))
        g = self._guard(instr.guard, lane, before, instr)
        if spec.evaluate:
            return spec.evaluate(a, b, int(g))
        in_range = not g or self._in_range(stage, lane, self._address(instr, a, b))
        if spec.unit is Unit.LOAD:
            return self.memory[self._address(instr, a, b) >> 2] if g and in_range else 0
        return self._read(instr.data or "r0", lane, before, instr)

    def _in_range(self, stage: int, lane: int, address: int) -> bool:
        if address & 3 == 0 and address >> 2 < self.config.words:
            return True
        if self.fault is None:
            self.fault = Access(self.block, stage, lane, address)
        return False

    @staticmethod
    def _address(instr: Instr, a: int, b: int) -> int:
        return ((4 * a if OPS[instr.op].scale_a else a) + b) & MASK

    def _read(self, source: str, lane: int, results: list[int], instr: Instr | None) -> int:
        if (register := self.sources.register(source)) is not None:
            return self.registers[self.group][register][lane]
        if (stage := self.sources.stage(source)) is not None:
            return results[stage] if stage < len(results) else 0
        if source == "tid":
            return self.group * self.config.lanes + lane
        return self.consts[instr.const or 0] if instr else 0

    def _guard(self, guard: Guard, lane: int, results: list[int], instr: Instr | None) -> bool:
        return bool(self._read(guard.source, lane, results, instr) & 1) != guard.negated

    def _live_outs(self, block: Block, results: dict[int, list[int]]) -> Iterator[Token]:
        for out in block.live_outs:
            values = {lane: r[out.stage] for lane, r in results.items()}
            if len(set(values.values())) == 1:
                yield from scalar_tokens(self.config, "val_u", next(iter(values.values())))
            else:
                yield from vector_tokens(
                    self.config, "val_v", [values.get(i) for i in range(self.config.lanes)]
                )

    def _store(self, block: Block, results: dict[int, list[int]]) -> Iterator[Token]:
        stage = self.config.store_stage
        if len(block.instrs) <= stage or OPS[block.instrs[stage].op].unit is not Unit.STORE:
            return
        instr = block.instrs[stage]
        words = {}
        storing = dict([min(results.items())]) if OPS[instr.op].by_leader else results
        for lane, result in storing.items():
            if self._guard(instr.guard, lane, result[:stage], instr):
                a, b = (self._read(s, lane, result[:stage], instr) for s in (instr.a, instr.b))
                words[lane] = self._address(instr, a, b) >> 2
        is_run = 0 in words and all(word == words[0] + lane for lane, word in words.items())
        if is_run and len(words) == len(results) > 1:
            yield Token("adr_v", words[0])
            data = [results[i][stage] if i in words else None for i in range(self.config.lanes)]
            yield from vector_tokens(self.config, "mem_v", data)
            return
        for lane, word in words.items():
            yield Token("adr", word)
            yield from scalar_tokens(self.config, "mem_s", results[lane][stage])


def run(
    config: MachineConfig, prompt: Iterable[Token], budget: int = 100_000
) -> tuple[Machine, list[Token], bool]:
    """Feed a prompt, then let the machine run on its own answers.

    Returns:
        The machine, the generated tokens (`halt` or `fault` included), and whether it ended within `budget` tokens.
    """
    machine = Machine(config)
    answer = HALT
    for token in prompt:
        answer = machine.feed(token)
    generated = [answer]
    while answer not in (HALT, FAULT) and len(generated) < budget:
        answer = machine.feed(answer)
        generated.append(answer)
    return machine, generated, answer in (HALT, FAULT)


def vocabulary(machine: Machine) -> Vocabulary:
    """The vocabulary of a machine, for printing its tokens."""
    return Vocabulary(machine.config)
