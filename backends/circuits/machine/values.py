"""Values that arrive in slices: assembled, sign-extended, and routed to the memory bank where each lane's word goes."""

from __future__ import annotations

from dataclasses import dataclass

from qgc.backends.circuits.gates import add_clean, all_of, conjunction, matches
from qgc.backends.circuits.machine.context import Context, slice_count
from qgc.ir.machine.config import WORD_BITS, bits_for
from qgc.ir.machine.tokens import rom_word_bits
from qgc.ir.netlist.netlist import Builder, Signal, total


@dataclass(frozen=True, slots=True)
class Values:
    """The value spelled so far, and where in memory it goes.

    Attributes:
        lane: `[lane][bit]`, the word of each lane, sign-extended. A vector for memory is rotated, so that `lane[m]`
            holds what goes to bank m; everything else is as spelled.
        word: the scalar value at ROM width.
        is_mem: the token is a slice of a value for memory, ROM or constants.
        bank_row: `[bank][bit]`, the row of the bank.
        bank_write: `[bank]`, 1 when this token writes the bank.
    """

    lane: list[list[Signal]]
    word: list[Signal]
    is_mem: Signal
    bank_row: list[list[Signal]]
    bank_write: list[Signal]


def build_values(b: Builder, c: Context) -> Values:
    """Slices to words (four layers), and memory addresses."""
    b = b.with_scope("value")
    spelled, word = _assemble(b, c)
    is_mem = all_of(b, "is_mem", [c.is_data, 1 - c.is_val])
    bank_bits = bits_for(c.config.lanes)
    lane = [b.bus(f"lane{m}", WORD_BITS) for m in range(c.config.lanes)]
    bank_row, bank_write = [], []
    row = c.target[bank_bits : c.config.address_bits]
    start = c.target[:bank_bits]
    turn = [all_of(b, f"turn{i}", [c.to["adr_v"], 1 - c.is_val, bit]) for i, bit in enumerate(start)]
    inc = _increment(b, "row_inc", row)
    is_last_row = all_of(b, "is_last_row", row)
    for m, data in enumerate(lane):
        for value in range(c.config.lanes):
            for i, wire in enumerate(data):
                b.add(wire, conjunction(*matches(turn, value)), spelled[(m - value) % c.config.lanes][i])
        wraps = b.wire(f"wraps{m}")
        for value in range(m + 1, c.config.lanes):
            b.add(wraps, conjunction(c.to["adr_v"], *matches(start, value)))
        bits = b.bus(f"row{m}", len(row))
        for out, plain, next_row in zip(bits, row, inc, strict=True):
            b.add(out, conjunction(1 - wraps), plain)
            b.add(out, conjunction(wraps), next_row)
        bank_row.append(bits)
        bank_write.append(_bank_write(b, c, m, start, is_last_row))
    return Values(lane, word, is_mem, bank_row, bank_write)


def _bank_write(b: Builder, c: Context, m: int, start: list[Signal], is_last_row: Signal) -> Signal:
    """Bank m is written by a scalar that is addressed to it, or by the lane of a vector that falls on it."""
    write = b.wire(f"write{m}")
    to_memory = [c.is_data, 1 - c.is_val]
    b.add(write, conjunction(*to_memory, c.to["adr"], *matches(start, m)))
    for lane in range(c.config.lanes):
        value = (m - lane) % c.config.lanes
        literals = [*to_memory, c.to["adr_v"], *matches(start, value), c.mask[lane]]
        if value + lane >= c.config.lanes:
            literals.append(1 - is_last_row)
        b.add(write, conjunction(*literals))
    return write


def _increment(b: Builder, name: str, bits: list[Signal]) -> list[Signal]:
    """`bits + 1`, modulo their width, in one layer."""
    out = []
    for i, bit in enumerate(bits):
        flip = b.wire(f"{name}[{i}]", low=-1)
        b.add(flip, conjunction(*bits[:i]), 1 - 2 * bit)
        out.append(flip + bit)
    return out


def _assemble(b: Builder, c: Context) -> tuple[list[list[Signal]], list[Signal]]:
    config = c.config
    payload = c.payload[: config.payload]
    slices = [b.memory(f"slice{k}", payload, c.slice[k]) for k in range(slice_count(config))]
    reached = [total(c.slice[k:]) for k in range(len(c.slice))]
    extra = max(0, rom_word_bits(config) - WORD_BITS)
    lane = [b.bus(f"spelled{i}", WORD_BITS) for i in range(config.lanes)]
    wide = b.bus("wide", extra)
    for number, wires in enumerate(lane):
        for i, wire in enumerate(wires):
            k, r = divmod(i, config.lane_bits)
            low = number * config.lane_bits
            _spell(
                b, wire, (c.is_vector,), reached[k], slices[k][low + r], payload[low + config.lane_bits - 1]
            )
    for i in range(WORD_BITS + extra):
        k, r = divmod(i, config.payload)
        for wire in [wires[i] for wires in lane] if i < WORD_BITS else [wide[i - WORD_BITS]]:
            _spell(b, wire, (1 - c.is_vector,), reached[k], slices[k][r], payload[-1])
    return lane, [*lane[0], *wide]


def _spell(
    b: Builder, wire: Signal, when: tuple[Signal, ...], is_reached: Signal, bit: Signal, sign: Signal
) -> None:
    """One bit of a value: from its slice when that has come, else the sign of the newest slice.

    The slice number comes from counters, which a chunked prefill reads with noise; memories would keep it.
    """
    add_clean(b, wire, [*when, is_reached], bit)
    add_clean(b, wire, [*when, 1 - is_reached], sign)
