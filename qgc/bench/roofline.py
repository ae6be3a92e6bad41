"""How far the sparse step is from what memory alone would allow, and what its time is spent on.

Two bounds on tokens a second: the bytes that a token touches over the bandwidth of copying a large array, and the cache lines
that it touches over the rate at which a loop sums lines at random places of an array as large as the lists. A fit of layer times
says what a layer, a unit that is looked at, and a memory that is written or read cost.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qgc.runtime.sparse.jit import compiled
from qgc.runtime.sparse.layers import LayerCost
from qgc.runtime.sparse.plan import QUAD, Plan
from qgc.runtime.sparse.weights import Weights

LINE = 64
"""Bytes of a cache line."""
LINES = 1 << 20


def roofline(
    weights: Weights, plan: Plan, units: float, heads: float, micros: float, costs: Sequence[LayerCost]
) -> dict[str, Any]:
    """The bounds and the fit.

    Args:
        weights, plan: the lists.
        units, heads: units looked at, and memories written and read, a token.
        micros: processor microseconds a token.
        costs: what each layer costs, of several kernels.
    """
    unit, head = _unit_bytes(weights, plan), _head_bytes(weights)
    touched = units * unit + heads * head
    lines = units * -(-unit // LINE) + heads * -(-head // LINE)
    bandwidth, rate = copy_bandwidth(), line_rate(_list_bytes(weights, plan))
    layer_us, unit_us, head_us = _fit(costs)
    return {
        "bytes_per_token": round(touched),
        "lines_per_token": round(lines),
        "copy_gb_per_s": round(bandwidth / 1e9, 1),
        "random_lines_per_s": round(rate),
        "bandwidth_tokens_per_s": round(bandwidth / touched),
        "lines_tokens_per_s": round(rate / lines),
        "share_of_bandwidth": round(touched / bandwidth / (micros * 1e-6), 3),
        "share_of_lines": round(lines / rate / (micros * 1e-6), 3),
        "fit_us": {
            "layer": round(layer_us, 3),
            "unit_looked_at": round(unit_us, 4),
            "memory_access": round(head_us, 4),
        },
    }


def _unit_bytes(w: Weights, plan: Plan) -> float:
    """Of a unit that is looked at: its number and mark, its padded gate row, and its body, as if it always opened."""
    gate = 8 * QUAD * plan.gate.ptr[-1] / max(1, len(plan.watch_unit))
    body = 8 * len(w.mlp.body.val) / len(w.mlp.middle)
    return float(12 + gate + body)


def _head_bytes(w: Weights) -> float:
    """Of a memory that is written or read: its switch, key matrix and value or output rows, and a row of state."""
    h = w.heads
    count = len(h.memories.beta) + len(h.reads.memory)
    lists = 8 * len(h.switch.val) + 4 * len(h.keys.val) + 8 * len(h.values.val) + 12 * len(h.reads.val)
    return float(lists / count + 2 * 4 * len(h.values.dim) / len(h.values.width))


def _list_bytes(w: Weights, plan: Plan) -> int:
    h = w.heads
    return int(
        8 * len(plan.gate.val)
        + 8 * len(w.mlp.body.val)
        + 4 * len(h.keys.val)
        + 8 * len(h.values.val)
        + 12 * len(h.reads.val)
    )


def copy_bandwidth() -> float:
    """Bytes a second, read and written, of copying 64 MB."""
    array = np.zeros(1 << 26, dtype=np.uint8)
    other = array.copy()
    began = time.perf_counter()
    for _ in range(8):
        np.copyto(other, array)
    return 16 * array.nbytes / (time.perf_counter() - began)


@compiled()
def _sum_lines(data: NDArray[np.float32], order: NDArray[np.int64], out: NDArray[np.float32]) -> None:
    size = LINE // 4
    for line in order:
        for i in range(line * size, line * size + size):
            out[i - line * size] += data[i]


def line_rate(size: int) -> float:
    """Cache lines a second of summing lines at random places of `size` bytes."""
    data = np.zeros(size // 4 + LINE, dtype=np.float32)
    order = np.random.default_rng(0).integers(0, size // LINE, LINES)
    out = np.zeros(LINE // 4, dtype=np.float32)
    _sum_lines(data, order, out)
    began = time.thread_time()
    _sum_lines(data, order, out)
    return LINES / (time.thread_time() - began)


def _fit(costs: Sequence[LayerCost]) -> tuple[float, float, float]:
    """Least squares of layer times: a constant, per unit looked at, per memory access."""
    counts = np.array([[1.0, cost.units, cost.heads] for cost in costs])
    times = np.array([cost.micros for cost in costs])
    constant, unit, head = np.linalg.lstsq(counts, times, rcond=None)[0]
    return float(constant), float(unit), float(head)
