"""The program ROM and the constant bank, and the decoded fields of the current block."""

from __future__ import annotations

from dataclasses import dataclass

from qgc.backends.circuits.gates import all_of, conjunction, matches
from qgc.backends.circuits.machine.context import Context
from qgc.backends.circuits.machine.values import Values, enable
from qgc.ir.machine.config import WORD_BITS
from qgc.ir.machine.isa import OPCODES, OPS, Unit
from qgc.ir.machine.program import Program
from qgc.ir.machine.rom import Layout, branch_layout, encode_block, instr_layout, live_layout
from qgc.ir.machine.tokens import rom_word_bits
from qgc.ir.netlist.netlist import Builder, Key, Signal, total


@dataclass(frozen=True, slots=True)
class Fetched:
    """The current block's fields as raw bits, and what every stage needs of them.

    Attributes:
        instr: `[stage][field][bit]`.
        live: `[field][bit]` of the live-out slot.
        branch: `[field][bit]` of the branch slot.
        const: `[stage][bit]`, the constant that the stage's instruction names.
        lane: 0/1 by lane: the lanes that run, the mask less those that a serial block holds back.
        first: one-hot, the lowest lane that runs.
        has_store: the last stage's operation is a store.
    """

    instr: list[dict[str, list[Signal]]]
    live: dict[str, list[Signal]]
    branch: dict[str, list[Signal]]
    const: list[list[Signal]]
    lane: list[Signal]
    first: list[Signal]
    has_store: Signal


def build_fetch(b: Builder, c: Context, v: Values, bake: Program | None = None) -> Fetched:
    """ROM and constant reads; with `bake` the ROM is a table of that program."""
    config = c.config
    slots = range(config.stages + 2)
    words = _baked_rom(b, c, bake) if bake else [_rom(b, c, v, slot) for slot in slots]
    instr = [_fields(instr_layout(config), w) for w in words[: config.stages]]
    live, branch = _fields(live_layout(config), words[-2]), _fields(branch_layout(config), words[-1])
    write = _const_write(b, c, v, bake)
    const = [_const(b, c, v, write, s, fields["const"], bake) for s, fields in enumerate(instr)]
    lane, first = _running(b.with_scope("lanes"), c, branch["serial"][0])
    has_store = total(
        all_of(b, f"is_{spec.name}", matches(instr[-1]["op"], OPCODES[spec.name]))
        for spec in OPS.values()
        if spec.unit is Unit.STORE
    )
    return Fetched(instr, live, branch, const, lane, first, has_store)


def _fields(layout: Layout, word: list[Signal]) -> dict[str, list[Signal]]:
    return {name: [word[i] for i in field.bits] for name, field in layout.items()}


def _rom(b: Builder, c: Context, v: Values, slot: int) -> list[Signal]:
    width = rom_word_bits(c.config)
    write = enable(v.is_mem, c.to["rom"], *matches(c.rom_slot, slot))
    return b.memory(
        f"rom{slot}", v.word[:width], write, Key(tuple(c.rom_block)), Key(tuple(c.block)), c.config.blocks
    )


def _baked_rom(b: Builder, c: Context, program: Program) -> list[list[Signal]]:
    """The ROM as a table: one unit for each block adds that block's ones."""
    width = rom_word_bits(c.config)
    words = [b.bus(f"rom{slot}", width) for slot in range(c.config.stages + 2)]
    for number, block in enumerate(program.blocks):
        is_block = conjunction(*matches(c.block, number))
        for wires, word in zip(words, encode_block(c.config, block), strict=True):
            _add_ones(b, wires, word, is_block)
    return words


def _add_ones(b: Builder, wires: list[Signal], word: int, gate: Signal) -> None:
    for i, wire in enumerate(wires):
        if word >> i & 1:
            b.add(wire, gate)


def _const_write(b: Builder, c: Context, v: Values, bake: Program | None) -> Signal:
    """Whether a token writes the constant bank; a baked program's integers are not rows of it."""
    literals = [v.is_mem, c.to["const"]]
    if bake:
        is_row = b.wire("const.is_row")
        for number, value in enumerate(bake.consts):
            if isinstance(value, str):
                b.add(is_row, conjunction(*matches(c.target[: c.config.const_bits], number)))
        literals.append(is_row)
    return enable(*literals)


def _const(
    b: Builder,
    c: Context,
    v: Values,
    write: Signal,
    stage: int,
    index: list[Signal],
    bake: Program | None,
) -> list[Signal]:
    """The stage's constant, from the bank; a baked program's integers are a table beside it."""
    key = Key(tuple(c.target[: c.config.const_bits]))
    data = v.lane[0][:WORD_BITS]
    wires = b.memory(f"s{stage}.const", data, write, key, Key(tuple(index)), c.config.consts)
    for number, value in enumerate(bake.consts if bake else ()):
        if isinstance(value, int):
            _add_ones(b, wires, value, conjunction(*matches(index, number)))
    return wires


def _running(b: Builder, c: Context, serial: Signal) -> tuple[list[Signal], list[Signal]]:
    """The lanes that run: all of the mask, or its lowest lane in a serial block."""
    lanes, first = [], []
    for i, on in enumerate(c.mask):
        held = b.wire(f"held{i}")
        for j in range(i):
            b.add(held, conjunction(serial, on, c.mask[j], *(1 - m for m in c.mask[:j])))
        lanes.append(on - held)
        first.append(all_of(b, f"first{i}", [on, *(1 - m for m in c.mask[:i])]))
    return lanes, first


@dataclass(frozen=True, slots=True)
class Operation:
    """A stage's operation, decoded: one-hot by name, for the operations that the stage has; 0 but for exec tokens."""

    op: dict[str, Signal]

    def any(self, *names: str) -> Signal:
        """Whether the operation is one of `names` that the stage has."""
        return total(self.op[n] for n in names if n in self.op)


def decode_operation(b: Builder, c: Context, stage: int, field: list[Signal]) -> Operation:
    """One-hot operation wires of a stage."""
    names = [
        spec.name
        for spec in OPS.values()
        if spec.name != "nop"
        and (spec.unit is not Unit.MULTIPLY or stage in c.config.multiply_stages)
        and (spec.unit is not Unit.STORE or stage == c.config.store_stage)
        and (spec.unit is not Unit.LOAD or stage in c.config.loads)
    ]
    return Operation({n: all_of(b, f"op.{n}", [c.exec, *matches(field, OPCODES[n])]) for n in names})
