"""The low half of a product, in five layers.

1. bit products, summed by column;  2. column counts to bits, summed again by column;  3. columns to radix-8 digits and
carries;  4. digit classification;  5. carry lookahead (layers 4 and 5 are those of `adders`).
"""

from __future__ import annotations

from collections.abc import Sequence

from qgc.backends.circuits.adders import Digit, classify
from qgc.backends.circuits.gates import Function, bit_of, conjunction, staircase
from qgc.ir.netlist.netlist import Builder, Signal, total

_WIDTH = 3


def multiply(
    b: Builder, name: str, x: Sequence[Signal], y: Sequence[Signal], columns: Sequence[Signal], when: Signal
) -> list[Digit]:
    """Layers 1 to 4 of `x * y mod 2 ** len(x)`, 0 unless `when`; finish with `adders.finish` and no carry in.

    `columns` are as many wires, up to that number high; they may be shared with circuits that are idle while `when`.
    """
    add_products(b, x, y, columns, when)
    return sum_columns(b, name, columns, when)


def add_products(
    b: Builder, x: Sequence[Signal], y: Sequence[Signal], columns: Sequence[Signal], when: Signal
) -> None:
    """Layer 1: the products of bits of x and y, each added to its column, while `when`."""
    width = len(x)
    for i, bit in enumerate(x):
        for j in range(width - i):
            b.add(columns[i + j], conjunction(when, bit), y[j])


def sum_columns(
    b: Builder, name: str, columns: Sequence[Signal], when: Signal, least: int = 1
) -> list[Digit]:
    """Layers 2 to 4: the sum of all `columns[c] * 2 ** c`, 0 unless `when`.

    Column c counts up to c + 1, as bit products do, or up to `least` where that is more.
    """
    width = len(columns)
    counts = _recount(b, f"{name}.recount", columns, when, least)
    digits = []
    values, largest = _carry_save(b, f"{name}.digit", counts)
    bits = b.bus(f"{name}.s", width)
    for low, value in zip(range(0, width, _WIDTH), values, strict=True):
        top = low + _WIDTH >= width
        digits.append(classify(b, f"{name}{low}", value, bits[low : low + _WIDTH], largest, is_top=top))
    return digits


def _recount(b: Builder, name: str, columns: Sequence[Signal], when: Signal, least: int) -> list[Signal]:
    """Write each column's count in binary, into the columns that its bits belong to."""
    out = b.bus(name, len(columns), high=len(columns).bit_length())
    for c, count in enumerate(columns):
        most = max(c + 1, least)
        places = range(min(most.bit_length(), len(columns) - c))
        staircase(b, count, range(most + 1), [(out[c + e], bit_of(e)) for e in places], when)
    return out


def _carry_save(b: Builder, name: str, counts: Sequence[Signal]) -> tuple[list[Signal], int]:
    """Group columns into digits: each digit wire is its own remainder plus the carry of the digit below."""
    width = len(counts)
    number = -(-width // _WIDTH)
    radix = 1 << _WIDTH
    highest = radix - 1 + (width.bit_length() * (radix - 1)) // radix
    digits = b.bus(name, number, high=highest)
    most = [(width.bit_length())] * width  # a column receives one bit of each of at most this many counts
    for j in range(number):
        low = j * _WIDTH
        part = list(counts[low : low + _WIDTH])
        value = total(count * (1 << i) for i, count in enumerate(part))
        largest = sum(most[low + i] << i for i in range(len(part)))
        functions: list[tuple[Signal, Function]] = [(digits[j], _remainder(1 << len(part)))]
        if j + 1 < number:
            functions.append((digits[j + 1], lambda v: v // radix))
        staircase(b, value, range(largest + 1), functions)
    return digits, highest


def _remainder(modulus: int) -> Function:
    return lambda value: value % modulus
