"""Which units may open, given which coordinates are not 0.

A unit gives nothing while its gate is 0 or below, and while its up form is 0. For every unit the plan picks a *watch
set* of coordinates of its layer: when all of them are 0, and every coordinate lies within bounds, the unit provably
gives nothing. The step looks only at the units that the non-zero coordinates watch. The bounds come from a profile of
real tokens; the step checks them at every layer of every token and runs the layer in full when one is broken, so a
wrong guess costs time and never a result.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qgc.runtime.sparse.weights import Columns, Floats, Ints, Rows, Weights


class Plan(NamedTuple):
    """Watch lists.

    Attributes:
        lists: two lists for each coordinate c of each layer n, one pair after another so that one cache line has both; pair
            k = n * hidden + c says where they begin, and pair k + 1 where they end: units in `watch_unit`, entries in `column_*`.
        bounds: the smallest and largest value of that coordinate before the layer's units, in the same order.
        watch_unit: the units that coordinates watch.
        gate: the gate row of each entry of `watch_unit`, so that what is looked at together lies together; padded to
            whole quads, and `ptr` counts quads.
        always: the units of layer n that no set closes are `always_unit[always[n]:always[n + 1]]`.
        column_place, column_val: their gates by column: a place in `always_unit`, and what multiplies the coordinate there.
        relevant: a bit for each coordinate that some unit of the layer reads, `[layer][word]`.
        required: a bit for each of these whose bounds do not hold 0.
    """

    lists: Ints
    bounds: Floats
    watch_unit: Columns
    gate: Rows
    always: Ints
    always_unit: Columns
    column_place: Columns
    column_val: Floats
    relevant: NDArray[np.uint64]
    required: NDArray[np.uint64]


QUAD = 4
"""Entries of a gate row that are looked at together."""


def run_in_full(w: Weights) -> Plan:
    """The plan of a model that nothing is known about: bounds that nothing keeps, so every layer runs in full."""
    size = w.layers * w.hidden
    nothing, none = np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.float32)
    return Plan(
        np.zeros(2 * (size + 1), dtype=np.int32),
        np.tile(np.array([np.inf, -np.inf], dtype=np.float32), size),
        nothing,
        _quads(w.mlp.gate, nothing),
        np.zeros(w.layers + 1, dtype=np.int32),
        nothing,
        nothing,
        none,
        relevant(w),
        relevant(w),
    )


def make_plan(
    w: Weights, on: NDArray[np.int64], low: NDArray[np.float32], high: NDArray[np.float32], tokens: int
) -> Plan:
    """Choose watch sets that are seldom open, by how often each coordinate was not 0 in `tokens` tokens.

    A coordinate that was never 0 is bounded by what was seen of it. The bounds of the others are rounded outward to
    powers of two, and hold 0 and 1: a value that was never seen may still be a bit.
    """
    low, high = _bounds(low, high, on == tokens)
    watch: list[list[int]] = [[] for _ in range(w.layers * w.hidden)]
    always: list[list[int]] = []
    for layer in range(w.layers):
        rate = on[layer] / max(1, tokens)
        always.append([])
        for unit in range(w.mlp.layer[layer], w.mlp.layer[layer + 1]):
            chosen = _watch_set(w, unit, rate, low[layer], high[layer])
            if chosen is None:
                always[-1].append(unit)
            else:
                for c in chosen:
                    watch[layer * w.hidden + c].append(unit)
    lengths = np.diff(w.mlp.gate.ptr)
    for units in watch:
        units.sort(
            key=lambda unit: -(-lengths[unit] // QUAD)
        )  # equal lengths together, which branches predict
    reads = relevant(w)
    ptr, looked = _lists(watch)
    required = reads & _bits((low > 0) | (high < 0))
    ends, shown = _lists(always)
    columns = _by_column(w, ends, shown)
    return Plan(
        np.stack([ptr, columns.ptr], axis=1).ravel(),
        np.stack([low, high], axis=2).ravel(),
        looked,
        _quads(w.mlp.gate, looked),
        ends,
        shown,
        columns.col,
        columns.val,
        reads,
        required,
    )


def _quads(rows: Rows, which: Columns) -> Rows:
    """Some rows, in the order asked for, padded to whole quads; `ptr` counts quads."""
    lengths = np.diff(rows.ptr)[which]
    ptr = np.zeros(len(which) + 1, dtype=np.int32)
    ptr[1:] = np.cumsum(-(-lengths // QUAD))
    col, val = np.zeros(QUAD * ptr[-1], dtype=np.uint32), np.zeros(QUAD * ptr[-1], dtype=np.float32)
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    place = np.repeat(QUAD * ptr[:-1], lengths) + within
    entry = np.repeat(rows.ptr[which], lengths) + within
    col[place], val[place] = rows.col[entry], rows.val[entry]
    return Rows(ptr, col, val)


def _by_column(w: Weights, ends: Ints, units: Columns) -> Rows:
    """The gates of some units of each layer by column: rows are (layer, coordinate), columns are places in `units`."""
    gate = w.mlp.gate
    lengths = np.diff(gate.ptr)[units]
    entry = np.concatenate(
        [np.arange(gate.ptr[u], gate.ptr[u + 1]) for u in units] or [np.zeros(0, dtype=np.int64)]
    )
    layer = np.repeat(np.arange(w.layers), np.diff(ends))
    key = np.repeat(layer * w.hidden, lengths) + gate.col[entry].astype(np.int64)
    order = np.argsort(key, kind="stable")
    ptr = np.searchsorted(key[order], np.arange(w.layers * w.hidden + 1))
    place = np.repeat(np.arange(len(units)), lengths)[order]
    return Rows(ptr.astype(np.int32), place.astype(np.uint32), gate.val[entry[order]])


def _bits(flags: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Rows of flags as rows of words, the lowest bit first."""
    layers, hidden = flags.shape
    padded = np.zeros((layers, -(-hidden // 64) * 64), dtype=np.uint8)
    padded[:, :hidden] = flags
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def relevant(w: Weights) -> NDArray[np.uint64]:
    """Which coordinates the units of each layer read, as bits."""
    flags = np.zeros((w.layers, w.hidden), dtype=np.bool_)
    m = w.mlp
    layer = np.repeat(np.arange(w.layers), np.diff(m.layer))
    flags[np.repeat(layer, np.diff(m.gate.ptr)), m.gate.col] = True
    lengths = np.diff(m.body.ptr)
    is_up = np.arange(len(m.body.col)) < np.repeat(m.middle, lengths)
    flags[np.repeat(layer, lengths)[is_up], m.body.col[is_up]] = True
    return _bits(flags)


def _bounds(
    low: NDArray[np.float32], high: NDArray[np.float32], is_constant: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    loose = _rounded(np.minimum(low, 0)), np.maximum(_rounded(np.maximum(high, 0)), np.float32(1.001))
    low, high = (np.where(is_constant, v, 0).astype(np.float32) for v in (low, high))
    spare = np.float32(1e-4) * np.abs(high)
    return np.where(is_constant, low - spare, loose[0]), np.where(is_constant, high + spare, loose[1])


def _rounded(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Away from 0 to a power of two, with a thousandth to spare."""
    size = np.abs(values)
    power = np.exp2(np.ceil(np.log2(np.maximum(size, 1e-30)) - 1e-4))
    return (np.sign(values) * np.where(size > 0, power, 0) * 1.001).astype(np.float32)


def _lists(lists: list[list[int]]) -> tuple[Ints, Columns]:
    ptr = np.zeros(len(lists) + 1, dtype=np.int32)
    ptr[1:] = np.cumsum([len(units) for units in lists])
    return ptr, np.array([u for units in lists for u in units], dtype=np.uint32)


def _watch_set(
    w: Weights, unit: int, rate: NDArray[np.float64], low: NDArray[np.float32], high: NDArray[np.float32]
) -> list[int] | None:
    """The cheaper of two sets: one that keeps the gate shut, one that makes the up form 0; None when neither is."""
    sets = [
        s
        for s in (_gate_set(w.mlp.gate, unit, rate, low, high), _up_set(w.mlp.up(unit), rate))
        if s is not None
    ]
    return min(sets, key=lambda s: float(rate[s].sum()), default=None)


def _gate_set(
    rows: Rows, unit: int, rate: NDArray[np.float64], low: NDArray[np.float32], high: NDArray[np.float32]
) -> list[int] | None:
    """Coordinates without which the gate's largest value is 0 or less, rarest first."""
    entries = slice(rows.ptr[unit], rows.ptr[unit + 1])
    cols, vals = rows.col[entries], rows.val[entries].astype(np.float64)
    most = np.maximum(vals * low[cols], vals * high[cols])
    largest = most.sum()
    chosen: list[int] = []
    slack = 1e-3 * np.abs(most).sum()
    for i in sorted(range(len(cols)), key=lambda i: (rate[cols[i]], -most[i])):
        if largest <= slack:
            return chosen
        if most[i] > 0 and rate[cols[i]] < 1:
            chosen.append(int(cols[i]))
            largest -= most[i]
    return chosen if largest <= slack else None


def _up_set(cols: Columns, rate: NDArray[np.float64]) -> list[int] | None:
    """All coordinates of the up form, when none of them is a constant."""
    return None if (rate[cols] >= 1).any() else [int(c) for c in cols]
