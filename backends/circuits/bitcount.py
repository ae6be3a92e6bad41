"""Counting ones and leading zeros, and reversing bits: one layer each, from the operand to the result.

A count is a function of the sum of all bits, so it is a staircase over one signal; leading zeros are a one-hot choice of
the highest one; a reversal moves wires.
"""

from __future__ import annotations

from collections.abc import Sequence

from qgc.backends.circuits.gates import bit_of, conjunction, staircase
from qgc.ir.netlist.netlist import Builder, Signal, total


def count_ones(b: Builder, bits: Sequence[Signal], when: Signal, out: Sequence[Signal]) -> None:
    """Add the number of ones to the wires `out` (low bit first) while `when` holds."""
    places = range(len(bits).bit_length())
    staircase(b, total(bits), range(len(bits) + 1), [(out[i], bit_of(i)) for i in places], when)


def count_leading_zeros(b: Builder, bits: Sequence[Signal], when: Signal, out: Sequence[Signal]) -> None:
    """Add the number of zeros above the highest one to `out`, all of them when there is no one, while `when` holds."""
    width = len(bits)
    for zeros in range(width + 1):
        above = [1 - bit for bit in bits[width - zeros :]]
        highest = [bits[width - 1 - zeros]] if zeros < width else []
        for i in range(zeros.bit_length()):
            if zeros >> i & 1:
                b.add(out[i], conjunction(when, *above, *highest))


def reverse(b: Builder, bits: Sequence[Signal], when: Signal, out: Sequence[Signal]) -> None:
    """Add the bits in the opposite order to `out` while `when` holds."""
    for wire, bit in zip(out, reversed(bits), strict=True):
        b.add(wire, conjunction(when), bit)
