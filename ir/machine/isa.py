"""The one table of machine operations, and the sources that an operand can name.

The assembler's printer and parser, the verifier, the ROM encoding, the interpreter, the netlist generator and
docs/isa.md derive from `OPS` and `SourceTable`. An opcode's number is its place in the table.

Every operation reads two 32-bit operands A and B of a lane and a one-bit guard G (bit 0 of a source), and gives one
32-bit result. Shift amounts of 32 and more clamp, as in PTX (PTX ISA, `shl`, `shr`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from qgc.ir.machine.config import MachineConfig, bits_for

MASK = 0xFFFFFFFF


class Unit(Enum):
    """The circuit that computes an operation; it decides in which stages the operation may stand."""

    ALU = "alu"
    MULTIPLY = "multiply"
    LOAD = "load"
    STORE = "store"
    REVERSE = "reverse"


def unit_stages(config: MachineConfig, unit: Unit) -> Sequence[int]:
    """The stages of a block that have a unit."""
    if unit is Unit.STORE:
        return (config.store_stage,)
    if unit is Unit.MULTIPLY:
        return config.multiply_stages
    if unit is Unit.LOAD:
        return config.loads
    return range(1) if unit is Unit.REVERSE else range(config.stages)


@dataclass(frozen=True, slots=True)
class OpSpec:
    """One machine operation.

    `combine` makes one result for all lanes out of the A of every lane that runs, by lane. A store `by_leader` is carried out by the
    lowest lane that runs alone. `evaluate(a, b, g)` takes unsigned 32-bit operands and the guard bit and returns the unsigned 32-bit result; it is
    None where memory is involved. `invert_b` feeds the adder with NOT B and a carry, `scale_a` with A * 4.
    """

    name: str
    unit: Unit
    doc: str
    evaluate: Callable[[int, int, int], int] | None = None
    invert_b: bool = False
    scale_a: bool = False
    guarded: bool = False
    combine: Callable[[Mapping[int, int]], int] | None = None
    by_leader: bool = False


def signed(value: int) -> int:
    """The two's complement reading of an unsigned 32-bit value."""
    return value - (1 << 32) if value >> 31 else value


def _shr_s(a: int, b: int, _g: int) -> int:
    return (signed(a) >> min(b, 31)) & MASK


def _vote(lanes: Mapping[int, int]) -> int:
    return sum((a & 1) << lane for lane, a in lanes.items())


_TABLE = (
    OpSpec("nop", Unit.ALU, "0", lambda a, b, g: 0),
    OpSpec("add", Unit.ALU, "A + B", lambda a, b, g: (a + b) & MASK),
    OpSpec("addx", Unit.ALU, "4 * A + B", lambda a, b, g: (4 * a + b) & MASK, scale_a=True),
    OpSpec("sub", Unit.ALU, "A - B", lambda a, b, g: (a - b) & MASK, invert_b=True),
    OpSpec("and", Unit.ALU, "A & B", lambda a, b, g: a & b),
    OpSpec("or", Unit.ALU, "A | B", lambda a, b, g: a | b),
    OpSpec("xor", Unit.ALU, "A ^ B", lambda a, b, g: a ^ b),
    OpSpec("shl", Unit.ALU, "A << B, 0 for B >= 32", lambda a, b, g: (a << b) & MASK if b < 32 else 0),
    OpSpec("shr", Unit.ALU, "A >> B logical, 0 for B >= 32", lambda a, b, g: a >> b if b < 32 else 0),
    OpSpec("sar", Unit.ALU, "A >> B arithmetic, the sign for B >= 32", _shr_s),
    OpSpec("sel", Unit.ALU, "G ? A : B", lambda a, b, g: a if g else b, guarded=True),
    OpSpec("seteq", Unit.ALU, "A == B", lambda a, b, g: int(a == b), invert_b=True),
    OpSpec("setne", Unit.ALU, "A != B", lambda a, b, g: int(a != b), invert_b=True),
    OpSpec("setlt", Unit.ALU, "A < B signed", lambda a, b, g: int(signed(a) < signed(b)), invert_b=True),
    OpSpec("setge", Unit.ALU, "A >= B signed", lambda a, b, g: int(signed(a) >= signed(b)), invert_b=True),
    OpSpec("setltu", Unit.ALU, "A < B unsigned", lambda a, b, g: int(a < b), invert_b=True),
    OpSpec("setgeu", Unit.ALU, "A >= B unsigned", lambda a, b, g: int(a >= b), invert_b=True),
    OpSpec("mul", Unit.MULTIPLY, "low 32 bits of A * B", lambda a, b, g: (a * b) & MASK),
    OpSpec("ld", Unit.LOAD, "G ? word at byte address A + B : 0", guarded=True),
    OpSpec("ldx", Unit.LOAD, "G ? word at byte address 4 * A + B : 0", scale_a=True, guarded=True),
    OpSpec("st", Unit.STORE, "if G: word at byte address A + B becomes D", guarded=True),
    OpSpec("stx", Unit.STORE, "if G: word at byte address 4 * A + B becomes D", scale_a=True, guarded=True),
    OpSpec(
        "lsum",
        Unit.MULTIPLY,
        "sum of A over the lanes that run",
        combine=lambda lanes: sum(lanes.values()) & MASK,
    ),
    OpSpec("stl", Unit.STORE, "st, by the lowest lane that runs", guarded=True, by_leader=True),
    OpSpec(
        "stlx", Unit.STORE, "stx, by the lowest lane that runs", scale_a=True, guarded=True, by_leader=True
    ),
    OpSpec("popc", Unit.ALU, "ones of A", lambda a, b, g: a.bit_count()),
    OpSpec(
        "clz", Unit.ALU, "zeros above the highest one of A; 32 for 0", lambda a, b, g: 32 - a.bit_length()
    ),
    OpSpec("brev", Unit.REVERSE, "A, bit 31 first", lambda a, b, g: int(f"{a:032b}"[::-1], 2)),
    OpSpec("vote", Unit.ALU, "bit i is bit 0 of A of lane i, 0 unless lane i runs", combine=_vote),
)

OPS: dict[str, OpSpec] = {spec.name: spec for spec in _TABLE}
OPCODES: dict[str, int] = {spec.name: number for number, spec in enumerate(_TABLE)}
OP_BITS = bits_for(len(_TABLE))


class SourceTable:
    """The operand sources of one machine, by name and number: `r0..`, `f0..` (results), `k`, `tid`.

    `rN` is a register (`r0` reads 0), `fN` the result of stage N of the same block, `k` the instruction's constant and
    `tid` the thread's linear index in its block, `lanes * group + lane`.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.names: tuple[str, ...] = (
            *(f"r{i}" for i in range(config.registers)),
            *(f"f{i}" for i in range(config.stages)),
            "k",
            "tid",
        )
        self.numbers: dict[str, int] = {name: number for number, name in enumerate(self.names)}
        self.bits = bits_for(len(self.names))

    def register(self, name: str) -> int | None:
        """The register number of `name`, or None when it is no register."""
        return int(name[1:]) if name[0] == "r" and name in self.numbers else None

    def stage(self, name: str) -> int | None:
        """The stage whose result `name` forwards, or None."""
        return int(name[1:]) if name[0] == "f" and name in self.numbers else None
