"""The few scalar roundings on which a memory's exactness rests, each of them enumerated, not argued.

All of it is float32 arithmetic of IEEE 754 with a square root and a division that round correctly, as numpy has them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qgc.backends.weights.deltanet import COUNTER_LEVEL, READ_LEVEL
from qgc.backends.weights.swiglu import GATE
from qgc.ir.layout.weights import STATE_LEVEL
from qgc.ir.netlist.netlist import HEAD_BITS

DIM = 128
EPS = np.float32(1e-6)
HALVINGS = 160
"""From the largest counter to float32's smallest number and beyond."""

_f = np.float32


def sums_of_equal(value: np.float32, count: int) -> set[np.float32]:
    """Every float32 that adding `count` equal numbers may give, over all orders and groupings."""
    sums: list[set[np.float32]] = [set(), {value}]
    for n in range(2, count + 1):
        pairs = ((a, b) for i in range(1, n // 2 + 1) for a in sums[i] for b in sums[n - i])
        sums.append({_f(a + b) for a, b in pairs})
    return sums[count]


def _inverse_roots(value: np.float32) -> set[np.float32]:
    """1 / sqrt(value), rounded once or twice."""
    return {_f(_f(1) / np.sqrt(value)), _f(1 / np.sqrt(float(value)))}


def _scales() -> set[np.float32]:
    """128 ** -0.5, as the chunked and the recurrent form have it."""
    return {_f(DIM**-0.5), _f(_f(1) / np.sqrt(_f(DIM)))}


def _stored(value: float, scale: np.float32, dtype: str) -> np.float32:
    """A state entry as the gated norm sees it: times the query, in the model's dtype."""
    read = _f(_f(value) * scale)
    return _bfloat16(read) if dtype == "bfloat16" else read


def _bfloat16(value: np.float32) -> np.float32:
    """Round to bfloat16, ties to even."""
    bits = int(np.float32(value).view(np.uint32))
    bits += 0x7FFF + (bits >> 16 & 1)
    return np.uint32(bits & 0xFFFF0000).view(np.float32)


def faults(dtype: str) -> Iterator[str]:
    """What is not exact, in words; nothing when memories are exact in `dtype`."""
    gate = _f(GATE)
    if {_f(gate * r) for r in _inverse_roots(_f(gate * gate + EPS))} != {_f(1)}:
        yield "a one-hot key is not exactly 1 after l2norm"
    level = READ_LEVEL if dtype == "float32" else _bfloat16(_f(READ_LEVEL))
    for scale in _scales():
        one = _stored(STATE_LEVEL, scale, dtype)
        for total in sums_of_equal(_f(one * one), HEAD_BITS):
            for root in _inverse_roots(_f(_f(total / _f(DIM)) + EPS)):
                for n in range(8):
                    value = _stored(COUNTER_LEVEL * 2.0**-n, scale, dtype)
                    if _rounded(value * root, dtype) != level * COUNTER_LEVEL / STATE_LEVEL * 2.0**-n:
                        yield f"a counter at 2**-{n} is not read exactly"
                if _rounded(one * root, dtype) != level:
                    yield f"a bit that is on is read as {one * root}, not {level}"
        counter = _stored(COUNTER_LEVEL, scale, dtype)
        if _f(one * one + counter * counter) != _f(one * one):
            yield "the norm feels a counter"
    yield from _counting()


def _rounded(value: np.float32, dtype: str) -> np.float32:
    return _bfloat16(value) if dtype == "bfloat16" else value


def _counting() -> Iterator[str]:
    """A counter's row, token by token: halving is exact, and a reset gives the level from wherever the row is.

    What a row moves half way to is silu of minus the level, almost 0.
    """
    level, row = _f(COUNTER_LEVEL), _f(COUNTER_LEVEL)
    nothing = _f(-COUNTER_LEVEL * np.exp(-COUNTER_LEVEL))
    for n in range(HALVINGS):
        if _f(row + _f(level - row)) != level:
            yield f"a counter that was halved {n} times is not reset exactly"
        half = _f(row + _f(_f(nothing - row) * _f(0.5)))
        if n < 8 and half != row / 2:
            yield f"a counter is not halved exactly after {n} times"
        row = half
