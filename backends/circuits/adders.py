"""Two-layer carry-lookahead addition.

Layer 1 splits the operands into small digits and classifies every digit sum: does it generate a carry, would it
propagate one, and what are its bits without a carry. Layer 2 adds the carry. The carry into digit j is a sum of
*disjoint* products `G_i T_(i+1) ... T_(j-1)` (the highest digit below j that does not propagate decides), so the
increment of every output bit is a plain sum of units and no layer is spent on the carries themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qgc.backends.circuits.gates import Function, bit_of, conjunction, staircase
from qgc.ir.netlist.netlist import ONE, Builder, Signal, total


@dataclass(frozen=True, slots=True)
class Digit:
    """One digit sum after layer 1: `generate` when it is at least the radix, `propagate` when it is the radix less
    one, and the bits of the sum modulo the radix.
    """

    generate: Signal
    propagate: Signal
    bits: tuple[Signal, ...]


def classify(
    b: Builder,
    name: str,
    x: Signal,
    bits: Sequence[Signal],
    largest: int,
    when: Signal = ONE,
    is_top: bool = False,
) -> Digit:
    """Layer 1 for one digit, 0 unless `when`: `x` is an integer signal in [0, largest].

    The sum's bits are added to the wires `bits`, whose number gives the radix. Unless the digit is the top one, whose
    carry nobody takes, `largest + 1` must be below twice the radix, so that the carry out is 0 or 1.
    """
    radix = 1 << len(bits)
    if largest + 1 >= 2 * radix and not is_top:
        raise ValueError(f"digit {name}: {largest} plus a carry does not fit radix {radix}")
    g, t = b.wire(f"{name}.g"), b.wire(f"{name}.t")
    functions: list[tuple[Signal, Function]] = [
        (g, lambda v: int(v >= radix)),
        (t, lambda v: int(v == radix - 1)),
    ]
    functions += [(bit, bit_of(i)) for i, bit in enumerate(bits)]
    staircase(b, x, range(largest + 1), functions, when)
    return Digit(g, t, tuple(bits))


def carry_terms(digits: Sequence[Digit], carry_in: Signal, upto: int) -> Iterator[list[Signal]]:
    """The disjoint products whose sum is the carry into digit `upto`, each a list of literals."""
    for i in range(upto - 1, -1, -1):
        yield [digits[i].generate, *(d.propagate for d in digits[i + 1 : upto])]
    if not (carry_in.is_const and carry_in.const == 0):
        yield [carry_in, *(d.propagate for d in digits[:upto])]


def increment(
    b: Builder, digit: Digit, targets: Sequence[Signal], terms: Sequence[list[Signal]], when: Signal
) -> None:
    """Layer 2 for one digit: add `(bits + carry) mod radix` to the target wires while `when` holds.

    Bit i flips when a carry comes in and all bits below it are 1. The digit's bits may be shared wires that hold more
    than 1 while `when` is 0: the gate is shut by that much more.
    """
    for i, target in enumerate(targets):
        b.add(target, conjunction(when), digit.bits[i])
        spare = sum(b.info(bit).high - 1 for bit in digit.bits[:i])
        for term in terms:
            gate = conjunction(when, *term, *digit.bits[:i]) - 2 * spare * (1 - when)
            b.add(target, gate, 1 - 2 * digit.bits[i])


def add(
    b: Builder,
    name: str,
    x: Sequence[Signal],
    y: Sequence[Signal],
    bits: Sequence[Signal] | None = None,
    when: Signal = ONE,
    width: int = 2,
) -> list[Digit]:
    """Layer 1 of `x + y` for two equally wide numbers (low bit first), in digits of `width` bits.

    `bits` are wires to keep the digits' bits in; they may be shared with circuits that are idle while `when` holds.
    """
    bits = bits if bits is not None else b.bus(f"{name}.s", len(x))
    digits = []
    for low in range(0, len(x), width):
        part = list(zip(x[low : low + width], y[low : low + width], strict=True))
        value = total(p * (1 << i) + q * (1 << i) for i, (p, q) in enumerate(part))
        largest = 2 * ((1 << len(part)) - 1)
        digits.append(classify(b, f"{name}{low}", value, bits[low : low + width], largest, when))
    return digits


def finish(
    b: Builder, digits: Sequence[Digit], out: Sequence[Signal], carry_in: Signal, when: Signal = ONE
) -> None:
    """Layer 2 of a whole sum, modulo `2 ** len(out)`."""
    position = 0
    for j, digit in enumerate(digits):
        targets = out[position : position + len(digit.bits)]
        increment(b, digit, targets, list(carry_terms(digits, carry_in, j)), when)
        position += len(digit.bits)
