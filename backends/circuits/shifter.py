"""Barrel shifts in two layers: by 0 to 7 while selecting the direction, then by multiples of 8.

Amounts of 32 and more shift everything out (PTX ISA, `shl`, `shr`: amounts are clamped to the width).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qgc.backends.circuits.gates import any_of, conjunction, matches
from qgc.ir.netlist.netlist import Builder, Signal

_LOW = 3


@dataclass(frozen=True, slots=True)
class Directions:
    """Which shift runs: at most one signal is 1."""

    left: Signal
    logical: Signal
    arithmetic: Signal

    @property
    def right(self) -> Signal:
        """Either right shift."""
        return self.logical + self.arithmetic


def shift(
    b: Builder,
    x: Sequence[Signal],
    amount: Sequence[Signal],
    partial: Sequence[Signal],
    run: Directions,
    out: Sequence[Signal],
) -> None:
    """Add `x` shifted by `amount` to `out` (all of equal width, a power of two), in the direction that runs.

    `partial` are wires for the first layer's result; they may be shared with circuits that are idle while a shift runs.
    """
    width = len(x)
    low, high = amount[:_LOW], amount[_LOW : width.bit_length() - 1]
    over = any_of(b, "over", amount[width.bit_length() - 1 :])
    _select(b, x, partial, low, 1, run, ())
    _select(b, partial, out, high, 1 << _LOW, run, (1 - over,))
    for target in out:
        b.add(target, conjunction(run.arithmetic, over), partial[-1])


def _select(
    b: Builder,
    x: Sequence[Signal],
    out: Sequence[Signal],
    amount: Sequence[Signal],
    step: int,
    run: Directions,
    also: tuple[Signal, ...],
) -> None:
    """One mux layer: shift by `step` times the number in `amount`."""
    width = len(x)
    for value in range(1 << len(amount)):
        distance = step * value
        literals = [*matches(amount, value), *also]
        left, right, fill = (conjunction(d, *literals) for d in (run.left, run.right, run.arithmetic))
        for i, target in enumerate(out):
            if i >= distance:
                b.add(target, left, x[i - distance])
            if i + distance < width:
                b.add(target, right, x[i + distance])
            else:
                b.add(target, fill, x[-1])
