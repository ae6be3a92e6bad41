"""Gates on signals: each costs one layer, whatever its fan-in.

A literal is a 0/1 signal. `conjunction` gives a *gate form*: a signal that is 1 when all literals hold and at most -1
otherwise, so relu makes it exactly 0 or 1 with a margin of one half on each literal sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from qgc.ir.netlist.netlist import ONE, Builder, Number, Signal, total

Function = Callable[[int], Number]
"""A function of an integer signal."""


def conjunction(*literals: Signal) -> Signal:
    """The gate form of AND: `2 * sum - 2 n + 1`. Literals that are constant 1 drop out."""
    live = [x for x in literals if not (x.is_const and x.const == 1)]
    return total((x * 2 for x in live), 1 - 2 * len(live))


def enable(*literals: Signal) -> Signal:
    """A head's write or read signal: 1 when all literals hold, at most 0 otherwise."""
    return total(literals, 1 - len(literals))


def all_of(b: Builder, name: str, literals: Sequence[Signal]) -> Signal:
    """AND of any number of literals: one unit."""
    if not literals:
        return ONE
    out = b.wire(name)
    b.add(out, conjunction(*literals))
    return out


def any_of(b: Builder, name: str, literals: Sequence[Signal]) -> Signal:
    """OR of any number of literals (or of non-negative integers): one unit, as NOT of `all zero`."""
    none = b.wire(f"{name}.none")
    b.add(none, 1 - 2 * total(literals))
    return 1 - none


def add_clean(b: Builder, target: Signal, literals: Sequence[Signal], up: Signal | Number = 1) -> None:
    """Add `up` to a wire when all literals hold, whatever small noise they carry: two units whose noise cancels.

    With s the sum of n literals, `relu(4 s - 4 n + 3) - relu(4 s - 4 n + 2)` is 1 around n and 0 below n - 3/4.
    """
    gate = 2 * conjunction(*literals)
    b.add(target, gate + 1, up)
    b.add(target, gate, up, -1)


def clean(b: Builder, name: str, bits: Sequence[Signal]) -> list[Signal]:
    """Copies of bits without their noise."""
    out = b.bus(name, len(bits))
    for wire, bit in zip(out, bits, strict=True):
        add_clean(b, wire, [bit])
    return out


def literal(bit: Signal, value: int) -> Signal:
    """The literal that holds when `bit` equals `value`."""
    return bit if value else 1 - bit


def matches(bits: Sequence[Signal], value: int) -> list[Signal]:
    """The literals that say that an unsigned field (low bit first) equals `value`."""
    return [literal(bit, value >> i & 1) for i, bit in enumerate(bits)]


def decode(b: Builder, name: str, bits: Sequence[Signal], values: Sequence[int]) -> dict[int, Signal]:
    """One-hot wires for some values of a field: one unit each."""
    return {v: all_of(b, f"{name}={v}", matches(bits, v)) for v in values}


def staircase(
    b: Builder,
    x: Signal,
    points: Sequence[int],
    outputs: Sequence[tuple[Signal, Function]],
    when: Signal = ONE,
) -> None:
    """Add functions of an integer signal to wires, exactly at `points` (ascending), linear between them.

    All outputs share the hinges `relu(x - point)`, so k functions of an n-valued sum cost n units. While `when` is 0
    every hinge is shut, whatever x is between the points, and nothing is added.
    """
    shut = (2 * (points[-1] - points[0]) + 1) * (1 - when)
    for target, fn in outputs:
        if start := fn(points[0]):
            b.add(target, conjunction(when), start)
    previous = [0.0] * len(outputs)
    for low, high in pairwise(points):
        for i, (target, fn) in enumerate(outputs):
            slope = (fn(high) - fn(low)) / (high - low)
            if bend := slope - previous[i]:
                b.add(target, 2 * (x - low) - shut, 1, bend / 2)
            previous[i] = slope


def bit_of(place: int) -> Function:
    """The function that gives one bit of a number."""
    return lambda value: value >> place & 1


def weighted(bits: Sequence[Signal]) -> Signal:
    """The unsigned number of a field, low bit first."""
    return total(bit * (1 << i) for i, bit in enumerate(bits))
