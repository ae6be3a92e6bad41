"""Operands: register files, and the muxes that choose among registers, forwarded results, constants and thread ids.

Every port of every stage has register-file heads of its own, one a lane, so that a lane that does not run keeps its
values: its head is simply not written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qgc.backends.circuits.gates import conjunction, enable, matches
from qgc.backends.circuits.machine.context import Context
from qgc.backends.circuits.machine.fetch import Fetched
from qgc.backends.circuits.machine.values import Values
from qgc.ir.machine.config import WORD_BITS, bits_for
from qgc.ir.machine.isa import SourceTable
from qgc.ir.netlist.netlist import Builder, Key, Signal


@dataclass(frozen=True, slots=True)
class RegisterWrite:
    """How a val token writes the register files: the destination's number, and which lanes it writes."""

    register: list[Signal]
    lane: list[Signal]


def build_register_write(b: Builder, c: Context, f: Fetched) -> RegisterWrite:
    """The destination of the live-out that is being spelled."""
    register = b.bus("destination", c.config.register_bits)
    for n in range(c.config.stages):
        for wire, bit in zip(register, f.live[f"register{n}"], strict=True):
            b.add(wire, conjunction(c.ordinal[n + 1]), bit)
    return RegisterWrite(register, [enable(c.is_data, c.is_val, on) for on in f.lane])


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to take an operand's bits: while `when` holds, wire i gets bit `i - shift`, inverted or not."""

    when: Signal
    shift: int = 0
    is_inverted: bool = False

    def bit(self, bits: Sequence[Signal], i: int) -> Signal:
        """What wire i takes from a source."""
        bit = bits[i - self.shift] if i >= self.shift else Signal()
        return 1 - bit if self.is_inverted else bit


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a stage's operands come from: results so far `[stage][lane][bit]`, and the stage's constant, if any."""

    context: Context
    values: Values
    write: RegisterWrite
    results: list[list[list[Signal]]]
    const: list[Signal]


def operand(
    b: Builder,
    name: str,
    field: Sequence[Signal],
    s: Sources,
    variants: Sequence[Variant],
    width: int = WORD_BITS,
    rows: int = 0,
) -> list[list[Signal]]:
    """The low `width` bits of an operand for each lane, `[lane][bit]`; garbage unless the token is an exec token.

    With `rows` the port has only the registers below that number, a power of two.
    """
    c, table = s.context, SourceTable(s.context.config)
    b = b.with_scope(name)
    is_register = [1 - bit for bit in field[c.config.register_bits :]]
    rows = rows or c.config.registers
    bits = bits_for(rows)
    is_row = [1 - bit for bit in s.write.register[bits:]]
    out = [b.bus(f"lane{lane}", width) for lane in range(c.config.lanes)]
    for lane, wires in enumerate(out):
        registers = b.memory(
            f"file{lane}",
            s.values.lane[lane][:width],
            enable(s.write.lane[lane], *is_row),
            Key((*s.write.register[:bits], *c.group)),
            Key((*field[:bits], *c.group)),
            rows * c.config.groups,
            read=enable(c.exec, *is_register),
        )
        _choose(b, wires, registers, [c.exec, *is_register], variants)
        for stage, result in enumerate(s.results):
            _choose(b, wires, result[lane][:width], matches(field, table.numbers[f"f{stage}"]), variants)
        if s.const:
            _choose(b, wires, s.const[:width], matches(field, table.numbers["k"]), variants)
        _choose(b, wires, _thread(c, lane)[:width], matches(field, table.numbers["tid"]), variants)
    return out


def _thread(c: Context, lane: int) -> list[Signal]:
    """The thread's index in its block, `lanes * group + lane`."""
    bits = c.config.lanes.bit_length() - 1
    low = [Signal(lane >> i & 1) for i in range(bits)]
    return [*low, *c.group, *[Signal()] * (WORD_BITS - bits - len(c.group))]


def _choose(
    b: Builder,
    wires: Sequence[Signal],
    bits: Sequence[Signal],
    when: Sequence[Signal],
    variants: Sequence[Variant],
) -> None:
    for variant in variants:
        gate = conjunction(variant.when, *when)
        for i, wire in enumerate(wires):
            b.add(wire, gate, variant.bit(bits, i))


def guard_bits(b: Builder, name: str, field: Sequence[Signal], negated: Signal, s: Sources) -> list[Signal]:
    """Bit 0 of a source for each lane, inverted when `negated`."""
    variants = [Variant(1 - negated), Variant(negated, is_inverted=True)]
    return [
        bits[0] for bits in operand(b, name, field, s, variants, width=1, rows=s.context.config.guard_rows)
    ]
