"""How blocks are encoded into ROM words, and back: the field layout that the netlist decodes.

A ROM slot is one word of `rom_word_bits(config)` bits. Fields are packed from bit 0 up, in the order given here.
The netlist generator takes field positions from these same tables.
"""

from __future__ import annotations

from dataclasses import dataclass

from qgc.ir.machine.config import MachineConfig, bits_for
from qgc.ir.machine.isa import OP_BITS, OPCODES, OPS, SourceTable, Unit
from qgc.ir.machine.program import EXIT, Block, Branch, Guard, Instr, LiveOut, Wait


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a ROM word: `width` bits from bit `low`."""

    low: int
    width: int

    def get(self, word: int) -> int:
        """The field's value in a word."""
        return word >> self.low & ((1 << self.width) - 1)

    @property
    def bits(self) -> range:
        """The bit positions, low first."""
        return range(self.low, self.low + self.width)


Layout = dict[str, Field]


def _pack(widths: list[tuple[str, int]]) -> Layout:
    layout, low = {}, 0
    for name, width in widths:
        layout[name] = Field(low, width)
        low += width
    return layout


def instr_layout(config: MachineConfig) -> Layout:
    """Fields of an instruction slot."""
    source = SourceTable(config).bits
    return _pack(
        [
            ("op", OP_BITS),
            ("a", source),
            ("b", source),
            ("guard", source),
            ("negated", 1),
            ("const", config.const_bits),
            ("data", source),
        ]
    )


def live_layout(config: MachineConfig) -> Layout:
    """Fields of the live-out slot: for each ordinal a register (0 means none) and the stage of the value."""
    widths = []
    for i in range(config.stages):
        widths += [(f"register{i}", config.register_bits), (f"stage{i}", bits_for(config.stages))]
    return _pack(widths)


def branch_layout(config: MachineConfig) -> Layout:
    """Fields of the branch slot; a target is a key (`key`)."""
    return _pack(
        [
            ("taken", config.key_bits),
            ("other", config.key_bits),
            ("guard", SourceTable(config).bits),
            ("negated", 1),
            ("serial", 1),
        ]
    )


def key(config: MachineConfig, block: int, wait: Wait = Wait.NONE) -> int:
    """Where a lane stands, as one number: the block, above it what the lane waits for, on top whether it has ended.

    The smaller key runs first, so this order *is* the schedule: running lanes, those that wait, those that have ended.
    """
    return exit_key(config) if block == EXIT else wait << config.block_bits | block


def exit_key(config: MachineConfig) -> int:
    """The key of a lane that has ended: larger than all others."""
    return 1 << (config.key_bits - 1)


def place(config: MachineConfig, number: int) -> tuple[int, Wait]:
    """The block (or EXIT) and the wait of a key.

    Raises:
        ValueError: the wait bits say neither or both.
    """
    if number >= exit_key(config):
        return EXIT, Wait.NONE
    return number & ((1 << config.block_bits) - 1), Wait(number >> config.block_bits)


def encode(layout: Layout, values: dict[str, int]) -> int:
    """Pack field values into a word."""
    word = 0
    for name, value in values.items():
        word |= value << layout[name].low
    return word


def encode_block(config: MachineConfig, block: Block) -> list[int]:
    """The ROM words of a block: one for each stage, then live-outs, then branch."""
    sources = SourceTable(config).numbers
    layout = instr_layout(config)
    words = []
    for i in range(config.stages):
        if i >= len(block.instrs):
            words.append(0)
            continue
        instr = block.instrs[i]
        values = {
            "op": OPCODES[instr.op],
            "a": sources[instr.a],
            "b": sources[instr.b],
            "guard": sources[instr.guard.source],
            "negated": int(instr.guard.negated),
            "const": instr.const or 0,
            "data": sources[instr.data or "r0"],
        }
        words.append(encode(layout, values))
    live: dict[str, int] = {}
    for i, out in enumerate(block.live_outs):
        live |= {f"register{i}": out.register, f"stage{i}": out.stage}
    words.append(encode(live_layout(config), live))
    branch = {
        "taken": key(config, block.branch.taken, block.branch.taken_wait),
        "other": key(config, block.branch.other, block.branch.other_wait),
        "guard": sources[block.branch.guard.source],
        "negated": int(block.branch.guard.negated),
        "serial": int(block.serial),
    }
    words.append(encode(branch_layout(config), branch))
    return words


def decode_block(config: MachineConfig, words: list[int]) -> Block:
    """The block of its ROM words; `nop` stages at the end are dropped."""
    names = tuple(OPS)
    sources = SourceTable(config).names
    layout = instr_layout(config)
    instrs = []
    for word in words[: config.stages]:
        f = {name: field.get(word) for name, field in layout.items()}
        spec = OPS[names[f["op"]]]
        uses = [sources[f["a"]], sources[f["b"]], sources[f["data"]]]
        instrs.append(
            Instr(
                spec.name,
                uses[0],
                uses[1],
                uses[2] if spec.unit is Unit.STORE else None,
                f["const"] if "k" in uses else None,
                Guard(sources[f["guard"]], bool(f["negated"])),
            )
        )
    while instrs and instrs[-1].op == "nop":
        instrs.pop()
    live = {name: field.get(words[config.stages]) for name, field in live_layout(config).items()}
    outs = tuple(
        LiveOut(live[f"register{i}"], live[f"stage{i}"]) for i in range(config.stages) if live[f"register{i}"]
    )
    b = {name: field.get(words[config.stages + 1]) for name, field in branch_layout(config).items()}
    taken, taken_wait = place(config, b["taken"])
    other, other_wait = place(config, b["other"])
    guard = Guard(sources[b["guard"]], bool(b["negated"]))
    branch = Branch(taken, other, guard, taken_wait, other_wait)
    return Block(tuple(instrs), outs, branch, bool(b["serial"]))
